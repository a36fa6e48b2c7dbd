//! Threads: their names, and the stack that each is in.

use memreport_capture::Allocator;
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::id::{LocationId, NodeId, StringId, ThreadId};

/// A thread, or greenlet, of the traced process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// memray's number for it.
    pub id: u64,
    /// Its last name in the capture; may be empty.
    pub name: StringId,
}

/// How many locations a thread keeps at hand, as a power of two.
const CACHE_BITS: u32 = 8;

/// What a thread is doing.
#[derive(Debug)]
pub(crate) struct ThreadState {
    pub(crate) thread: Thread,
    stack: Vec<NodeId>,
    /// Locations that the thread allocated at lately, with the stack and allocator of each.
    cached: Vec<(u64, LocationId)>,
}

impl ThreadState {
    fn new(id: u64) -> Self {
        Self {
            thread: Thread {
                id,
                name: StringId(0),
            },
            stack: Vec::new(),
            cached: vec![(0, LocationId::NONE); 1 << CACHE_BITS],
        }
    }

    /// The stack that the thread is in.
    #[inline(always)]
    pub(crate) fn node(&self) -> NodeId {
        self.stack.last().copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn push(&mut self, node: NodeId) {
        self.stack.push(node);
    }

    /// Leaves `count` frames; `false` if there are not so many.
    #[inline]
    pub(crate) fn pop(&mut self, count: u32) -> bool {
        let left = self.stack.len().checked_sub(count as usize);
        self.stack.truncate(left.unwrap_or(0));
        left.is_some()
    }

    /// The location of this stack and allocator, if the thread allocated there lately.
    #[inline(always)]
    pub(crate) fn cached(&self, allocator: Allocator) -> Option<LocationId> {
        let key = self.cache_key(allocator);
        let &(cached_for, location) = self.cached.get(place(key))?;
        (cached_for == key).then_some(location)
    }

    #[inline]
    pub(crate) fn cache(&mut self, allocator: Allocator, location: LocationId) {
        let key = self.cache_key(allocator);
        if let Some(slot) = self.cached.get_mut(place(key)) {
            *slot = (key, location);
        }
    }

    /// Stack and allocator, never 0: allocators count from 1.
    #[inline(always)]
    fn cache_key(&self, allocator: Allocator) -> u64 {
        (u64::from(self.node().0) << 4) | allocator as u64
    }
}

/// Where a key's location is kept.
#[inline(always)]
fn place(key: u64) -> usize {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CACHE_BITS);
    usize::try_from(mixed).unwrap_or(0)
}

/// All threads met so far, in the order of their first appearance.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    states: Vec<ThreadState>,
    numbers: FxHashMap<u64, ThreadId>,
}

impl Threads {
    /// Finds or adds a thread.
    pub(crate) fn intern(&mut self, id: u64) -> Result<ThreadId, Error> {
        if let Some(&thread) = self.numbers.get(&id) {
            return Ok(thread);
        }
        let thread = ThreadId::new(self.states.len()).ok_or(Error::TooMany { what: "threads" })?;
        self.states.push(ThreadState::new(id));
        self.numbers.insert(id, thread);
        Ok(thread)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, thread: ThreadId) -> Option<&mut ThreadState> {
        self.states.get_mut(thread.index())
    }

    pub(crate) fn threads(&self) -> Vec<Thread> {
        self.states.iter().map(|state| state.thread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn popping_too_much_empties_the_stack() {
        let mut state = ThreadState::new(1);
        state.push(NodeId(1));
        state.push(NodeId(2));
        assert!(state.pop(1));
        assert_eq!(state.node(), NodeId(1));
        assert!(!state.pop(2));
        assert_eq!(state.node(), NodeId(0));
    }

    #[test]
    fn cached_locations_belong_to_a_stack_and_an_allocator() {
        let mut state = ThreadState::new(1);
        state.cache(Allocator::Malloc, LocationId(7));
        assert_eq!(state.cached(Allocator::Malloc), Some(LocationId(7)));
        assert_eq!(state.cached(Allocator::Calloc), None);
        state.push(NodeId(1));
        assert_eq!(state.cached(Allocator::Malloc), None);
        state.cache(Allocator::Calloc, LocationId(8));
        assert_eq!(state.cached(Allocator::Malloc), None);
        state.pop(1);
        assert_eq!(state.cached(Allocator::Malloc), Some(LocationId(7)));
    }
}
