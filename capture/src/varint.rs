//! Primitive fields: variable-length numbers (LEB128, zig-zag) and NUL-terminated strings.

use nom::Parser;
use nom::bytes::streaming::{tag, take, take_until};
use nom::sequence::terminated;

use crate::error::{FaultKind, PResult, fail};

/// An unsigned varint: groups of seven bits, least significant first.
#[inline]
pub(crate) fn varint(input: &[u8]) -> PResult<'_, u64> {
    match input.split_first() {
        Some((&byte, rest)) if byte < 0x80 => Ok((rest, byte.into())),
        _ => long_varint(input),
    }
}

/// A varint of two bytes or more, or one that goes on past the input.
fn long_varint(input: &[u8]) -> PResult<'_, u64> {
    match input.first_chunk() {
        Some(&bytes) => eight_bytes(input, u64::from_le_bytes(bytes)),
        None => slow_varint(input),
    }
}

/// The same when eight bytes are there, `bytes`.
#[inline]
fn eight_bytes(input: &[u8], bytes: u64) -> PResult<'_, u64> {
    match short_varint(bytes) {
        Some((value, len)) => Ok((input.get(len..).unwrap_or_default(), value)),
        None => slow_varint(input),
    }
}

/// The varint that the bytes of a little-endian number start with, and how many of them it takes;
/// `None` if it takes more than eight. Up to 56 bits without a loop.
#[inline(always)]
pub(crate) fn short_varint(bytes: u64) -> Option<(u64, usize)> {
    const ENDS: u64 = 0x8080_8080_8080_8080;
    if bytes & 0x80 == 0 {
        return Some((bytes & 0x7f, 1));
    }
    let ends = !bytes & ENDS;
    if ends == 0 {
        return None;
    }
    // All bits below and at the first end mark, then groups of 7 into 14, 28, 56.
    let kept = bytes & (ends ^ ends.wrapping_sub(1)) & !ENDS;
    let pairs = (kept & 0x007f_007f_007f_007f) | ((kept & 0x7f00_7f00_7f00_7f00) >> 1);
    let fours = (pairs & 0x0000_3fff_0000_3fff) | ((pairs & 0x3fff_0000_3fff_0000) >> 2);
    let value = (fours & 0x0fff_ffff) | ((fours & 0x0fff_ffff_0000_0000) >> 4);
    let len = ends.trailing_zeros().wrapping_add(1) >> 3;
    Some((value, len as usize))
}

fn slow_varint(input: &[u8]) -> PResult<'_, u64> {
    let mut value = 0_u64;
    let mut shift = 0_u32;
    let mut rest = input;
    while let Some((&byte, after)) = rest.split_first() {
        // In the tenth byte only bit 0 still fits; the others fall off the top.
        value |= u64::from(byte & 0x7f).wrapping_shl(shift);
        rest = after;
        if byte < 0x80 {
            return Ok((rest, value));
        }
        shift = shift.wrapping_add(7);
        if shift >= 70 {
            return fail(input, FaultKind::VarintTooLong);
        }
    }
    Err(nom::Err::Incomplete(nom::Needed::Unknown))
}

/// A signed varint: zig-zag over [`varint`], so 0, 1, 2, 3 stand for 0, -1, 1, -2. The result is the
/// two's complement, ready to be added with wrapping.
#[inline]
pub(crate) fn svarint(input: &[u8]) -> PResult<'_, u64> {
    let (rest, z) = varint(input)?;
    Ok((rest, unzigzag(z)))
}

#[inline]
pub(crate) fn unzigzag(z: u64) -> u64 {
    (z >> 1) ^ (z & 1).wrapping_neg()
}

/// The bytes up to a NUL, which is consumed and not part of the value.
pub(crate) fn cstr(input: &[u8]) -> PResult<'_, &[u8]> {
    terminated(take_until(&b"\0"[..]), tag(&b"\0"[..])).parse(input)
}

/// `len` raw bytes. Asks for more input, and never for memory, when `len` is absurd.
pub(crate) fn bytes(input: &[u8], len: u64) -> PResult<'_, &[u8]> {
    match usize::try_from(len) {
        Ok(len) => take(len).parse(input),
        Err(_) => Err(nom::Err::Incomplete(nom::Needed::Unknown)),
    }
}

/// Appends a varint.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends a signed varint, given as two's complement.
pub(crate) fn put_svarint(out: &mut Vec<u8>, value: u64) {
    let sign = if value >> 63 == 1 { u64::MAX } else { 0 };
    put_varint(out, value.wrapping_shl(1) ^ sign);
}

/// Appends a string and its NUL. A NUL inside would end it early, so the value is cut there.
pub(crate) fn put_cstr(out: &mut Vec<u8>, value: &[u8]) {
    let end = value.iter().position(|&b| b == 0).unwrap_or(value.len());
    out.extend(value.iter().take(end));
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_known_bytes() {
        assert_eq!(varint(&[0x00, 9]), Ok((&[9][..], 0)));
        assert_eq!(varint(&[0x7f]), Ok((&[][..], 127)));
        assert_eq!(varint(&[0x80, 0x01]), Ok((&[][..], 128)));
        assert_eq!(
            varint(&[0xe8, 0xc8, 0x80, 0x04, 1]),
            Ok((&[1][..], 8_397_928))
        );
        let max = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(varint(&max), Ok((&[][..], u64::MAX)));
    }

    #[test]
    fn signed_varints_alternate() {
        let values = [0, -1, 1, -2, 2_i64];
        for (byte, value) in (0_u8..).zip(values) {
            assert_eq!(svarint(&[byte]), Ok((&[][..], value.cast_unsigned())));
        }
    }

    #[test]
    fn an_unfinished_number_asks_for_more() {
        assert!(matches!(varint(&[0x80; 9]), Err(nom::Err::Incomplete(_))));
        assert!(matches!(varint(&[]), Err(nom::Err::Incomplete(_))));
        assert!(matches!(cstr(b"abc"), Err(nom::Err::Incomplete(_))));
        assert!(matches!(
            bytes(b"abc", u64::MAX),
            Err(nom::Err::Incomplete(_))
        ));
    }

    #[test]
    fn an_endless_number_is_a_fault() {
        assert!(
            matches!(varint(&[0xff; 11]), Err(nom::Err::Failure(f)) if f.kind == FaultKind::VarintTooLong)
        );
        // The tenth byte has seven bits to give and room for one; it must end there all the same.
        let mut ten = [0xff; 10];
        ten[9] = 0x7f;
        assert_eq!(varint(&ten), Ok((&[][..], u64::MAX)));
    }

    #[test]
    fn every_length_reads_the_same_with_and_without_bytes_behind_it() {
        for bits in 0..64_u32 {
            for value in [
                1_u64 << bits,
                (1_u64 << bits).wrapping_sub(1),
                u64::MAX >> bits,
            ] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                assert_eq!(varint(&bytes), Ok((&[][..], value)));
                let len = bytes.len();
                bytes.extend([0xaa; 12]);
                assert_eq!(varint(&bytes), Ok((&bytes[len..], value)));
            }
        }
    }

    #[test]
    fn strings_end_at_the_nul() {
        assert_eq!(cstr(b"ab\0c"), Ok((&b"c"[..], &b"ab"[..])));
        assert_eq!(cstr(b"\0"), Ok((&b""[..], &b""[..])));
    }
}
