//! The machine form of a profile: every section that memray's own readers have, exact.

use std::collections::BTreeMap;
use std::io::Write;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{
    Ending, FrameId, LocationId, NativeResult, NodeId, SourceLines, Tally,
};
use memreport_aggregate::{Interval, NEVER, Profile, Question, Selected, Selection, View};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::inspection::ending_name;
use crate::selection::question_name;
use crate::stacks::{Numbering, frame, thread_id};
use crate::{Error, Output};

/// Version of the schema in `SCHEMA.md`.
const SCHEMA: u32 = 1;

/// The profile as JSON; `SCHEMA.md` documents it.
#[derive(Debug, Clone, Default)]
pub struct Json {
    /// With the sections over time, which are as large as the interval table.
    pub temporal: bool,
    /// With a section of a selection, beside those of the whole run.
    pub selection: Option<Selection>,
}

impl Output for Json {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selection = self.selection.as_ref();
        let selected = selection.map(|selection| selection.of(profile));
        let tables = Tables::new(profile, selected.transpose()?);
        let mut serializer = serde_json::Serializer::new(&mut *out);
        tables.write(self.temporal, &mut serializer)?;
        writeln!(out)?;
        Ok(())
    }
}

/// What rows refer to by number.
struct Tables<'a> {
    profile: &'a Profile,
    stacks: Numbering<NodeId>,
    frames: Numbering<FrameId>,
    selected: Option<Selected<'a>>,
    /// Stacks of the selection, without hidden frames. Their numbers come after those of `stacks`; none if
    /// they are the same stacks.
    shown_stacks: Numbering<NodeId>,
}

/// Key of a row: thread, unless merged, then stack, allocator. Rows are in this order.
type Key = (Option<u64>, usize, Allocator);

