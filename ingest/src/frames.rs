//! Distinct frames: function, file, line.

use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::id::{FrameId, StringId};

/// A place in a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Frame {
    /// Name of the function, not qualified.
    pub function: StringId,
    /// Path of its file, as the program knew it.
    pub file: StringId,
    /// Line, or 0 if it is not known.
    pub line: i32,
    /// Whether it is a native frame, not one of Python.
    pub is_native: bool,
}

/// Distinct frames, by number.
///
/// * Shape: frame 0 is the root's and belongs to no stack
#[derive(Debug, Clone)]
pub struct FrameTable {
    frames: Vec<Frame>,
    numbers: FxHashMap<Frame, FrameId>,
}

impl Default for FrameTable {
    fn default() -> Self {
        Self {
            frames: vec![Frame::default()],
            numbers: FxHashMap::default(),
        }
    }
}

impl FrameTable {
    /// Finds or adds a frame.
    ///
    /// # Errors
    /// [`Error::TooMany`] past four thousand million frames.
    pub fn intern(&mut self, frame: Frame) -> Result<FrameId, Error> {
        if let Some(&id) = self.numbers.get(&frame) {
            return Ok(id);
        }
        let id = FrameId::new(self.frames.len()).ok_or(Error::TooMany { what: "frames" })?;
        self.frames.push(frame);
        self.numbers.insert(frame, id);
        Ok(id)
    }

    /// The frame of a number; an empty one for a number that is not in the table.
    #[must_use]
    pub fn get(&self, id: FrameId) -> Frame {
        self.frames.get(id.index()).copied().unwrap_or_default()
    }

    /// All frames, the root's first.
    #[must_use]
    pub fn as_slice(&self) -> &[Frame] {
        &self.frames
    }
}
