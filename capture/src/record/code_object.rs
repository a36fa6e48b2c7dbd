//! `CODE_OBJECT`: what a frame of formats 12 and later runs.

use crate::delta::Deltas;
use crate::error::PResult;
use crate::varint::{bytes, cstr, put_cstr, put_svarint, put_varint, svarint, varint};

/// A function's code, and the table that turns its instructions into lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeObject<'a> {
    /// Number that pushes refer to, from 1.
    pub id: u64,
    /// `co_name`.
    pub function: &'a [u8],
    /// `co_filename`, as it is.
    pub file: &'a [u8],
    /// `co_firstlineno`.
    pub first_line: i32,
    /// `co_lnotab` up to Python 3.9, then `co_linetable`.
    pub line_table: &'a [u8],
}

/// Formats 12 and later; the first byte is read.
pub(crate) fn code_object<'a>(input: &'a [u8], deltas: &mut Deltas) -> PResult<'a, CodeObject<'a>> {
    let (input, id) = varint(input)?;
    let (input, function) = cstr(input)?;
    let (input, file) = cstr(input)?;
    let (input, step) = svarint(input)?;
    let (input, len) = varint(input)?;
    let (input, line_table) = bytes(input, len)?;
    deltas.line = deltas.line.wrapping_add(line_step(step));
    Ok((
        input,
        CodeObject {
            id,
            function,
            file,
            first_line: deltas.line,
            line_table,
        },
    ))
}

pub(crate) fn put_code_object(out: &mut Vec<u8>, code: &CodeObject<'_>, deltas: &mut Deltas) {
    out.push(14);
    put_varint(out, code.id);
    put_cstr(out, code.function);
    put_cstr(out, code.file);
    put_line(out, code.first_line, deltas);
    put_varint(
        out,
        u64::try_from(code.line_table.len()).unwrap_or(u64::MAX),
    );
    out.extend(code.line_table);
}

/// Lines are 32-bit and wrap; the low half of a 64-bit step is all that counts.
pub(crate) fn line_step(step: u64) -> i32 {
    let [a, b, c, d, ..] = step.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

pub(crate) fn put_line(out: &mut Vec<u8>, line: i32, deltas: &mut Deltas) {
    put_svarint(
        out,
        i64::from(line.wrapping_sub(deltas.line)).cast_unsigned(),
    );
    deltas.line = line;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{parsed, written};

    #[test]
    fn a_code_object_is_number_names_line_and_table() {
        let body = b"\x01main\0a.py\0\x06\x06\xd0\0\0\xd9\0\0";
        let mut deltas = Deltas::default();
        let code = parsed(body, &mut deltas, code_object);
        let expected = CodeObject {
            id: 1,
            function: b"main",
            file: b"a.py",
            first_line: 3,
            line_table: &[0xd0, 0x00, 0x00, 0xd9, 0x00, 0x00],
        };
        assert_eq!(code, expected);
        assert_eq!(deltas.line, 3);
        let bytes = written(|out| put_code_object(out, &code, &mut Deltas::default()));
        assert_eq!(bytes, [&[14][..], body].concat());
    }

    #[test]
    fn first_lines_step_from_the_last_one_but_numbers_do_not() {
        let mut deltas = Deltas {
            line: 10,
            ..Deltas::default()
        };
        let code = parsed(b"\x80\x01\0\0\x03\0", &mut deltas, code_object);
        assert_eq!((code.id, code.first_line, deltas.line), (128, 8, 8));
        let code = parsed(b"\x02\0\0\x01\0", &mut deltas, code_object);
        assert_eq!((code.id, code.first_line, deltas.line), (2, 7, 7));
    }

    #[test]
    fn lines_wrap_in_32_bits() {
        let mut deltas = Deltas {
            line: i32::MAX,
            ..Deltas::default()
        };
        let code = parsed(b"\x01\0\0\x02\0", &mut deltas, code_object);
        assert_eq!((code.first_line, deltas.line), (i32::MIN, i32::MIN));
        // A step of 2^32 is none.
        let code = parsed(b"\x01\0\0\x80\x80\x80\x80\x20\0", &mut deltas, code_object);
        assert_eq!(code.first_line, i32::MIN);
    }

    #[test]
    fn an_absurd_table_asks_for_more_input_and_not_for_memory() {
        let mut deltas = Deltas::default();
        let body = b"\x01\0\0\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc";
        let cut = code_object(body, &mut deltas);
        assert!(matches!(cut, Err(nom::Err::Incomplete(_))), "{cut:?}");
        assert_eq!(deltas.line, 0);
    }
}
