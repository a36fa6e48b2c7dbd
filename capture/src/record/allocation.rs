//! ALLOCATION: a call of a hooked allocation function.

use nom::Parser;
use nom::bytes::streaming::take;
use nom::number::streaming::{le_u8, le_u32, le_u64};

use crate::allocator::{Allocator, AllocatorKind, AllocatorTable};
use crate::delta::{AddressCache, Deltas};
use crate::error::{FaultKind, PResult, fail};
use crate::varint::{put_svarint, put_varint, svarint, varint};

/// An allocation or deallocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocation {
    /// Address of the block or range.
    pub address: u64,
    /// Bytes asked for; 0 for simple deallocations.
    pub size: u64,
    /// The function called.
    pub allocator: Allocator,
    /// Native stack (the number of a native trace record, from 1), or 0 for none.
    pub native_id: u64,
}

impl Allocation {
    /// Whether the call failed, so that nothing became live: an `mmap` that returned `MAP_FAILED`,
    /// or a NULL.
    #[inline]
    #[must_use]
    pub fn failed(&self) -> bool {
        match self.allocator.kind() {
            AllocatorKind::Allocation => self.address == 0,
            AllocatorKind::RangedAllocation => self.address == u64::MAX,
            _ => false,
        }
    }

    /// Refuses what no address space holds, so that sums of sizes stay in 64 bits.
    #[inline]
    fn checked(self, at: &[u8]) -> Result<Self, nom::Err<crate::error::Fault<'_>>> {
        let fits = self.size.leading_zeros() > 0
            && match self.allocator.kind() {
                AllocatorKind::Allocation | AllocatorKind::Deallocation => true,
                _ => self.address.checked_add(self.size).is_some(),
            };
        if fits || self.failed() {
            return Ok(self);
        }
        fail(at, FaultKind::ImpossibleSize(self.size)).map(|(_, never)| never)
    }
}

/// Format 6; the type is read. The thread comes first.
pub(crate) fn structs<'a>(
    input: &'a [u8],
    allocators: &AllocatorTable,
) -> PResult<'a, (u64, Allocation)> {
    let (rest, (thread_id, address, size)) = (le_u64, le_u64, le_u64).parse(input)?;
    let at_number = rest;
    let (rest, (number, _, native_id)) = (le_u32, take(4_usize), le_u64).parse(rest)?;
    let number_u8 = u8::try_from(number).unwrap_or(u8::MAX);
    let Some(allocator) = by_number(allocators, number_u8) else {
        return fail(at_number, FaultKind::UnknownAllocator(number));
    };
    let record = Allocation {
        address,
        size,
        allocator,
        native_id,
    };
    Ok((rest, (thread_id, record.checked(input)?)))
}

pub(crate) fn put_structs(out: &mut Vec<u8>, record: &Allocation, number: u8, thread_id: u64) {
    out.extend(1_u32.to_le_bytes());
    for field in [
        thread_id,
        record.address,
        record.size,
        number.into(),
        record.native_id,
    ] {
        out.extend(field.to_le_bytes());
    }
}

#[inline]
pub(crate) fn by_number(allocators: &AllocatorTable, number: u8) -> Option<Allocator> {
    allocators.get(usize::from(number)).copied().flatten()
}

/// Formats 7 to 11; the first byte is read, `number` its high nibble. `native`: the record type that
/// carries a native stack, and always a size.
#[inline]
pub(crate) fn nibbles<'a>(
    input: &'a [u8],
    allocators: &AllocatorTable,
    number: u8,
    native: bool,
    deltas: &mut Deltas,
) -> PResult<'a, Allocation> {
    let Some(allocator) = by_number(allocators, number) else {
        return fail(input, FaultKind::UnknownAllocator(number.into()));
    };
    let (rest, step) = svarint(input)?;
    let address = deltas.pointer.wrapping_add(step);
    let (rest, size) = if native || allocator.has_size() {
        varint(rest)?
    } else {
        (rest, 0)
    };
    let (rest, native_step) = if native { svarint(rest)? } else { (rest, 0) };
    let native_id = deltas.native_id.wrapping_add(native_step);
    let record = Allocation {
        address,
        size,
        allocator,
        native_id: if native { native_id } else { 0 },
    };
    let record = record.checked(input)?;
    deltas.pointer = address;
    deltas.native_id = native_id;
    Ok((rest, record))
}

