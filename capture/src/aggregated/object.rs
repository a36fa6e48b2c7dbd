//! `SURVIVING_OBJECT`: a Python object that outlived the run.

use crate::error::PResult;
use crate::varint::{put_varint, varint};

/// A Python object that was created while tracking, and never destroyed. Counts in no figure of
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SurvivingObject {
    /// Address of the object.
    pub address: u64,
    /// Native stack of the creation, or 0 for none.
    pub native_id: u64,
}

/// Formats 12 and later; the first byte is read.
pub(super) fn surviving_object(input: &[u8], native_traces: bool) -> PResult<'_, SurvivingObject> {
    let (input, pointer) = varint(input)?;
    let (input, native_id) = if native_traces {
        varint(input)?
    } else {
        (input, 0)
    };
    let address = pointer << 3;
    Ok((input, SurvivingObject { address, native_id }))
}

pub(super) fn put_surviving_object(
    out: &mut Vec<u8>,
    object: &SurvivingObject,
    native_traces: bool,
) {
    out.push(13);
    put_varint(out, object.address >> 3);
    if native_traces {
        put_varint(out, object.native_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Deltas;
    use crate::record::testing::{parsed, written};

    /// Checks both directions of an object.
    fn check(body: &[u8], native_traces: bool, address: u64, native_id: u64) {
        let object = parsed(body, &mut Deltas::default(), |input, _| {
            surviving_object(input, native_traces)
        });
        assert_eq!(object, SurvivingObject { address, native_id });
        let bytes = written(|out| put_surviving_object(out, &object, native_traces));
        assert_eq!(bytes, [&[13][..], body].concat());
    }

    #[test]
    fn only_native_captures_have_a_stack_for_an_object() {
        let address = [0x80, 0x84, 0x80, 0x80, 0x80, 0xfc, 0x03];
        check(&address, false, 0x7f00_0000_1000, 0);
        let with_stack = [&address[..], &[0xac, 0x02]].concat();
        check(&with_stack, true, 0x7f00_0000_1000, 300);
    }

    #[test]
    fn addresses_are_absolute_and_lose_their_highest_bits() {
        let top = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f];
        check(&top, false, !7, 0);
        let too_high = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let object = parsed(&too_high, &mut Deltas::default(), |input, _| {
            surviving_object(input, false)
        });
        assert_eq!(object.address, !7);
    }
}
