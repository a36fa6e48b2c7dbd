//! `FRAME_INDEX` and `FRAME_PUSH`: frames and when they are entered.

use nom::Parser;
use nom::bytes::streaming::take;
use nom::number::streaming::{le_i32, le_u8, le_u64};

use crate::delta::Deltas;
use crate::error::PResult;
use crate::record::code_object::{line_step, put_line};
use crate::varint::{cstr, put_cstr, put_svarint, put_varint, svarint, varint};

/// A frame's definition in formats up to 11.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameIndex<'a> {
    /// Number that pushes refer to. Not dense.
    pub id: u64,
    /// `co_name`.
    pub function: &'a [u8],
    /// `co_filename`, as it is.
    pub file: &'a [u8],
    /// Line number.
    pub line: i32,
    /// Whether the interpreter loop was entered for this frame.
    pub is_entry: bool,
}

/// A frame entered, in formats 12 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CodePush {
    /// The code object that runs.
    pub code_id: u64,
    /// Where in it, in the unit of the Python version; -1 before the first instruction.
    pub instruction_offset: i64,
    /// Whether the interpreter loop was entered for this frame.
    pub is_entry: bool,
}

/// Format 6; the type is read.
pub(crate) fn frame_index_struct(input: &[u8]) -> PResult<'_, FrameIndex<'_>> {
    let (input, (id, function, file, line)) = (le_u64, cstr, cstr, le_i32).parse(input)?;
    let frame = FrameIndex {
        id,
        function,
        file,
        line,
        is_entry: true,
    };
    Ok((input, frame))
}

pub(crate) fn put_frame_index_struct(out: &mut Vec<u8>, frame: &FrameIndex<'_>) {
    out.extend(2_u32.to_le_bytes());
    out.extend(frame.id.to_le_bytes());
    put_cstr(out, frame.function);
    put_cstr(out, frame.file);
    out.extend(frame.line.to_le_bytes());
}

/// Format 6; the type is read. The frame, then the thread.
pub(crate) fn frame_push_struct(input: &[u8]) -> PResult<'_, (u64, u64)> {
    (le_u64, le_u64).parse(input)
}

pub(crate) fn put_frame_push_struct(out: &mut Vec<u8>, id: u64, thread_id: u64) {
    out.extend(3_u32.to_le_bytes());
    out.extend(id.to_le_bytes());
    out.extend(thread_id.to_le_bytes());
}

/// Up to 255 frames a record.
pub(crate) fn put_frame_pops_struct(out: &mut Vec<u8>, count: u32, thread_id: u64) {
    let mut left = count;
    while left > 0 {
        let step = u8::try_from(left).unwrap_or(u8::MAX);
        left = left.saturating_sub(step.into());
        out.extend(8_u32.to_le_bytes());
        out.extend(thread_id.to_le_bytes());
        out.extend(u64::from(step).to_le_bytes());
    }
}

/// Format 6; the type is read. The thread, then how many frames are left.
pub(crate) fn frame_pop_struct(input: &[u8]) -> PResult<'_, (u64, u8)> {
    let (input, (thread_id, count, _)) = (le_u64, le_u8, take(7_usize)).parse(input)?;
    Ok((input, (thread_id, count)))
}

/// Formats 7 to 11; the first byte is read, `flags` its high nibble.
pub(crate) fn frame_index<'a>(
    input: &'a [u8],
    flags: u8,
    deltas: &mut Deltas,
) -> PResult<'a, FrameIndex<'a>> {
    let (input, id_step) = svarint(input)?;
    let (input, function) = cstr(input)?;
    let (input, file) = cstr(input)?;
    let (input, step) = svarint(input)?;
    deltas.frame_id = deltas.frame_id.wrapping_add(id_step);
    deltas.line = deltas.line.wrapping_add(line_step(step));
    let is_entry = flags & 1 == 0;
    Ok((
        input,
        FrameIndex {
            id: deltas.frame_id,
            function,
            file,
            line: deltas.line,
            is_entry,
        },
    ))
}

pub(crate) fn put_frame_index(out: &mut Vec<u8>, frame: &FrameIndex<'_>, deltas: &mut Deltas) {
    out.push(3 | (u8::from(!frame.is_entry) << 4));
    put_svarint(out, frame.id.wrapping_sub(deltas.frame_id));
    deltas.frame_id = frame.id;
    put_cstr(out, frame.function);
    put_cstr(out, frame.file);
    put_line(out, frame.line, deltas);
}

/// Formats 7 to 11; the first byte is read. The id shares its accumulator with definitions.
#[inline]
pub(crate) fn frame_push<'a>(input: &'a [u8], deltas: &mut Deltas) -> PResult<'a, u64> {
    let (input, step) = svarint(input)?;
    deltas.frame_id = deltas.frame_id.wrapping_add(step);
    Ok((input, deltas.frame_id))
}

pub(crate) fn put_frame_push(out: &mut Vec<u8>, id: u64, deltas: &mut Deltas) {
    out.push(4);
    put_svarint(out, id.wrapping_sub(deltas.frame_id));
    deltas.frame_id = id;
}

/// Formats 12 and later; the first byte, `01 uuuuu e`, is read.
#[inline]
pub(crate) fn code_push(input: &[u8], first: u8) -> PResult<'_, CodePush> {
    let (input, code_id) = varint(input)?;
    let (input, offset) = svarint(input)?;
    let instruction_offset = offset.cast_signed();
    Ok((
        input,
        CodePush {
            code_id,
            instruction_offset,
            is_entry: first & 1 == 1,
        },
    ))
}

