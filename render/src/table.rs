//! A selection by stack, a row each: as CSV, as TSV, as a page.

use std::borrow::Cow;
use std::io::Write;

use memreport_aggregate::ingest::Tally;
use memreport_aggregate::{Profile, Row, Selected, Selection};
use rustc_hash::FxHashMap;

use crate::html::write_table_page;
use crate::stacks::{frame, thread_label};
use crate::summary::NO_STACK;
use crate::text::printable;
use crate::units::Units;
use crate::{Error, Output};

/// Stands for the thread where threads are together.
const MERGED_THREADS: &str = "merged thread";

/// What the row is called of what a filter left out.
const LEFT_OUT: &str = "(left out)";

/// The names of the columns.
pub(crate) const COLUMNS: [&str; 5] = ["thread", "size", "allocator", "count", "location"];

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Values with commas between them.
    Csv,
    /// The same with tabs.
    Tsv,
    /// One page that opens from disk, in which rows can be sorted and searched.
    Html,
}

/// What is allocated where: thread, bytes, allocation function, number of allocations, innermost frame.
///
/// * Shape: a row for each stack, those that show the same added up, at the place of the first. They and,
///   if there is any, the last, of what a filter left out, add up to the view's total
/// * A stack's allocation function is that of its first allocation
/// * Source: `semantics.md`, section 10
#[derive(Debug, Clone)]
pub struct Table {
    /// What is shown. Which way stacks go does not matter.
    pub selection: Selection,
    /// The format.
    pub format: TableFormat,
    /// Multiples that a page shows bytes in; CSV and TSV have bytes.
    pub units: Units,
}

impl Output for Table {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let rows = rows(&selected);
        match self.format {
            TableFormat::Csv => write_separated(b',', &rows, &selected, out),
            TableFormat::Tsv => write_separated(b'\t', &rows, &selected, out),
            TableFormat::Html => write_table_page(&rows, &selected, self.units, out),
        }
    }
}

/// A row as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableRow {
    pub(crate) thread: String,
    pub(crate) allocator: String,
    pub(crate) location: String,
    pub(crate) tally: Tally,
}

/// The rows, no two of which show the same but for their numbers.
fn rows(selected: &Selected<'_>) -> Vec<TableRow> {
    let mut places = FxHashMap::<[Cow<'_, str>; 3], usize>::default();
    let mut rows: Vec<TableRow> = Vec::new();
    for row in selected.by_recorded_stack() {
        let [thread, allocator, location] = texts(selected, &row);
        let key = [thread.clone(), allocator.clone(), location.clone()].map(Cow::Owned);
        let place = *places.entry(key).or_insert(rows.len());
        match rows.get_mut(place) {
            Some(same) => same.tally.add_all(row.tally),
            None => rows.push(TableRow {
                thread,
                allocator,
                location,
                tally: row.tally,
            }),
        }
    }
    rows
}

/// Thread, allocator, location.
fn texts(selected: &Selected<'_>, row: &Row) -> [String; 3] {
    let profile = selected.profile();
    let thread = selected.split_threads().then_some(row.thread);
    let thread = thread.and_then(|id| profile.threads.get(id.index()));
    let thread = thread.map_or_else(
        || MERGED_THREADS.to_owned(),
        |thread| printable(&thread_label(profile, thread)),
    );
    let location = selected.stack(row.node).next().map(|id| frame(profile, id));
    let location = location.map_or_else(
        || NO_STACK.to_owned(),
        |(frame, function, file)| {
            let [function, file] = [function, file].map(|name| printable(&name));
            format!("{function} at {file}:{}", frame.line)
        },
    );
    [thread, row.allocator.name().to_lowercase(), location]
}

fn write_separated(
    separator: u8,
    rows: &[TableRow],
    selected: &Selected<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let mut csv = csv::WriterBuilder::new()
        .delimiter(separator)
        .from_writer(out);
    csv.write_record(COLUMNS).map_err(failed)?;
    let mut write = |thread: &str, allocator: &str, location: &str, tally: Tally| {
        let [size, count] = [tally.bytes, tally.allocations].map(|number| number.to_string());
        csv.write_record([thread, &size, allocator, &count, location])
            .map_err(failed)
    };
    for row in rows {
        write(&row.thread, &row.allocator, &row.location, row.tally)?;
    }
    if selected.left_out() != Tally::default() {
        write("", "", LEFT_OUT, selected.left_out())?;
    }
    csv.flush()?;
    Ok(())
}

fn failed(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => std::io::Error::other(format!("{other:?}")).into(),
    }
}
