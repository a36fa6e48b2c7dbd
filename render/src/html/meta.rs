//! META: the facts of the page's header, and what the other sections contain.

use memreport_aggregate::ingest::capture::Allocator;
use serde_json::{Map, Value, json};

use super::FirstView;
use super::payload::Tables;
use super::shown::TEMPORARY_THRESHOLD;
use crate::doubts::{doubts, sentence};
use crate::stacks::thread_label;

/// Version of the page's tables.
const SCHEMA: u32 = 1;

/// META; `lengths` are those of the other sections before compression.
pub(crate) fn meta(tables: &Tables<'_>, first_view: FirstView, lengths: &[(&str, u64)]) -> Value {
    let Tables { profile, shown, .. } = tables;
    let metadata = &profile.metadata;
    let sections: Map<String, Value> = lengths
        .iter()
        .map(|&(name, length)| (name.to_owned(), length.into()))
        .collect();
    // An aggregated capture does not count events.
    let known = !profile.is_aggregated;
    let mut meta = json!({
        "schema": SCHEMA,
        "generator": concat!("memreport ", env!("CARGO_PKG_VERSION")),
        "command": metadata.command_line,
        "pid": metadata.pid,
        "format": metadata.format,
        "python": metadata.python.map(|version| version.to_string()),
        "allocator": metadata.python_allocator,
        "start_ms": metadata.start_time_ms,
        "end_ms": metadata.end_time_ms,
        "aggregated": profile.is_aggregated,
        "peak_slice": shown.slices.peak_slice(shown.slices.whole_run()),
        "native": metadata.has_native_traces,
        "python_allocators_traced": metadata.trace_python_allocators,
        "mode": match first_view {
            FirstView::Peak => "peak",
            FirstView::Leaks => "leaks",
            FirstView::Temporary => "temporary",
        },
        "peak_bytes": profile.slices.peak(),
        "leaked_bytes": profile.slices.heap.last(),
        "allocations": known.then_some(profile.counts.allocations),
        "allocated_bytes": known.then_some(profile.counts.allocated_bytes),
        "records": known.then_some(profile.counts.events),
        "threads": profile.threads.iter().map(|thread| thread_label(profile, thread)).collect::<Vec<_>>(),
        "allocators": Allocator::ALL.map(Allocator::name),
        "warnings": doubts(profile).iter().map(|text| sentence(text)).collect::<Vec<_>>(),
        "snapshot_stride": shown.snapshot_stride,
        "temporary": shown.temporaries.is_some(),
        "counts": {
            "strings": tables.n_strings(),
            "frames": shown.frames.len() + shown.others.len(),
            "nodes": shown.depths.len(),
            "locations": shown.locations.len(),
            "snapshots": shown.slices.n_snapshots(),
            "rows": shown.rows.len(),
        },
        "sections": sections,
    });
    if shown.folded.stacks > 0 {
        meta["folded"] = json!({
            "stacks": shown.folded.stacks,
            "peak_bytes": shown.folded.peak_bytes,
        });
    }
    if shown.temporaries.is_some() {
        meta["temporary_threshold"] = TEMPORARY_THRESHOLD.into();
    }
    meta
}
