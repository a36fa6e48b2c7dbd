//! `MEMORY_SNAPSHOT`: memory of the process at a moment.

use nom::Parser;
use nom::number::streaming::le_u64;

use crate::error::PResult;

/// Memory of the process at a moment, about every 10 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregatedSnapshot {
    /// Milliseconds since the epoch. From a clock that can be set: not always ascending.
    pub time_ms: u64,
    /// Resident set size in bytes.
    pub rss: u64,
    /// Bytes allocated and not freed yet.
    pub heap: u64,
}

/// The first byte is read.
pub(super) fn snapshot(input: &[u8]) -> PResult<'_, AggregatedSnapshot> {
    let (input, (time_ms, rss, heap)) = (le_u64, le_u64, le_u64).parse(input)?;
    Ok((input, AggregatedSnapshot { time_ms, rss, heap }))
}

pub(super) fn put_snapshot(out: &mut Vec<u8>, snapshot: &AggregatedSnapshot) {
    out.push(1);
    for field in [snapshot.time_ms, snapshot.rss, snapshot.heap] {
        out.extend(field.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{parsed, written};

    #[test]
    fn a_snapshot_is_time_resident_and_heap() {
        let body = b"\x01\x68\xe5\xcf\x8b\x01\0\0\0\x80\x3e\0\0\0\0\0\x2c\x01\0\0\0\0\0\x80";
        let expected = AggregatedSnapshot {
            time_ms: 1_700_000_000_001,
            rss: 4_096_000,
            heap: 0x8000_0000_0000_012c,
        };
        let read = parsed(body, &mut Deltas::default(), |input, _| snapshot(input));
        assert_eq!(read, expected);
        let bytes = written(|out| put_snapshot(out, &expected));
        assert_eq!(bytes, [&[1][..], body].concat());
    }
}
