//! Locations: where allocations are made, by what stack, thread and allocator.

use hashbrown::HashTable;
use memreport_capture::Allocator;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

use crate::error::Error;
use crate::id::{FrameId, LocationId, NodeId, StackId, StringId, ThreadId};

/// A place that allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// The stack as it is shown: resolved, without the profiler's own frames.
    pub node: NodeId,
    /// The stack as the capture distinguishes it. Locations of one such stack have one `node`, but
    /// not the reverse: two instructions of one line differ.
    pub stack: StackId,
    /// The innermost Python frame, even if it is one of the profiler's own; frame 0 without a Python
    /// stack.
    pub python_frame: FrameId,
    /// The top-level module that the allocation is made for: that of the innermost Python frame which is
    /// not the standard library's, or `<root>`. Empty if no path in the capture says what is a module.
    pub module: StringId,
    /// The allocating thread.
    pub thread: ThreadId,
    /// The allocation function.
    pub allocator: Allocator,
    /// Sequence number of the first allocation made here.
    pub first_sequence: u64,
}

/// A location as it is met in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RecordedLocation {
    pub(crate) node: NodeId,
    pub(crate) thread: ThreadId,
    pub(crate) allocator: Allocator,
    /// Native stack and memory map, 0 without native traces.
    pub(crate) native_id: u64,
    pub(crate) generation: u32,
}

/// Distinct locations in the order of their first event.
#[derive(Debug, Default)]
pub(crate) struct Locations {
    rows: Vec<(RecordedLocation, u64)>,
    numbers: HashTable<LocationId>,
}

impl Locations {
    /// Finds or adds a location; `sequence` is the event that needs it.
    #[inline]
    pub(crate) fn intern(
        &mut self,
        key: RecordedLocation,
        sequence: u64,
    ) -> Result<LocationId, Error> {
        let rows = &self.rows;
        let hash = FxBuildHasher.hash_one(key);
        let equal = |id: &LocationId| rows.get(id.index()).is_some_and(|(k, _)| *k == key);
        if let Some(&id) = self.numbers.find(hash, equal) {
            return Ok(id);
        }
        let id = LocationId::new(rows.len()).ok_or(Error::TooMany { what: "locations" })?;
        self.rows.push((key, sequence));
        let rows = &self.rows;
        let rehash = |id: &LocationId| {
            rows.get(id.index())
                .map_or(0, |(k, _)| FxBuildHasher.hash_one(k))
        };
        self.numbers.insert_unique(hash, id, rehash);
        Ok(id)
    }

    pub(crate) fn finish(self) -> Vec<(RecordedLocation, u64)> {
        self.rows
    }
}
