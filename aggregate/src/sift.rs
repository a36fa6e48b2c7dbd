//! The first pass over a batch: what can be settled without looking up what is live.

use std::sync::atomic::AtomicI64;

use memreport_ingest::{Batch, Event, LocationId, RangedEvent};

use crate::lanes::{LaneEvent, Lanes};
use crate::lately_used::{LatelyUsed, ShortLived};
use crate::ledger::{Death, Ledger};
use crate::slices::{Segment, Slices};
use crate::temporaries::RecentTemporaries;

/// Addresses that are remembered. Most blocks that live briefly end before so many others were used, and
/// all of it fits in a core's own cache.
const REMEMBERED: usize = 512;

/// Counts single blocks by location and size, finds temporary allocations, settles short-lived blocks,
/// and divides all other events into lanes.
#[derive(Debug)]
pub(crate) struct Sift {
    /// Counts of all single blocks, and rows of short-lived ones.
    pub(crate) ledger: Ledger,
    pub(crate) temporaries: RecentTemporaries,
    /// Of the batch at hand.
    pub(crate) lanes: Lanes,
    lately_used: LatelyUsed<REMEMBERED>,
    /// Of the batch at hand, by their ends.
    short_lived: Vec<ShortLived>,
}

impl Sift {
    pub(crate) fn new(n_lanes: usize, temporary_threshold: usize) -> Self {
        Self {
            ledger: Ledger::default(),
            temporaries: RecentTemporaries::new(temporary_threshold),
            lanes: Lanes::new(n_lanes),
            lately_used: LatelyUsed::new(),
            short_lived: Vec::new(),
        }
    }

    /// Takes a batch. Fills `deltas` with each event's change of the heap; those of events in lanes, and of
    /// ranged ones, are still to be set.
    pub(crate) fn add(&mut self, batch: &Batch, deltas: &mut Vec<AtomicI64>) {
        self.lanes.clear();
        self.short_lived.clear();
        let mut ranged = batch.ranged.iter();
        deltas.clear();
        deltas.extend((0_u32..).zip(&batch.events).map(|(index, event)| {
            AtomicI64::new(if event.address == 0 {
                self.no_block(event, index, &mut ranged)
            } else if event.location == LocationId::NONE {
                self.end(event, index)
            } else {
                self.begin(event, index)
            })
        }));
        self.lately_used.flush(&mut self.lanes);
    }

    #[inline(always)]
    fn begin(&mut self, event: &Event, index: u32) -> i64 {
        let Event {
            address,
            size,
            location,
            thread,
        } = *event;
        self.ledger.made(location, size);
        self.temporaries.allocated(thread, address, size, location);
        let event = LaneEvent {
            address,
            size,
            location,
            index,
        };
        self.lately_used.begin(event, &mut self.lanes);
        size.cast_signed()
    }

    #[inline(always)]
    fn end(&mut self, event: &Event, index: u32) -> i64 {
        let Event {
            address, thread, ..
        } = *event;
        self.temporaries.freed(thread, address, None);
        match self.lately_used.end(address, index, &mut self.lanes) {
            Some(block) => {
                self.short_lived.push(block);
                block.size.cast_signed().wrapping_neg()
            }
            None => 0,
        }
    }

    /// `event` is about no single block, but perhaps about a range.
    #[cold]
    fn no_block<'a>(
        &mut self,
        event: &Event,
        index: u32,
        ranged: &mut (impl Iterator<Item = &'a RangedEvent> + Clone),
    ) -> i64 {
        let Some(event) = ranged.clone().next().filter(|event| event.index == index) else {
            self.temporaries.freed(event.thread, event.address, None);
            return 0;
        };
        ranged.next();
        let RangedEvent {
            address,
            length,
            location,
            thread,
            ..
        } = *event;
        if location == LocationId::NONE {
            self.temporaries.freed(thread, address, Some(length));
        } else {
            self.temporaries
                .allocated(thread, address, length, location);
        }
        0
    }

    /// Turns short-lived blocks into rows where they must be: one whose both ends lie in one tick leaves
    /// nothing.
    pub(crate) fn finalise(&mut self, segments: &[Segment], first_sequence: u64, slices: &Slices) {
        let mut from = 0;
        for segment in segments {
            let rest = self.short_lived.get(from..).unwrap_or_default();
            let n = rest.partition_point(|block| block.end < segment.end);
            let slice_start = segment.slice_start.saturating_sub(first_sequence);
            let moment = segment.moment.saturating_sub(first_sequence);
            let is_parted = |block: &&ShortLived| {
                let (begin, end) = (u64::from(block.begin), u64::from(block.end));
                begin < slice_start || (begin < moment && end >= moment)
            };
            let parted = rest.iter().take(n).filter(is_parted);
            self.ledger.deaths.extend(parted.map(|block| Death {
                birth: first_sequence + u64::from(block.begin),
                bytes: block.size,
                location: block.location,
                index: block.end,
                allocations: 1,
            }));
            from += n;
        }
        self.ledger.finalise(segments, first_sequence, slices);
    }
}
