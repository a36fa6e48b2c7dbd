//! What differs between random captures is what a naive reading of the rules gives.

#[allow(dead_code, reason = "each test program uses its own part of this")]
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{NodeId, Source, Tally};
use memreport_aggregate::{
    Change, Diff, DiffOptions, Options, Profile, Question, Selected, Selection, Status,
    read_profile,
};
use proptest::prelude::*;
use proptest::sample::select;

use script::{FRAMES, MAIN_THREAD, Op, Script, call, scripts};

fn read(script: &Script) -> Profile {
    let source = Source::from_reader("random", Cursor::new(script.encode()));
    let profile = read_profile(source, &Options::default(), &std::sync::Arc::default());
    profile.expect("the capture is readable")
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Question(Question),
    Made,
}

impl Asked {
    fn of(self, profile: &Profile) -> Selected<'_> {
        let selected = match self {
            Self::Question(question) => Selection::default().asking(question).of(profile),
            Self::Made => Selection::default().made(profile),
        };
        selected.expect("the whole run is always known")
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    select(vec![
        Asked::Question(Question::Peak),
        Asked::Question(Question::Leaks),
        Asked::Question(Question::Temporary { threshold: 1 }),
        Asked::Made,
    ])
}

fn diff(base: &Profile, new: &Profile, asked: Asked, exact: bool) -> Diff {
    let options = DiffOptions {
        exact,
        ..DiffOptions::default()
    };
    Diff::of([&asked.of(base), &asked.of(new)], &options).expect("both are small")
}

/// Names, and lines if they count; innermost frame first.
type Stack = Vec<(String, String, i32)>;

/// The name that a file of the scripts is known by.
fn module(file: &str) -> &str {
    match file {
        "<frozen importlib._bootstrap>" => "importlib._bootstrap",
        "<frozen runpy>" => "runpy",
        "/v/site-packages/pkg/tool.py" => "pkg.tool",
        "/v/site-packages/memray/run.py" => "memray.run",
        own => own,
    }
}

/// What a selection has by stack, as its rows say.
fn naive(selected: &Selected<'_>, exact: bool) -> BTreeMap<Stack, Tally> {
    let profile = selected.profile();
    let mut stacks = BTreeMap::<Stack, Tally>::new();
    for row in selected.rows() {
        let frames = selected.stack(row.node).map(|id| {
            let frame = profile.frames.get(id);
            let text = |id| profile.strings.text(id).into_owned();
            let file = text(frame.file);
            let line = if exact { frame.line } else { 0 };
            (text(frame.function), module(&file).to_owned(), line)
        });
        let stack = stacks.entry(frames.collect()).or_default();
        stack.add_all(row.tally);
    }
    stacks
}

fn stack(diff: &Diff, node: NodeId) -> Stack {
    let frames = diff.common.call_tree.stack(node).map(|id| {
        let frame = diff.common.frames.get(id);
        let text = |id| diff.common.strings.text(id).into_owned();
        (text(frame.function), text(frame.file), frame.line)
    });
    frames.collect()
}

fn stacks(diff: &Diff) -> Vec<(Stack, Change)> {
    let rows = diff.stacks.iter();
    rows.map(|row| (stack(diff, row.node), row.change))
        .collect()
}

type Function = Option<(String, String)>;

fn functions(diff: &Diff) -> Vec<(Function, Change, Change)> {
    let text = |id| diff.common.strings.text(id).into_owned();
    let rows = diff.functions.iter().map(|row| {
        let names = row
            .function
            .map(|(function, module)| (text(function), text(module)));
        (names, row.own, row.total)
    });
    rows.collect()
}

fn reversed(change: Change) -> Change {
    Change {
        base: change.new,
        new: change.base,
    }
}

fn is_change(change: &Change) -> bool {
    change.base != change.new
}

/// Bytes and allocations by which something changed.
fn size(change: Change) -> (u128, u128) {
    (
        change.bytes().unsigned_abs(),
        change.allocations().unsigned_abs(),
    )
}

/// Frames outermost first: what rows that changed as much are sorted by.
fn outermost_first(stack: &Stack) -> Stack {
    stack.iter().rev().cloned().collect()
}

fn sum(changes: impl Iterator<Item = Change>) -> (i128, i128) {
    changes.fold((0, 0), |sum, change| {
        (sum.0 + change.bytes(), sum.1 + change.allocations())
    })
}