pub(crate) fn put_code_push(out: &mut Vec<u8>, push: &CodePush) {
    out.push(0x40 | u8::from(push.is_entry));
    put_varint(out, push.code_id);
    put_svarint(out, push.instruction_offset.cast_unsigned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{check_padding, check_struct, parsed, written};

    /// Reads a definition, checks that it is written the same, and returns it.
    fn index(flags: u8, body: &[u8], deltas: &mut Deltas) -> FrameIndex<'static> {
        let mut before = deltas.clone();
        let frame = parsed(body, deltas, |input, deltas| {
            frame_index(input, flags, deltas)
        });
        let bytes = written(|out| put_frame_index(out, &frame, &mut before));
        assert_eq!(bytes, [&[(flags << 4) | 3][..], body].concat());
        frame
    }

    #[test]
    fn definitions_step_from_the_last_frame_and_line() {
        let mut deltas = Deltas::default();
        let first = FrameIndex {
            id: 0,
            function: b"main",
            file: b"a.py",
            line: 3,
            is_entry: true,
        };
        assert_eq!(index(0, b"\0main\0a.py\0\x06", &mut deltas), first);
        assert_eq!((deltas.frame_id, deltas.line), (0, 3));
        let second = FrameIndex {
            id: 1,
            function: b"f",
            line: 10,
            is_entry: false,
            ..first
        };
        assert_eq!(index(1, b"\x02f\0a.py\0\x0e", &mut deltas), second);
        assert_eq!((deltas.frame_id, deltas.line), (1, 10));
    }

    #[test]
    fn only_the_lowest_flag_says_that_a_frame_is_no_entry() {
        let is_entry = |flags| {
            let body = b"\0\0\0\0";
            parsed(body, &mut Deltas::default(), |input, deltas| {
                frame_index(input, flags, deltas)
            })
            .is_entry
        };
        assert_eq!([0, 1, 2, 15].map(is_entry), [true, false, true, false]);
    }

    #[test]
    fn frames_and_lines_wrap() {
        let mut deltas = Deltas {
            line: i32::MIN,
            ..Deltas::default()
        };
        let frame = index(0, b"\x01\0\0\x01", &mut deltas);
        assert_eq!((frame.id, frame.line), (u64::MAX, i32::MAX));
    }

    #[test]
    fn pushes_step_from_the_last_frame_defined_or_pushed() {
        let mut deltas = Deltas::default();
        index(0, b"\x0a\0\0\0", &mut deltas);
        for (step, id) in [(0x00, 5), (0x03, 3), (0x14, 13)] {
            let mut before = deltas.clone();
            assert_eq!(parsed(&[step], &mut deltas, frame_push), id);
            assert_eq!(deltas.frame_id, id);
            let bytes = written(|out| put_frame_push(out, id, &mut before));
            assert_eq!(bytes, [4, step]);
        }
    }

    #[test]
    fn code_pushes_are_absolute() {
        let pushes: [(u8, &[u8], u64, i64); 3] = [
            (0x41, &[0x01, 0x04], 1, 2),
            (0x40, &[0x01, 0x01], 1, -1),
            (0x41, &[0x80, 0x01, 0x00], 128, 0),
        ];
        let mut deltas = Deltas::default();
        for (first, body, code_id, instruction_offset) in pushes {
            let push = parsed(body, &mut deltas, |input, _| code_push(input, first));
            let expected = CodePush {
                code_id,
                instruction_offset,
                is_entry: first == 0x41,
            };
            assert_eq!(push, expected);
            let bytes = written(|out| put_code_push(out, &push));
            assert_eq!(bytes, [&[first][..], body].concat());
        }
    }

    #[test]
    fn unused_bits_of_a_code_push_are_ignored() {
        let push = |first| {
            parsed(&[0x01, 0x04], &mut Deltas::default(), |input, _| {
                code_push(input, first)
            })
        };
        assert_eq!(push(0x7f), push(0x41));
        assert_eq!(push(0x7e), push(0x40));
    }

    #[test]
    fn a_definition_struct_is_absolute_and_always_an_entry() {
        let body = b"\x09\0\0\0\0\0\0\x80main\0a.py\0\xfe\xff\xff\xff";
        let expected = FrameIndex {
            id: 0x8000_0000_0000_0009,
            function: b"main",
            file: b"a.py",
            line: -2,
            is_entry: true,
        };
        check_struct(2, body, &expected, frame_index_struct, |out| {
            put_frame_index_struct(out, &expected);
        });
    }

    #[test]
    fn a_push_struct_is_the_frame_then_the_thread() {
        let body = b"\x09\0\0\0\0\0\0\x80\0\x07\0\0\0\x7f\0\0";
        let (id, thread_id) = (0x8000_0000_0000_0009, 0x7f00_0000_0700);
        check_struct(3, body, &(id, thread_id), frame_push_struct, |out| {
            put_frame_push_struct(out, id, thread_id);
        });
    }

    #[test]
    fn a_pop_struct_is_the_thread_then_a_byte_of_count() {
        for count in [1, 255] {
            let body = [b"\0\x07\0\0\0\x7f\0\0", &[count][..], &[0; 7]].concat();
            let thread_id = 0x7f00_0000_0700;
            check_struct(8, &body, &(thread_id, count), frame_pop_struct, |out| {
                put_frame_pops_struct(out, count.into(), thread_id);
            });
            check_padding(&body, 9..16, frame_pop_struct);
        }
    }
}
