//! speedscope's JSON: what was live at the peak, and what was left over at the end.

use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId, Tally};
use memreport_aggregate::{Profile, View};
use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

use crate::stacks::{Numbering, frame, outermost_first};
use crate::{Error, FirstView, Output};

/// Profiles for speedscope: bytes and allocations, of the peak and of the leaks.
///
/// * Shape: a profile each for peak bytes, peak allocations, leaked bytes, leaked allocations; samples
///   are whole stacks, root to leaf, in the order of their first allocation that is live in the view
/// * Stacks without frames have no place in this format and are left out
/// * Source: `semantics.md`, section 13
#[derive(Debug, Clone, Copy, Default)]
pub struct Speedscope {
    /// The profile that speedscope opens with.
    pub first_view: FirstView,
}

impl Output for Speedscope {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let whole = profile.slices.whole_run();
        let views = [View::peak(profile, whole), View::leaks(profile, whole)];
        let [peak, leaks] = views.map(|view| samples(profile, &view));
        let mut frames = Numbering::default();
        for (node, _) in peak.iter().chain(&leaks) {
            for frame in outermost_first(profile, *node) {
                frames.number(frame);
            }
        }
        let sampled = |name: &'static str,
                       unit: &'static str,
                       all: &[(NodeId, Tally)],
                       weight: fn(Tally) -> u64| {
            let weighted = all.iter().map(|&(node, tally)| (node, weight(tally)));
            let (nodes, weights): (Vec<_>, Vec<_>) =
                weighted.filter(|&(_, weight)| weight > 0).unzip();
            Sampled {
                r#type: "sampled",
                name,
                unit,
                start_value: 0,
                end_value: weights.iter().sum(),
                samples: Samples {
                    profile,
                    frames: &frames,
                    nodes,
                },
                weights,
            }
        };
        let document = Document {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: Shared {
                frames: frames
                    .things()
                    .iter()
                    .map(|&id| SharedFrame::new(profile, id))
                    .collect(),
            },
            profiles: [
                sampled("Memory (peak)", "bytes", &peak, |tally| tally.bytes),
                sampled("Allocations (peak)", "none", &peak, |tally| {
                    tally.allocations
                }),
                sampled("Memory (leaks)", "bytes", &leaks, |tally| tally.bytes),
                sampled("Allocations (leaks)", "none", &leaks, |tally| {
                    tally.allocations
                }),
            ],
            name: &profile.metadata.command_line,
            active_profile_index: match self.first_view {
                FirstView::Peak => 0,
                FirstView::Leaks => 2,
            },
            exporter: concat!("memreport ", env!("CARGO_PKG_VERSION")),
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)?;
        Ok(())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: [Sampled<'a>; 4],
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
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Samples<'a>,
    weights: Vec<u64>,
}

/// Stacks as numbers of frames, root to leaf; made while they are written, for they can be many and
/// deep.
struct Samples<'a> {
    profile: &'a Profile,
    frames: &'a Numbering<FrameId>,
    nodes: Vec<NodeId>,
}

impl Serialize for Samples<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.nodes.iter().map(|&node| {
            let numbers = outermost_first(self.profile, node).into_iter();
            numbers
                .filter_map(|id| self.frames.get(id))
                .collect::<Vec<usize>>()
        }))
    }
}

/// Stacks with what they have in the view, in the order of their first allocation.
fn samples(profile: &Profile, view: &View) -> Vec<(NodeId, Tally)> {
    let mut places = FxHashMap::<NodeId, usize>::default();
    let mut samples: Vec<(NodeId, Tally)> = Vec::new();
    for row in view.rows() {
        let Some(location) = profile.locations.get(row.location.index()) else {
            continue;
        };
        if location.node == NodeId(0) {
            continue;
        }
        let place = *places.entry(location.node).or_insert(samples.len());
        match samples.get_mut(place) {
            Some((_, sum)) => {
                sum.bytes += row.tally.bytes;
                sum.allocations += row.tally.allocations;
            }
            None => samples.push((location.node, row.tally)),
        }
    }
    samples
}