/// The same run with its frames numbered, and its threads met, in another order.
fn renumbered(script: &Script) -> Script {
    let other = |thread| {
        if thread == MAIN_THREAD {
            thread
        } else {
            thread + 40
        }
    };
    let renamed = script.ops.iter().map(|op| match op {
        Op::Switch(thread) => Op::Switch(other(*thread)),
        Op::Name(_) => Op::Name("renamed"),
        op => op.clone(),
    });
    // Before all else, stacks that allocate nothing: those of the run get other numbers.
    let first = (0..FRAMES.len()).rev().flat_map(|frame| {
        let inner = (0..FRAMES.len()).map(Op::Push);
        let n = u32::try_from(FRAMES.len() + 1).expect("few");
        std::iter::once(Op::Push(frame))
            .chain(inner)
            .chain([Op::Pop(n)])
    });
    Script {
        ops: std::iter::once(Op::Switch(MAIN_THREAD))
            .chain(first)
            .chain(renamed)
            .collect(),
        ..script.clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_capture_does_not_differ_from_itself(
        script in scripts(),
        asked in asked(),
        exact in any::<bool>(),
    ) {
        let profile = read(&script);
        let diff = diff(&profile, &profile, asked, exact);
        prop_assert_eq!(diff.total.base, diff.total.new);
        prop_assert_eq!(diff.total.status(), Status::Unchanged);
        prop_assert!(diff.stacks.is_empty() && diff.functions.is_empty());
        prop_assert_eq!(diff.n_unchanged_stacks, naive(&asked.of(&profile), exact).len());
    }

    #[test]
    fn rows_are_what_the_stacks_of_both_say(
        base in scripts(),
        new in scripts(),
        asked in asked(),
        exact in any::<bool>(),
    ) {
        let (base, new) = (read(&base), read(&new));
        let diff = diff(&base, &new, asked, exact);
        let sides = [asked.of(&base), asked.of(&new)];
        prop_assert_eq!(diff.total.base, sides[0].total());
        prop_assert_eq!(diff.total.new, sides[1].total());

        let tallies = sides.each_ref().map(|side| naive(side, exact));
        let all: BTreeSet<&Stack> = tallies.iter().flat_map(BTreeMap::keys).collect();
        let of = |stack: &Stack| {
            let [base, new] = tallies.each_ref().map(|side| side.get(stack).copied());
            Change { base: base.unwrap_or_default(), new: new.unwrap_or_default() }
        };
        let mut expected: Vec<(Stack, Change)> = all
            .iter()
            .map(|&stack| (stack.clone(), of(stack)))
            .filter(|(_, change)| is_change(change))
            .collect();
        expected.sort_by_key(|(stack, change)| {
            (std::cmp::Reverse(size(*change)), outermost_first(stack))
        });
        prop_assert_eq!(diff.n_unchanged_stacks, all.len() - expected.len());
        prop_assert_eq!(stacks(&diff), expected);

        let mut by_function = BTreeMap::<Function, (Change, Change)>::new();
        for stack in all {
            let change = of(stack);
            let named = |(function, module, _): &(String, String, i32)| {
                (function.clone(), module.clone())
            };
            let innermost = stack.first().map(named);
            by_function.entry(innermost.clone()).or_default().0.add(change);
            let mut met: BTreeSet<Function> = stack.iter().map(|frame| Some(named(frame))).collect();
            met.insert(innermost);
            for function in met {
                by_function.entry(function).or_default().1.add(change);
            }
        }
        let mut expected: Vec<(Function, Change, Change)> = by_function
            .into_iter()
            .map(|(function, (own, total))| (function, own, total))
            .filter(|(_, own, total)| is_change(own) || is_change(total))
            .collect();
        expected.sort_by_key(|(function, own, total)| {
            (std::cmp::Reverse((size(*own), size(*total))), function.clone())
        });
        prop_assert_eq!(functions(&diff), expected);
    }

    #[test]
    fn rows_add_up_to_the_change_of_the_total(
        base in scripts(),
        new in scripts(),
        asked in asked(),
    ) {
        let (base, new) = (read(&base), read(&new));
        let diff = diff(&base, &new, asked, false);
        let total = (diff.total.bytes(), diff.total.allocations());
        prop_assert_eq!(sum(diff.stacks.iter().map(|row| row.change)), total);
        prop_assert_eq!(sum(diff.functions.iter().map(|row| row.own)), total);
        if matches!(asked, Asked::Question(Question::Peak)) {
            let peaks = [&base, &new].map(|profile| i128::from(profile.slices.peak()));
            prop_assert_eq!(total.0, peaks[1] - peaks[0]);
        }
    }

    #[test]
    fn the_other_way_round_everything_is_the_negative(
        base in scripts(),
        new in scripts(),
        asked in asked(),
        exact in any::<bool>(),
    ) {
        let (base, new) = (read(&base), read(&new));
        let there = diff(&base, &new, asked, exact);
        let back = diff(&new, &base, asked, exact);
        prop_assert_eq!(there.total, reversed(back.total));
        prop_assert_eq!(there.n_unchanged_stacks, back.n_unchanged_stacks);
        let rows = stacks(&back).into_iter();
        prop_assert_eq!(stacks(&there), rows.map(|(stack, change)| (stack, reversed(change))).collect::<Vec<_>>());
        let rows = functions(&back).into_iter();
        prop_assert_eq!(
            functions(&there),
            rows.map(|(function, own, total)| (function, reversed(own), reversed(total))).collect::<Vec<_>>()
        );
        for (there, back) in there.stacks.iter().zip(&back.stacks) {
            let expected = match back.change.status() {
                Status::New => Status::Gone,
                Status::Gone => Status::New,
                Status::Grown => Status::Shrank,
                Status::Shrank => Status::Grown,
                Status::Unchanged => Status::Unchanged,
            };
            prop_assert_eq!(there.change.status(), expected);
        }
    }

    #[test]
    fn neither_the_order_of_stacks_nor_threads_matter(
        base in scripts(),
        new in scripts(),
        asked in asked(),
    ) {
        let plain = |script: Script| Script { hidden_frames: 0, native_traces: false, format: 13, ops: script
            .ops
            .into_iter()
            .filter(|op| !matches!(op, Op::Call { address: u64::MAX, .. }))
            .map(|op| match op {
                Op::Call { allocator, address, size, .. } => call(allocator, address, size),
                op => op,
            })
            .collect() };
        let (base, new) = (plain(base), plain(new));
        let (first, other) = (read(&new), read(&renumbered(&new)));
        let base = read(&base);
        let (first, other) = (diff(&base, &first, asked, false), diff(&base, &other, asked, false));
        prop_assert_eq!(first.total, other.total);
        prop_assert_eq!(stacks(&first), stacks(&other));
        prop_assert_eq!(functions(&first), functions(&other));
    }
}

/// A run that recurses, each call of which allocates as much as any other.
fn recursion(depth: u64, size: u64) -> Profile {
    let calls = (0..depth).flat_map(|n| {
        let block = call(Allocator::Malloc, 64 * (n + 1), size);
        [Op::Push(1), block]
    });
    read(&Script::plain(calls))
}

/// Comparing stacks frame by frame would take 10^10 steps here, and minutes.
#[test]
fn deep_stacks_that_change_alike_are_sorted_in_time() {
    let depth = 100_000;
    let (base, new) = (recursion(depth, 10), recursion(depth, 30));
    let diff = diff(&base, &new, Asked::Question(Question::Peak), false);
    assert_eq!(diff.stacks.len() as u64, depth);
    assert_eq!(diff.total.bytes(), 20 * i128::from(depth));
    let load = &functions(&diff)[0];
    assert_eq!(load.0, Some(("load".to_owned(), "a.py".to_owned())));
    assert_eq!(load.1, diff.total);
    assert_eq!(load.2, diff.total);
    // The shorter of two stacks that begin alike is first.
    let nodes = diff.stacks.iter().map(|row| row.node);
    assert!(nodes.is_sorted());
}

#[test]
fn a_change_has_a_word() {
    let tally = |allocations, bytes| Tally { allocations, bytes };
    for (base, new, status) in [
        ((0, 0), (1, 5), Status::New),
        ((0, 0), (1, 0), Status::New),
        ((1, 5), (0, 0), Status::Gone),
        ((1, 5), (1, 6), Status::Grown),
        ((1, 5), (2, 5), Status::Grown),
        ((9, 5), (2, 4), Status::Shrank),
        ((1, 5), (1, 5), Status::Unchanged),
    ] {
        let change = Change {
            base: tally(base.0, base.1),
            new: tally(new.0, new.1),
        };
        assert_eq!(change.status(), status, "{change:?}");
    }
}
