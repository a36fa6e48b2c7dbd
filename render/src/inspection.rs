//! What a look at a capture tells, as text and as JSON.

use memreport_aggregate::ingest::capture::FileFormat;
use memreport_aggregate::ingest::{Container, Ending, Inspection, Outlook};
use serde_json::{Value, json};

use crate::units::{Units, format_bytes, format_count, format_duration};

/// The names of `damage.ending` in the JSON profile.
pub(crate) fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Interrupted { .. } => "interrupted",
        Ending::Truncated { .. } => "truncated",
        Ending::Corrupt { .. } => "corrupt",
        _ => "unknown",
    }
}

/// How a capture ends, and what can be reported of it, in words.
struct Verdict {
    ending: &'static str,
    /// Whether all of the capture was read.
    is_certain: bool,
    ended: String,
    recoverable: String,
}

const READ_ALL: &str = "`memreport records` reads all of it to make sure";

fn verdict(inspection: &Inspection) -> Verdict {
    let size = |len: &u64| format!("{len} of the file's bytes");
    match &inspection.outlook {
        Outlook::Known {
            ending,
            n_records,
            n_events,
        } => known(inspection, ending, *n_records, *n_events),
        Outlook::SeemsComplete => Verdict {
            ending: "complete",
            is_certain: false,
            ended: format!(
                "in good order{}, as far as its start and its end tell",
                after(inspection)
            ),
            recoverable: format!("everything, if nothing between is damaged; {READ_ALL}"),
        },
        Outlook::SeemsCut { len } => Verdict {
            ending: "truncated",
            is_certain: false,
            ended: format!(
                "tracking ended in good order{}, but the file's end is missing",
                after(inspection)
            ),
            recoverable: format!("what the first {} hold; {READ_ALL}", size(len)),
        },
        Outlook::SeemsInterrupted { len } => Verdict {
            ending: "interrupted",
            is_certain: false,
            ended: "not closed: the process was killed, or is still running".to_owned(),
            recoverable: format!(
                "what the first {} hold, but for a last record that is not whole; {READ_ALL}",
                size(len)
            ),
        },
        _ => Verdict {
            ending: "unknown",
            is_certain: false,
            ended: if inspection.was_closed() {
                format!(
                    "in good order{}, by its header; its end was not looked at",
                    after(inspection)
                )
            } else {
                "not closed: the process was killed, or is still running".to_owned()
            },
            recoverable: "not known without reading all of it, as `memreport records` does"
                .to_owned(),
        },
    }
}

fn known(inspection: &Inspection, ending: &Ending, n_records: u64, n_events: u64) -> Verdict {
    let ended = match ending {
        Ending::Complete if miscounted(inspection, n_events) => format!(
            "with its end record, but its header counts {} allocations and deallocations: it is damaged",
            format_count(inspection.n_allocations)
        ),
        Ending::Complete => format!("in good order{}", after(inspection)),
        Ending::Interrupted { offset } => format!(
            "without an end record: the process was killed, or is still running; its data ends at byte {offset}"
        ),
        ending => ending.to_string(),
    };
    let held = if inspection.file_format == FileFormat::Aggregated {
        format!("{} records", format_count(n_records))
    } else {
        format!(
            "{} records, {} of them allocations and deallocations",
            format_count(n_records),
            format_count(n_events)
        )
    };
    let recoverable = match ending {
        Ending::Complete => format!("everything: {held}"),
        _ if n_records == 0 => "nothing but the header".to_owned(),
        _ if inspection.file_format == FileFormat::Aggregated => {
            format!("{held}; sums that are not among them are missing")
        }
        _ => held,
    };
    Verdict {
        ending: ending_name(ending),
        is_certain: true,
        ended,
        recoverable,
    }
}

fn miscounted(inspection: &Inspection, n_events: u64) -> bool {
    inspection.file_format == FileFormat::AllAllocations && inspection.n_allocations != n_events
}

/// How long tracking took, if the header says.
fn after(inspection: &Inspection) -> String {
    let metadata = &inspection.metadata;
    let duration = metadata
        .end_time_ms
        .saturating_sub(metadata.start_time_ms)
        .max(0)
        .cast_unsigned();
    format!(", after {}", format_duration(duration))
}

