//! Slices: the stretches between memory snapshots, and the heap in them.

use std::sync::atomic::{AtomicI64, Ordering};

use memreport_ingest::Batch;

use crate::error::Error;

/// Neighbouring slices, by number; both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceRange {
    /// First slice.
    pub first: usize,
    /// Last slice.
    pub last: usize,
}

/// Memory over time.
///
/// * Shape: S snapshots divide the run into S + 1 slices; slice s ends with snapshot s, the last one
///   with the capture
/// * Units: bytes; milliseconds since the epoch; a moment is a number of events processed
/// * Source: `semantics.md`, sections 5 and 7.1
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slices {
    /// Time of each snapshot. From a clock that can be set: not always ascending.
    pub times_ms: Vec<u64>,
    /// Resident set size at each snapshot.
    pub rss: Vec<u64>,
    /// Heap at the end of each slice.
    pub heap: Vec<u64>,
    /// Highest heap in each slice, its start included.
    pub peaks: Vec<u64>,
    /// How many events had been processed when the slice's peak was reached, at the latest.
    pub moments: Vec<u64>,
    /// How many events had been processed at the slice's end.
    pub ends: Vec<u64>,
}

impl Slices {
    /// Number of slices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.peaks.len()
    }

    /// Whether there is no slice; a finished profile has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.peaks.is_empty()
    }

    /// Number of memory snapshots.
    #[must_use]
    pub fn n_snapshots(&self) -> usize {
        self.times_ms.len()
    }

    /// All slices.
    #[must_use]
    pub fn whole_run(&self) -> SliceRange {
        SliceRange {
            first: 0,
            last: self.len().saturating_sub(1),
        }
    }

    /// The slice in `range` with the highest peak. Of several, the one whose peak is reached last; of
    /// those, when nothing happened in between, the first.
    #[must_use]
    pub fn peak_slice(&self, range: SliceRange) -> usize {
        let mut best = range.first;
        for slice in range.first..=range.last.min(self.len().saturating_sub(1)) {
            if self.rank(slice) > self.rank(best) {
                best = slice;
            }
        }
        best
    }

    fn rank(&self, slice: usize) -> Option<(u64, u64)> {
        Some((*self.peaks.get(slice)?, *self.moments.get(slice)?))
    }

    /// The high water mark: the largest heap of the whole run, in bytes.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peaks.iter().copied().max().unwrap_or(0)
    }

    /// The tick of an event in a finished slice: twice the slice's number if its peak comes with or
    /// after the event, else one more.
    pub(crate) fn tick_of(&self, sequence: u64) -> u32 {
        let slice = self.ends.partition_point(|&end| end <= sequence);
        let after_peak = self
            .moments
            .get(slice)
            .is_none_or(|&moment| sequence >= moment);
        u32::try_from(2 * slice).unwrap_or(u32::MAX - 1) + u32::from(after_peak)
    }
}

/// A run of a batch's events that lie in one slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment {
    /// Events of the batch up to this index (excluded) belong to it, or to segments before.
    pub(crate) end: u32,
    /// The slice's number.
    pub(crate) slice: u32,
    /// Sequence number of the slice's first event.
    pub(crate) slice_start: u64,
    /// Moment of the slice's peak, as far as is known at the segment's end.
    pub(crate) moment: u64,
    /// Whether that moment lies within this segment.
    pub(crate) moved: bool,
    /// Whether the slice ends with this segment.
    pub(crate) closed: bool,
}

/// The running heap, and the slice that is open.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub(crate) slices: Slices,
    heap: i64,
    peak: i64,
    moment: u64,
    slice_start: u64,
}

impl Scan {
    /// Adds a batch's changes to the heap, in order, and returns its segments.
    pub(crate) fn add(
        &mut self,
        batch: &Batch,
        deltas: &[AtomicI64],
    ) -> Result<Vec<Segment>, Error> {
        let mut segments = Vec::with_capacity(batch.snapshots.len() + 1);
        let mut from = 0;
        for snapshot in &batch.snapshots {
            segments.push(self.segment(batch, deltas, from, snapshot.at, true)?);
            self.slices.times_ms.push(snapshot.time_ms);
            self.slices.rss.push(snapshot.rss);
            from = snapshot.at;
        }
        if from < batch.n_events() {
            segments.push(self.segment(batch, deltas, from, batch.n_events(), false)?);
        }
        Ok(segments)
    }

    /// Ends the last slice.
    pub(crate) fn finish(&mut self, n_events: u64) -> Segment {
        self.close(n_events);
        let slice = u32::try_from(self.slices.len() - 1).unwrap_or(u32::MAX);
        let moment = self.slices.moments.last().copied().unwrap_or(0);
        Segment {
            end: 0,
            slice,
            slice_start: self.slice_start,
            moment,
            moved: false,
            closed: true,
        }
    }

    fn segment(
        &mut self,
        batch: &Batch,
        deltas: &[AtomicI64],
        from: u32,
        end: u32,
        closed: bool,
    ) -> Result<Segment, Error> {
        let slice = u32::try_from(self.slices.len())
            .ok()
            .filter(|&slice| slice < u32::MAX / 2 - 1);
        let slice = slice.ok_or(Error::TooManySnapshots)?;
        let before = self.moment;
        let first = batch.first_sequence + u64::from(from);
        let changes = deltas.get(from as usize..end as usize).unwrap_or_default();
        for (sequence, change) in (first..).zip(changes) {
            let Some(heap) = self.heap.checked_add(change.load(Ordering::Relaxed)) else {
                return Err(Error::HeapOverflow { sequence });
            };
            self.heap = heap;
            if self.heap >= self.peak {
                self.peak = self.heap;
                self.moment = sequence + 1;
            }
        }
        let segment = Segment {
            end,
            slice,
            slice_start: self.slice_start,
            moment: self.moment,
            moved: self.moment != before,
            closed,
        };
        if closed {
            self.close(batch.first_sequence + u64::from(end));
        }
        Ok(segment)
    }

    fn close(&mut self, end: u64) {
        let heap = self.heap.cast_unsigned();
        self.slices.heap.push(heap);
        self.slices.peaks.push(self.peak.cast_unsigned());
        self.slices.moments.push(self.moment);
        self.slices.ends.push(end);
        // The next slice starts from here: its first state is this one.
        self.peak = self.heap;
        self.moment = end;
        self.slice_start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_latest_moment_then_to_the_first_slice() {
        let slices = Slices {
            peaks: vec![5, 9, 9, 9, 3],
            moments: vec![1, 4, 6, 6, 7],
            ..Slices::default()
        };
        let peak = |first, last| slices.peak_slice(SliceRange { first, last });
        assert_eq!(peak(0, 4), 2, "slice 3 adds nothing to slice 2");
        assert_eq!(peak(0, 1), 1);
        assert_eq!(peak(3, 4), 3);
        assert_eq!(peak(4, 99), 4);
    }

    #[test]
    fn events_up_to_the_peak_are_in_the_even_tick() {
        let slices = Slices {
            peaks: vec![1, 1],
            moments: vec![2, 5],
            ends: vec![4, 6],
            ..Slices::default()
        };
        let ticks: Vec<u32> = (0..6).map(|sequence| slices.tick_of(sequence)).collect();
        assert_eq!(ticks, [0, 0, 1, 1, 2, 3]);
    }
}
