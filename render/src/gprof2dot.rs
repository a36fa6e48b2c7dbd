//! Call chains for gprof2dot, as memray's.

use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId, StringId, Tally, ThreadId};
use memreport_aggregate::{Profile, Row, Selected, Selection};
use serde::{Serialize, Serializer};

use crate::selection::LEFT_OUT;
use crate::stacks::{Numbering, thread_label};
use crate::{Error, Output};

/// The JSON that gprof2dot reads (`-f json`): an event for each stack that the capture distinguishes.
///
/// * Shape: that of `memray transform gprof2dot`; costs are bytes. A call chain is innermost first. If
///   threads are split, a function with the thread's label calls all others
/// * What a filter left out is the last event, of a function `<left out>`. Allocations without stack have
///   no place in this format: they are counted in `without_stack`, which is there if there are any. All
///   add up to the whole view
/// * Source: `semantics.md`, section 13
#[derive(Debug, Clone, Default)]
pub struct Gprof2dot {
    /// What is shown.
    pub selection: Selection,
}

impl Output for Gprof2dot {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let mut without_stack = Tally::default();
        let mut rows = selected.by_recorded_stack();
        rows.retain(|row| {
            let has_stack = row.node != NodeId(0);
            if !has_stack {
                without_stack.add_all(row.tally);
            }
            has_stack
        });
        let chains = Chains {
            selected: &selected,
            functions: functions(&selected, &rows),
            rows,
        };
        let document = Document {
            version: 0,
            costs: [Cost {
                description: "Memory",
                unit: "bytes",
            }],
            events: Events(&chains),
            functions: chains.names(),
            without_stack: (without_stack != Tally::default()).then_some(Sum {
                bytes: without_stack.bytes,
                allocations: without_stack.allocations,
            }),
        };
        serde_json::to_writer(&mut *out, &document)?;
        writeln!(out)?;
        Ok(())
    }
}

/// What a call chain is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Function {
    /// Of the program, by name and file.
    Named(StringId, StringId),
    /// Stands for a thread.
    Thread(ThreadId),
    /// Stands for what a filter left out.
    LeftOut,
}

/// Rows with the numbers of their functions.
struct Chains<'a> {
    selected: &'a Selected<'a>,
    functions: Numbering<Function>,
    rows: Vec<Row>,
}

/// Functions in the order in which chains use them.
fn functions(selected: &Selected<'_>, rows: &[Row]) -> Numbering<Function> {
    let mut functions = Numbering::default();
    for row in rows {
        for function in chain(selected, row) {
            functions.number(function);
        }
    }
    if selected.left_out() != Tally::default() {
        functions.number(Function::LeftOut);
    }
    functions
}

/// The functions of a row, innermost first.
fn chain<'a>(selected: &'a Selected<'_>, row: &Row) -> impl Iterator<Item = Function> + 'a {
    let named = |id: FrameId| {
        let frame = selected.profile().frames.get(id);
        Function::Named(frame.function, frame.file)
    };
    let thread = selected
        .split_threads()
        .then_some(Function::Thread(row.thread));
    selected.stack(row.node).map(named).chain(thread)
}

impl Chains<'_> {
    fn names(&self) -> Vec<Name> {
        let profile = self.selected.profile();
        let text = |id| profile.strings.text(id).into_owned();
        let name = |function: &Function| match *function {
            Function::Named(name, file) => (text(name), text(file)),
            Function::Thread(id) => {
                let thread = profile.threads.get(id.index());
                let label = thread.map(|thread| thread_label(profile, thread));
                (label.unwrap_or_default(), String::new())
            }
            Function::LeftOut => (LEFT_OUT.to_owned(), String::new()),
        };
        let names = self.functions.things().iter().map(name);
        names.map(|(name, module)| Name { name, module }).collect()
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    costs: [Cost; 1],
    events: Events<'a>,
    functions: Vec<Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    without_stack: Option<Sum>,
}

#[derive(Serialize)]
struct Cost {
    description: &'static str,
    unit: &'static str,
}

#[derive(Serialize)]
struct Name {
    name: String,
    module: String,
}

#[derive(Serialize)]
struct Sum {
    bytes: u64,
    allocations: u64,
}

#[derive(Serialize)]
struct Event {
    callchain: Vec<usize>,
    cost: [u64; 1],
}

/// Events, made while they are written.
struct Events<'a>(&'a Chains<'a>);

impl Serialize for Events<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Chains {
            selected,
            functions,
            rows,
        } = self.0;
        let event = |chain: &mut dyn Iterator<Item = Function>, bytes| Event {
            callchain: chain
                .filter_map(|function| functions.get(function))
                .collect(),
            cost: [bytes],
        };
        let events = rows
            .iter()
            .map(|row| event(&mut chain(selected, row), row.tally.bytes));
        let left_out = selected.left_out();
        let last = (left_out != Tally::default())
            .then(|| event(&mut [Function::LeftOut].into_iter(), left_out.bytes));
        serializer.collect_seq(events.chain(last))
    }
}
