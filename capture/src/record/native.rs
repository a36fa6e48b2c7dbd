//! `NATIVE_TRACE_INDEX`, `SEGMENT_HEADER` and SEGMENT: native stacks and what was mapped where.

use nom::Parser;
use nom::bytes::streaming::take;
use nom::number::streaming::{le_u32, le_u64};

use crate::delta::Deltas;
use crate::error::PResult;
use crate::varint::{cstr, put_cstr, put_svarint, put_varint, svarint, varint};

/// A node of the tree of native stacks. The k-th such record is node k, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeTrace {
    /// Return address.
    pub instruction_pointer: u64,
    /// The caller's node, or 0.
    pub parent: u64,
}

/// An image of a memory map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader<'a> {
    /// Path of the image.
    pub file: &'a [u8],
    /// Load bias, added to each segment's address.
    pub address: u64,
    /// So many segments follow.
    pub n_segments: u64,
}

/// A mapped part of the image before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Address before the load bias.
    pub virtual_address: u64,
    /// Bytes.
    pub size: u64,
}

/// The first byte is read. The parent shares its accumulator with allocations' native stacks.
pub(crate) fn native_trace<'a>(input: &'a [u8], deltas: &mut Deltas) -> PResult<'a, NativeTrace> {
    let (input, ip_step) = svarint(input)?;
    let (input, parent_step) = svarint(input)?;
    deltas.instruction_pointer = deltas.instruction_pointer.wrapping_add(ip_step);
    deltas.native_id = deltas.native_id.wrapping_add(parent_step);
    let trace = NativeTrace {
        instruction_pointer: deltas.instruction_pointer,
        parent: deltas.native_id,
    };
    Ok((input, trace))
}

/// Format 6; the type is read.
pub(crate) fn native_trace_struct(input: &[u8]) -> PResult<'_, NativeTrace> {
    let (input, (instruction_pointer, parent, _)) = (le_u64, le_u32, take(4_usize)).parse(input)?;
    let parent = parent.into();
    Ok((
        input,
        NativeTrace {
            instruction_pointer,
            parent,
        },
    ))
}

/// Format 6; the type is read.
pub(crate) fn segment_header_struct(input: &[u8]) -> PResult<'_, SegmentHeader<'_>> {
    let (input, (file, n_segments, address)) = (cstr, le_u64, le_u64).parse(input)?;
    Ok((
        input,
        SegmentHeader {
            file,
            address,
            n_segments,
        },
    ))
}

/// Format 6; the type is read.
pub(crate) fn segment_struct(input: &[u8]) -> PResult<'_, Segment> {
    let (input, (virtual_address, size)) = (le_u64, le_u64).parse(input)?;
    Ok((
        input,
        Segment {
            virtual_address,
            size,
        },
    ))
}

pub(crate) fn put_native_trace_struct(out: &mut Vec<u8>, trace: &NativeTrace) {
    out.extend(4_u32.to_le_bytes());
    out.extend(trace.instruction_pointer.to_le_bytes());
    // Four bytes of parent, then padding.
    out.extend((trace.parent & 0xffff_ffff).to_le_bytes());
}

pub(crate) fn put_segment_header_struct(out: &mut Vec<u8>, header: &SegmentHeader<'_>) {
    out.extend(6_u32.to_le_bytes());
    put_cstr(out, header.file);
    out.extend(header.n_segments.to_le_bytes());
    out.extend(header.address.to_le_bytes());
}

pub(crate) fn put_segment_struct(out: &mut Vec<u8>, segment: &Segment) {
    out.extend(7_u32.to_le_bytes());
    out.extend(segment.virtual_address.to_le_bytes());
    out.extend(segment.size.to_le_bytes());
}

pub(crate) fn put_native_trace(out: &mut Vec<u8>, trace: &NativeTrace, deltas: &mut Deltas) {
    out.push(5);
    put_svarint(
        out,
        trace
            .instruction_pointer
            .wrapping_sub(deltas.instruction_pointer),
    );
    put_svarint(out, trace.parent.wrapping_sub(deltas.native_id));
    deltas.instruction_pointer = trace.instruction_pointer;
    deltas.native_id = trace.parent;
}

/// The first byte is read.
pub(crate) fn segment_header(input: &[u8]) -> PResult<'_, SegmentHeader<'_>> {
    let (input, (file, n_segments, address)) = (cstr, varint, le_u64).parse(input)?;
    Ok((
        input,
        SegmentHeader {
            file,
            address,
            n_segments,
        },
    ))
}

pub(crate) fn put_segment_header(out: &mut Vec<u8>, header: &SegmentHeader<'_>) {
    out.push(7);
    put_cstr(out, header.file);
    put_varint(out, header.n_segments);
    out.extend(header.address.to_le_bytes());
}