/// What a row starts with: thread (or -1), allocator, stack, and again the stack if native frames are in it.
type RowStart = (i128, &'static str, usize, Option<usize>);

impl<'a> Tables<'a> {
    fn new(profile: &'a Profile, selected: Option<Selected<'a>>) -> Self {
        let mut stacks = Numbering::default();
        for location in &profile.locations {
            stacks.number(location.node);
        }
        let mut frames = Numbering::default();
        for &node in stacks.things() {
            for frame in profile.call_tree.stack(node) {
                frames.number(frame);
            }
        }
        if let Some(native) = &profile.native {
            for &(_, node) in &native.unmerged.by_location {
                for frame in native.unmerged.stacks.stack(node) {
                    frames.number(frame);
                }
            }
        }
        let mut shown_stacks = Numbering::default();
        for selected in selected.iter().filter(|selected| selected.hides_frames()) {
            for row in selected.rows() {
                shown_stacks.number(row.node);
            }
        }
        Self {
            profile,
            stacks,
            frames,
            selected,
            shown_stacks,
        }
    }

    /// Writes the document, one section at a time.
    fn write<S: Serializer>(&self, temporal: bool, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.profile;
        let whole = profile.slices.whole_run();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &SCHEMA)?;
        map.serialize_entry(
            "generator",
            concat!("memreport ", env!("CARGO_PKG_VERSION")),
        )?;
        map.serialize_entry("metadata", &metadata(profile))?;
        map.serialize_entry("damage", &damage(profile))?;
        if let Some(lines) = &profile.source_lines {
            map.serialize_entry("source", &source(lines))?;
        }
        map.serialize_entry("snapshots", &snapshots(profile))?;
        // What an aggregated capture does not say is null.
        let known = !profile.is_aggregated;
        map.serialize_entry("slices", &known.then(|| slices(profile)))?;
        map.serialize_entry("stats", &known.then(|| stats(profile)))?;
        map.serialize_entry("threads", &threads(profile))?;
        map.serialize_entry(
            "high_water_mark",
            &self.section(&View::peak(profile, whole)),
        )?;
        map.serialize_entry("leaks", &self.section(&View::leaks(profile, whole)))?;
        for threshold in 0..=profile.temporaries.threshold().max(1) {
            let section = known.then(|| self.section(&View::temporary(profile, threshold)));
            map.serialize_entry(&format!("temporary_{threshold}"), &section)?;
        }
        if let Some(selected) = &self.selected {
            map.serialize_entry("selection", &self.selection(selected))?;
        }
        if temporal {
            let peaks = Some(profile.slices.peaks.as_slice());
            let section = known.then(|| self.temporal(peak_intervals, peaks));
            map.serialize_entry("temporal_high_water_mark", &section)?;
            let section = known.then(|| self.temporal(leak_intervals, None));
            map.serialize_entry("temporal_leaks", &section)?;
        }
        map.serialize_entry("unmerged_stacks", &self.unmerged())?;
        map.serialize_entry("frames", &self.frames())?;
        map.serialize_entry("stacks", &Stacks(self))?;
        map.end()
    }

    fn key(&self, location: LocationId, merged: bool) -> Option<Key> {
        let location = self.profile.locations.get(location.index())?;
        let thread = (!merged).then(|| thread_id(self.profile, location.thread));
        Some((thread, self.stacks.get(location.node)?, location.allocator))
    }

    /// A view, merged and by thread.
    fn section(&self, view: &View) -> Parts<Section> {
        let part = |merged| {
            let mut rows = BTreeMap::<Key, Tally>::new();
            for row in view.rows() {
                let Some(key) = self.key(row.location, merged) else {
                    continue;
                };
                rows.entry(key).or_default().add_all(row.tally);
            }
            self.rows_of(rows, view.total())
        };
        Parts {
            merged: part(true),
            by_thread: part(false),
        }
    }

    /// What was asked for, and its rows.
    fn selection(&self, selected: &Selected<'_>) -> SelectionSection {
        let mut rows = BTreeMap::<Key, Tally>::new();
        for row in selected.rows() {
            let stack = if selected.hides_frames() {
                let stack = self.shown_stacks.get(row.node);
                stack.map(|stack| self.stacks.things().len() + stack)
            } else {
                self.stacks.get(row.node)
            };
            let thread = selected.split_threads().then_some(row.thread);
            let thread = thread.map(|thread| thread_id(self.profile, thread));
            if let Some(stack) = stack {
                let sum = rows.entry((thread, stack, row.allocator)).or_default();
                sum.add_all(row.tally);
            }
        }
        let range = selected.range();
        SelectionSection {
            view: question_name(selected.question()),
            threshold: match selected.question() {
                Question::Temporary { threshold } => Some(threshold),
                _ => None,
            },
            slices: (range.first, range.last),
            peak_slice: selected.peak_slice(),
            left_out: Sum::from(selected.left_out()),
            section: self.rows_of(rows, selected.total()),
        }
    }

    fn rows_of(&self, rows: BTreeMap<Key, Tally>, total: Tally) -> Section {
        let rows = rows.into_iter().map(|(key, tally)| {
            let (thread, allocator, stack, hybrid) = self.row_start(key);
            (
                thread,
                allocator,
                stack,
                hybrid,
                tally.bytes,
                tally.allocations,
            )
        });
        Section {
            rows: rows.collect(),
            bytes: total.bytes,
            allocations: total.allocations,
        }
    }

    /// Intervals over time, merged and by thread.
    fn temporal<'p>(
        &self,
        make: fn(&[Interval], u32) -> Vec<IntervalRow>,
        peaks: Option<&'p [u64]>,
    ) -> Parts<TemporalSection<'p>> {
        let n_slices = u32::try_from(self.profile.slices.len()).unwrap_or(NEVER);
        let part = |merged| {
            let mut rows = BTreeMap::<Key, Vec<Interval>>::new();
            for interval in &self.profile.intervals {
                let Some(key) = self.key(interval.location, merged) else {
                    continue;
                };
                rows.entry(key).or_default().push(*interval);
            }
            let made = rows
                .into_iter()
                .map(|(key, intervals)| (key, make(&intervals, n_slices)));
            let rows =
                made.filter(|(_, intervals)| !intervals.is_empty())
                    .map(|(key, intervals)| {
                        let (thread, allocator, stack, hybrid) = self.row_start(key);
                        (thread, allocator, stack, hybrid, intervals)
                    });
            TemporalSection {
                rows: rows.collect(),
                high_water_mark_by_snapshot: peaks,
            }
        };
        Parts {
            merged: part(true),
            by_thread: part(false),
        }
    }

    /// The native stacks that stand beside the Python ones: by thread, with what is live at the peak and
    /// left over. `None` without native stacks.
    fn unmerged(&self) -> Option<Vec<UnmergedRow>> {
        let unmerged = &self.profile.native.as_ref()?.unmerged;
        let whole = self.profile.slices.whole_run();
        let by_location = |view: &View| {
            let rows = view.rows().iter().map(|row| (row.location, row.tally));
            rows.collect::<BTreeMap<LocationId, Tally>>()
        };
        let peak = by_location(&View::peak(self.profile, whole));
        let leaks = by_location(&View::leaks(self.profile, whole));
        let mut rows = BTreeMap::<(Key, NodeId), [Tally; 2]>::new();
        for &(location, native) in &unmerged.by_location {
            let Some(key) = self.key(location, false) else {
                continue;
            };
            let sums = rows.entry((key, native)).or_default();
            for (sum, tallies) in sums.iter_mut().zip([&peak, &leaks]) {
                let tally = tallies.get(&location).copied().unwrap_or_default();
                sum.bytes += tally.bytes;
                sum.allocations += tally.allocations;
            }
        }
        let row = |((key, native), [peak, leaks]): ((Key, NodeId), [Tally; 2])| {
            let (thread, allocator, stack, _) = self.row_start(key);
            let frames = unmerged.stacks.stack(native);
            (
                thread,
                allocator,
                stack,
                frames.filter_map(|id| self.frames.get(id)).collect(),
                (peak.bytes, peak.allocations),
                (leaks.bytes, leaks.allocations),
            )
        };
        Some(rows.into_iter().map(row).collect())
    }

    fn row_start(&self, (thread, stack, allocator): Key) -> RowStart {
        let hybrid = self.profile.native.is_some().then_some(stack);
        (
            thread.map_or(-1, i128::from),
            allocator.name(),
            stack,
            hybrid,
        )
    }

    fn frames(&self) -> Vec<(String, String, i32)> {
        let named = |&id| {
            let (frame, function, file) = frame(self.profile, id);
            (function, file, frame.line)
        };
        self.frames.things().iter().map(named).collect()
    }
}

