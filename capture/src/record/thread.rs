//! `CONTEXT_SWITCH` and `THREAD_RECORD`: which thread what follows belongs to, and its name.

use nom::Parser;
use nom::number::streaming::le_u64;

use crate::error::PResult;
use crate::varint::{cstr, put_cstr};

/// The first byte is read.
#[inline]
pub(crate) fn context_switch(input: &[u8]) -> PResult<'_, u64> {
    le_u64(input)
}

pub(crate) fn put_context_switch(out: &mut Vec<u8>, thread_id: u64) {
    out.push(12);
    out.extend(thread_id.to_le_bytes());
}

/// The first byte is read. Names may be any bytes.
pub(crate) fn thread_name(input: &[u8]) -> PResult<'_, &[u8]> {
    cstr(input)
}

/// Format 6; the type is read. The thread, then its name.
pub(crate) fn thread_name_struct(input: &[u8]) -> PResult<'_, (u64, &[u8])> {
    (le_u64, cstr).parse(input)
}

pub(crate) fn put_thread_name_struct(out: &mut Vec<u8>, name: &[u8], thread_id: u64) {
    out.extend(9_u32.to_le_bytes());
    out.extend(thread_id.to_le_bytes());
    put_cstr(out, name);
}

pub(crate) fn put_thread_name(out: &mut Vec<u8>, name: &[u8]) {
    out.push(10);
    put_cstr(out, name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{check_struct, parsed, written};

    #[test]
    fn a_context_switch_is_eight_raw_bytes() {
        let body = [0x00, 0x07, 0x00, 0x00, 0x00, 0x7f, 0x00, 0xf0];
        let id = parsed(&body, &mut Deltas::default(), |input, _| {
            context_switch(input)
        });
        assert_eq!(id, 0xf000_7f00_0000_0700);
        let bytes = written(|out| put_context_switch(out, id));
        assert_eq!(bytes, [&[12][..], &body].concat());
    }

    #[test]
    fn a_thread_name_ends_at_its_nul_and_may_be_no_text() {
        for body in [&b"T\0"[..], b"\0", b"\xff\xfe \x80\0"] {
            let name = parsed(body, &mut Deltas::default(), |input, _| thread_name(input));
            assert_eq!([name, b"\0"].concat(), body);
            let bytes = written(|out| put_thread_name(out, name));
            assert_eq!(bytes, [&[10][..], body].concat());
        }
    }

    #[test]
    fn a_struct_names_its_thread_first() {
        for name in [&b"T"[..], b"", b"\xff\xfe \x80"] {
            let body = [b"\0\x07\0\0\0\x7f\0\xf0", name, b"\0"].concat();
            let id = 0xf000_7f00_0000_0700;
            check_struct(9, &body, &(id, name), thread_name_struct, |out| {
                put_thread_name_struct(out, name, id);
            });
        }
    }
}
