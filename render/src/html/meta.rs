//! META: the facts of the page's header, and what the other sections contain.

use memreport_aggregate::Profile;
use memreport_aggregate::ingest::capture::Allocator;
use serde_json::{Value, json};

use super::FirstView;
use super::payload::Tables;
use super::shown::TEMPORARY_THRESHOLD;
use crate::doubts::{doubts, sentence};
use crate::stacks::thread_label;

/// Version of the page's tables.
pub(crate) const SCHEMA: u32 = 1;

pub(crate) const GENERATOR: &str = concat!("memreport ", env!("CARGO_PKG_VERSION"));

/// META, but the lengths of sections.
pub(crate) fn meta(tables: &Tables<'_>, first_view: FirstView) -> Value {
    let Tables { profile, shown, .. } = tables;
    let mut meta = json!({
        "schema": SCHEMA,
        "generator": GENERATOR,
        "mode": match first_view {
            FirstView::Peak => "peak",
            FirstView::Leaks => "leaks",
            FirstView::Temporary => "temporary",
        },
    });
    if let (Value::Object(meta), Value::Object(facts)) = (&mut meta, capture_facts(profile)) {
        meta.extend(facts);
    }
    meta["peak_slice"] = shown.slices.peak_slice(shown.slices.whole_run()).into();
    meta["snapshot_stride"] = shown.snapshot_stride.into();
    let threads = profile.threads.iter();
    meta["threads"] = threads
        .map(|thread| thread_label(profile, thread))
        .collect();
    meta["allocators"] = json!(Allocator::ALL.map(Allocator::name));
    meta["temporary"] = shown.temporaries.is_some().into();
    meta["counts"] = json!({
        "strings": tables.n_strings(),
        "frames": shown.frames.len() + shown.others.len(),
        "nodes": shown.depths.len(),
        "locations": shown.locations.len(),
        "snapshots": shown.slices.n_snapshots(),
        "rows": shown.rows.len(),
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

/// What pages say of a capture.
pub(crate) fn capture_facts(profile: &Profile) -> Value {
    let metadata = &profile.metadata;
    // An aggregated capture does not count events.
    let known = !profile.is_aggregated;
    json!({
        "command": metadata.command_line,
        "pid": metadata.pid,
        "format": metadata.format,
        "python": metadata.python.map(|version| version.to_string()),
        "allocator": metadata.python_allocator,
        "start_ms": metadata.start_time_ms,
        "end_ms": metadata.end_time_ms,
        "aggregated": profile.is_aggregated,
        "peak_slice": profile.slices.peak_slice(profile.slices.whole_run()),
        "native": metadata.has_native_traces,
        "python_allocators_traced": metadata.trace_python_allocators,
        "peak_bytes": profile.slices.peak(),
        "leaked_bytes": profile.slices.heap.last(),
        "allocations": known.then_some(profile.counts.allocations),
        "allocated_bytes": known.then_some(profile.counts.allocated_bytes),
        "records": known.then_some(profile.counts.events),
        "warnings": doubts(profile).iter().map(|text| sentence(text)).collect::<Vec<_>>(),
        "snapshot_stride": profile.snapshot_stride,
    })
}
