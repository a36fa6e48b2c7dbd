//! Frames as records tell them.

use memreport_capture::{CodeObject, CodePush, FrameIndex, PythonVersion};
use rustc_hash::FxHashMap;

use crate::call_tree::TreeKey;
use crate::error::Error;
use crate::frames::Frame;
use crate::id::StringId;
use crate::line_table;
use crate::strings::StringTable;

/// What identifies a frame in the capture: a frame's id up to format 11, then a place in a code
/// object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RecordedFrame {
    id: u64,
    offset: i64,
    is_entry: bool,
}

impl TreeKey for RecordedFrame {
    #[inline]
    fn bits(&self) -> u64 {
        (self.id << 20) ^ (self.offset.cast_unsigned() << 1) ^ u64::from(self.is_entry)
    }
}

impl From<CodePush> for RecordedFrame {
    #[inline]
    fn from(push: CodePush) -> Self {
        Self {
            id: push.code_id,
            offset: push.instruction_offset,
            is_entry: push.is_entry,
        }
    }
}

impl From<u64> for RecordedFrame {
    #[inline]
    fn from(id: u64) -> Self {
        Self {
            id,
            offset: 0,
            is_entry: true,
        }
    }
}

/// What an id stands for.
#[derive(Debug)]
struct Definition {
    function: StringId,
    file: StringId,
    /// Line of the frame, or first line of the code object.
    line: i32,
    /// Line table of a code object.
    line_table: Option<Box<[u8]>>,
    /// Of a frame up to format 11: whether the interpreter's loop was entered for it.
    is_entry: bool,
}

/// Definitions of frames and code objects, by id.
#[derive(Debug, Default)]
pub(crate) struct Definitions(FxHashMap<u64, Definition>);

impl Definitions {
    /// Adds a code object; `false` if its id is taken.
    pub(crate) fn add_code(
        &mut self,
        strings: &mut StringTable,
        code: &CodeObject<'_>,
    ) -> Result<bool, Error> {
        let definition = Definition {
            function: strings.intern(code.function)?,
            file: strings.intern(code.file)?,
            line: code.first_line,
            line_table: Some(code.line_table.into()),
            is_entry: true,
        };
        Ok(self.add(code.id, definition))
    }

    /// Adds a frame; `false` if its id is taken.
    pub(crate) fn add_frame(
        &mut self,
        strings: &mut StringTable,
        frame: &FrameIndex<'_>,
    ) -> Result<bool, Error> {
        let definition = Definition {
            function: strings.intern(frame.function)?,
            file: strings.intern(frame.file)?,
            line: frame.line,
            line_table: None,
            is_entry: frame.is_entry,
        };
        Ok(self.add(frame.id, definition))
    }

    fn add(&mut self, id: u64, definition: Definition) -> bool {
        let new = !self.0.contains_key(&id);
        self.0.entry(id).or_insert(definition);
        new
    }

    pub(crate) fn contains(&self, frame: RecordedFrame) -> bool {
        self.0.contains_key(&frame.id)
    }

    /// The frame to show. An id that was never defined gives a frame without names.
    pub(crate) fn resolve(&self, frame: RecordedFrame, python: PythonVersion) -> Frame {
        let Some(definition) = self.0.get(&frame.id) else {
            return Frame::default();
        };
        let line = match &definition.line_table {
            Some(table) => line_table::line(python, table, definition.line, frame.offset),
            None => definition.line,
        };
        Frame {
            function: definition.function,
            file: definition.file,
            line,
            is_native: false,
        }
    }

    /// The file of a frame; none if its id was never defined.
    pub(crate) fn file(&self, frame: RecordedFrame) -> StringId {
        self.0
            .get(&frame.id)
            .map_or(StringId::default(), |definition| definition.file)
    }

    /// Whether the interpreter's loop was entered for the frame.
    pub(crate) fn is_entry(&self, frame: RecordedFrame) -> bool {
        frame.is_entry
            && self
                .0
                .get(&frame.id)
                .is_none_or(|definition| definition.is_entry)
    }
}