/// The first byte is read.
pub(crate) fn segment(input: &[u8]) -> PResult<'_, Segment> {
    let (input, (virtual_address, size)) = (le_u64, varint).parse(input)?;
    Ok((
        input,
        Segment {
            virtual_address,
            size,
        },
    ))
}

pub(crate) fn put_segment(out: &mut Vec<u8>, segment: &Segment) {
    out.push(8);
    out.extend(segment.virtual_address.to_le_bytes());
    put_varint(out, segment.size);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{check_padding, check_struct, parsed, written};

    #[test]
    fn native_traces_are_steps_from_the_last_ones() {
        let mut read = Deltas::default();
        let mut wrote = Deltas::default();
        let steps: [(&[u8], u64, u64); 4] = [
            (&[0xe8, 0xc8, 0x80, 0x04, 0x00], 0x40_1234, 0),
            (&[0x20, 0x02], 0x40_1244, 1),
            (&[0x1f, 0x01], 0x40_1234, 0),
            (&[0xe7, 0xc8, 0x80, 0x04, 0x01], 0, u64::MAX),
        ];
        for (body, instruction_pointer, parent) in steps {
            let trace = parsed(body, &mut read, native_trace);
            assert_eq!(
                (trace.instruction_pointer, trace.parent),
                (instruction_pointer, parent)
            );
            assert_eq!(
                (read.instruction_pointer, read.native_id),
                (instruction_pointer, parent)
            );
            let bytes = written(|out| put_native_trace(out, &trace, &mut wrote));
            assert_eq!(bytes, [&[5][..], body].concat());
        }
    }

    #[test]
    fn the_parent_steps_from_the_native_stack_of_an_allocation() {
        let mut deltas = Deltas {
            native_id: 7,
            ..Deltas::default()
        };
        assert_eq!(parsed(&[0x00, 0x03], &mut deltas, native_trace).parent, 5);
        assert_eq!(deltas.native_id, 5);
    }

    #[test]
    fn a_segment_header_has_its_number_of_segments_before_its_address() {
        let body = b"/bin/x\0\xac\x02\0\0\x40\0\0\0\0\x80";
        let header = parsed(body, &mut Deltas::default(), |input, _| {
            segment_header(input)
        });
        let expected = SegmentHeader {
            file: b"/bin/x",
            address: 0x8000_0000_0040_0000,
            n_segments: 300,
        };
        assert_eq!(header, expected);
        let bytes = written(|out| put_segment_header(out, &header));
        assert_eq!(bytes, [&[7][..], body].concat());
    }

    #[test]
    fn a_segment_is_a_raw_address_and_a_size() {
        let body = [0x00, 0x10, 0, 0, 0, 0, 0, 0x01, 0x80, 0x40];
        let segment = parsed(&body, &mut Deltas::default(), |input, _| segment(input));
        let expected = Segment {
            virtual_address: 0x0100_0000_0000_1000,
            size: 0x2000,
        };
        assert_eq!(segment, expected);
        let bytes = written(|out| put_segment(out, &segment));
        assert_eq!(bytes, [&[8][..], &body].concat());
    }

    #[test]
    fn a_native_trace_struct_is_absolute_with_a_parent_of_four_bytes() {
        let body = b"\x34\x12\x40\0\0\0\0\x80\xfe\xff\xff\xff\0\0\0\0";
        let expected = NativeTrace {
            instruction_pointer: 0x8000_0000_0040_1234,
            parent: 0xffff_fffe,
        };
        check_struct(4, body, &expected, native_trace_struct, |out| {
            put_native_trace_struct(out, &expected);
        });
        check_padding(body, 12..16, native_trace_struct);
    }

    #[test]
    fn a_segment_header_struct_has_numbers_of_eight_bytes() {
        let body = b"/bin/x\0\x2c\x01\0\0\0\0\0\x01\0\0\x40\0\0\0\0\x80";
        let expected = SegmentHeader {
            file: b"/bin/x",
            address: 0x8000_0000_0040_0000,
            n_segments: 0x0100_0000_0000_012c,
        };
        check_struct(6, body, &expected, segment_header_struct, |out| {
            put_segment_header_struct(out, &expected);
        });
    }

    #[test]
    fn a_segment_struct_is_an_address_and_a_size() {
        let body = b"\0\x10\0\0\0\0\0\x01\0\x20\0\0\0\0\0\x02";
        let expected = Segment {
            virtual_address: 0x0100_0000_0000_1000,
            size: 0x0200_0000_0000_2000,
        };
        check_struct(7, body, &expected, segment_struct, |out| {
            put_segment_struct(out, &expected);
        });
    }
}
