//! Two captures as a page: both heaps over time, and what differs between any ranges of them.

use std::io::Write;

use memreport_aggregate::ingest::{FrameId, FrameTable, LocationId, NodeId, StringId, Tally};
use memreport_aggregate::{
    Change, CommonTree, DiffOptions, Profile, Question, Selected, Selection, Side, View,
};
use serde_json::{Value, json};

use super::meta::capture_facts;
use super::page_tree::{PageTree, Stacks};
use super::sections::{
    Out, ROOT_NAME, Section, frame_flags, nodes, rows, snapshots, tallies, texts, write_sections,
};
use super::shown::{PageRow, TEMPORARY_THRESHOLD, rows as rows_of};
use super::{CODE, MARKER, STYLE as SHARED_STYLE, link, modules, shell};
use crate::Error;
use crate::diff::{cautions, signed_bytes};
use crate::doubts::sentence;
use crate::stacks::Numbering;
use crate::units::{Units, format_bytes};

const TEMPLATE: &str = include_str!("../../../web-assets/diff.hbs");
const STYLE: &str = include_str!("../../../web-assets/diff.css");

/// The page on what changed from one capture to another.
///
/// * Shape: as [`Html`](crate::Html), but that the call tree is the one that both captures have in common,
///   and that each has its own curves and rows, whose locations are nodes of it
/// * Source: [`CommonTree`]; threads do not matter
#[derive(Debug, Clone)]
pub struct DiffPage {
    /// What it shows first. A filter leaves out the same rows for good.
    pub selection: Selection,
    /// Whether it shows all allocations of the run first, freed or not, in place of the selection's question.
    pub made: bool,
    /// When frames of the two are the same.
    pub options: DiffOptions,
    /// What the captures are called: base and new.
    pub names: [String; 2],
    /// Multiples that bytes are shown in at first.
    pub units: Units,
}

/// What one of the captures has, by nodes of the page.
struct SideTables<'a> {
    profile: &'a Profile,
    rows: Vec<PageRow>,
    /// Temporary allocations, and all that were ever made; none if the capture does not tell them.
    sums: Option<[Vec<Tally>; 2]>,
}

impl DiffPage {
    /// Writes the page on base and new.
    ///
    /// # Errors
    /// [`Error`] if `out` cannot be written to, or a profile has no answer to what is to be shown first.
    pub fn write(&self, profiles: [&Profile; 2], out: &mut dyn Write) -> Result<(), Error> {
        let [base, new] = profiles.map(|profile| self.selected(profile));
        let selected = [base?, new?];
        let [base, new] = profiles.map(|profile| self.selection.filter.places(profile));
        let places = [base?, new?];
        let trees = [0, 1].map(|i| (profiles[i], places[i].call_tree()));
        let (common, of_side) = CommonTree::of(trees, &self.options)?;
        let node_of = |side: usize, location: LocationId| {
            let node = places[side].node(location)?;
            of_side[side].get(node.index()).copied()
        };
        let tree = page_tree(profiles, &common, node_of);
        let sides = [0, 1].map(|side| {
            let place = |location| tree.place(node_of(side, location)?);
            self.side(profiles[side], tree.depths.len(), place)
        });
        let strings = PageTree::strings(&tree.frames, &common.frames);
        let mut sections = shared_sections(profiles, &common, &tree, &strings);
        sections.extend(side_sections(
            &sides[0],
            ["SNAP0", "ROWS0", "TEMP0", "MADE0"],
        ));
        sections.extend(side_sections(
            &sides[1],
            ["SNAP1", "ROWS1", "TEMP1", "MADE1"],
        ));
        let mut meta = self.meta(&selected, &sides);
        meta["counts"] = json!({
            "strings": strings.things().len() + 1,
            "frames": tree.frames.len(),
            "nodes": tree.depths.len(),
        });

        let viewer = link(&modules(), "diff_page.js")?;
        let style = format!("{}\n{}", SHARED_STYLE.trim(), STYLE.trim());
        let [base, new] = self.names.each_ref().map(|name| file_name(name));
        let title = format!("memreport · {base} → {new}");
        let shell = shell(TEMPLATE, &style, &viewer, &title, &self.summary(&selected))?;
        let (before, after) = shell.split_once(MARKER).unwrap_or((&shell, ""));
        out.write_all(before.as_bytes())?;
        write_sections(meta, &sections, (CODE, viewer.len() as u64), out)?;
        out.write_all(after.as_bytes())?;
        Ok(())
    }

