//! speedscope's JSON: what was live at the peak, and what was left over at the end.

use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId, Tally};
use memreport_aggregate::{Profile, View};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};

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
        let mut frames = Numbering::default();
        let mut profiles = Vec::new();
        for (name, view) in [
            ("peak", View::peak(profile, whole)),
            ("leaks", View::leaks(profile, whole)),
        ] {
            let samples = samples(profile, &view);
            for (node, _) in &samples {
                outermost_first(profile, *node).into_iter().for_each(|id| {
                    frames.number(id);
                });
            }
            let bytes = |tally: Tally| tally.bytes;
            let allocations = |tally: Tally| tally.allocations;
            profiles.push(sampled(
                profile,
                &format!("Memory ({name})"),
                "bytes",
                &samples,
                &mut frames,
                bytes,
            ));
            profiles.push(sampled(
                profile,
                &format!("Allocations ({name})"),
                "none",
                &samples,
                &mut frames,
                allocations,
            ));
        }
        let frames: Vec<Value> = frames
            .things()
            .iter()
            .map(|&id| frame_object(profile, id))
            .collect();
        let document = json!({
            "$schema": "https://www.speedscope.app/file-format-schema.json",
            "shared": { "frames": frames },
            "profiles": profiles,
            "name": profile.metadata.command_line,
            "activeProfileIndex": match self.first_view { FirstView::Peak => 0, FirstView::Leaks => 2 },
            "exporter": concat!("memreport ", env!("CARGO_PKG_VERSION")),
        });
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)?;
        Ok(())
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

fn sampled(
    profile: &Profile,
    name: &str,
    unit: &str,
    samples: &[(NodeId, Tally)],
    frames: &mut Numbering<FrameId>,
    weight: impl Fn(Tally) -> u64,
) -> Value {
    let some = || samples.iter().filter(|(_, tally)| weight(*tally) > 0);
    let weights: Vec<u64> = some().map(|(_, tally)| weight(*tally)).collect();
    let stacks: Vec<Vec<usize>> = some()
        .map(|(node, _)| {
            outermost_first(profile, *node)
                .into_iter()
                .map(|id| frames.number(id))
                .collect()
        })
        .collect();
    json!({
        "type": "sampled",
        "name": name,
        "unit": unit,
        "startValue": 0,
        "endValue": weights.iter().sum::<u64>(),
        "samples": stacks,
        "weights": weights,
    })
}

/// A frame without file or line has no such key.
fn frame_object(profile: &Profile, id: FrameId) -> Value {
    let (frame, function, file) = frame(profile, id);
    let mut object = Map::new();
    object.insert("name".into(), function.into());
    if !file.is_empty() {
        object.insert("file".into(), file.into());
    }
    if frame.line > 0 {
        object.insert("line".into(), frame.line.into());
    }
    object.into()
}
