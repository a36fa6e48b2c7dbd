//! The aggregated stream: sums over a run instead of its records, formats 10 and later.
//!
//! It is written in one go when tracking ends. Every record starts with a plain byte of type.

mod allocation;
mod decoder;
mod encoder;
mod frame;
mod object;
mod snapshot;
#[cfg(test)]
mod testing;

pub use allocation::AggregatedAllocation;
pub use decoder::AggregatedDecoder;
pub use encoder::AggregatedEncoder;
pub use frame::{CodeFrame, PythonNode};
pub use object::SurvivingObject;
pub use snapshot::AggregatedSnapshot;

use crate::record::{CodeObject, FrameIndex, NativeTrace, Segment, SegmentHeader};

/// One entry of an aggregated capture. What an entry refers to comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregatedRecord<'a> {
    /// A memory snapshot.
    Snapshot(AggregatedSnapshot),
    /// What one place allocated that was live at the peak or at the end.
    Allocation(AggregatedAllocation),
    /// A node of the tree of Python stacks.
    Node(PythonNode),
    /// Frame definition, formats up to 11.
    Frame(FrameIndex<'a>),
    /// Frame definition by code object, formats 12 and later.
    CodeFrame(CodeFrame),
    /// Code object definition, formats 12 and later.
    CodeObject(CodeObject<'a>),
    /// A node of the tree of native stacks.
    NativeTrace(NativeTrace),
    /// A new memory map starts, empty.
    MemoryMapStart,
    /// An image of the memory map; its segments follow.
    SegmentHeader(SegmentHeader<'a>),
    /// A mapped part of the image.
    Segment(Segment),
    /// Name of the thread that the last context switch names.
    ThreadName(&'a [u8]),
    /// The thread that is named next.
    ContextSwitch(u64),
    /// An object that was alive at the end, formats 12 and later.
    SurvivingObject(SurvivingObject),
    /// The capture was closed in good order; nothing follows.
    Trailer,
}

impl AggregatedRecord<'_> {
    /// The record's name in the specification of the format.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Snapshot(_) => "MEMORY_SNAPSHOT",
            Self::Allocation(_) => "AGGREGATED_ALLOCATION",
            Self::Node(_) => "PYTHON_TRACE_INDEX",
            Self::Frame(_) | Self::CodeFrame(_) => "PYTHON_FRAME_INDEX",
            Self::CodeObject(_) => "CODE_OBJECT",
            Self::NativeTrace(_) => "NATIVE_TRACE_INDEX",
            Self::MemoryMapStart => "MEMORY_MAP_START",
            Self::SegmentHeader(_) => "SEGMENT_HEADER",
            Self::Segment(_) => "SEGMENT",
            Self::ThreadName(_) => "THREAD_RECORD",
            Self::ContextSwitch(_) => "CONTEXT_SWITCH",
            Self::SurvivingObject(_) => "SURVIVING_OBJECT",
            Self::Trailer => "AGGREGATED_TRAILER",
        }
    }
}
