//! `PYTHON_FRAME_INDEX` and `PYTHON_TRACE_INDEX`: frames, and the tree of stacks made of them.

use nom::Parser;
use nom::number::streaming::{le_i32, le_u8, le_u32, le_u64};

use crate::error::PResult;
use crate::record::{CodePush, FrameIndex};
use crate::varint::{cstr, put_cstr, put_svarint, put_varint, svarint, varint};

/// A node of the tree of Python stacks. The k-th such record is node k, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PythonNode {
    /// The frame, by the id of its definition.
    pub frame_id: u64,
    /// The caller's node, or 0.
    pub parent: u64,
}

/// A frame's definition in formats 12 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeFrame {
    /// Number that nodes refer to: the k-th such record has k - 1.
    pub frame_id: u64,
    /// What runs, and where in it.
    pub push: CodePush,
}

/// Formats up to 11; the first byte is read. The parent has four bytes.
pub(super) fn node_struct(input: &[u8]) -> PResult<'_, PythonNode> {
    let (input, (frame_id, parent)) = (le_u64, le_u32).parse(input)?;
    let parent = parent.into();
    Ok((input, PythonNode { frame_id, parent }))
}

/// Formats 12 and later; the first byte is read.
pub(super) fn node(input: &[u8]) -> PResult<'_, PythonNode> {
    let (input, (frame_id, parent)) = (varint, varint).parse(input)?;
    Ok((input, PythonNode { frame_id, parent }))
}

pub(super) fn put_node_struct(out: &mut Vec<u8>, frame_id: u64, parent: u32) {
    out.push(3);
    out.extend(frame_id.to_le_bytes());
    out.extend(parent.to_le_bytes());
}

pub(super) fn put_node(out: &mut Vec<u8>, node: &PythonNode) {
    out.push(3);
    put_varint(out, node.frame_id);
    put_varint(out, node.parent);
}

/// Formats up to 11; the first byte is read. Nothing steps from an earlier record.
pub(super) fn frame_struct(input: &[u8]) -> PResult<'_, FrameIndex<'_>> {
    let (input, (id, function, file, line, is_entry)) =
        (le_u64, cstr, cstr, le_i32, le_u8).parse(input)?;
    Ok((
        input,
        FrameIndex {
            id,
            function,
            file,
            line,
            is_entry: is_entry != 0,
        },
    ))
}

pub(super) fn put_frame_struct(out: &mut Vec<u8>, frame: &FrameIndex<'_>) {
    out.push(4);
    out.extend(frame.id.to_le_bytes());
    put_cstr(out, frame.function);
    put_cstr(out, frame.file);
    out.extend(frame.line.to_le_bytes());
    out.push(frame.is_entry.into());
}

/// Formats 12 and later; the first byte is read.
pub(super) fn code_frame(input: &[u8]) -> PResult<'_, CodeFrame> {
    let (input, (frame_id, code_id, offset, is_entry)) =
        (varint, varint, svarint, le_u8).parse(input)?;
    let push = CodePush {
        code_id,
        instruction_offset: offset.cast_signed(),
        is_entry: is_entry != 0,
    };
    Ok((input, CodeFrame { frame_id, push }))
}

pub(super) fn put_code_frame(out: &mut Vec<u8>, frame: &CodeFrame) {
    out.push(4);
    put_varint(out, frame.frame_id);
    put_varint(out, frame.push.code_id);
    put_svarint(out, frame.push.instruction_offset.cast_unsigned());
    out.push(frame.push.is_entry.into());
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{parsed, written};

    /// Checks both directions of a record of type `kind`.
    fn check<T: Debug + PartialEq>(
        kind: u8,
        body: &[u8],
        expected: &T,
        parse: impl Fn(&'static [u8]) -> PResult<'static, T>,
        put: impl FnOnce(&mut Vec<u8>),
    ) {
        let record = parsed(body, &mut Deltas::default(), |input, _| parse(input));
        assert_eq!(record, *expected);
        assert_eq!(written(put), [&[kind], body].concat());
    }

    #[test]
    fn a_node_struct_has_a_parent_of_four_bytes() {
        let body = b"\x09\0\0\0\0\0\0\x80\xfe\xff\xff\xff";
        let (frame_id, parent) = (0x8000_0000_0000_0009, 0xffff_fffe);
        let expected = PythonNode {
            frame_id,
            parent: parent.into(),
        };
        check(3, body, &expected, node_struct, |out| {
            put_node_struct(out, frame_id, parent);
        });
    }

    #[test]
    fn a_later_node_is_two_numbers() {
        let body = b"\x07\x80\x80\x80\x80\x10";
        let expected = PythonNode {
            frame_id: 7,
            parent: 1 << 32,
        };
        check(3, body, &expected, node, |out| put_node(out, &expected));
    }

    #[test]
    fn a_frame_struct_is_absolute_and_says_whether_it_is_an_entry() {
        for is_entry in [false, true] {
            let body = b"\x09\0\0\0\0\0\0\x80main\0a.py\0\xfe\xff\xff\xff";
            let body = [&body[..], &[is_entry.into()]].concat();
            let expected = FrameIndex {
                id: 0x8000_0000_0000_0009,
                function: b"main",
                file: b"a.py",
                line: -2,
                is_entry,
            };
            check(4, &body, &expected, frame_struct, |out| {
                put_frame_struct(out, &expected);
            });
        }
    }

    #[test]
    fn a_later_frame_is_code_and_a_signed_offset() {
        let cases: [(&[u8], i64, bool); 3] = [
            (&[0x05, 0xac, 0x02, 0x04, 0x01], 2, true),
            (&[0x05, 0xac, 0x02, 0x01, 0x00], -1, false),
            (&[0x05, 0xac, 0x02, 0xc8, 0x01, 0x00], 100, false),
        ];
        for (body, instruction_offset, is_entry) in cases {
            let push = CodePush {
                code_id: 300,
                instruction_offset,
                is_entry,
            };
            let expected = CodeFrame { frame_id: 5, push };
            check(4, body, &expected, code_frame, |out| {
                put_code_frame(out, &expected);
            });
        }
    }

    #[test]
    fn any_byte_but_zero_makes_an_entry() {
        let (_, frame) = frame_struct(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80").unwrap();
        assert!(frame.is_entry);
        let (_, frame) = code_frame(b"\0\0\0\x80").unwrap();
        assert!(frame.push.is_entry);
    }
}
