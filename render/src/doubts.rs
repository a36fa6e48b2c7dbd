//! What is doubtful about a profile, in sentences: the same in the terminal, the page and JSON.

use memreport_aggregate::Profile;
use memreport_aggregate::ingest::NativeResult;

use crate::units::{Units, format_bytes, format_count, format_duration};

/// Clauses on the capture's damage and oddities, without capital and full stop; none for a capture in
/// good order.
#[must_use]
pub fn doubts(profile: &Profile) -> Vec<String> {
    let mut doubts = Vec::new();
    if !profile.ending.is_complete() {
        doubts.push(format!("{}{}", profile.ending, extent(profile)));
    }
    for warning in &profile.warnings {
        let times = match warning.count {
            1 => "once".to_owned(),
            n => format!("{} times", format_count(n)),
        };
        let place = match (warning.first_offset, warning.count) {
            (None, _) => String::new(),
            (Some(offset), 1) => format!(" at byte {offset}"),
            (Some(offset), _) => format!(", first at byte {offset}"),
        };
        doubts.push(format!("{} ({times}{place})", warning.kind));
    }
    let unseen = profile.counts.implicit_frees + profile.counts.implicit_unmaps;
    if unseen > 0 {
        let blocks = if unseen == 1 {
            "a block was".to_owned()
        } else {
            format!("{} blocks were", format_count(unseen))
        };
        doubts.push(format!(
            "{blocks} allocated where another was still live: that its deallocation was not seen is taken to mean that \
             it happened by then"
        ));
    }
    if let Some(native) = &profile.native {
        native_doubts(native, &mut doubts);
    }
    if let Some(lines) = &profile.source_lines {
        doubts.extend(changed_sources(&lines.changed));
    }
    doubts
}

/// A capital first, a full stop last.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars
        .next()
        .map(|c| c.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Modules and files that are named one by one.
const MAX_MODULES: usize = 5;

/// That lines of source may not be those that ran.
fn changed_sources(changed: &[String]) -> Option<String> {
    let named = changed.get(..MAX_MODULES).unwrap_or(changed).join(", ");
    let more = changed.len().saturating_sub(MAX_MODULES);
    let more = if more > 0 {
        format!(" and {} more", format_count(more as u64))
    } else {
        String::new()
    };
    (!changed.is_empty()).then(|| {
        format!(
            "source files were changed after the capture ended, and lines shown of them may not be those that ran: \
             {named}{more}"
        )
    })
}

fn native_doubts(native: &NativeResult, doubts: &mut Vec<String>) {
    let symbols = &native.symbols;
    if symbols.n_unresolved > 0 {
        doubts.push(format!(
            "{} of {} native addresses have no symbols here and are shown as module+0xoffset",
            format_count(symbols.n_unresolved),
            format_count(symbols.n_addresses)
        ));
    }
    let modules = symbols.faults.iter().filter(|fault| fault.n_unresolved > 0);
    doubts.extend(modules.clone().take(MAX_MODULES).map(ToString::to_string));
    let more = modules.count().saturating_sub(MAX_MODULES);
    if more > 0 {
        doubts.push(format!(
            "{} more modules have no symbols here",
            format_count(more as u64)
        ));
    }
    let modified = &symbols.modified;
    doubts.extend(modified.iter().take(MAX_MODULES).map(|path| {
        format!("{path}: the file was modified after the capture was made, its symbols may not fit")
    }));
    let more = modified.len().saturating_sub(MAX_MODULES);
    if more > 0 {
        doubts.push(format!(
            "{} more modules were modified after the capture was made",
            format_count(more as u64)
        ));
    }
    if native.n_unmerged > 0 {
        doubts.push(format!(
            "{} native stacks do not show where Python frames belong (a stripped or missing interpreter?): those stacks have their \
             Python frames only, and `export --format json` has the native ones beside them",
            format_count(native.n_unmerged)
        ));
    }
    if native.n_damaged > 0 {
        doubts.push(format!(
            "{} native stacks refer to frames that the capture does not have, and are left out",
            format_count(native.n_damaged)
        ));
    }
}

/// How far reading came: in the file, and in time.
fn extent(profile: &Profile) -> String {
    let file = match profile.size {
        Some(size) => format!(
            "; {} of {} were read",
            format_bytes(profile.bytes_read, Units::Iec),
            format_bytes(size, Units::Iec)
        ),
        None => format!(
            "; {} were read",
            format_bytes(profile.bytes_read, Units::Iec)
        ),
    };
    let start = profile.metadata.start_time_ms;
    let time = profile.slices.times_ms.iter().max().map(|last| {
        let since_start = last
            .cast_signed()
            .saturating_sub(start)
            .max(0)
            .cast_unsigned();
        format!(
            ", up to a memory snapshot at {}",
            format_duration(since_start)
        )
    });
    file + &time.unwrap_or_default()
}