    fn selected<'p>(&self, profile: &'p Profile) -> Result<Selected<'p>, Error> {
        let selected = if self.made {
            self.selection.made(profile)
        } else {
            self.selection.of(profile)
        };
        Ok(selected?)
    }

    /// How many allocations of its thread may lie between a temporary allocation and its end.
    fn threshold(&self) -> usize {
        match self.selection.question {
            Question::Temporary { threshold } => threshold,
            Question::Peak | Question::Leaks => TEMPORARY_THRESHOLD,
        }
    }

    fn side<'a>(
        &self,
        profile: &'a Profile,
        n_nodes: usize,
        place: impl Fn(LocationId) -> Option<usize>,
    ) -> SideTables<'a> {
        let sums = |view: View| {
            let mut sums = vec![Tally::default(); n_nodes];
            for row in view.rows() {
                if let Some(sum) = place(row.location).and_then(|at| sums.get_mut(at)) {
                    sum.add_all(row.tally);
                }
            }
            sums
        };
        SideTables {
            profile,
            rows: rows_of(&profile.intervals, &place),
            sums: (!profile.is_aggregated).then(|| {
                [
                    sums(View::temporary(profile, self.threshold())),
                    sums(View::made(profile)),
                ]
            }),
        }
    }

    fn meta(&self, selected: &[Selected<'_>; 2], sides: &[SideTables<'_>; 2]) -> Value {
        let captures = [0, 1].map(|i| {
            let profile = sides[i].profile;
            let range = selected[i].range();
            let mut facts = capture_facts(profile);
            facts["name"] = self.names[i].as_str().into();
            facts["memray"] = json!(profile.metadata.memray);
            facts["rss_peak"] = json!(profile.rss_peak.map(|peak| peak.rss));
            facts["range"] = json!([range.first, range.last]);
            facts["counts"] = json!({
                "snapshots": profile.slices.n_snapshots(),
                "rows": sides[i].rows.len(),
            });
            facts
        });
        let cautions = cautions(sides.each_ref().map(|side| side.profile));
        json!({
            "schema": super::meta::SCHEMA,
            "report": "diff",
            "generator": super::meta::GENERATOR,
            "mode": if self.made { "made" } else { mode(self.selection.question) },
            "threshold": self.threshold(),
            "units": match self.units { Units::Iec => "iec", Units::Si => "si" },
            "exact": self.options.exact,
            "filtered": !self.selection.filter.keeps_all(),
            "sums": sides.iter().all(|side| side.sums.is_some()),
            "captures": captures,
            "cautions": cautions.iter().map(|text| sentence(text)).collect::<Vec<_>>(),
        })
    }

    /// The page in one sentence, for readers without JavaScript.
    fn summary(&self, selected: &[Selected<'_>; 2]) -> String {
        let [base, new] = selected.each_ref().map(Selected::total);
        let question = match (self.made, self.selection.question) {
            (true, _) => "Allocated in all",
            (_, Question::Peak) => "Peak heap",
            (_, Question::Leaks) => "Left over",
            (_, Question::Temporary { .. }) => "Temporary allocations",
        };
        let change = Change { base, new }.bytes();
        format!(
            "{question}: {} in base, {} in new, {}. The graphs need JavaScript.",
            format_bytes(base.bytes, Units::Iec),
            format_bytes(new.bytes, Units::Iec),
            signed_bytes(change, Units::Iec),
        )
    }
}

/// What a path ends in.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn mode(question: Question) -> &'static str {
    match question {
        Question::Peak => "peak",
        Question::Leaks => "leaks",
        Question::Temporary { .. } => "temporary",
    }
}

