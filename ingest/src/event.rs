//! Events, in batches that cross from decoding to matching.

use crossbeam_channel::{Receiver, Sender};

use crate::id::{LocationId, ThreadId};

/// An allocation or deallocation of a single block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Address of the block; 0 is that of none.
    pub address: u64,
    /// Bytes; 0 for deallocations.
    pub size: u64,
    /// Where it is allocated, or [`LocationId::NONE`]: a deallocation.
    pub location: LocationId,
    /// The thread that made the call.
    pub thread: ThreadId,
}

impl Event {
    /// A call that failed, or one about a range.
    pub(crate) const NOTHING: Self = Self {
        address: 0,
        size: 0,
        location: LocationId::NONE,
        thread: ThreadId::NONE,
    };
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
    /// The thread that made the call.
    pub thread: ThreadId,
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

/// Consecutive events of a capture, in its order.
#[derive(Debug, Default)]
pub struct Batch {
    /// Sequence number of the batch's first event.
    pub first_sequence: u64,
    /// All events. Calls that failed, or are about a range, are deallocations of address 0 by no thread.
    pub events: Vec<Event>,
    /// Events of ranges.
    pub ranged: Vec<RangedEvent>,
    /// Snapshots within the batch.
    pub snapshots: Vec<Snapshot>,
}

impl Batch {
    /// Number of events: the index of the next.
    #[inline]
    #[must_use]
    pub fn n_events(&self) -> u32 {
        u32::try_from(self.events.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn clear(&mut self, first_sequence: u64) {
        self.first_sequence = first_sequence;
        self.events.clear();
        self.ranged.clear();
        self.snapshots.clear();
    }
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
