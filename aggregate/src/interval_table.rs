//! The interval table: in which ticks what was live, by location.

use std::cmp::Ordering;

use memreport_ingest::LocationId;
use rayon::slice::ParallelSliceMut;

/// The end tick of what is live to the end.
pub const NEVER: u32 = u32::MAX;

/// A stretch of time in which some bytes of a location are live: a row of the interval table.
///
/// * Ticks: slice s has tick 2s, up to and including its peak, and 2s + 1, after it
/// * In a finished table rows are sorted by (start, location, end); keys are distinct, save that more
///   allocations than four bytes count are spread over several rows; no row starts and ends in one tick
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Tick of the allocation.
    pub start: u32,
    /// Where it was made.
    pub location: LocationId,
    /// Tick of the deallocation, larger than `start`, or [`NEVER`].
    pub end: u32,
    /// Number of allocations. 0 for a part of a mapping whose last byte goes elsewhere or stays.
    pub allocations: u32,
    /// Bytes.
    pub bytes: u64,
    /// Sequence number of the first of the allocations.
    pub first_sequence: u64,
}

impl Interval {
    fn key(&self) -> (u32, LocationId, u32) {
        (self.start, self.location, self.end)
    }

    /// Adds `other` to this row, if that is the same key and the sum fits.
    fn absorb(&mut self, other: &Self) -> bool {
        if self.key() != other.key() {
            return false;
        }
        let allocations = self.allocations.checked_add(other.allocations);
        let bytes = self.bytes.checked_add(other.bytes);
        let (Some(allocations), Some(bytes)) = (allocations, bytes) else {
            return false;
        };
        (self.allocations, self.bytes) = (allocations, bytes);
        self.first_sequence = self.first_sequence.min(other.first_sequence);
        true
    }
}

/// Rows from which on cores share their sorting.
const MIN_ROWS_TO_SHARE: usize = 1 << 14;

/// All columns take part, so that rows too large to be added up have an order too.
fn order(a: &Interval, b: &Interval) -> Ordering {
    let key = |row: &Interval| (u64::from(row.start) << 32) | u64::from(row.location.0);
    let rest = |row: &Interval| (row.end, row.allocations, row.bytes, row.first_sequence);
    key(a).cmp(&key(b)).then_with(|| rest(a).cmp(&rest(b)))
}

/// Sorts rows and adds up those of equal keys.
pub(crate) fn merge(mut rows: Vec<Interval>) -> Vec<Interval> {
    if rows.len() < MIN_ROWS_TO_SHARE {
        rows.sort_unstable_by(order);
    } else {
        rows.par_sort_unstable_by(order);
    }
    rows.dedup_by(|later, earlier| earlier.absorb(later));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(start: u32, location: u32, end: u32, allocations: u32, bytes: u64) -> Interval {
        Interval {
            start,
            location: LocationId(location),
            end,
            allocations,
            bytes,
            first_sequence: 0,
        }
    }

    #[test]
    fn equal_keys_add_up() {
        let rows = vec![
            row(1, 0, 3, 1, 10),
            row(0, 5, NEVER, 1, 7),
            row(1, 0, 3, 2, 5),
            row(1, 0, 2, 1, 1),
        ];
        assert_eq!(
            merge(rows),
            [
                row(0, 5, NEVER, 1, 7),
                row(1, 0, 2, 1, 1),
                row(1, 0, 3, 3, 15)
            ]
        );
    }

    #[test]
    fn sums_that_do_not_fit_stay_apart() {
        let rows = vec![row(0, 0, 1, u32::MAX, 1), row(0, 0, 1, 2, 1)];
        let merged = merge(rows);
        assert_eq!(
            merged.iter().map(|r| u64::from(r.allocations)).sum::<u64>(),
            u64::from(u32::MAX) + 2
        );
    }
}
