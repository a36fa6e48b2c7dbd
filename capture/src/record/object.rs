//! `OBJECT_RECORD`: a Python object is created or destroyed.

use crate::delta::Deltas;
use crate::error::PResult;
use crate::record::allocation::{cached_address, keep_address, put_cached_address};
use crate::varint::{put_svarint, svarint};

/// Creation or destruction of a Python object. Counts in no figure of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectEvent {
    /// Address of the object.
    pub address: u64,
    /// Created, or else destroyed.
    pub created: bool,
    /// Native stack of the creation, or 0 for none.
    pub native_id: u64,
}

/// Formats 12 and later; the first byte, `001 pppp c`, is read.
pub(crate) fn object<'a>(
    input: &'a [u8],
    first: u8,
    native_traces: bool,
    deltas: &mut Deltas,
) -> PResult<'a, ObjectEvent> {
    let created = first & 1 == 1;
    let (rest, (address, pointer)) = cached_address(input, (first >> 1) & 15, deltas)?;
    let has_native = native_traces && created;
    let (rest, step) = if has_native {
        svarint(rest)?
    } else {
        (rest, 0)
    };
    keep_address(deltas, pointer);
    deltas.native_id = deltas.native_id.wrapping_add(step);
    let native_id = if has_native { deltas.native_id } else { 0 };
    Ok((
        rest,
        ObjectEvent {
            address,
            created,
            native_id,
        },
    ))
}

pub(crate) fn put_object(
    out: &mut Vec<u8>,
    event: &ObjectEvent,
    native_traces: bool,
    deltas: &mut Deltas,
) {
    let first = out.len();
    out.push(0x20 | u8::from(event.created));
    put_cached_address(out, first, event.address, 1, deltas);
    if native_traces && event.created {
        put_svarint(out, event.native_id.wrapping_sub(deltas.native_id));
        deltas.native_id = event.native_id;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{parsed, written};

    /// Reads an event after its first byte, checks that it is written the same, and returns it.
    fn event(bytes: &[u8], native_traces: bool, deltas: &mut Deltas) -> ObjectEvent {
        let mut before = deltas.clone();
        let event = parsed(&bytes[1..], deltas, |input, deltas| {
            object(input, bytes[0], native_traces, deltas)
        });
        let again = written(|out| put_object(out, &event, native_traces, &mut before));
        assert_eq!(again, bytes);
        event
    }

    #[test]
    fn only_creations_in_native_captures_have_a_stack() {
        let cases: [(&[u8], bool, bool, u64); 4] = [
            (&[0x3f, 0x04], false, true, 0),
            (&[0x3e, 0x04], false, false, 0),
            (&[0x3f, 0x04, 0x06], true, true, 8),
            (&[0x3e, 0x04], true, false, 0),
        ];
        for (bytes, native_traces, created, native_id) in cases {
            let mut deltas = Deltas {
                native_id: 5,
                ..Deltas::default()
            };
            let expected = ObjectEvent {
                address: 16,
                created,
                native_id,
            };
            assert_eq!(event(bytes, native_traces, &mut deltas), expected);
            assert_eq!((deltas.pointer, deltas.addresses.get(0)), (2, 16));
            assert_eq!(deltas.native_id, native_id.max(5));
        }
    }

    #[test]
    fn addresses_are_named_by_slot_and_a_hit_moves_nothing() {
        let mut deltas = Deltas::default();
        deltas.addresses.insert(16);
        deltas.addresses.insert(32);
        let before = format!("{deltas:?}");
        assert_eq!(event(&[0x21], false, &mut deltas).address, 32);
        assert_eq!(event(&[0x22], false, &mut deltas).address, 16);
        assert_eq!(format!("{deltas:?}"), before);
    }
}
