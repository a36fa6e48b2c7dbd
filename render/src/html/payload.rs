//! The tables inside the page: META as JSON, the others as compressed columns.

use std::io::{self, Write};

use memreport_aggregate::Profile;
use memreport_aggregate::columns::Columns;
use memreport_aggregate::ingest::{FrameId, StringId};

use super::FirstView;
use super::encoding::{FAST, Length, section};
use super::meta::meta;
use super::shown::Shown;
use crate::Error;
use crate::frame_class::{is_import_system, is_irrelevant};
use crate::stacks::Numbering;
use crate::units::format_count;

/// Flags of a frame.
const IRRELEVANT: u8 = 1;
const IMPORT_SYSTEM: u8 = 2;
const NATIVE: u8 = 4;

/// What the root's frame is called.
const ROOT_NAME: &[u8] = b"<root>";

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

type Fill = fn(&Tables<'_>, &mut Columns<&mut dyn Write>) -> io::Result<()>;

/// Sections in the order of the page. Behind them come the temporary allocations, if those are known.
const SECTIONS: [(&str, Fill); 6] = [
    ("SNAP", snapshots),
    ("STRS", strings),
    ("FRAM", frames),
    ("NODE", nodes),
    ("LOCS", locations),
    ("ROWS", rows),
];
const TEMPORARIES: (&str, Fill) = ("TEMP", temporaries);

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
    let temporaries = shown.temporaries.as_ref().map(|_| TEMPORARIES);
    let sections = || SECTIONS.into_iter().chain(temporaries);
    let mut lengths = vec![code];
    for (name, fill) in sections() {
        let mut length = Length::default();
        fill(&tables, &mut Columns::new(&mut length))?;
        lengths.push((name, length.0));
    }
    let meta = serde_json::to_string(&meta(&tables, first_view, &lengths))?;
    // In JSON `<` only stands in strings, where this means the same and closes no element.
    let meta = meta.replace('<', "\\u003c");
    writeln!(
        out,
        "<script type=\"application/json\" id=\"data-META\">{meta}</script>"
    )?;
    for (name, fill) in sections() {
        section(name, FAST, out, |out| fill(&tables, &mut Columns::new(out)))?;
    }
    Ok(())
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
    fn texts(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
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

fn snapshots(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    let slices = &tables.shown.slices;
    let start = tables.profile.metadata.start_time_ms.cast_unsigned();
    out.z_deltas(slices.times_ms.iter().copied(), start)?;
    out.z_deltas(slices.rss.iter().copied(), 0)?;
    out.z_deltas(slices.heap.iter().copied().take(slices.n_snapshots()), 0)?;
    out.z_deltas(slices.peaks.iter().copied(), 0)?;
    out.u_deltas(slices.moments.iter().copied())
}

fn strings(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    for text in tables.texts() {
        out.u(text.len() as u64)?;
    }
    for text in tables.texts() {
        out.bytes(&text)?;
    }
    Ok(())
}

fn frames(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
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
    let nothing = |out: &mut Columns<&mut dyn Write>| others.clone().try_for_each(|_| out.u(0));
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
        let irrelevant = if is_irrelevant(&function, &file) {
            IRRELEVANT
        } else {
            0
        };
        let import = if is_import_system(&function, &file) {
            IMPORT_SYSTEM
        } else {
            0
        };
        let native = if frame.is_native { NATIVE } else { 0 };
        out.bytes(&[irrelevant | import | native])
    })?;
    others.clone().try_for_each(|_| out.bytes(&[0]))
}

fn nodes(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    let depths = &tables.shown.depths;
    for (before, depth) in depths.iter().zip(depths.iter().skip(1)) {
        out.u(before + 1 - depth)?;
    }
    tables
        .shown
        .node_frames
        .iter()
        .try_for_each(|&frame| out.u(frame as u64))
}

fn locations(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    let locations = &tables.shown.locations;
    out.u_deltas(locations.iter().map(|location| location.node as u64))?;
    locations
        .iter()
        .try_for_each(|location| out.u(location.thread.0.into()))?;
    locations
        .iter()
        .try_for_each(|location| out.u(location.allocator as u64 - 1))
}

fn rows(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    let rows = &tables.shown.rows;
    let ticks = 2 * tables.shown.slices.len();
    let mut next = rows.iter().peekable();
    for tick in 0..ticks {
        let mut count = 0;
        while next.next_if(|row| row.start as usize == tick).is_some() {
            count += 1;
        }
        out.u(count)?;
    }
    for of_tick in rows.chunk_by(|a, b| a.start == b.start) {
        out.u_deltas(of_tick.iter().map(|row| row.location as u64))?;
    }
    rows.iter().try_for_each(|row| out.u(row.duration()))?;
    rows.iter().try_for_each(|row| out.u(row.allocations))?;
    rows.iter().try_for_each(|row| out.u(row.bytes))
}

fn temporaries(tables: &Tables<'_>, out: &mut Columns<&mut dyn Write>) -> io::Result<()> {
    let tallies = || tables.shown.temporaries.iter().flatten();
    tallies().try_for_each(|tally| out.u(tally.allocations))?;
    tallies().try_for_each(|tally| out.u(tally.bytes))
}
