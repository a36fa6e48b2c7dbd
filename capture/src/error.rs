//! What can be wrong with a capture, and the parsers' own error beneath it.

use nom::IResult;
use thiserror::Error;

/// Why bytes are not a capture, or not one that can be read further.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// The first bytes are not those of a memray capture.
    #[error("not a memray capture: it starts with {found}, not with \"memray\"")]
    NotACapture {
        /// The first bytes, as text fit to print.
        found: String,
    },
    /// The capture was written by a memray newer than any that is known here.
    #[error("capture format {version} is newer than the newest known, {NEWEST}", NEWEST = crate::NEWEST)]
    TooNew {
        /// The version in the header.
        version: i32,
    },
    /// No released memray wrote this version.
    #[error("capture format {version} is older than the oldest readable, {OLDEST}", OLDEST = crate::OLDEST)]
    TooOld {
        /// The version in the header.
        version: i32,
    },
    /// The capture was written by a big-endian machine.
    #[error(
        "the capture comes from a big-endian machine (format {version}), which is not supported"
    )]
    BigEndian {
        /// The version, bytes swapped.
        version: i32,
    },
    /// The capture was written by a 32-bit process.
    #[error("the capture comes from a 32-bit process, which is not supported")]
    ThirtyTwoBit,
    /// A header field holds what no memray writes.
    #[error("the header is damaged: {field} is {found}")]
    BadHeader {
        /// Name of the field, as in the specification of the format.
        field: &'static str,
        /// What is there.
        found: String,
    },
    /// A record cannot be what it says it is.
    #[error("record {record} at byte {record_offset} is damaged (at byte {offset}): {kind}")]
    Malformed {
        /// Index of the record in the capture, from 0.
        record: u64,
        /// Offset of the record's first byte in the (decompressed) capture.
        record_offset: u64,
        /// Offset of the byte that proves the damage.
        offset: u64,
        /// What is wrong there.
        kind: FaultKind,
    },
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// A varint goes on past ten bytes.
    #[error("a variable-length number does not end")]
    VarintTooLong,
    /// No record starts with this byte.
    #[error("no record starts with {0:#04x}")]
    UnknownRecord(u32),
    /// A zero byte stands where a record should, with data behind it.
    #[error("a hole of zero bytes, with data behind it")]
    Hole,
    /// The allocator number is not one of this version's.
    #[error("there is no allocator {0}")]
    UnknownAllocator(u32),
    /// A record that belongs to a thread comes before any thread was named.
    #[error("it belongs to a thread, but none was named yet")]
    NoThread,
    /// A memory map announced more segments than follow.
    #[error("a memory segment was announced, but something else follows")]
    SegmentMissing,
    /// A memory segment without the image that it belongs to.
    #[error("a memory segment that was not announced")]
    StraySegment,
    /// An allocation, or a range of addresses, larger than any address space.
    #[error("a block of {0} bytes does not fit any address space")]
    ImpossibleSize(u64),
}

/// A parser's error: the input that was left where the fault shows, and its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault<'a> {
    pub(crate) at: &'a [u8],
    pub(crate) kind: FaultKind,
}

/// What every parser returns: the rest of the input and a value, or "more input", or a fault.
pub(crate) type PResult<'a, T> = IResult<&'a [u8], T, Fault<'a>>;

/// A fault that no other parser could mend.
pub(crate) fn fail<T>(at: &[u8], kind: FaultKind) -> PResult<'_, T> {
    Err(nom::Err::Failure(Fault { at, kind }))
}

impl<'a> nom::error::ParseError<&'a [u8]> for Fault<'a> {
    /// Combinators used here only ever run out of input; nom wants an error for their other cases.
    fn from_error_kind(input: &'a [u8], _: nom::error::ErrorKind) -> Self {
        let byte = input.first().copied().unwrap_or_default();
        Self {
            at: input,
            kind: FaultKind::UnknownRecord(byte.into()),
        }
    }

    fn append(_: &'a [u8], _: nom::error::ErrorKind, other: Self) -> Self {
        other
    }
}
