//! CPython's line tables: from an instruction of a code object to a line of source.

use memreport_capture::PythonVersion;

/// The line of the instruction at `offset` (in the unit of that Python), or 0 if it has none.
///
/// * `table`: `co_lnotab` up to Python 3.9, `co_linetable` from 3.10 on
/// * Source: `capture-format.md`, section 11
#[must_use]
pub(crate) fn line(python: PythonVersion, table: &[u8], first_line: i32, offset: i64) -> i32 {
    let Ok(offset) = u64::try_from(offset) else {
        return 0;
    };
    match (python.major, python.minor) {
        (..=2, _) | (3, ..=9) => lnotab(table, first_line, offset),
        (3, 10) => linetable_310(table, first_line, offset.saturating_mul(2)),
        _ => location_table(table, first_line, offset / 2).unwrap_or(0),
    }
}

/// Python up to 3.9: pairs of bytes, how far the address and the line move. A code object all on one
/// line has an empty table. memray reads the address step as signed; CPython does not.
fn lnotab(table: &[u8], first_line: i32, offset: u64) -> i32 {
    let mut address = 0_u64;
    let mut line = first_line;
    for pair in table.chunks_exact(2) {
        let &[step, delta] = pair else { break };
        address += u64::from(step);
        if address > offset {
            break;
        }
        line = line.wrapping_add(i8::from_le_bytes([delta]).into());
    }
    line
}

/// Python 3.10: pairs of bytes, the length of a range and how the line moves before it. A step of
/// -128 marks a range without line; the running line is kept.
fn linetable_310(table: &[u8], first_line: i32, target: u64) -> i32 {
    const NO_LINE: i8 = -128;
    if table.is_empty() {
        return 0;
    }
    let mut address = 0_u64;
    let mut line = first_line;
    for pair in table.chunks_exact(2) {
        let &[step, delta] = pair else { break };
        address += u64::from(step);
        let delta = i8::from_le_bytes([delta]);
        if delta != NO_LINE {
            line = line.wrapping_add(delta.into());
        }
        if address > target {
            break;
        }
    }
    line
}

/// Python from 3.11 on: entries of a kind and a length in code units, with what the kind needs.
/// `None` if no entry covers `unit`, or the table ends within one.
fn location_table(table: &[u8], first_line: i32, unit: u64) -> Option<i32> {
    let mut bytes = table.iter().copied();
    let mut start = 0_u64;
    let mut line = first_line;
    loop {
        let first = bytes.next().filter(|&byte| byte != 0)?;
        let length = u64::from(first & 7) + 1;
        let columns = match (first >> 3) & 15 {
            0..=9 => 1,
            code @ 10..=12 => {
                line = line.wrapping_add(i32::from(code) - 10);
                2
            }
            13 => {
                line = line.wrapping_add(signed_groups(&mut bytes)?);
                0
            }
            14 => {
                line = line.wrapping_add(signed_groups(&mut bytes)?);
                for _ in 0..3 {
                    groups(&mut bytes)?;
                }
                0
            }
            _ => 0,
        };
        for _ in 0..columns {
            bytes.next()?;
        }
        if unit < start + length {
            return Some(line);
        }
        start += length;
    }
}

/// A number in groups of six bits, least significant first; bit 6 means that more follow.
fn groups(bytes: &mut impl Iterator<Item = u8>) -> Option<u32> {
    let mut value = 0_u32;
    let mut shift = 0_u32;
    loop {
        let byte = bytes.next()?;
        value |= u32::from(byte & 0x3f).checked_shl(shift).unwrap_or(0);
        if byte & 0x40 == 0 {
            return Some(value);
        }
        shift = shift.saturating_add(6);
    }
}

/// The same with the sign in the lowest bit.
fn signed_groups(bytes: &mut impl Iterator<Item = u8>) -> Option<i32> {
    let value = groups(bytes)?;
    let magnitude = (value >> 1).cast_signed();
    Some(if value & 1 == 1 {
        magnitude.wrapping_neg()
    } else {
        magnitude
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(minor: u8, table: &[u8], offsets: impl IntoIterator<Item = i64>) -> Vec<i32> {
        let python = PythonVersion { major: 3, minor };
        offsets
            .into_iter()
            .map(|at| line(python, table, 10, at))
            .collect()
    }

    #[test]
    fn python_39_steps_are_unsigned_bytes() {
        // Line 10 up to byte 200, line 11 up to 204, then back to line 9.
        let table = [200, 1, 4, 0xfe];
        assert_eq!(
            lines(9, &table, [0, 128, 199, 200, 203, 204, 900]),
            [10, 10, 10, 11, 11, 9, 9]
        );
        assert_eq!(lines(8, &[], [0, 50]), [10, 10], "all on one line");
    }

    #[test]
    fn python_310_ranges_end_after_their_step() {
        let table = [4, 0, 2, 1, 2, 0x80, 6, 2];
        assert_eq!(lines(10, &table, [0, 1, 2, 3, 4]), [10, 10, 11, 11, 13]);
    }

    #[test]
    fn python_311_knows_each_kind_of_entry() {
        let table = [
            0x80, 0, // kind 0, one unit, one byte of columns
            0xd9, 0, 0, // kind 11, two units: line + 1
            0xe8, 0x03, // kind 13, one unit: line - 1
            0xf0, 0x48, 0x02, 0, 0, 0,    // kind 14, one unit: line + 68, in two groups
            0xf8, // kind 15, one unit: the running line
        ];
        assert_eq!(
            lines(11, &table, (0..7).map(|u| 2 * u)),
            [10, 11, 11, 10, 78, 78, 0]
        );
        assert_eq!(lines(14, &table[..8], [6]), [10]);
        assert_eq!(
            lines(14, &table[..8], [8]),
            [0],
            "the table ends within the entry"
        );
    }

    #[test]
    fn a_frame_that_has_not_started_has_no_line() {
        for minor in 9..=14 {
            assert_eq!(lines(minor, &[0xd0, 0, 0], [-1]), [0]);
        }
    }
}
