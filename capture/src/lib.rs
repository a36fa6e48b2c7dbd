//! The capture format of the memray profiler: bytes in, records out.
//!
//! A capture is a [`Header`] followed by records. [`Header::parse`] reads the first,
//! [`Decoder::decode`] the others, one at a time from whatever bytes are at hand; both ask for more
//! input instead of blocking, so the caller decides where bytes come from. The frequent ones can be
//! taken many at a time ([`Decoder::decode_frequent`]). Nothing here does I/O or
//! starts a thread, and the container (LZ4, gzip) is the caller's.
//!
//! A header with [`FileFormat::Aggregated`] is followed by sums instead, [`AggregatedRecord`]s,
//! which [`AggregatedDecoder::decode`] reads in the same way.
//!
//! Differences between format versions are facts of [`Version`]; parsers ask it and are never
//! copied. What every version writes differently is normalised: allocators have one numbering
//! ([`Allocator`]), times are milliseconds since the epoch, the thread is [`Decoder::thread_id`].
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod aggregated;
mod allocator;
mod decoder;
mod delta;
mod encoder;
mod error;
mod frequent;
mod header;
mod progress;
mod record;
mod varint;
mod version;

pub use aggregated::{
    AggregatedAllocation, AggregatedDecoder, AggregatedEncoder, AggregatedRecord,
    AggregatedSnapshot, CodeFrame, PythonNode, SurvivingObject,
};
pub use allocator::{Allocator, AllocatorKind};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::{Error, FaultKind};
pub use frequent::FrequentRecords;
pub use header::{FileFormat, Header, PythonAllocator, PythonVersion};
pub use record::{
    Allocation, CodeObject, CodePush, FrameIndex, MemoryRecord, NativeTrace, ObjectEvent, Record,
    Segment, SegmentHeader,
};
pub use version::{NEWEST, OLDEST, Version};
