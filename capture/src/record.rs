//! The records of a capture, as every version means them.

pub(crate) mod allocation;
pub(crate) mod code_object;
pub(crate) mod frame;
pub(crate) mod memory;
pub(crate) mod native;
pub(crate) mod object;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod thread;

pub use allocation::Allocation;
pub use code_object::CodeObject;
pub use frame::{CodePush, FrameIndex};
pub use memory::MemoryRecord;
pub use native::{NativeTrace, Segment, SegmentHeader};
pub use object::ObjectEvent;

/// One entry of a capture. Allocations, objects, pushes, pops and names belong to
/// [`Decoder::thread_id`](crate::Decoder::thread_id).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Record<'a> {
    /// An allocation or deallocation.
    Allocation(Allocation),
    /// A frame is entered; by code object, formats 12 and later.
    CodePush(CodePush),
    /// A frame is entered; by the id that a [`FrameIndex`] gave, formats up to 11.
    FramePush(u64),
    /// So many frames are left.
    FramePop(u32),
    /// Frame definition, formats up to 11.
    FrameIndex(FrameIndex<'a>),
    /// Code object definition, formats 12 and later.
    CodeObject(CodeObject<'a>),
    /// What follows belongs to this thread.
    ContextSwitch(u64),
    /// Name of the thread, from here on.
    ThreadName(&'a [u8]),
    /// A memory snapshot.
    Memory(MemoryRecord),
    /// A node of the tree of native stacks.
    NativeTrace(NativeTrace),
    /// A new memory map starts, empty.
    MemoryMapStart,
    /// An image of the memory map; its segments follow.
    SegmentHeader(SegmentHeader<'a>),
    /// A mapped part of the image.
    Segment(Segment),
    /// An object is created or destroyed, formats 12 and later.
    Object(ObjectEvent),
    /// The capture was closed in good order; nothing follows.
    Trailer,
}

impl Record<'_> {
    /// The record's name in the specification of the format.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Allocation(_) => "ALLOCATION",
            Self::CodePush(_) | Self::FramePush(_) => "FRAME_PUSH",
            Self::FramePop(_) => "FRAME_POP",
            Self::FrameIndex(_) => "FRAME_INDEX",
            Self::CodeObject(_) => "CODE_OBJECT",
            Self::ContextSwitch(_) => "CONTEXT_SWITCH",
            Self::ThreadName(_) => "THREAD_RECORD",
            Self::Memory(_) => "MEMORY_RECORD",
            Self::NativeTrace(_) => "NATIVE_TRACE_INDEX",
            Self::MemoryMapStart => "MEMORY_MAP_START",
            Self::SegmentHeader(_) => "SEGMENT_HEADER",
            Self::Segment(_) => "SEGMENT",
            Self::Object(_) => "OBJECT_RECORD",
            Self::Trailer => "TRAILER",
        }
    }
}
