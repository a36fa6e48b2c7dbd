//! The machine form of a profile: every section that memray's own readers have, exact.

use std::collections::BTreeMap;
use std::io::Write;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{Ending, FrameId, Location, LocationId, NodeId, Tally};
use memreport_aggregate::{Interval, NEVER, Profile, View};
use serde_json::{Map, Value, json};

use crate::stacks::{Numbering, thread_id};
use crate::{Error, Output};

/// Version of the schema in `SCHEMA.md`.
const SCHEMA: u32 = 1;

/// The profile as JSON; `SCHEMA.md` documents it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Json {
    /// With the sections over time, which are as large as the interval table.
    pub temporal: bool,
}

impl Output for Json {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let mut stacks = Numbering::default();
        for location in &profile.locations {
            stacks.number(location.node);
        }
        let mut tables = Tables {
            profile,
            stacks,
            threads: BTreeMap::new(),
        };
        for thread in &profile.threads {
            let name = profile.strings.text(thread.name).into_owned();
            tables.threads.insert(thread.id, name);
        }
        serde_json::to_writer(&mut *out, &tables.document(self.temporal))?;
        writeln!(out)?;
        Ok(())
    }
}

/// What rows refer to by number.
struct Tables<'a> {
    profile: &'a Profile,
    stacks: Numbering<NodeId>,
    threads: BTreeMap<u64, String>,
}

/// Key of a row: thread, unless merged, then stack, allocator. Rows are in this order.
type Key = (Option<u64>, usize, Allocator);

impl Tables<'_> {
    fn document(mut self, temporal: bool) -> Value {
        let profile = self.profile;
        let whole = profile.slices.whole_run();
        let mut document = Map::new();
        let mut add = |key: &str, value: Value| {
            document.insert(key.into(), value);
        };
        add("schema", SCHEMA.into());
        add(
            "generator",
            concat!("memreport ", env!("CARGO_PKG_VERSION")).into(),
        );
        add("metadata", metadata(profile));
        add("damage", damage(profile));
        add("snapshots", snapshots(profile));
        add("slices", slices(profile));
        add("stats", stats(profile));
        add("threads", json!(self.threads));
        add("high_water_mark", self.section(&View::peak(profile, whole)));
        add("leaks", self.section(&View::leaks(profile, whole)));
        for threshold in 0..=profile.temporaries.threshold() {
            add(
                &format!("temporary_{threshold}"),
                self.section(&View::temporary(profile, threshold)),
            );
        }
        if temporal {
            add(
                "temporal_high_water_mark",
                self.temporal(peak_intervals, true),
            );
            add("temporal_leaks", self.temporal(leak_intervals, false));
        }
        let (frames, stacks) = self.frames_and_stacks();
        add("frames", frames);
        add("stacks", stacks);
        document.into()
    }

    fn key(&mut self, location: LocationId, merged: bool) -> Option<Key> {
        let &Location {
            node,
            thread,
            allocator,
            ..
        } = self.profile.locations.get(location.index())?;
        let thread = (!merged).then(|| thread_id(self.profile, thread));
        Some((thread, self.stacks.number(node), allocator))
    }

    /// A view, merged and by thread.
    fn section(&mut self, view: &View) -> Value {
        let total = view.total();
        let mut part = |merged| {
            let mut rows = BTreeMap::<Key, Tally>::new();
            for row in view.rows() {
                let Some(key) = self.key(row.location, merged) else {
                    continue;
                };
                let sum = rows.entry(key).or_default();
                sum.bytes += row.tally.bytes;
                sum.allocations += row.tally.allocations;
            }
            let rows: Vec<Value> = rows
                .into_iter()
                .map(|((thread, stack, allocator), tally)| {
                    json!([
                        thread_value(thread),
                        allocator.name(),
                        stack,
                        null,
                        tally.bytes,
                        tally.allocations
                    ])
                })
                .collect();
            json!({ "rows": rows, "bytes": total.bytes, "allocations": total.allocations })
        };
        json!({ "merged": part(true), "by_thread": part(false) })
    }

    /// Intervals over time, merged and by thread.
    fn temporal(&mut self, make: fn(&[Interval]) -> Vec<Value>, with_peaks: bool) -> Value {
        let mut part = |merged| {
            let mut rows = BTreeMap::<Key, Vec<Interval>>::new();
            for interval in &self.profile.intervals {
                let Some(key) = self.key(interval.location, merged) else {
                    continue;
                };
                rows.entry(key).or_default().push(*interval);
            }
            let rows: Vec<Value> = rows
                .into_iter()
                .map(|((thread, stack, allocator), intervals)| {
                    (thread, stack, allocator, make(&intervals))
                })
                .filter(|(_, _, _, intervals)| !intervals.is_empty())
                .map(|(thread, stack, allocator, intervals)| {
                    json!([thread_value(thread), allocator.name(), stack, null, intervals])
                })
                .collect();
            if with_peaks {
                json!({ "rows": rows, "high_water_mark_by_snapshot": self.profile.slices.peaks })
            } else {
                json!({ "rows": rows })
            }
        };
        json!({ "merged": part(true), "by_thread": part(false) })
    }

    fn frames_and_stacks(&self) -> (Value, Value) {
        let mut frames = Numbering::<FrameId>::default();
        let stacks: Vec<Vec<usize>> = self
            .stacks
            .things()
            .iter()
            .map(|&node| {
                self.profile
                    .call_tree
                    .stack(node)
                    .map(|id| frames.number(id))
                    .collect()
            })
            .collect();
        let frames: Vec<Value> = frames
            .things()
            .iter()
            .map(|&id| {
                let (frame, function, file) = crate::stacks::frame(self.profile, id);
                json!([function, file, frame.line])
            })
            .collect();
        (frames.into(), json!(stacks))
    }
}

