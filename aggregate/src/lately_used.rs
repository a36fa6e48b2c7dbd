//! The addresses that were used last: most blocks live briefly, and end here.

use memreport_ingest::LocationId;

use crate::lanes::{LaneEvent, Lanes};

/// A block that begins and ends within one batch, at an address where nothing lived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShortLived {
    pub(crate) size: u64,
    pub(crate) location: LocationId,
    /// Index in the batch of its allocation.
    pub(crate) begin: u32,
    /// Index in the batch of its deallocation.
    pub(crate) end: u32,
}

/// What is known of the N addresses that were used last; N is a power of two.
///
/// An allocation waits here until its batch ends, or another address takes its slot. One that is freed
/// before, at an address where nothing lived, is a [`ShortLived`] block: nobody need look it up any more.
/// All others go to their lanes then.
#[derive(Debug)]
pub(crate) struct LatelyUsed<const N: usize> {
    slots: Box<[Slot; N]>,
}

/// * An address of 0: nothing is known
/// * No location: nothing lives at the address
/// * Else the allocation at the address, which waits
#[derive(Debug, Clone, Copy)]
struct Slot {
    event: LaneEvent,
    /// Whether nothing lived at the address before.
    was_free: bool,
}

impl Slot {
    const UNKNOWN: Self = Self::free(0);

    const fn free(address: u64) -> Self {
        let event = LaneEvent {
            address,
            size: 0,
            location: LocationId::NONE,
            index: 0,
        };
        Self {
            event,
            was_free: false,
        }
    }

    #[inline(always)]
    fn waits(&self) -> bool {
        self.event.location != LocationId::NONE
    }
}

impl<const N: usize> LatelyUsed<N> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Box::new([Slot::UNKNOWN; N]),
        }
    }

    /// A block begins, at an address that is not 0.
    #[inline(always)]
    pub(crate) fn begin(&mut self, event: LaneEvent, lanes: &mut Lanes) {
        let Some(slot) = self.slot(event.address) else {
            return;
        };
        let waited = slot.waits();
        if waited {
            lanes.push(slot.event);
        }
        let was_free = !waited && slot.event.address == event.address;
        *slot = Slot { event, was_free };
    }

    /// The block at `address`, which is not 0, ends with the event at `index`. Returns it if it was
    /// short-lived; else its end goes to its lane.
    #[inline(always)]
    pub(crate) fn end(
        &mut self,
        address: u64,
        index: u32,
        lanes: &mut Lanes,
    ) -> Option<ShortLived> {
        let slot = self.slot(address)?;
        let Slot { event, was_free } = *slot;
        let is_here = slot.waits() && event.address == address;
        if is_here || !slot.waits() {
            *slot = Slot::free(address);
        }
        if is_here && was_free {
            return Some(ShortLived {
                size: event.size,
                location: event.location,
                begin: event.index,
                end: index,
            });
        }
        if is_here {
            lanes.push(event);
        }
        lanes.push(LaneEvent {
            address,
            size: 0,
            location: LocationId::NONE,
            index,
        });
        None
    }

    /// The batch ends: what waits goes to its lane.
    pub(crate) fn flush(&mut self, lanes: &mut Lanes) {
        for slot in self.slots.iter_mut().filter(|slot| slot.waits()) {
            lanes.push(slot.event);
            *slot = Slot::UNKNOWN;
        }
    }

    #[inline(always)]
    fn slot(&mut self, address: u64) -> Option<&mut Slot> {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.slots.get_mut(usize::try_from(mixed).unwrap_or(0) % N)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Batch and index of an event.
    type At = (usize, u32);
    /// When a block began, and its size.
    type Live = (At, u64);
    /// When a block began and ended, and its size.
    type Death = (At, At, u64);

    /// An allocation at an address, a deallocation, or the end of a batch.
    #[derive(Debug, Clone, Copy)]
    enum Op {
        Begin(u64),
        End(u64),
        Flush,
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (1..12_u64).prop_map(|n| Op::Begin(n << 4)),
            6 => (1..12_u64).prop_map(|n| Op::End(n << 4)),
            1 => Just(Op::Flush),
        ]
    }

    /// The live blocks, and the ends of all others.
    #[derive(Default)]
    struct Model {
        live: HashMap<u64, Live>,
        deaths: Vec<Death>,
    }

    impl Model {
        fn begin(&mut self, address: u64, at: At, size: u64) {
            let ended = self.live.insert(address, (at, size));
            self.ended(ended, at);
        }

        fn end(&mut self, address: u64, at: At) {
            let ended = self.live.remove(&address);
            self.ended(ended, at);
        }

        fn ended(&mut self, ended: Option<Live>, at: At) {
            if let Some((begin, size)) = ended {
                self.deaths.push((begin, at, size));
            }
        }

        fn sorted(mut self) -> (Vec<Death>, Vec<Live>) {
            self.deaths.sort_unstable();
            let mut live: Vec<_> = self.live.into_values().collect();
            live.sort_unstable();
            (self.deaths, live)
        }
    }

    fn event(address: u64, location: LocationId, index: u32) -> LaneEvent {
        LaneEvent {
            address,
            size: u64::from(index) + 1,
            location,
            index,
        }
    }

    proptest! {
        /// Few slots, so that addresses take them from each other.
        #[test]
        fn every_block_ends_as_it_would_without(
            ops in prop::collection::vec(op(), 0..200),
        ) {
            let (mut all, mut left) = (Model::default(), Model::default());
            let (mut lately, mut lanes) = (LatelyUsed::<4>::new(), Lanes::new(2));
            let (mut batch, mut index) = (0, 0);
            for op in ops.into_iter().chain([Op::Flush]) {
                let at = (batch, index);
                match op {
                    Op::Begin(address) => {
                        let event = event(address, LocationId(0), index);
                        all.begin(address, at, event.size);
                        lately.begin(event, &mut lanes);
                        index += 1;
                    }
                    Op::End(address) => {
                        all.end(address, at);
                        if let Some(short) = lately.end(address, index, &mut lanes) {
                            prop_assert_eq!(short.end, index);
                            left.deaths.push(((batch, short.begin), at, short.size));
                        }
                        index += 1;
                    }
                    Op::Flush => {
                        lately.flush(&mut lanes);
                        for event in lanes.0.iter().flatten() {
                            let at = (batch, event.index);
                            if event.location == LocationId::NONE {
                                left.end(event.address, at);
                            } else {
                                left.begin(event.address, at, event.size);
                            }
                        }
                        lanes.clear();
                        (batch, index) = (batch + 1, 0);
                    }
                }
            }
            prop_assert_eq!(left.sorted(), all.sorted());
        }
    }
}
