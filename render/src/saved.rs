//! What a saved profile is, and what it was made from, as text and as JSON.

use memreport_aggregate::Saved;
use memreport_aggregate::ingest::{Container, SourceFiles};
use serde_json::{Value, json};

use crate::inspection::ending_name;
use crate::units::{Units, format_bytes, format_count};

/// The facts as JSON; `SCHEMA.md` documents it.
#[must_use]
pub fn saved_json(saved: &Saved) -> Value {
    let Saved { origin, profile } = saved;
    let metadata = &profile.metadata;
    json!({
        "saved_profile": {
            "version": Saved::VERSION,
            "generator": origin.generator,
            "max_memory_records": origin.max_memory_records,
            "temporary_allocation_threshold": origin.temporary_threshold,
            "symbols": origin.symbols,
            "memray_frames": origin.memray_frames,
            "source": source_name(origin.source_files),
            "snapshot_stride": profile.snapshot_stride,
            "memory_snapshots": profile.slices.n_snapshots(),
            "locations": profile.locations.len(),
            "rows": profile.intervals.len(),
        },
        "format": metadata.format,
        "memray": metadata.memray,
        "python": metadata.python.map(|version| version.to_string()),
        "file_format": if profile.is_aggregated { "AGGREGATED_ALLOCATIONS" } else { "ALL_ALLOCATIONS" },
        "containers": container_names(saved),
        "size": profile.size,
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "start_time_ms": metadata.start_time_ms,
        "end_time_ms": metadata.end_time_ms,
        "python_allocator": metadata.python_allocator,
        "trace_python_allocators": metadata.trace_python_allocators,
        "has_native_traces": metadata.has_native_traces,
        "main_thread_id": metadata.main_thread_id,
        "total_allocations": (!profile.is_aggregated).then_some(profile.counts.events),
        "ending": {
            "ending": ending_name(&profile.ending),
            "text": profile.ending.to_string(),
        },
    })
}

/// The facts as lines of a name and a value each.
#[must_use]
pub fn saved_text(saved: &Saved) -> String {
    let Saved { origin, profile } = saved;
    let metadata = &profile.metadata;
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let holds = if profile.is_aggregated {
        "sums of the peak and of the end (--aggregate)".to_owned()
    } else {
        format!(
            "{} allocations and deallocations, added up to {} rows",
            format_count(profile.counts.events),
            format_count(profile.intervals.len() as u64)
        )
    };
    let snapshots = format_count(profile.slices.n_snapshots() as u64);
    let wrapped = container_names(saved);
    let wrapped = if wrapped.is_empty() {
        "none".to_owned()
    } else {
        wrapped.join(", ")
    };
    let facts = [
        (
            "Saved profile",
            format!("version {}, by {}", Saved::VERSION, origin.generator),
        ),
        ("Command", metadata.command_line.clone()),
        ("Process", metadata.pid.to_string()),
        (
            "Made from",
            format!(
                "a capture of format {} (memray {})",
                metadata.format, metadata.memray
            ),
        ),
        (
            "Python",
            metadata
                .python
                .map_or("not recorded".to_owned(), |version| version.to_string()),
        ),
        ("Holds", holds),
        ("Its compression", wrapped),
        (
            "Its size",
            profile
                .size
                .map_or("unknown".to_owned(), |size| format_bytes(size, Units::Iec)),
        ),
        ("Its end", profile.ending.to_string()),
        (
            "Memory snapshots",
            match profile.snapshot_stride {
                1 => format!("{snapshots}, all there were"),
                stride => format!("{snapshots}, 1 of {stride}"),
            },
        ),
        (
            "Temporary allocations",
            format!("up to a threshold of {}", origin.temporary_threshold),
        ),
        ("Native stacks", yes_no(metadata.has_native_traces)),
        ("Symbols looked for", yes_no(origin.symbols)),
        ("memray's own frames", yes_no(origin.memray_frames)),
        (
            "Lines of source",
            source_name(origin.source_files).to_owned(),
        ),
    ];
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .map(|(name, value)| format!("{name:width$}  {value}"))
        .join("\n")
}

/// As `--source` names them.
fn source_name(files: SourceFiles) -> &'static str {
    match files {
        SourceFiles::None => "none",
        SourceFiles::Python => "py",
        SourceFiles::All => "all",
    }
}

fn container_names(saved: &Saved) -> Vec<&'static str> {
    let name = |container: &Container| match container {
        Container::Gzip => "gzip",
        Container::Lz4 => "LZ4",
    };
    saved.profile.containers.iter().map(name).collect()
}