/// The nodes of the common tree that either capture has memory at. Siblings are ordered by the larger of
/// what the two have at their peaks.
fn page_tree(
    profiles: [&Profile; 2],
    common: &CommonTree,
    node_of: impl Fn(usize, LocationId) -> Option<NodeId> + Copy,
) -> PageTree {
    let mut at_peak = vec![[0_u64; 2]; common.call_tree.len()];
    for (side, profile) in profiles.into_iter().enumerate() {
        for row in View::peak(profile, profile.slices.whole_run()).rows() {
            if let Some(node) = node_of(side, row.location) {
                let sum = &mut at_peak[node.index()][side];
                *sum = sum.saturating_add(row.tally.bytes);
            }
        }
    }
    let larger = at_peak.iter().map(|&[base, new]| base.max(new)).collect();
    let used = profiles
        .into_iter()
        .enumerate()
        .flat_map(|(side, profile)| {
            let of_rows = profile.intervals.iter().map(|interval| interval.location);
            let made = (0..).zip(&profile.made);
            let made = made.filter(|(_, tally)| **tally != Tally::default());
            let made = made.map(|(location, _)| LocationId(location));
            of_rows
                .chain(made)
                .filter_map(move |location| node_of(side, location))
        });
    let stacks = Stacks {
        call_tree: &common.call_tree,
        frames: &common.frames,
        strings: &common.strings,
    };
    PageTree::new(stacks, used, larger)
}

/// Names, frames and nodes of the common tree.
fn shared_sections<'a>(
    profiles: [&'a Profile; 2],
    common: &'a CommonTree,
    tree: &'a PageTree,
    strings: &'a Numbering<StringId>,
) -> Vec<Section<'a>> {
    let names = move || {
        let names = strings.things().iter();
        let names = names.map(|&id| common.strings.text(id).into_owned().into_bytes());
        names.chain([ROOT_NAME.to_vec()])
    };
    vec![
        Section::new("STRS", move |out| texts(names(), out)),
        Section::new("FRAM", move |out| {
            frames(profiles, common, &tree.frames, strings, out)
        }),
        Section::new("NODE", |out| nodes(&tree.depths, &tree.node_frames, out)),
    ]
}

/// As in the page of one capture. What a frame is told by its names and file in the capture that it is from.
fn frames(
    profiles: [&Profile; 2],
    common: &CommonTree,
    frames: &[FrameId],
    strings: &Numbering<StringId>,
    out: &mut Out<'_>,
) -> std::io::Result<()> {
    let number = |id: StringId| strings.get(id).unwrap_or(0) as u64;
    let of = |table: &FrameTable| frames.iter().map(|&id| table.get(id)).collect::<Vec<_>>();
    let shown = of(&common.frames);
    out.u(strings.things().len() as u64)?;
    (shown.iter().skip(1)).try_for_each(|frame| out.u(number(frame.function)))?;
    (shown.iter()).try_for_each(|frame| out.u(number(frame.file)))?;
    (shown.iter()).try_for_each(|frame| out.u(u64::try_from(frame.line).unwrap_or(0)))?;
    (shown.iter()).try_for_each(|_| out.u(0))?;
    frames.iter().try_for_each(|&id| {
        let flags = common.place(id).map_or(0, |(side, id)| {
            let profile = profiles[usize::from(side == Side::New)];
            let frame = profile.frames.get(id);
            let [function, file] = [frame.function, frame.file].map(|id| profile.strings.text(id));
            frame_flags(&function, &file, frame.is_native)
        });
        out.bytes(&[flags])
    })
}

/// What one of the captures has: curves, rows, and sums of the whole run by node.
fn side_sections<'a>(side: &'a SideTables<'_>, names: [&'static str; 4]) -> Vec<Section<'a>> {
    let n_slices = side.profile.slices.len();
    let mut sections = vec![
        Section::new(names[0], |out| {
            snapshots(&side.profile.slices, side.profile, out)
        }),
        Section::new(names[1], move |out| rows(&side.rows, n_slices, out)),
    ];
    for (name, sums) in names[2..].iter().zip(side.sums.iter().flatten()) {
        sections.push(Section::new(name, |out| tallies(sums, out)));
    }
    sections
}