/// The number of a thread, or -1 for all of them together.
fn thread_value(thread: Option<u64>) -> Value {
    thread.map_or_else(|| (-1).into(), Value::from)
}

/// What is live at each slice's peak: from each slice in which that changes, up to the next.
fn peak_intervals(intervals: &[Interval]) -> Vec<Value> {
    let mut changes = BTreeMap::<u32, (i64, i64)>::new();
    let mut change = |slice: u32, sign: i64, interval: &Interval| {
        let (allocations, bytes) = changes.entry(slice).or_default();
        *allocations += sign * i64::from(interval.allocations);
        *bytes += sign * interval.bytes.cast_signed();
    };
    for interval in intervals {
        // Live at the peak of slice s: start <= 2s < end.
        let from = interval.start.div_ceil(2);
        let to = if interval.end == NEVER {
            NEVER
        } else {
            interval.end.div_ceil(2)
        };
        if from < to {
            change(from, 1, interval);
            if to != NEVER {
                change(to, -1, interval);
            }
        }
    }
    changes.retain(|_, change| *change != (0, 0));
    let mut rows = Vec::new();
    let mut live = (0, 0);
    let mut changes = changes.into_iter().peekable();
    while let Some((slice, (allocations, bytes))) = changes.next() {
        live = (live.0 + allocations, live.1 + bytes);
        if live != (0, 0) {
            let end = changes.peek().map(|(slice, _)| *slice);
            rows.push(json!([slice, end, live.0, live.1]));
        }
    }
    rows
}

/// In which slice blocks were allocated, and in which freed.
fn leak_intervals(intervals: &[Interval]) -> Vec<Value> {
    let mut lives = BTreeMap::<(u32, u32), (u64, u64)>::new();
    for interval in intervals {
        let end = if interval.end == NEVER {
            NEVER
        } else {
            interval.end / 2
        };
        let (allocations, bytes) = lives.entry((interval.start / 2, end)).or_default();
        *allocations += u64::from(interval.allocations);
        *bytes += interval.bytes;
    }
    let apart = lives.into_iter().filter(|((start, end), _)| start != end);
    apart
        .map(|((start, end), (allocations, bytes))| {
            json!([start, (end != NEVER).then_some(end), allocations, bytes])
        })
        .collect()
}

fn metadata(profile: &Profile) -> Value {
    let metadata = &profile.metadata;
    json!({
        "format": metadata.format,
        "python": metadata.python.map(|version| version.to_string()),
        "start_time_ms": metadata.start_time_ms,
        "end_time_ms": metadata.end_time_ms,
        "total_allocations": profile.counts.events,
        "total_frames": profile.frames.as_slice().len() - 1,
        "peak_memory": profile.slices.peak(),
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "main_thread_id": metadata.main_thread_id,
        "python_allocator": metadata.python_allocator,
        "has_native_traces": metadata.has_native_traces,
        "trace_python_allocators": metadata.trace_python_allocators,
        "file_format": "ALL_ALLOCATIONS",
    })
}

fn damage(profile: &Profile) -> Value {
    let (kind, offset) = match &profile.ending {
        Ending::Complete => ("complete", None),
        Ending::Interrupted { offset } => ("interrupted", Some(*offset)),
        Ending::Truncated { offset, .. } => ("truncated", Some(*offset)),
        Ending::Corrupt { offset, .. } => ("corrupt", Some(*offset)),
        _ => ("unknown", None),
    };
    let warnings: Vec<Value> = profile
        .warnings
        .iter()
        .map(|w| json!({ "text": w.kind.to_string(), "count": w.count, "first_offset": w.first_offset }))
        .collect();
    json!({
        "ending": kind,
        "text": profile.ending.to_string(),
        "offset": offset,
        "warnings": warnings,
        "implicit_frees": profile.counts.implicit_frees,
        "implicit_unmaps": profile.counts.implicit_unmaps,
        "unknown_deallocations": profile.counts.unknown_deallocations,
    })
}

fn snapshots(profile: &Profile) -> Value {
    let slices = &profile.slices;
    let columns = slices.times_ms.iter().zip(&slices.rss).zip(&slices.heap);
    columns
        .map(|((time, rss), heap)| json!([time, rss, heap]))
        .collect()
}

fn slices(profile: &Profile) -> Value {
    let slices = &profile.slices;
    let columns = slices
        .peaks
        .iter()
        .zip(&slices.moments)
        .zip(&slices.heap)
        .zip(&slices.ends);
    columns
        .map(|(((peak, moment), heap), end)| json!([peak, moment, heap, end]))
        .collect()
}

fn stats(profile: &Profile) -> Value {
    let mut by_allocator = BTreeMap::<&str, u64>::new();
    for (location, made) in profile.locations.iter().zip(&profile.made) {
        *by_allocator.entry(location.allocator.name()).or_default() += made.allocations;
    }
    json!({
        "total_num_allocations": profile.counts.allocations,
        "total_memory_allocated": profile.counts.allocated_bytes,
        "peak_memory_allocated": profile.slices.peak(),
        "allocation_count_by_size": profile.sizes,
        "allocation_count_by_allocator": by_allocator,
    })
}