/// A section that has two parts.
#[derive(Serialize)]
struct Parts<T> {
    merged: T,
    by_thread: T,
}

/// A row's start, bytes, allocations.
type Row = (i128, &'static str, usize, Option<usize>, u64, u64);

/// Thread, allocator, stack, native frames innermost first; bytes and allocations at the peak, left over.
type UnmergedRow = (
    i128,
    &'static str,
    usize,
    Vec<usize>,
    (u64, u64),
    (u64, u64),
);

#[derive(Serialize)]
struct Section {
    rows: Vec<Row>,
    bytes: u64,
    allocations: u64,
}

/// Bytes and allocations.
#[derive(Serialize)]
struct Sum {
    bytes: u64,
    allocations: u64,
}

impl From<Tally> for Sum {
    fn from(Tally { bytes, allocations }: Tally) -> Self {
        Self { bytes, allocations }
    }
}

/// What a selection has, and what it is.
#[derive(Serialize)]
struct SelectionSection {
    view: &'static str,
    threshold: Option<usize>,
    slices: (usize, usize),
    peak_slice: Option<usize>,
    left_out: Sum,
    #[serde(flatten)]
    section: Section,
}

/// A row's start, intervals.
type TemporalRow = (i128, &'static str, usize, Option<usize>, Vec<IntervalRow>);

#[derive(Serialize)]
struct TemporalSection<'a> {
    rows: Vec<TemporalRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_water_mark_by_snapshot: Option<&'a [u64]>,
}

/// Slice in which a value begins, slice in which it changes next, allocations, bytes.
type IntervalRow = (u32, Option<u32>, i64, i64);

/// Stacks as numbers of frames, innermost first; made while they are written, for they can be many
/// and deep.
struct Stacks<'a>(&'a Tables<'a>);

impl Serialize for Stacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Tables {
            profile,
            stacks,
            frames,
            selected,
            shown_stacks,
        } = self.0;
        let recorded = stacks.things().iter();
        let recorded = recorded.map(|&node| (&profile.call_tree, node));
        let shown = selected.iter().flat_map(|selected| {
            let shown = shown_stacks.things().iter();
            shown.map(|&node| (selected.call_tree(), node))
        });
        serializer.collect_seq(recorded.chain(shown).map(|(tree, node)| {
            let numbers = tree.stack(node).filter_map(|id| frames.get(id));
            numbers.collect::<Vec<usize>>()
        }))
    }
}

/// What is live at each slice's peak: from each slice in which that changes, up to the next.
fn peak_intervals(intervals: &[Interval], n_slices: u32) -> Vec<IntervalRow> {
    let mut changes = BTreeMap::<u32, (i64, i64)>::new();
    let mut change = |slice: u32, sign: i64, interval: &Interval| {
        let (allocations, bytes) = changes.entry(slice).or_default();
        *allocations += sign * i64::from(interval.allocations);
        *bytes += sign * interval.bytes.cast_signed();
    };
    for interval in intervals {
        // Live at the peak of slice s: start <= 2s < end. After the last slice no peak comes.
        let from = interval.start.div_ceil(2);
        let to = interval.end.div_ceil(2).min(n_slices);
        if from < to {
            change(from, 1, interval);
            change(to, -1, interval);
        }
    }
    changes.retain(|_, change| *change != (0, 0));
    let mut rows = Vec::new();
    let mut live = (0, 0);
    let mut changes = changes.into_iter().peekable();
    while let Some((slice, (allocations, bytes))) = changes.next() {
        live = (live.0 + allocations, live.1 + bytes);
        if live != (0, 0) {
            let next = changes.peek().map(|(slice, _)| *slice);
            rows.push((slice, next.filter(|&next| next < n_slices), live.0, live.1));
        }
    }
    rows
}

