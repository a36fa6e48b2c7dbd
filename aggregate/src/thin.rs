//! Thins memory snapshots: neighbouring slices become one, and every peak stays exact.

use crate::interval_table::{Interval, NEVER, merge};
use crate::slices::{SliceRange, Slices};

/// The stride that keeps at most `max` of `n` snapshots; snapshots 0, stride, 2 × stride … stay.
pub(crate) fn stride(n_snapshots: usize, max: usize) -> usize {
    n_snapshots.div_ceil(max.max(1)).max(1)
}

/// Keeps each `stride`-th snapshot, from the first on.
///
/// A longer slice's peak is the highest of the peaks of its parts, so ticks only move together: those
/// up to the highest part's peak become the even tick, those after it the odd one.
pub(crate) fn thin(slices: &Slices, rows: Vec<Interval>, stride: usize) -> (Slices, Vec<Interval>) {
    let mut thinned = Slices::default();
    let mut ticks = vec![0_u32; 2 * slices.len()];
    let mut first = 0;
    for last in ends(slices, stride) {
        let peak = slices.peak_slice(SliceRange { first, last });
        let tick = u32::try_from(2 * thinned.len()).unwrap_or(NEVER - 1);
        for (fine, slot) in ticks
            .iter_mut()
            .enumerate()
            .take(2 * last + 2)
            .skip(2 * first)
        {
            *slot = tick + u32::from(fine > 2 * peak);
        }
        thinned.peaks.push(slices.peaks[peak]);
        thinned.moments.push(slices.moments[peak]);
        thinned.heap.push(slices.heap[last]);
        thinned.ends.push(slices.ends[last]);
        thinned.times_ms.extend(slices.times_ms.get(last));
        thinned.rss.extend(slices.rss.get(last));
        first = last + 1;
    }
    let tick = |fine: u32| ticks.get(fine as usize).copied().unwrap_or(NEVER);
    let moved = rows.into_iter().map(|row| Interval {
        start: tick(row.start),
        end: tick(row.end),
        ..row
    });
    (
        thinned,
        merge(moved.filter(|row| row.start != row.end).collect()),
    )
}

/// The slices that thinned slices end with: those of the kept snapshots, and the last.
fn ends(slices: &Slices, stride: usize) -> impl Iterator<Item = usize> {
    (0..slices.n_snapshots())
        .step_by(stride)
        .chain([slices.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use memreport_ingest::LocationId;

    #[test]
    fn strides_keep_at_most_so_many() {
        assert_eq!(
            [stride(0, 5), stride(5, 5), stride(6, 5), stride(11, 5)],
            [1, 1, 2, 3]
        );
    }

    #[test]
    fn ticks_move_to_the_side_of_the_higher_peak() {
        let slices = Slices {
            times_ms: vec![10, 20, 30],
            rss: vec![1, 2, 3],
            heap: vec![1, 2, 1, 0],
            peaks: vec![1, 4, 6, 1],
            moments: vec![1, 3, 5, 8],
            ends: vec![2, 4, 6, 9],
        };
        let row = |start, end| Interval {
            start,
            end,
            location: LocationId(0),
            allocations: 1,
            bytes: 1,
            first_sequence: 0,
        };
        let (thinned, rows) = thin(
            &slices,
            vec![row(0, 4), row(2, 3), row(3, 5), row(5, NEVER)],
            2,
        );
        assert_eq!(thinned.times_ms, [10, 30]);
        assert_eq!(thinned.peaks, [1, 6, 1]);
        assert_eq!(thinned.moments, [1, 5, 8]);
        assert_eq!(thinned.heap, [1, 1, 0]);
        // Slices 1 and 2 become slice 1, whose peak is that of slice 2: ticks 2 to 4 are before it.
        assert_eq!(rows, [row(0, 2), row(2, 3), row(3, NEVER)]);
    }
}