/// Where the capture's data ends, if that is known and it is not complete.
fn offset(outlook: &Outlook) -> Option<u64> {
    match outlook {
        Outlook::Known {
            ending:
                Ending::Interrupted { offset }
                | Ending::Truncated { offset, .. }
                | Ending::Corrupt { offset, .. },
            ..
        } => Some(*offset),
        _ => None,
    }
}

/// Bytes of the file before what is missing at its end, as far as its end was looked at.
fn file_bytes(outlook: &Outlook) -> Option<u64> {
    match outlook {
        Outlook::SeemsCut { len } | Outlook::SeemsInterrupted { len } => Some(*len),
        _ => None,
    }
}

/// The inspection as JSON; `SCHEMA.md` documents it.
#[must_use]
pub fn inspection_json(inspection: &Inspection) -> Value {
    let metadata = &inspection.metadata;
    let verdict = verdict(inspection);
    let (n_records, n_events) = match inspection.outlook {
        Outlook::Known {
            n_records,
            n_events,
            ..
        } => (Some(n_records), Some(n_events)),
        _ => (None, None),
    };
    json!({
        "format": metadata.format,
        "memray": metadata.memray,
        "python": metadata.python.map(|version| version.to_string()),
        "file_format": file_format(inspection),
        "containers": container_names(inspection),
        "size": inspection.size,
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "start_time_ms": metadata.start_time_ms,
        "end_time_ms": metadata.end_time_ms,
        "python_allocator": metadata.python_allocator,
        "trace_python_allocators": metadata.trace_python_allocators,
        "has_native_traces": metadata.has_native_traces,
        "main_thread_id": metadata.main_thread_id,
        "closed": inspection.was_closed(),
        "total_allocations": inspection.n_allocations,
        "ending": {
            "ending": verdict.ending,
            "certain": verdict.is_certain,
            "text": verdict.ended,
            "offset": offset(&inspection.outlook),
        },
        "recoverable": {
            "text": verdict.recoverable,
            "records": n_records,
            "allocation_records": n_events,
            "file_bytes": file_bytes(&inspection.outlook),
        },
    })
}

/// The inspection as lines of a name and a value each.
#[must_use]
pub fn inspection_text(inspection: &Inspection) -> String {
    let metadata = &inspection.metadata;
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let wrapped = container_names(inspection);
    let wrapped = if wrapped.is_empty() {
        "none".to_owned()
    } else {
        wrapped.join(", ")
    };
    let verdict = verdict(inspection);
    let facts = [
        ("Command", metadata.command_line.clone()),
        ("Process", metadata.pid.to_string()),
        (
            "Format",
            format!("{} (memray {})", metadata.format, metadata.memray),
        ),
        (
            "Python",
            metadata
                .python
                .map_or("not recorded".to_owned(), |version| version.to_string()),
        ),
        (
            "Holds",
            match inspection.file_format {
                FileFormat::AllAllocations => "every allocation",
                FileFormat::Aggregated => "sums of the peak and of the end (--aggregate)",
            }
            .to_owned(),
        ),
        ("Compression", wrapped),
        (
            "File size",
            inspection
                .size
                .map_or("unknown".to_owned(), |size| format_bytes(size, Units::Iec)),
        ),
        ("Ended", verdict.ended),
        ("Recoverable", verdict.recoverable),
        (
            "Records",
            match inspection.n_allocations {
                0 => "not counted in the header".to_owned(),
                n => format!("{} allocations and deallocations", format_count(n)),
            },
        ),
        ("Allocator", metadata.python_allocator.to_string()),
        (
            "Python allocators traced",
            metadata
                .trace_python_allocators
                .map_or("not recorded".to_owned(), yes_no),
        ),
        ("Native stacks", yes_no(metadata.has_native_traces)),
    ];
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .map(|(name, value)| format!("{name:width$}  {value}"))
        .join("\n")
}

fn container_names(inspection: &Inspection) -> Vec<&'static str> {
    let name = |container: &Container| match container {
        Container::Gzip => "gzip",
        Container::Lz4 => "LZ4",
    };
    inspection.containers.iter().map(name).collect()
}

fn file_format(inspection: &Inspection) -> &'static str {
    match inspection.file_format {
        FileFormat::AllAllocations => "ALL_ALLOCATIONS",
        FileFormat::Aggregated => "AGGREGATED_ALLOCATIONS",
    }
}
