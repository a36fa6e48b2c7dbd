//! Sections of a page: META, then columns; and the columns that pages of one and of two captures share.

use std::io::{self, Write};

use memreport_aggregate::columns::Columns;
use memreport_aggregate::frame_class::{is_import_system, is_irrelevant};
use memreport_aggregate::ingest::Tally;
use memreport_aggregate::{Profile, Slices};
use serde_json::{Map, Value};

use super::encoding::{FAST, Length, section};
use super::shown::PageRow;
use crate::Error;

/// Flags of a frame.
const IRRELEVANT: u8 = 1;
const IMPORT_SYSTEM: u8 = 2;
const NATIVE: u8 = 4;

/// What the root's frame is called.
pub(crate) const ROOT_NAME: &[u8] = b"<root>";

/// Where columns are written to.
pub(crate) type Out<'o> = Columns<&'o mut dyn Write>;

/// What fills a section.
type Fill<'a> = dyn Fn(&mut Out<'_>) -> io::Result<()> + 'a;

/// A section, by its name, and what fills it.
pub(crate) struct Section<'a> {
    name: &'static str,
    fill: Box<Fill<'a>>,
}

impl<'a> Section<'a> {
    pub(crate) fn new(
        name: &'static str,
        fill: impl Fn(&mut Out<'_>) -> io::Result<()> + 'a,
    ) -> Self {
        Self {
            name,
            fill: Box::new(fill),
        }
    }
}

/// Writes META and the sections. `code` is the section that stands before them: its name, and its length
/// before compression. META gets the lengths of all, as `sections`.
pub(crate) fn write_sections(
    mut meta: Value,
    sections: &[Section<'_>],
    code: (&str, u64),
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut lengths = Map::new();
    lengths.insert(code.0.to_owned(), code.1.into());
    for Section { name, fill } in sections {
        let mut length = Length::default();
        fill(&mut Columns::new(&mut length))?;
        lengths.insert((*name).to_owned(), length.0.into());
    }
    meta["sections"] = lengths.into();
    // In JSON `<` only stands in strings, where this means the same and closes no element.
    let meta = serde_json::to_string(&meta)?.replace('<', "\\u003c");
    writeln!(
        out,
        "<script type=\"application/json\" id=\"data-META\">{meta}</script>"
    )?;
    for Section { name, fill } in sections {
        section(name, FAST, out, |out| fill(&mut Columns::new(out)))?;
    }
    Ok(())
}

/// Times and heap: at each snapshot, then of each slice.
pub(crate) fn snapshots(slices: &Slices, profile: &Profile, out: &mut Out<'_>) -> io::Result<()> {
    let start = profile.metadata.start_time_ms.cast_unsigned();
    out.z_deltas(slices.times_ms.iter().copied(), start)?;
    out.z_deltas(slices.rss.iter().copied(), 0)?;
    out.z_deltas(slices.heap.iter().copied().take(slices.n_snapshots()), 0)?;
    out.z_deltas(slices.peaks.iter().copied(), 0)?;
    out.u_deltas(slices.moments.iter().copied())
}

/// Lengths of all, then all.
pub(crate) fn texts<T: AsRef<[u8]>>(
    texts: impl Iterator<Item = T> + Clone,
    out: &mut Out<'_>,
) -> io::Result<()> {
    for text in texts.clone() {
        out.u(text.as_ref().len() as u64)?;
    }
    for text in texts {
        out.bytes(text.as_ref())?;
    }
    Ok(())
}

/// The flags of a frame with these names.
pub(crate) fn frame_flags(function: &str, file: &str, is_native: bool) -> u8 {
    [
        (is_irrelevant(function, file), IRRELEVANT),
        (is_import_system(function, file), IMPORT_SYSTEM),
        (is_native, NATIVE),
    ]
    .into_iter()
    .filter_map(|(holds, flag)| holds.then_some(flag))
    .sum()
}

/// Nodes in preorder: how far each is from being a child of the one before, then their frames.
pub(crate) fn nodes(depths: &[u64], frames: &[usize], out: &mut Out<'_>) -> io::Result<()> {
    for (before, depth) in depths.iter().zip(depths.iter().skip(1)) {
        out.u(before + 1 - depth)?;
    }
    frames.iter().try_for_each(|&frame| out.u(frame as u64))
}

/// Rows, by the tick that they start at.
pub(crate) fn rows(rows: &[PageRow], n_slices: usize, out: &mut Out<'_>) -> io::Result<()> {
    let mut next = rows.iter().peekable();
    for tick in 0..2 * n_slices {
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

/// Allocations, then bytes.
pub(crate) fn tallies(tallies: &[Tally], out: &mut Out<'_>) -> io::Result<()> {
    tallies
        .iter()
        .try_for_each(|tally| out.u(tally.allocations))?;
    tallies.iter().try_for_each(|tally| out.u(tally.bytes))
}
