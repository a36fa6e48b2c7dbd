//! What one lane, or the mapped ranges, has to tell of its events.

use memreport_ingest::{LocationId, Tally};

use crate::interval_table::{Interval, merge};
use crate::sizes::SizeCounts;
use crate::slices::{Segment, Slices};

/// Bytes that stop being live.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Death {
    /// Sequence number of their allocation.
    pub(crate) birth: u64,
    pub(crate) bytes: u64,
    pub(crate) location: LocationId,
    /// Index in the batch of the event that ends them.
    pub(crate) index: u32,
    /// 1 if an allocation ends with them; 0 for a part of a mapping.
    pub(crate) allocations: u32,
}

/// Rows that may pile up in an open slice before equal ones are added up.
const MIN_ROWS_TO_MERGE: usize = 1 << 18;

/// Counts by location and size, and the rows of the interval table, of one lane.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Deaths of the batch at hand, in order.
    pub(crate) deaths: Vec<Death>,
    /// Allocations and bytes ever made, by location.
    pub(crate) made: Vec<Tally>,
    pub(crate) sizes: SizeCounts,
    rows: Vec<Interval>,
    /// Rows before this index belong to finished slices and are merged.
    merged: usize,
    /// Rows that end in the open slice, after its peak as far as it is known. Their end is not set.
    pending: Vec<Interval>,
    merge_at: usize,
}

impl Ledger {
    #[inline(always)]
    pub(crate) fn made(&mut self, location: LocationId, size: u64) {
        match self.made.get_mut(location.index()) {
            Some(tally) => tally.add(size),
            None => self.made_first(location, size),
        }
        self.sizes.add(size);
    }

    #[cold]
    fn made_first(&mut self, location: LocationId, size: u64) {
        self.made.resize(location.index() + 1, Tally::default());
        if let Some(tally) = self.made.last_mut() {
            tally.add(size);
        }
    }

    /// Turns the batch's deaths into rows.
    ///
    /// A slice's peak may still move while the slice is open, but only to events to come. So a death
    /// before the peak known so far ends in the even tick for good; and of a block that lives and dies
    /// after it both ends are in one tick, wherever the peak ends up. What is left, deaths after the peak
    /// of blocks from before it, waits until the peak moves past them or the slice closes.
    pub(crate) fn finalise(&mut self, segments: &[Segment], first_sequence: u64, slices: &Slices) {
        let deaths = std::mem::take(&mut self.deaths);
        let mut next = 0;
        for segment in segments {
            if segment.moved {
                self.peak_moved(segment.slice);
            }
            while let Some(death) = deaths.get(next).filter(|death| death.index < segment.end) {
                self.death(
                    death,
                    first_sequence + u64::from(death.index),
                    segment,
                    slices,
                );
                next += 1;
            }
            if segment.closed {
                self.close(segment.slice);
            } else if self.rows.len() - self.merged + self.pending.len()
                > self.merge_at.max(MIN_ROWS_TO_MERGE)
            {
                self.merge_open();
                self.merge_at = 2 * (self.rows.len() - self.merged + self.pending.len());
            }
        }
        self.deaths = deaths;
        self.deaths.clear();
    }

    /// Ends the last slice.
    pub(crate) fn finish(&mut self, last: &Segment) {
        self.close(last.slice);
    }

    #[inline]
    fn death(&mut self, death: &Death, sequence: u64, segment: &Segment, slices: &Slices) {
        let born_here = death.birth >= segment.slice_start;
        let tick = 2 * segment.slice;
        let before_peak = sequence < segment.moment;
        if born_here && (before_peak || death.birth >= segment.moment) {
            return;
        }
        let start = if born_here {
            tick
        } else {
            slices.tick_of(death.birth)
        };
        let row = Interval {
            start,
            end: tick,
            location: death.location,
            allocations: death.allocations,
            bytes: death.bytes,
            first_sequence: death.birth,
        };
        if before_peak {
            self.rows.push(row);
        } else {
            self.pending.push(row);
        }
    }

    /// What waited ends before the peak after all: in the even tick. Blocks born in this slice then
    /// lived and died in that tick.
    fn peak_moved(&mut self, slice: u32) {
        let end = 2 * slice;
        self.rows
            .extend(self.pending.drain(..).filter(|row| row.start != end));
    }

    fn close(&mut self, slice: u32) {
        let end = 2 * slice + 1;
        self.rows
            .extend(self.pending.drain(..).map(|row| Interval { end, ..row }));
        let open = self.rows.split_off(self.merged);
        self.rows.extend(merge(open));
        self.merged = self.rows.len();
        self.merge_at = 0;
    }

    fn merge_open(&mut self) {
        let open = self.rows.split_off(self.merged);
        self.rows.extend(merge(open));
        self.pending = merge(std::mem::take(&mut self.pending));
    }

    /// The rows of all finished slices.
    pub(crate) fn take_rows(&mut self) -> Vec<Interval> {
        std::mem::take(&mut self.rows)
    }
}
