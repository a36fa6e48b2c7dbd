//! speedscope's JSON: what was live at the peak, what was left over at the end, what was temporary.

use std::borrow::Cow;
use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId, Tally, ThreadId};
use memreport_aggregate::{Profile, Row, Selected, Selection};
use serde::{Serialize, Serializer};

use crate::selection::{answerable, left_out, question_name, without_stack};
use crate::stacks::{Numbering, frame, thread_label};
use crate::units::Units;
use crate::{Error, Output};

/// Profiles for speedscope: bytes and allocations, of each question.
///
/// * Shape: a profile each for peak bytes, peak allocations, leaked bytes, leaked allocations, temporary
///   bytes, temporary allocations; the last two only of a whole run. With threads split, each of
///   them once a thread. Samples are whole stacks from the root on, in the order of their first
///   allocation
/// * Allocations without stack have no place in this format: a profile's name says how many there are, and
///   what a filter left out
/// * Source: `semantics.md`, section 13
#[derive(Debug, Clone, Default)]
pub struct Speedscope {
    /// What is shown. speedscope opens with its question; the others are there too.
    pub selection: Selection,
}

impl Output for Speedscope {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let questions = answerable(&self.selection, profile);
        let views = questions
            .iter()
            .map(|&question| self.selection.asking(question).of(profile));
        let views = views.collect::<Result<Vec<Selected<'_>>, _>>()?;
        let parts: Vec<Part<'_>> = views.iter().flat_map(parts).collect();
        let frames = numbered(&parts);
        let first = parts
            .iter()
            .position(|part| part.view.question() == self.selection.question);
        let document = Document {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: Shared {
                frames: frames
                    .things()
                    .iter()
                    .map(|&id| SharedFrame::new(profile, id))
                    .collect(),
            },
            profiles: parts
                .iter()
                .flat_map(|part| part.sampled(&frames))
                .collect(),
            name: &profile.metadata.command_line,
            active_profile_index: 2 * first.unwrap_or(0),
            exporter: concat!("memreport ", env!("CARGO_PKG_VERSION")),
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)?;
        Ok(())
    }
}

/// A view, or what a thread has of it.
struct Part<'a> {
    view: &'a Selected<'a>,
    thread: Option<ThreadId>,
    /// In the order of their first allocations; no two have the same stack.
    rows: Vec<Row>,
}

/// The view itself or, if threads are split, a part for each thread that it has. There is always one, which
/// says what was left out.
fn parts<'a>(view: &'a Selected<'a>) -> Vec<Part<'a>> {
    let rows = view.by_stack();
    if !view.split_threads() || rows.is_empty() {
        let thread = None;
        return vec![Part { view, thread, rows }];
    }
    let mut threads = Numbering::default();
    let mut parts: Vec<Part<'a>> = Vec::new();
    for row in rows {
        let number = threads.number(row.thread);
        if number == parts.len() {
            let (thread, rows) = (Some(row.thread), Vec::new());
            parts.push(Part { view, thread, rows });
        }
        if let Some(part) = parts.get_mut(number) {
            part.rows.push(row);
        }
    }
    parts
}

/// Frames in the order in which samples use them.
fn numbered(parts: &[Part<'_>]) -> Numbering<FrameId> {
    let mut numbers = Numbering::default();
    let mut frames = Vec::new();
    for part in parts {
        for row in &part.rows {
            part.view.root_first(row.node, &mut frames);
            frames.iter().for_each(|&frame| {
                numbers.number(frame);
            });
        }
    }
    numbers
}

impl Part<'_> {
    /// Bytes and allocations.
    fn sampled<'a>(&'a self, frames: &'a Numbering<FrameId>) -> [Sampled<'a>; 2] {
        let profile = |name, unit, weight: fn(Tally) -> u64| {
            let with_stack = self.rows.iter().filter(|row| row.node != NodeId(0));
            let weighted = with_stack.map(|row| (row.node, weight(row.tally)));
            let (nodes, weights): (Vec<_>, Vec<_>) =
                weighted.filter(|&(_, weight)| weight > 0).unzip();
            Sampled {
                r#type: "sampled",
                name: format!("{name} ({})", self.title()),
                unit,
                start_value: 0,
                end_value: weights.iter().sum(),
                samples: Samples {
                    view: self.view,
                    frames,
                    nodes,
                },
                weights,
            }
        };
        [
            profile("Memory", "bytes", |tally| tally.bytes),
            profile("Allocations", "none", |tally| tally.allocations),
        ]
    }

    fn title(&self) -> String {
        let thread = self
            .thread
            .and_then(|id| self.view.profile().threads.get(id.index()));
        let thread = thread.map(|thread| thread_label(self.view.profile(), thread));
        let without_stack = without_stack(&self.rows, Units::Iec);
        let left_out = left_out(self.view, Units::Iec);
        let parts = [
            Some(Cow::from(question_name(self.view.question()))),
            thread.map(Cow::from),
            without_stack.map(Cow::from),
            left_out.map(Cow::from),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: Vec<Sampled<'a>>,
    name: &'a str,
    active_profile_index: usize,
    exporter: &'static str,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<SharedFrame>,
}

#[derive(Serialize)]
struct SharedFrame {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<i32>,
}

impl SharedFrame {
    fn new(profile: &Profile, id: FrameId) -> Self {
        let (frame, name, file) = frame(profile, id);
        Self {
            name,
            file,
            line: Some(frame.line).filter(|&line| line > 0),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled<'a> {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Samples<'a>,
    weights: Vec<u64>,
}

/// Stacks as numbers of frames, from the root on; made while they are written, for they can be many and
/// deep.
struct Samples<'a> {
    view: &'a Selected<'a>,
    frames: &'a Numbering<FrameId>,
    nodes: Vec<NodeId>,
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frames = Vec::new();
        serializer.collect_seq(self.nodes.iter().map(|&node| {
            self.view.root_first(node, &mut frames);
            let numbers = frames.iter().filter_map(|&id| self.frames.get(id));
            numbers.collect::<Vec<usize>>()
        }))
    }
}