pub(crate) fn put_nibbles(
    out: &mut Vec<u8>,
    record: &Allocation,
    number: u8,
    native: bool,
    deltas: &mut Deltas,
) {
    out.push(if native { 2 } else { 1 } | (number << 4));
    put_svarint(out, record.address.wrapping_sub(deltas.pointer));
    deltas.pointer = record.address;
    if native || record.allocator.has_size() {
        put_varint(out, record.size);
    }
    if native {
        put_svarint(out, record.native_id.wrapping_sub(deltas.native_id));
        deltas.native_id = record.native_id;
    }
}

/// An address by cache slot, or by its distance from the last one that was not cached.
#[inline]
pub(crate) fn cached_address<'a>(
    input: &'a [u8],
    slot: u8,
    deltas: &Deltas,
) -> PResult<'a, (u64, Option<u64>)> {
    if slot < AddressCache::SLOTS {
        return Ok((input, (deltas.addresses.get(slot), None)));
    }
    let (rest, step) = svarint(input)?;
    let pointer = deltas.pointer.wrapping_add(step);
    Ok((rest, (pointer << 3, Some(pointer))))
}

/// Remembers an address that [`cached_address`] had to read.
#[inline]
pub(crate) fn keep_address(deltas: &mut Deltas, pointer: Option<u64>) {
    if let Some(pointer) = pointer {
        deltas.pointer = pointer;
        deltas.addresses.insert(pointer << 3);
    }
}

/// The slot bits for an address, appending its distance if it is not cached.
pub(crate) fn put_cached_address(
    out: &mut Vec<u8>,
    first: usize,
    address: u64,
    shift: u32,
    deltas: &mut Deltas,
) {
    let slot = deltas
        .addresses
        .find(address)
        .unwrap_or(AddressCache::SLOTS);
    if let Some(byte) = out.get_mut(first) {
        *byte |= slot << shift;
    }
    if slot == AddressCache::SLOTS {
        let pointer = address >> 3;
        put_svarint(out, pointer.wrapping_sub(deltas.pointer));
        keep_address(deltas, Some(pointer));
    }
}

/// Formats 12 and later; the first byte, `1 pppp aaa`, is read.
#[inline]
pub(crate) fn prefixes<'a>(
    input: &'a [u8],
    allocators: &AllocatorTable,
    first: u8,
    native_traces: bool,
    deltas: &mut Deltas,
) -> PResult<'a, Allocation> {
    let (rest, (address, pointer)) = cached_address(input, (first >> 3) & 15, deltas)?;
    let at_number = rest;
    let (rest, number) = match first & 7 {
        0 => le_u8(rest)?,
        number => (rest, number),
    };
    let Some(allocator) = by_number(allocators, number) else {
        return fail(at_number, FaultKind::UnknownAllocator(number.into()));
    };
    let mut native_id = 0;
    let (rest, size) = if allocator.has_size() {
        let mut rest = rest;
        if native_traces {
            let (after, step) = svarint(rest)?;
            native_id = deltas.native_id.wrapping_add(step);
            rest = after;
        }
        varint(rest)?
    } else {
        (rest, 0)
    };
    let record = Allocation {
        address,
        size,
        allocator,
        native_id,
    }
    .checked(input)?;
    keep_address(deltas, pointer);
    if native_traces && allocator.has_size() {
        deltas.native_id = native_id;
    }
    Ok((rest, record))
}

