//! Where a value comes from: the stacks that have most of it, and whose code that is.

use std::cmp::Reverse;

use memreport_ingest::{Frame, FrameId, ModuleOrigin, NodeId, Tally};
use rustc_hash::FxHashMap;

use super::measure::{Measure, Part, Subject};
use crate::diff::{Diff, DiffOptions};
use crate::error::Error;
use crate::profile::Profile;
use crate::selection::Selected;

/// Stacks that explain a value, or what is more of it than in a baseline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The stacks that have most, most first.
    pub stacks: Vec<Stack>,
    /// How many other stacks have some or, of growth, changed.
    pub n_more: usize,
    /// What those have together: bytes or allocations. With what the stacks have it adds up to the value; of
    /// growth to the difference, and the others can have less than before.
    pub more: i128,
}

/// A stack, with what it has of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// Bytes or allocations; of growth, how many more than in the baseline.
    pub amount: i128,
    /// Its frames, innermost first; none for allocations without a stack.
    pub frames: Vec<CodePlace>,
    /// Which of them is the code to look at, if any is Python's: the innermost that the rule's pattern matches,
    /// else the innermost of neither the standard library nor an installed package, else the innermost.
    pub blamed: Option<usize>,
}

impl Stack {
    /// The frame whose code to look at, if any is Python's; else the innermost.
    #[must_use]
    pub fn place(&self) -> Option<&CodePlace> {
        self.frames.get(self.blamed.unwrap_or(0))
    }
}

/// A frame, with its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePlace {
    /// Name of the function.
    pub function: String,
    /// Its file.
    pub file: String,
    /// Line in it; 0 if unknown.
    pub line: u32,
}

impl Explanation {
    /// The stacks that have most of a value.
    pub(super) fn of_value(subject: &Subject, selected: &Selected<'_>, n: usize) -> Self {
        let rows = selected.by_stack();
        let rows = rows.iter();
        let rows = rows.map(|row| (amount(subject.measure, row.tally), Some(row.node)));
        let rows = rows.filter(|(amount, _)| *amount != 0).collect();
        Self::first(rows, n, selected, subject.part.as_ref())
    }

    /// The stacks that have more than in a baseline, and how much that is.
    ///
    /// * A stack is the same in both as [`Diff`] has it; it is shown as in the new run and, of several lines, with
    ///   those that have most
    pub(super) fn of_growth(
        subject: &Subject,
        sides: [&Selected<'_>; 2],
        options: &DiffOptions,
        n: usize,
    ) -> Result<Self, Error> {
        let diff = Diff::of(sides, options)?;
        let new = sides[1];
        let mut shown = FxHashMap::<NodeId, (i128, NodeId)>::default();
        for row in new.by_stack() {
            let common = diff.nodes[1].get(row.node.index());
            let amount = amount(subject.measure, row.tally);
            let shown = shown
                .entry(common.copied().unwrap_or_default())
                .or_insert((amount, row.node));
            if amount > shown.0 {
                *shown = (amount, row.node);
            }
        }
        let rows = diff.stacks.iter().map(|stack| {
            let change = match subject.measure.is_bytes() {
                true => stack.change.bytes(),
                false => stack.change.allocations(),
            };
            (change, shown.get(&stack.node).map(|(_, node)| *node))
        });
        let rows: Vec<_> = rows.filter(|(change, _)| *change != 0).collect();
        let n_grown = rows.iter().filter(|(change, _)| *change > 0).count();
        let part = subject.part.as_ref();
        Ok(Self::first(rows, n.min(n_grown), new, part))
    }

    /// The `n` largest rows with their names, and what the others have. Of equals, the first come first.
    fn first(
        mut rows: Vec<(i128, Option<NodeId>)>,
        n: usize,
        selected: &Selected<'_>,
        part: Option<&Part>,
    ) -> Self {
        rows.sort_by_key(|(amount, _)| Reverse(*amount));
        let (first, others) = rows.split_at(n.min(rows.len()));
        let stacks = first.iter().map(|(amount, node)| {
            let frames = node.iter().flat_map(|&node| selected.stack(node));
            let (frames, blamed) = named(selected.profile(), frames, part);
            Stack {
                amount: *amount,
                frames,
                blamed,
            }
        });
        Self {
            stacks: stacks.collect(),
            n_more: others.len(),
            more: others.iter().map(|(amount, _)| amount).sum(),
        }
    }
}

fn amount(measure: Measure, tally: Tally) -> i128 {
    i128::from(match measure {
        Measure::Allocations => tally.allocations,
        _ => tally.bytes,
    })
}

/// Frames with their names, and which of them to look at.
fn named(
    profile: &Profile,
    frames: impl Iterator<Item = FrameId>,
    part: Option<&Part>,
) -> (Vec<CodePlace>, Option<usize>) {
    let frames: Vec<Frame> = frames.map(|frame| profile.frames.get(frame)).collect();
    let text = |id| profile.strings.text(id).into_owned();
    let places = frames.iter().map(|frame| CodePlace {
        function: text(frame.function),
        file: text(frame.file),
        line: u32::try_from(frame.line).unwrap_or(0),
    });
    let python = |is_it: &dyn Fn(Frame) -> bool| {
        let mut frames = frames.iter();
        frames.position(|frame| !frame.is_native && is_it(*frame))
    };
    let function = |is_it: &dyn Fn(Frame) -> bool| {
        python(&|frame| !is_comprehension(profile, frame) && is_it(frame))
    };
    let matched = || part.and_then(|part| function(&|frame| part.has(profile, frame)));
    let own = || function(&|frame| is_own(profile, frame));
    let blamed = matched().or_else(own).or_else(|| python(&|_| true));
    (places.collect(), blamed)
}

/// Whether a frame is of a comprehension, which belongs to the function that it is in.
fn is_comprehension(profile: &Profile, frame: Frame) -> bool {
    let function = profile.strings.bytes(frame.function);
    [&b"<listcomp>"[..], b"<setcomp>", b"<dictcomp>"].contains(&function)
}

/// Whether a frame is of a file that is neither the standard library's nor an installed package's.
fn is_own(profile: &Profile, frame: Frame) -> bool {
    let file = profile.strings.text(frame.file);
    let origin = profile.metadata.search_paths.module(&file).origin;
    let is_of_file = frame.line > 0 && !file.starts_with('<');
    is_of_file && matches!(origin, ModuleOrigin::Project | ModuleOrigin::Unknown)
}
