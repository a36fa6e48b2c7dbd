//! What the unit tests of the record parsers share.

use std::fmt::Debug;
use std::ops::Range;

use crate::delta::Deltas;
use crate::error::{FaultKind, PResult};

/// Bytes behind a record, which its parser must leave alone.
const BEHIND: [u8; 2] = [0xee, 0x80];

/// What `parse` makes of `body`, a record without its first byte or type.
///
/// Checks that the parser takes the body and nothing behind it, and that every shorter input asks
/// for more and changes no deltas.
pub(crate) fn parsed<T: Debug>(
    body: &[u8],
    deltas: &mut Deltas,
    parse: impl Fn(&'static [u8], &mut Deltas) -> PResult<'static, T>,
) -> T {
    // Leaked, so that one type `T` can stand for records that borrow from their input.
    let input: &'static [u8] = [body, &BEHIND].concat().leak();
    let before = format!("{deltas:?}");
    for len in 0..body.len() {
        let cut = parse(&input[..len], deltas);
        assert!(
            matches!(cut, Err(nom::Err::Incomplete(_))),
            "{len}: {cut:?}"
        );
        assert_eq!(format!("{deltas:?}"), before, "deltas after {len} bytes");
    }
    let (rest, record) = parse(input, deltas).unwrap();
    assert_eq!(rest, BEHIND);
    record
}

/// Checks both directions of a record of format 6: `parse` makes `expected` of `body`, and `put`
/// appends the type `kind`, then `body`.
pub(crate) fn check_struct<T: Debug + PartialEq>(
    kind: u8,
    body: &[u8],
    expected: &T,
    parse: impl Fn(&'static [u8]) -> PResult<'static, T>,
    put: impl FnOnce(&mut Vec<u8>),
) {
    let record = parsed(body, &mut Deltas::default(), |input, _| parse(input));
    assert_eq!(record, *expected);
    assert_eq!(written(put), [&[kind, 0, 0, 0], body].concat());
}

/// Checks that `parse` makes the same of `body` whatever its bytes in `padding` are.
pub(crate) fn check_padding<T: Debug + PartialEq>(
    body: &[u8],
    padding: Range<usize>,
    parse: impl Fn(&'static [u8]) -> PResult<'static, T>,
) {
    let mut padded = body.to_vec();
    padded[padding].fill(0xff);
    let record = |body: &[u8]| parsed(body, &mut Deltas::default(), |input, _| parse(input));
    assert_eq!(record(&padded), record(body));
}

/// Why `parse` refuses `body` for good. Checks that the deltas stay what they were at the start.
pub(crate) fn refused<T: Debug>(
    body: &[u8],
    parse: impl FnOnce(&[u8], &mut Deltas) -> Result<T, FaultKind>,
) -> FaultKind {
    let mut deltas = Deltas::default();
    let kind = parse(body, &mut deltas).unwrap_err();
    assert_eq!(format!("{deltas:?}"), format!("{:?}", Deltas::default()));
    kind
}

/// The bytes that `put` appends.
pub(crate) fn written(put: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out);
    out
}
