//! Debug information that would take the stack or all memory to decode, and is left alone.

use addr2line::gimli::{Dwarf, UnitHeader, UnitRef};
use rayon::prelude::*;

use super::dwarf::Slice;
use super::source_paths;

/// How deep entries may nest. Lookups recurse as deep, and compilers stay far below.
const MAX_DEPTH: isize = 512;

/// How long the line table of a unit may be, and the paths that it stands for when written out: a
/// few bytes can stand for a long one.
const MAX_LINES: usize = 1 << 26;

/// Says what goes beyond bounds, if anything does. Nothing could catch a stack that overflows, or
/// memory that runs out.
pub(super) fn check(dwarf: &Dwarf<Slice<'_>>) -> Result<(), String> {
    [Some(dwarf), dwarf.sup()]
        .into_iter()
        .flatten()
        .try_for_each(|dwarf| {
            let mut units = dwarf.units();
            let headers: Vec<_> = std::iter::from_fn(|| units.next().ok().flatten()).collect();
            headers
                .into_par_iter()
                .try_for_each(|header| check_unit(dwarf, header))
        })
}

fn check_unit<'a>(dwarf: &Dwarf<Slice<'a>>, header: UnitHeader<Slice<'a>>) -> Result<(), String> {
    // What cannot be read here, lookups cannot read either.
    let Ok(unit) = dwarf.unit(header) else {
        return Ok(());
    };
    let unit = unit.unit_ref(dwarf);
    if nests_too_deeply(unit).unwrap_or(false) {
        return Err("its entries nest too deeply".to_owned());
    }
    if has_too_many_lines(unit) {
        return Err("its line tables are too long".to_owned());
    }
    Ok(())
}

fn nests_too_deeply(unit: UnitRef<'_, Slice<'_>>) -> addr2line::gimli::Result<bool> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        if entries.next_depth() > MAX_DEPTH {
            return Ok(true);
        }
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
    }
    Ok(false)
}

fn has_too_many_lines(unit: UnitRef<'_, Slice<'_>>) -> bool {
    let Some(program) = &unit.line_program else {
        return false;
    };
    let header = program.header();
    let mut left = MAX_LINES.checked_sub(header.raw_program_buf().len());
    for file in header.file_names() {
        let len = source_paths::max_len(unit, file, header);
        left = left.and_then(|left| left.checked_sub(len));
    }
    left.is_none()
}