/// In which slice blocks were allocated, and in which freed.
fn leak_intervals(intervals: &[Interval], _: u32) -> Vec<IntervalRow> {
    let mut lives = BTreeMap::<(u32, u32), (i64, i64)>::new();
    for interval in intervals {
        let end = if interval.end == NEVER {
            NEVER
        } else {
            interval.end / 2
        };
        let (allocations, bytes) = lives.entry((interval.start / 2, end)).or_default();
        *allocations += i64::from(interval.allocations);
        *bytes += interval.bytes.cast_signed();
    }
    let apart = lives.into_iter().filter(|((start, end), _)| start != end);
    apart
        .map(|((start, end), (allocations, bytes))| {
            (start, (end != NEVER).then_some(end), allocations, bytes)
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
        "total_allocations": (!profile.is_aggregated).then_some(profile.counts.events),
        "object_events": profile.counts.object_events,
        "total_frames": profile.frames.as_slice().len() - 1,
        "peak_memory": profile.slices.peak(),
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "main_thread_id": metadata.main_thread_id,
        "python_allocator": metadata.python_allocator,
        "has_native_traces": metadata.has_native_traces,
        "trace_python_allocators": metadata.trace_python_allocators,
        "file_format": if profile.is_aggregated { "AGGREGATED_ALLOCATIONS" } else { "ALL_ALLOCATIONS" },
    })
}

pub(crate) fn damage(profile: &Profile) -> Value {
    let offset = match &profile.ending {
        Ending::Interrupted { offset }
        | Ending::Truncated { offset, .. }
        | Ending::Corrupt { offset, .. } => Some(*offset),
        _ => None,
    };
    let warnings: Vec<Value> = profile
        .warnings
        .iter()
        .map(|w| json!({ "text": w.kind.to_string(), "count": w.count, "first_offset": w.first_offset }))
        .collect();
    json!({
        "ending": ending_name(&profile.ending),
        "text": profile.ending.to_string(),
        "offset": offset,
        "bytes_read": (!profile.ending.is_complete()).then_some(profile.bytes_read),
        "size": profile.size.filter(|_| !profile.ending.is_complete()),
        "last_time_ms": profile.slices.times_ms.iter().max(),
        "warnings": warnings,
        "native": profile.native.as_ref().map(native),
        "implicit_frees": profile.counts.implicit_frees,
        "implicit_unmaps": profile.counts.implicit_unmaps,
        "unknown_deallocations": profile.counts.unknown_deallocations,
    })
}

fn source(lines: &SourceLines) -> Value {
    json!({
        "read": lines.n_read,
        "unreadable": lines.n_unreadable,
        "changed": lines.changed,
    })
}

fn native(native: &NativeResult) -> Value {
    let symbols = &native.symbols;
    let faults: Vec<String> = symbols.faults.iter().map(ToString::to_string).collect();
    json!({
        "addresses": symbols.n_addresses,
        "unresolved": symbols.n_unresolved,
        "unmapped": symbols.n_unmapped,
        "modules": symbols.n_modules,
        "faults": faults,
        "modified": symbols.modified,
        "unmerged_stacks": native.n_unmerged,
        "damaged_stacks": native.n_damaged,
    })
}

fn threads(profile: &Profile) -> BTreeMap<u64, String> {
    let named = profile
        .threads
        .iter()
        .map(|thread| (thread.id, profile.strings.text(thread.name)));
    named.map(|(id, name)| (id, name.into_owned())).collect()
}

fn snapshots(profile: &Profile) -> Vec<(u64, u64, u64)> {
    let slices = &profile.slices;
    let columns = slices.times_ms.iter().zip(&slices.rss).zip(&slices.heap);
    columns
        .map(|((&time, &rss), &heap)| (time, rss, heap))
        .collect()
}

fn slices(profile: &Profile) -> Vec<(u64, u64, u64, u64)> {
    let slices = &profile.slices;
    let columns = slices
        .peaks
        .iter()
        .zip(&slices.moments)
        .zip(&slices.heap)
        .zip(&slices.ends);
    columns
        .map(|(((&peak, &moment), &heap), &end)| (peak, moment, heap, end))
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
