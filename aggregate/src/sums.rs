//! The tables of an aggregated capture, which holds sums and no events.
//!
//! What was live at the peak and at the end becomes rows of the interval table, so that every view of
//! the whole run is answered as for any other capture. No other range has an answer.

use memreport_ingest::{LocationId, Sums, Tally};

use crate::error::Error;
use crate::interval_table::{Interval, NEVER, merge};
use crate::slices::Slices;

/// Slices of the capture's snapshots, and rows that start at the peak's tick or after it.
///
/// The file does not say when the peak was. It is put into the first slice that has the largest sampled
/// heap at one of its ends; other slices' peaks are those samples.
///
/// # Errors
/// [`Error::TotalOverflow`] if the rows add up to more than 64 bits.
pub(crate) fn tables(sums: &Sums) -> Result<(Slices, Vec<Interval>), Error> {
    let (peak, leaked) = (total(&sums.peak)?, total(&sums.leaks)?);
    let heap: Vec<u64> = sums
        .snapshots
        .iter()
        .map(|snapshot| snapshot.heap)
        .chain([leaked])
        .collect();
    let mut peaks: Vec<u64> = (0..heap.len())
        .map(|slice| {
            let before = slice
                .checked_sub(1)
                .and_then(|before| heap.get(before))
                .copied();
            before.unwrap_or(0).max(heap[slice]).min(peak)
        })
        .collect();
    let largest = peaks.iter().copied().max().unwrap_or(0);
    let peak_slice = peaks.iter().position(|&heap| heap == largest).unwrap_or(0);
    if let Some(slot) = peaks.get_mut(peak_slice) {
        *slot = peak;
    }
    let n_slices = heap.len();
    let slices = Slices {
        times_ms: sums
            .snapshots
            .iter()
            .map(|snapshot| snapshot.time_ms)
            .collect(),
        rss: sums.snapshots.iter().map(|snapshot| snapshot.rss).collect(),
        heap,
        peaks,
        moments: vec![0; n_slices],
        ends: vec![0; n_slices],
    };
    let tick = u32::try_from(2 * peak_slice).unwrap_or(NEVER - 2);
    let rows = sums.peak.iter().zip(&sums.leaks).enumerate();
    Ok((
        slices,
        merge(
            rows.flat_map(|(index, (peak, leaks))| intervals(index, tick, peak, leaks))
                .collect(),
        ),
    ))
}

/// The sum of the tallies' bytes. Allocations must have one too.
fn total(tallies: &[Tally]) -> Result<u64, Error> {
    let sum = tallies.iter().try_fold(Tally::default(), |sum, tally| {
        Some(Tally {
            allocations: sum.allocations.checked_add(tally.allocations)?,
            bytes: sum.bytes.checked_add(tally.bytes)?,
        })
    });
    sum.map(|sum| sum.bytes).ok_or(Error::TotalOverflow)
}

/// Rows of a location: what was there at the peak and at the end, at the peak only, and at the end only.
fn intervals(index: usize, tick: u32, peak: &Tally, leaks: &Tally) -> Vec<Interval> {
    let both = Tally {
        allocations: peak.allocations.min(leaks.allocations),
        bytes: peak.bytes.min(leaks.bytes),
    };
    let rest = |all: &Tally| Tally {
        allocations: all.allocations - both.allocations,
        bytes: all.bytes - both.bytes,
    };
    let parts = [
        (tick, NEVER, both),
        (tick, tick + 1, rest(peak)),
        (tick + 1, NEVER, rest(leaks)),
    ];
    let Some(location) = LocationId::new(index) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (start, end, tally) in parts {
        let mut left = tally;
        while left != Tally::default() {
            // A row counts in four bytes.
            let allocations = u32::try_from(left.allocations).unwrap_or(u32::MAX);
            let first_sequence = index as u64;
            rows.push(Interval {
                start,
                location,
                end,
                allocations,
                bytes: left.bytes,
                first_sequence,
            });
            left = Tally {
                allocations: left.allocations - u64::from(allocations),
                bytes: 0,
            };
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use memreport_ingest::SumSnapshot;

    fn tally(allocations: u64, bytes: u64) -> Tally {
        Tally { allocations, bytes }
    }

    #[test]
    fn rows_add_up_to_the_peak_and_to_the_leaks() {
        let snapshot = |time_ms, heap| SumSnapshot {
            time_ms,
            rss: 1,
            heap,
        };
        let sums = Sums {
            snapshots: vec![snapshot(1, 0), snapshot(2, 40), snapshot(3, 20)],
            peak: vec![tally(2, 50), tally(1, 10), tally(0, 0)],
            leaks: vec![tally(3, 20), tally(0, 0), tally(u64::from(u32::MAX) + 5, 7)],
        };
        let (slices, rows) = tables(&sums).unwrap();
        assert_eq!(slices.peaks, [0, 60, 40, 27]);
        assert_eq!(slices.peak_slice(slices.whole_run()), 1);
        let add = |rows: Vec<&Interval>| {
            rows.iter().fold((0, 0), |sum, row| {
                (sum.0 + u64::from(row.allocations), sum.1 + row.bytes)
            })
        };
        assert_eq!(
            add(rows
                .iter()
                .filter(|row| row.start <= 2 && row.end > 2)
                .collect()),
            (3, 60)
        );
        assert_eq!(
            add(rows.iter().filter(|row| row.end == NEVER).collect()),
            (8 + u64::from(u32::MAX), 27)
        );
    }
}
