//! Stacks and names as outputs write them.

use memreport_aggregate::Profile;
use memreport_aggregate::ingest::{Frame, FrameId, Thread, ThreadId};
use rustc_hash::FxHashMap;

/// Stands where a stack would, for allocations without one.
pub(crate) const NO_STACK: &str = "<stack trace unavailable>";

/// The label of a thread: its number in hexadecimal, and its name if it has one.
pub(crate) fn thread_label(profile: &Profile, thread: &Thread) -> String {
    let name = profile.strings.text(thread.name);
    if name.is_empty() {
        format!("{:#x}", thread.id)
    } else {
        format!("{:#x} ({name})", thread.id)
    }
}

/// memray's number of a thread.
pub(crate) fn thread_id(profile: &Profile, thread: ThreadId) -> u64 {
    profile
        .threads
        .get(thread.index())
        .map_or(0, |thread| thread.id)
}

/// Gives things numbers from 0 in the order in which they are first asked for.
#[derive(Debug)]
pub(crate) struct Numbering<T> {
    numbers: FxHashMap<T, usize>,
    things: Vec<T>,
}

impl<T> Default for Numbering<T> {
    fn default() -> Self {
        Self {
            numbers: FxHashMap::default(),
            things: Vec::new(),
        }
    }
}

impl<T: Copy + Eq + std::hash::Hash> Numbering<T> {
    pub(crate) fn number(&mut self, thing: T) -> usize {
        *self.numbers.entry(thing).or_insert_with(|| {
            self.things.push(thing);
            self.things.len() - 1
        })
    }

    /// The number of a thing that has one.
    pub(crate) fn get(&self, thing: T) -> Option<usize> {
        self.numbers.get(&thing).copied()
    }

    /// The things, by number.
    pub(crate) fn things(&self) -> &[T] {
        &self.things
    }
}

/// The frame of an id, with its names.
pub(crate) fn frame(profile: &Profile, id: FrameId) -> (Frame, String, String) {
    let frame = profile.frames.get(id);
    let text = |id| profile.strings.text(id).into_owned();
    (frame, text(frame.function), text(frame.file))
}
