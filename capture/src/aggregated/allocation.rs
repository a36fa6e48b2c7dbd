//! `AGGREGATED_ALLOCATION`: what one place allocated.

use nom::Parser;
use nom::bytes::streaming::take;
use nom::number::streaming::{le_u8, le_u64};

use crate::allocator::{Allocator, AllocatorTable};
use crate::error::{FaultKind, PResult, fail};
use crate::record::allocation::by_number;

/// What one thread allocated at one place with one function, as far as it was live at the peak, or
/// at the end ("leaked").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregatedAllocation {
    /// The thread.
    pub thread_id: u64,
    /// The function called.
    pub allocator: Allocator,
    /// Native stack (the number of a native trace record, from 1), or 0 for none.
    pub native_id: u64,
    /// Python stack (the number of a node record, from 1), or 0 for none.
    pub node: u64,
    /// The memory map that the native stack refers to (from 1), or 0 for none.
    pub generation: u64,
    /// Number of allocations live at the peak.
    pub peak_allocations: u64,
    /// Number of allocations live at the end.
    pub leaked_allocations: u64,
    /// Bytes of those live at the peak.
    pub peak_bytes: u64,
    /// Bytes of those live at the end.
    pub leaked_bytes: u64,
}

/// The first byte is read. A C struct, with seven bytes of padding after the allocator.
pub(super) fn allocation<'a>(
    input: &'a [u8],
    allocators: &AllocatorTable,
) -> PResult<'a, AggregatedAllocation> {
    let (at_number, thread_id) = le_u64(input)?;
    let (rest, (number, _)) = (le_u8, take(7_usize)).parse(at_number)?;
    let (rest, (native_id, node, generation)) = (le_u64, le_u64, le_u64).parse(rest)?;
    let (at_sizes, (peak_allocations, leaked_allocations)) = (le_u64, le_u64).parse(rest)?;
    let (at_leaked, peak_bytes) = le_u64(at_sizes)?;
    let (rest, leaked_bytes) = le_u64(at_leaked)?;
    let Some(allocator) = by_number(allocators, number) else {
        return fail(at_number, FaultKind::UnknownAllocator(number.into()));
    };
    for (at, size) in [(at_sizes, peak_bytes), (at_leaked, leaked_bytes)] {
        if size.leading_zeros() == 0 {
            return fail(at, FaultKind::ImpossibleSize(size));
        }
    }
    Ok((
        rest,
        AggregatedAllocation {
            thread_id,
            allocator,
            native_id,
            node,
            generation,
            peak_allocations,
            leaked_allocations,
            peak_bytes,
            leaked_bytes,
        },
    ))
}

pub(super) fn put_allocation(out: &mut Vec<u8>, record: &AggregatedAllocation, number: u8) {
    out.push(2);
    for field in [
        record.thread_id,
        number.into(),
        record.native_id,
        record.node,
        record.generation,
        record.peak_allocations,
        record.leaked_allocations,
        record.peak_bytes,
        record.leaked_bytes,
    ] {
        out.extend(field.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{check_padding, parsed, written};
    use crate::version::Version;

    /// Every field different, in the numbering of format 12.
    const BODY: [u8; 72] = *b"\x02\0\0\0\0\0\0\x80\
        \x06\0\0\0\0\0\0\0\
        \x03\0\0\0\0\0\0\x80\
        \x04\0\0\0\0\0\0\x80\
        \x05\0\0\0\0\0\0\x80\
        \x07\0\0\0\0\0\0\x80\
        \x08\0\0\0\0\0\0\x80\
        \xff\xff\xff\xff\xff\xff\xff\x7f\
        \x0a\0\0\0\0\0\0\x40";
    /// Where fields of [`BODY`] are.
    const AT_NUMBER: usize = 8;
    const AT_PADDING: usize = 9;
    const AT_NATIVE: usize = 16;
    const AT_PEAK: usize = 56;
    const AT_LEAKED: usize = 64;

    fn allocators(version: i32) -> &'static AllocatorTable {
        Allocator::table(Version::new(version).unwrap())
    }

    fn read(body: &[u8]) -> PResult<'_, AggregatedAllocation> {
        allocation(body, allocators(13))
    }

    /// [`BODY`] with this byte at an offset.
    fn body_with(at: usize, byte: u8) -> [u8; 72] {
        let mut body = BODY;
        body[at] = byte;
        body
    }

    /// Why a record is refused, and the offset in its body where that shows.
    fn refused(body: &[u8]) -> (FaultKind, usize) {
        match read(body) {
            Err(nom::Err::Failure(fault)) => {
                (fault.kind, body.len().saturating_sub(fault.at.len()))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_row_is_a_struct_of_nine_fields() {
        let top = 1 << 63;
        let expected = AggregatedAllocation {
            thread_id: top | 2,
            allocator: Allocator::Malloc,
            native_id: top | 3,
            node: top | 4,
            generation: top | 5,
            peak_allocations: top | 7,
            leaked_allocations: top | 8,
            peak_bytes: top - 1,
            leaked_bytes: top >> 1 | 10,
        };
        let row = parsed(&BODY, &mut Deltas::default(), |input, _| read(input));
        assert_eq!(row, expected);
        let bytes = written(|out| put_allocation(out, &expected, 6));
        assert_eq!(bytes, [&[2][..], &BODY].concat());
    }

    #[test]
    fn padding_behind_the_allocator_is_ignored() {
        check_padding(&BODY, AT_PADDING..AT_NATIVE, read);
    }

    #[test]
    fn allocators_are_those_of_the_version() {
        let of = |version| {
            let (_, row) = allocation(&BODY, allocators(version)).unwrap();
            row.allocator
        };
        assert_eq!([10, 11].map(of), [Allocator::AlignedAlloc; 2]);
        assert_eq!([12, 13].map(of), [Allocator::Malloc; 2]);
        for number in [0, 16, 255] {
            let unknown = FaultKind::UnknownAllocator(number.into());
            let body = body_with(AT_NUMBER, number);
            assert_eq!(refused(&body), (unknown, AT_NUMBER));
        }
    }

    #[test]
    fn sizes_of_two_to_the_63_and_more_are_refused() {
        let kind = FaultKind::ImpossibleSize;
        let peak = body_with(AT_PEAK + 7, 0xff);
        assert_eq!(refused(&peak), (kind(u64::MAX), AT_PEAK));
        let leaked = body_with(AT_LEAKED + 7, 0x80);
        assert_eq!(refused(&leaked), (kind((1 << 63) | 10), AT_LEAKED));
    }
}