pub(crate) fn put_prefixes(
    out: &mut Vec<u8>,
    record: &Allocation,
    number: u8,
    native_traces: bool,
    deltas: &mut Deltas,
) {
    let first = out.len();
    let short = if number < 8 { number } else { 0 };
    out.push(0x80 | short);
    put_cached_address(out, first, record.address, 3, deltas);
    if short == 0 {
        out.push(number);
    }
    if record.allocator.has_size() {
        if native_traces {
            put_svarint(out, record.native_id.wrapping_sub(deltas.native_id));
            deltas.native_id = record.native_id;
        }
        put_varint(out, record.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{check_padding, check_struct, parsed, refused, written};
    use crate::version::Version;
    use Allocator as A;

    /// Two to the power of 63, as a varint.
    const TWO_63: [u8; 10] = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01];
    /// The step to 0x5500000010.
    const STEP: [u8; 6] = [0xa0, 0x80, 0x80, 0x80, 0xa0, 0x15];
    /// The step to 0x5500000010 divided by 8.
    const STEP_8: [u8; 6] = [0x84, 0x80, 0x80, 0x80, 0xd4, 0x02];
    const ADDRESS: u64 = 0x55_0000_0010;

    /// Format 6: thread 0x7f0000000700, 100 bytes at [`ADDRESS`], malloc, padding, native stack 6.
    const STRUCT: [u8; 40] = *b"\0\x07\0\0\0\x7f\0\0\x10\0\0\0\x55\0\0\0\x64\0\0\0\0\0\0\0\
        \x01\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0";
    const THREAD: u64 = 0x7f00_0000_0700;
    /// Where fields of [`STRUCT`] are.
    const AT_ADDRESS: usize = 8;
    const AT_SIZE: usize = 16;
    const AT_NUMBER: usize = 24;
    const AT_PADDING: usize = 28;
    const AT_NATIVE: usize = 32;

    fn version(number: i32) -> Version {
        Version::new(number).unwrap()
    }

    fn allocators(number: i32) -> &'static AllocatorTable {
        Allocator::table(version(number))
    }

    /// Deltas that show which of them a record changes.
    fn deltas() -> Deltas {
        Deltas {
            native_id: 5,
            ..Deltas::default()
        }
    }

    fn block(allocator: Allocator, size: u64, native_id: u64) -> Allocation {
        Allocation {
            address: ADDRESS,
            size,
            allocator,
            native_id,
        }
    }

    /// Reads a record of formats 7 to 11.
    fn old(first: u8, body: &[u8], deltas: &mut Deltas) -> Allocation {
        parsed(body, deltas, |input, deltas| {
            nibbles(input, allocators(11), first >> 4, first & 15 == 2, deltas)
        })
    }

    /// Reads a record of formats 12 and later, and checks that it is written the same.
    fn new(bytes: &[u8], native_traces: bool, deltas: &mut Deltas) -> Allocation {
        let v13 = version(13);
        let mut before = deltas.clone();
        let record = parsed(&bytes[1..], deltas, |input, deltas| {
            prefixes(input, allocators(13), bytes[0], native_traces, deltas)
        });
        let number = record.allocator.number(v13).unwrap();
        let again = written(|out| put_prefixes(out, &record, number, native_traces, &mut before));
        assert_eq!(again, bytes);
        record
    }

    fn read_struct(body: &[u8]) -> PResult<'_, (u64, Allocation)> {
        structs(body, allocators(6))
    }

    /// [`STRUCT`] with other bytes at some of its fields.
    fn struct_with(fields: &[(usize, &[u8])]) -> [u8; 40] {
        let mut body = STRUCT;
        for &(at, bytes) in fields {
            let field = body[at..].iter_mut();
            field.zip(bytes).for_each(|(old, new)| *old = *new);
        }
        body
    }

    /// Why a record of format 6 is refused, and what of its body is left where that shows.
    fn refused_struct(body: &[u8]) -> (FaultKind, &[u8]) {
        match read_struct(body) {
            Err(nom::Err::Failure(fault)) => (fault.kind, fault.at),
            other => panic!("{other:?}"),
        }
    }

    fn refused_old(first: u8, body: &[u8]) -> FaultKind {
        refused(body, |input, deltas| {
            lifted(nibbles(input, allocators(11), first >> 4, false, deltas))
        })
    }

    fn refused_new(first: u8, body: &[u8]) -> FaultKind {
        refused(body, |input, deltas| {
            lifted(prefixes(input, allocators(13), first, true, deltas))
        })
    }

    fn lifted(result: PResult<'_, Allocation>) -> Result<Allocation, FaultKind> {
        match result {
            Err(nom::Err::Failure(fault)) => Err(fault.kind),
            other => Ok(other.unwrap().1),
        }
    }

    #[test]
    fn old_records_are_step_size_and_native_step() {
        let cases: [(u8, &[u8], Allocation); 6] = [
            (0x11, &[0x64], block(A::Malloc, 100, 0)),
            (0x21, &[], block(A::Free, 0, 0)),
            (0xf1, &[], block(A::PymallocFree, 0, 0)),
            (0xb1, &[0x80, 0x20], block(A::Munmap, 4096, 0)),
            (0x12, &[0x64, 0x02], block(A::Malloc, 100, 6)),
            (0x22, &[0x07, 0x02], block(A::Free, 7, 6)),
        ];
        for (first, tail, expected) in cases {
            let body = [&STEP, tail].concat();
            let mut after = deltas();
            assert_eq!(old(first, &body, &mut after), expected);
            assert_eq!(after.pointer, ADDRESS);
            assert_eq!(after.native_id, expected.native_id.max(5));

            let native = first & 15 == 2;
            let mut before = deltas();
            let bytes = written(|out| put_nibbles(out, &expected, first >> 4, native, &mut before));
            assert_eq!(bytes, [&[first][..], &body].concat());
        }
    }

    #[test]
    fn old_addresses_are_not_shifted_and_wrap() {
        let mut deltas = deltas();
        assert_eq!(old(0x21, &[0x0d], &mut deltas).address, u64::MAX - 6);
        assert_eq!(old(0x21, &[0x0e], &mut deltas).address, 0);
        assert_eq!(deltas.pointer, 0);
    }

    #[test]
    fn old_records_have_the_allocators_one_to_fifteen() {
        assert_eq!(refused_old(0x01, &STEP), FaultKind::UnknownAllocator(0));
        for number in 1_u8..=15 {
            let body = [&STEP[..], &[0x01]].concat();
            let (_, record) =
                nibbles(&body, allocators(7), number, false, &mut Deltas::default()).unwrap();
            assert_eq!(record.allocator.number(version(7)), Some(number));
        }
    }

    #[test]
    fn new_records_are_step_allocator_native_step_and_size() {
        let cases: [(u8, &[u8], bool, Allocation); 7] = [
            (0xfe, &[0x64], false, block(A::Malloc, 100, 0)),
            (0xfe, &[0x02, 0x64], true, block(A::Malloc, 100, 6)),
            (0xfd, &[], true, block(A::Free, 0, 0)),
            (0xf9, &[], true, block(A::PymallocFree, 0, 0)),
            (0xf8, &[0x0e, 0x64], false, block(A::Mmap, 100, 0)),
            (0xf8, &[0x0e, 0x02, 0x64], true, block(A::Mmap, 100, 6)),
            (0xf8, &[0x0f, 0x09, 0x64], true, block(A::Munmap, 100, 0)),
        ];
        for (first, tail, native_traces, expected) in cases {
            let bytes = [&[first][..], &STEP_8, tail].concat();
            let mut deltas = deltas();
            assert_eq!(new(&bytes, native_traces, &mut deltas), expected);
            assert_eq!(deltas.pointer, ADDRESS >> 3);
            assert_eq!(deltas.addresses.get(0), ADDRESS);
            let has_native = native_traces && expected.size > 0;
            let native_id = if has_native { expected.native_id } else { 5 };
            assert_eq!(deltas.native_id, native_id);
        }
    }

    #[test]
    fn a_hit_reads_no_address_and_moves_nothing() {
        let mut deltas = deltas();
        deltas.addresses.insert(ADDRESS);
        deltas.addresses.insert(64);
        let before = format!("{deltas:?}");
        assert_eq!(new(&[0x8d], true, &mut deltas), block(A::Free, 0, 0));
        let realloc = new(&[0x8f, 0x00, 0xc8, 0x01], true, &mut deltas);
        assert_eq!(realloc, block(A::Realloc, 200, 5));
        assert_eq!(format!("{deltas:?}"), before);
    }

    #[test]
    fn the_sixteenth_address_drives_out_the_first() {
        let mut deltas = deltas();
        for _ in 0..15 {
            new(&[0xfd, 0x02], false, &mut deltas);
        }
        assert_eq!(new(&[0xf5], false, &mut deltas).address, 8);
        new(&[0xfd, 0x02], false, &mut deltas);
        assert_eq!(new(&[0xf5], false, &mut deltas).address, 16);
        assert_eq!((deltas.pointer, deltas.addresses.get(0)), (16, 128));
    }

    #[test]
    fn new_addresses_wrap_in_64_bits_before_and_after_the_shift() {
        let mut deltas = deltas();
        let steps = [(0x01, u64::MAX - 7, u64::MAX), (0x02, 0, 0)];
        for (step, address, pointer) in steps {
            let free = parsed(&[step], &mut deltas, |input, deltas| {
                prefixes(input, allocators(13), 0xfd, false, deltas)
            });
            assert_eq!((free.address, deltas.pointer), (address, pointer));
        }
    }

    #[test]
    fn a_byte_for_the_allocator_may_hold_any_of_them() {
        for number in 1_u8..=15 {
            let body = [&STEP_8[..], &[number, 0x00, 0x01]].concat();
            let (_, record) =
                prefixes(&body, allocators(12), 0xf8, true, &mut Deltas::default()).unwrap();
            assert_eq!(record.allocator.number(version(12)), Some(number));
        }
        for number in [0, 16, 255] {
            let body = [&STEP_8[..], &[number, 0x00, 0x01]].concat();
            let kind = FaultKind::UnknownAllocator(number.into());
            assert_eq!(refused_new(0xf8, &body), kind);
        }
    }

    #[test]
    fn sizes_that_no_address_space_holds_are_refused() {
        let kind = FaultKind::ImpossibleSize(1 << 63);
        assert_eq!(refused_old(0x11, &[&STEP[..], &TWO_63].concat()), kind);
        let body = [&STEP_8[..], &[0x00], &TWO_63].concat();
        assert_eq!(refused_new(0xfe, &body), kind);
    }

    #[test]
    fn ranges_past_the_end_of_memory_are_refused() {
        // From 2^64 - 4096: 4095 bytes fit, 4096 would end at 2^64.
        let at = |size: [u8; 2]| [&[0xff, 0x3f][..], &size].concat();
        let kind = FaultKind::ImpossibleSize(4096);
        for first in [0xa1, 0xb1] {
            assert_eq!(refused_old(first, &at([0x80, 0x20])), kind);
            assert_eq!(old(first, &at([0xff, 0x1f]), &mut deltas()).size, 4095);
        }
        // A block may claim to be there: no sum of addresses is made for it.
        assert_eq!(old(0x11, &at([0x80, 0x20]), &mut deltas()).size, 4096);
    }

    #[test]
    fn failed_calls_may_have_any_size() {
        let mmap = old(0xa1, &[&[0x01][..], &TWO_63].concat(), &mut deltas());
        assert_eq!((mmap.address, mmap.failed()), (u64::MAX, true));
        let malloc = old(0x11, &[&[0x00][..], &TWO_63].concat(), &mut deltas());
        assert_eq!((malloc.size, malloc.failed()), (1 << 63, true));
        let free = old(0x21, &[0x00], &mut deltas());
        assert!(
            !free.failed(),
            "a free of NULL does nothing, but is no call that failed"
        );
    }

    #[test]
    fn structs_are_thread_address_size_allocator_and_native_stack() {
        let munmap = [
            (AT_SIZE, &[0, 0x10][..]),
            (AT_NUMBER, &[10]),
            (AT_NATIVE, &[0]),
        ];
        let free = [(AT_SIZE, &[0][..]), (AT_NUMBER, &[2]), (AT_NATIVE, &[0])];
        let cases = [
            (STRUCT, block(A::Malloc, 100, 6)),
            (struct_with(&munmap), block(A::Munmap, 4096, 0)),
            (struct_with(&free), block(A::Free, 0, 0)),
        ];
        for (body, expected) in cases {
            let number = expected.allocator.number(version(6)).unwrap();
            check_struct(1, &body, &(THREAD, expected), read_struct, |out| {
                put_structs(out, &expected, number, THREAD);
            });
            check_padding(&body, AT_PADDING..AT_NATIVE, read_struct);
        }
    }

    #[test]
    fn structs_have_the_allocators_one_to_ten() {
        for number in 1_u8..=10 {
            let body = struct_with(&[(AT_NUMBER, &[number])]);
            let (_, (_, record)) = read_struct(&body).unwrap();
            assert_eq!(record.allocator.number(version(6)), Some(number));
        }
        for number in [0, 11, 15, 16, 255, 256, 257, u32::MAX] {
            let body = struct_with(&[(AT_NUMBER, &number.to_le_bytes())]);
            let kind = FaultKind::UnknownAllocator(number);
            assert_eq!(refused_struct(&body), (kind, &body[AT_NUMBER..]));
        }
    }

    #[test]
    fn structs_of_impossible_sizes_are_refused_unless_the_call_failed() {
        let size = [0, 0, 0, 0, 0, 0, 0, 0x80];
        let body = struct_with(&[(AT_SIZE, &size)]);
        let kind = FaultKind::ImpossibleSize(1 << 63);
        assert_eq!(refused_struct(&body).0, kind);
        let failed_mmap = [(AT_ADDRESS, &[0xff; 8][..]), (AT_NUMBER, &[9])];
        let body = struct_with(&failed_mmap);
        assert!(read_struct(&body).unwrap().1.1.failed());
        let failed_malloc = [(AT_ADDRESS, &[0; 8][..]), (AT_SIZE, &size)];
        let body = struct_with(&failed_malloc);
        assert!(read_struct(&body).unwrap().1.1.failed());
    }
}
