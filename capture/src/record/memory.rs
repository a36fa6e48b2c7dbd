//! `MEMORY_RECORD`: a memory snapshot.

use nom::Parser;
use nom::number::streaming::le_u64;

use crate::error::PResult;
use crate::varint::{put_varint, varint};

/// Resident memory of the process at a moment, about every 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRecord {
    /// Milliseconds since the epoch. From a clock that can be set: not always ascending.
    pub time_ms: u64,
    /// Resident set size in bytes.
    pub rss: u64,
}

/// Formats 7 and later; the first byte is read. Times count from the header's start time.
pub(crate) fn memory_record(input: &[u8], start_time_ms: i64) -> PResult<'_, MemoryRecord> {
    let (input, rss) = varint(input)?;
    let (input, ms) = varint(input)?;
    let time_ms = start_time_ms.cast_unsigned().wrapping_add(ms);
    Ok((input, MemoryRecord { time_ms, rss }))
}

/// Format 6; the type is read. Times are absolute.
pub(crate) fn memory_record_struct(input: &[u8]) -> PResult<'_, MemoryRecord> {
    let (input, (time_ms, rss)) = (le_u64, le_u64).parse(input)?;
    Ok((input, MemoryRecord { time_ms, rss }))
}

pub(crate) fn put_memory_record_struct(out: &mut Vec<u8>, record: &MemoryRecord) {
    out.extend(10_u32.to_le_bytes());
    out.extend(record.time_ms.to_le_bytes());
    out.extend(record.rss.to_le_bytes());
}

pub(crate) fn put_memory_record(
    out: &mut Vec<u8>,
    tag: u8,
    record: &MemoryRecord,
    start_time_ms: i64,
) {
    out.push(tag);
    put_varint(out, record.rss);
    put_varint(
        out,
        record.time_ms.wrapping_sub(start_time_ms.cast_unsigned()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{check_struct, parsed, written};

    /// Checks both directions of a record in a capture that started at `start_time_ms`.
    fn check(start_time_ms: i64, body: &[u8], expected: MemoryRecord) {
        let record = parsed(body, &mut Deltas::default(), |input, _| {
            memory_record(input, start_time_ms)
        });
        assert_eq!(record, expected);
        let bytes = written(|out| put_memory_record(out, 11, &record, start_time_ms));
        assert_eq!(bytes, [&[11][..], body].concat());
    }

    #[test]
    fn the_rss_comes_first_and_times_count_from_the_start() {
        let expected = MemoryRecord {
            time_ms: 1_700_000_000_001,
            rss: 4_096_000,
        };
        check(1_700_000_000_000, &[0x80, 0x80, 0xfa, 0x01, 0x01], expected);
    }

    #[test]
    fn times_before_the_start_wrap() {
        let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let expected = MemoryRecord { time_ms: 4, rss: 0 };
        check(5, &[&[0x00][..], &minus_one].concat(), expected);
    }

    #[test]
    fn a_struct_is_an_absolute_time_then_the_rss() {
        let body = b"\x0b\x68\xe5\xcf\x8b\x01\0\0\0\x80\x3e\0\0\0\0\x80";
        let expected = MemoryRecord {
            time_ms: 1_700_000_000_011,
            rss: 0x8000_0000_003e_8000,
        };
        check_struct(10, body, &expected, memory_record_struct, |out| {
            put_memory_record_struct(out, &expected);
        });
    }
}
