//! Events, in batches that cross from decoding to matching.

use crossbeam_channel::{Receiver, Sender};

use crate::id::LocationId;

/// An allocation or deallocation of a single block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Address of the block.
    pub address: u64,
    /// Bytes; 0 for deallocations.
    pub size: u64,
    /// Where it is allocated, or [`LocationId::NONE`]: a deallocation.
    pub location: LocationId,
    /// Index in the batch.
    pub index: u32,
}

/// A mapping or unmapping of a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangedEvent {
    /// First address.
    pub address: u64,
    /// Bytes. `address + length` fits in 64 bits.
    pub length: u64,
    /// Where it is mapped, or [`LocationId::NONE`]: an unmapping.
    pub location: LocationId,
    /// Index in the batch.
    pub index: u32,
}

/// A memory snapshot: the end of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Milliseconds since the epoch; not always ascending.
    pub time_ms: u64,
    /// Resident set size in bytes.
    pub rss: u64,
    /// Number of events of the batch that come before it.
    pub at: u32,
}

/// Consecutive events of a capture.
///
/// * Shape: events lie in lanes by their address ([`lane_of`]), so that what happens to one address is
///   all in one lane; within a lane, and among ranged events, they are in the order of the capture
/// * Events that change nothing (failed allocations) have a sequence number but are in no lane
#[derive(Debug, Default)]
pub struct Batch {
    /// Sequence number of the batch's first event.
    pub first_sequence: u64,
    /// Number of events, ranged and failed ones included.
    pub n_events: u32,
    /// Events of single blocks, by lane.
    pub lanes: Vec<Vec<Event>>,
    /// Events of ranges.
    pub ranged: Vec<RangedEvent>,
    /// Snapshots within the batch, in order.
    pub snapshots: Vec<Snapshot>,
}

impl Batch {
    pub(crate) fn new(n_lanes: usize) -> Self {
        Self {
            lanes: vec![Vec::new(); n_lanes],
            ..Self::default()
        }
    }

    /// The index of the next event.
    #[inline]
    pub(crate) fn number(&mut self) -> u32 {
        let index = self.n_events;
        self.n_events += 1;
        index
    }

    /// Appends an event to its lane.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: Event) {
        let lane = lane_of(event.address, self.lanes.len());
        if let Some(lane) = self.lanes.get_mut(lane) {
            lane.push(event);
        }
    }

    pub(crate) fn clear(&mut self, first_sequence: u64) {
        self.first_sequence = first_sequence;
        self.n_events = 0;
        self.lanes.iter_mut().for_each(Vec::clear);
        self.ranged.clear();
        self.snapshots.clear();
    }
}

/// The lane of an address, of `n_lanes` (a power of two).
#[inline]
#[must_use]
pub fn lane_of(address: u64, n_lanes: usize) -> usize {
    // Bits that are neither constant by alignment nor those that a table indexed by the top bits of
    // the same product would use.
    let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
    usize::try_from(mixed & 0xffff).unwrap_or(0) & n_lanes.wrapping_sub(1)
}

/// The batches of a capture, in order.
#[derive(Debug)]
pub struct Batches {
    pub(crate) full: Receiver<Batch>,
    pub(crate) empty: Sender<Batch>,
}

impl Batches {
    /// Gives a batch back, so that its memory is used again.
    pub fn recycle(&self, batch: Batch) {
        // The decoder may be done already; then there is no use for it.
        let _ = self.empty.try_send(batch);
    }
}

impl Iterator for Batches {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        self.full.recv().ok()
    }
}
