//! The tables inside the page: META as JSON, the others as compressed columns.

use std::io::{self, Write};

use memreport_aggregate::Profile;
use memreport_aggregate::ingest::{FrameId, StringId};

use super::FirstView;
use super::meta::meta;
use super::sections::{
    Out, ROOT_NAME, Section, frame_flags, nodes, rows, snapshots, tallies, texts, write_sections,
};
use super::shown::Shown;
use crate::Error;
use crate::stacks::Numbering;
use crate::units::format_count;

/// What a section's columns are made of.
pub(crate) struct Tables<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) shown: &'a Shown<'a>,
    /// Strings by number; the one after the last is the root's name.
    pub(crate) strings: Numbering<StringId>,
    pub(crate) sources: Sources<'a>,
}

/// Lines of source. Their strings come after the root's name.
pub(crate) struct Sources<'a> {
    lines: Numbering<&'a str>,
}

impl<'a> Sources<'a> {
    fn new(profile: &'a Profile, shown: &Shown<'_>) -> Self {
        let mut lines = Numbering::default();
        if let Some(source_lines) = &profile.source_lines {
            let of_frames = shown.frames.iter().filter_map(|&id| source_lines.line(id));
            of_frames.for_each(|line| {
                lines.number(line);
            });
        }
        Self { lines }
    }
}

/// Writes META and the tables. `code` is the section that stands before them: its name, and its length
/// before compression.
pub(crate) fn write(
    profile: &Profile,
    shown: &Shown<'_>,
    first_view: FirstView,
    code: (&str, u64),
    out: &mut dyn Write,
) -> Result<(), Error> {
    let tables = Tables {
        profile,
        shown,
        strings: shown.strings(profile),
        sources: Sources::new(profile, shown),
    };
    let mut sections = vec![
        Section::new("SNAP", |out| snapshots(&shown.slices, profile, out)),
        Section::new("STRS", |out| texts(tables.texts(), out)),
        Section::new("FRAM", |out| frames(&tables, out)),
        Section::new("NODE", |out| nodes(&shown.depths, &shown.node_frames, out)),
        Section::new("LOCS", |out| locations(&tables, out)),
        Section::new("ROWS", |out| rows(&shown.rows, shown.slices.len(), out)),
    ];
    // Behind them, if they are known.
    if let Some(temporaries) = &shown.temporaries {
        sections.push(Section::new("TEMP", |out| tallies(temporaries, out)));
    }
    write_sections(meta(&tables, first_view), &sections, code, out)
}

impl Tables<'_> {
    /// Number of strings: of frames, the root's name, lines of source, names of folded stacks.
    pub(crate) fn n_strings(&self) -> usize {
        self.first_other() + self.shown.others.len()
    }

    /// Number of the string of the first line of source.
    fn first_source(&self) -> usize {
        self.strings.things().len() + 1
    }

    /// Number of the string of the first name of folded stacks.
    fn first_other(&self) -> usize {
        self.first_source() + self.sources.lines.things().len()
    }

    /// The string of a frame's line of source, or 0.
    fn source(&self, frame: FrameId) -> u64 {
        let lines = self.profile.source_lines.as_ref();
        let line = lines.and_then(|lines| lines.line(frame));
        let number = line.and_then(|line| self.sources.lines.get(line));
        number.map_or(0, |number| (self.first_source() + number) as u64)
    }

    /// The bytes of the strings, in order. What is not UTF-8 is replaced.
    fn texts(&self) -> impl Iterator<Item = Vec<u8>> + Clone + '_ {
        let texts = self
            .strings
            .things()
            .iter()
            .map(|&id| self.profile.strings.text(id));
        texts
            .map(|text| text.into_owned().into_bytes())
            .chain([ROOT_NAME.to_vec()])
            .chain(
                self.sources
                    .lines
                    .things()
                    .iter()
                    .map(|line| line.as_bytes().to_vec()),
            )
            .chain(self.shown.others.iter().map(|&n| other_name(n)))
    }
}

/// What a frame of so many folded stacks is called.
fn other_name(n: u64) -> Vec<u8> {
    let stacks = if n == 1 { "stack" } else { "stacks" };
    format!("other: {} {stacks}", format_count(n)).into_bytes()
}

fn frames(tables: &Tables<'_>, out: &mut Out<'_>) -> io::Result<()> {
    let Tables {
        profile,
        shown,
        strings,
        ..
    } = tables;
    let number: rustc_hash::FxHashMap<StringId, u64> =
        strings.things().iter().copied().zip(0..).collect();
    let number = |id: StringId| number.get(&id).copied().unwrap_or(0);
    let root_name = strings.things().len() as u64;
    let frames = || shown.frames.iter().map(|&id| profile.frames.get(id));
    out.u(root_name)?;
    frames()
        .skip(1)
        .try_for_each(|frame| out.u(number(frame.function)))?;
    let others = 0..shown.others.len();
    others
        .clone()
        .try_for_each(|other| out.u((tables.first_other() + other) as u64))?;
    // Folded stacks have no file, no line, no source and no flags.
    let nothing = |out: &mut Out<'_>| others.clone().try_for_each(|_| out.u(0));
    frames().try_for_each(|frame| out.u(number(frame.file)))?;
    nothing(out)?;
    frames().try_for_each(|frame| out.u(u64::try_from(frame.line).unwrap_or(0)))?;
    nothing(out)?;
    shown
        .frames
        .iter()
        .try_for_each(|&id| out.u(tables.source(id)))?;
    nothing(out)?;
    frames().try_for_each(|frame| {
        let (function, file) = (
            profile.strings.text(frame.function),
            profile.strings.text(frame.file),
        );
        out.bytes(&[frame_flags(&function, &file, frame.is_native)])
    })?;
    others.clone().try_for_each(|_| out.bytes(&[0]))
}

fn locations(tables: &Tables<'_>, out: &mut Out<'_>) -> io::Result<()> {
    let locations = &tables.shown.locations;
    out.u_deltas(locations.iter().map(|location| location.node as u64))?;
    locations
        .iter()
        .try_for_each(|location| out.u(location.thread.0.into()))?;
    locations
        .iter()
        .try_for_each(|location| out.u(location.allocator as u64 - 1))
}
