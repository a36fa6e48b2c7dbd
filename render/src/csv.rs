//! Rows of a selection for spreadsheets and scripts, as memray's.

use std::io::Write;

use csv::{Terminator, WriterBuilder};
use memreport_aggregate::ingest::{NodeId, Tally, ThreadId};
use memreport_aggregate::{Profile, Selected, Selection};

use crate::selection::LEFT_OUT;
use crate::stacks::{frame, thread_id, thread_label};
use crate::{Error, Output};

/// A row for each stack that the capture distinguishes and, if threads are split, thread.
///
/// * Shape: the columns of `memray transform csv`, with a header, lines ended by `\r\n`, quotes where they
///   are needed. A stack is `function;file;line` of each frame, innermost first whichever way stacks are
///   shown, joined by `|`; empty for an allocation without stack. Rows are in the order of their first
///   allocations, whose allocator and thread they have
/// * What a filter left out is the last row, `<left out>` in place of the stack: sizes always add up to the
///   whole view
/// * Source: `semantics.md`, section 13
#[derive(Debug, Clone, Default)]
pub struct Csv {
    /// What is shown.
    pub selection: Selection,
}

const COLUMNS: [&str; 6] = [
    "allocator",
    "num_allocations",
    "size",
    "tid",
    "thread_name",
    "stack_trace",
];

impl Output for Csv {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let mut table = WriterBuilder::new()
            .terminator(Terminator::CRLF)
            .from_writer(out);
        table.write_record(COLUMNS)?;
        for row in selected.by_recorded_stack() {
            let [allocations, size] = numbers(row.tally);
            table.write_record([
                row.allocator.name(),
                &allocations,
                &size,
                &thread_id(profile, row.thread).to_string(),
                &label(profile, row.thread),
                &stack(&selected, row.node),
            ])?;
        }
        let left_out = selected.left_out();
        if left_out != Tally::default() {
            let [allocations, size] = numbers(left_out);
            table.write_record(["", &allocations, &size, "", "", LEFT_OUT])?;
        }
        table.flush()?;
        Ok(())
    }
}

fn numbers(tally: Tally) -> [String; 2] {
    [tally.allocations.to_string(), tally.bytes.to_string()]
}

fn label(profile: &Profile, thread: ThreadId) -> String {
    let thread = profile.threads.get(thread.index());
    thread.map_or(String::new(), |thread| thread_label(profile, thread))
}

fn stack(selected: &Selected<'_>, node: NodeId) -> String {
    let frames = selected.stack(node).map(|id| {
        let (frame, function, file) = frame(selected.profile(), id);
        format!("{function};{file};{}", frame.line)
    });
    frames.collect::<Vec<_>>().join("|")
}
