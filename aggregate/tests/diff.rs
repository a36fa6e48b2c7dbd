//! What differs between random captures is what their rows say, whichever is the base.

#[allow(dead_code, reason = "each test program uses its own part of this")]
mod script;

use std::collections::BTreeMap;
use std::io::Cursor;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{FrameId, Source, Tally};
use memreport_aggregate::{
    Change, CodeOrigin, Diff, DiffOptions, Options, Profile, Question, Selected, Selection, Status,
    read_profile,
};
use proptest::prelude::*;
use proptest::sample::select;

use script::{Op, Script, call, scripts};

fn read(script: &Script) -> Profile {
    let source = Source::from_reader("random", Cursor::new(script.encode()));
    read_profile(source, &Options::default(), &std::sync::Arc::default())
        .expect("the capture is readable")
}

fn selected(profile: &Profile, question: Question) -> Selected<'_> {
    let selection = Selection::default().asking(question);
    selection.of(profile).expect("it has an answer")
}

fn diff(sides: [&Profile; 2], question: Question, exact: bool) -> Diff {
    let [base, new] = sides.map(|profile| selected(profile, question));
    let options = DiffOptions {
        exact,
        ..DiffOptions::default()
    };
    Diff::of([&base, &new], &options).expect("it is small")
}

type Name = (Vec<u8>, Vec<u8>, i32);

fn name(diff: &Diff, frame: FrameId) -> Name {
    let frame = diff.common.frames.get(frame);
    let bytes = |id| diff.common.strings.bytes(id).to_vec();
    (bytes(frame.function), bytes(frame.file), frame.line)
}

/// Stacks by their names, and functions: own and total.
type Rows = (
    Vec<(Vec<Name>, Change)>,
    Vec<(Option<Name>, Change, Change)>,
);

fn rows(diff: &Diff) -> Rows {
    let stacks = diff.stacks.iter().map(|row| {
        let stack = diff.common.call_tree.stack(row.node);
        (stack.map(|frame| name(diff, frame)).collect(), row.change)
    });
    let functions = diff.functions.iter().map(|row| {
        let bytes = |id| diff.common.strings.bytes(id).to_vec();
        let name = row
            .function
            .map(|(name, module)| (bytes(name), bytes(module), 0));
        (name, row.own, row.total)
    });
    (stacks.collect(), functions.collect())
}

fn negative(change: Change) -> Change {
    Change {
        base: change.new,
        new: change.base,
    }
}

/// What rows have by stack, function and module in place of frames, added up one row after the other.
fn naive(sides: [&Profile; 2], question: Question) -> BTreeMap<Vec<Name>, Change> {
    let mut sums = BTreeMap::<Vec<Name>, Change>::new();
    for (side, profile) in sides.into_iter().enumerate() {
        let selected = selected(profile, question);
        for row in selected.rows() {
            let stack = selected.stack(row.node).map(|frame| {
                let frame = profile.frames.get(frame);
                let module = match CodeOrigin::of(&profile.strings.text(frame.file), false, &[]) {
                    CodeOrigin::Imported(name)
                    | CodeOrigin::Library(name)
                    | CodeOrigin::Own(name) => name,
                };
                let function = profile.strings.bytes(frame.function).to_vec();
                (function, module.into_bytes(), 0)
            });
            let sum = sums.entry(stack.collect()).or_default();
            let tally = if side == 0 {
                &mut sum.base
            } else {
                &mut sum.new
            };
            tally.add_all(row.tally);
        }
    }
    sums
}

fn questions() -> impl Strategy<Value = Question> {
    let temporary = Question::Temporary { threshold: 1 };
    select(vec![Question::Peak, Question::Leaks, temporary])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn of_itself_nothing_changed(script in scripts(), question in questions(), exact: bool) {
        let profile = read(&script);
        let diff = diff([&profile, &profile], question, exact);
        prop_assert_eq!((diff.total.bytes(), diff.total.allocations()), (0, 0));
        prop_assert!(diff.stacks.is_empty() && diff.functions.is_empty());
    }

    #[test]
    fn it_has_a_direction(a in scripts(), b in scripts(), question in questions(), exact: bool) {
        let (a, b) = (read(&a), read(&b));
        let there = diff([&a, &b], question, exact);
        let back = diff([&b, &a], question, exact);
        prop_assert_eq!(there.total, negative(back.total));
        let (stacks, functions) = rows(&there);
        let (stacks_back, functions_back) = rows(&back);
        let stacks_back: Vec<_> = (stacks_back.into_iter())
            .map(|(stack, change)| (stack, negative(change)))
            .collect();
        prop_assert_eq!(stacks, stacks_back);
        let functions_back: Vec<_> = (functions_back.into_iter())
            .map(|(name, own, total)| (name, negative(own), negative(total)))
            .collect();
        prop_assert_eq!(functions, functions_back);
    }

    #[test]
    fn stacks_have_what_rows_have(a in scripts(), b in scripts(), question in questions()) {
        let (a, b) = (read(&a), read(&b));
        let diff = diff([&a, &b], question, false);
        let mut expected = naive([&a, &b], question);
        expected.retain(|_, change| change.status() != Status::Unchanged);
        let found: BTreeMap<_, _> = rows(&diff).0.into_iter().collect();
        prop_assert_eq!(&found, &expected);
        let sizes: Vec<_> = (diff.stacks.iter())
            .map(|row| (row.change.bytes().abs(), row.change.allocations().abs()))
            .collect();
        prop_assert!(sizes.is_sorted_by(|a, b| a >= b), "{:?}", sizes);
    }

    #[test]
    fn functions_add_up_and_count_a_stack_once(a in scripts(), b in scripts(), question in questions()) {
        let (a, b) = (read(&a), read(&b));
        let diff = diff([&a, &b], question, false);
        let mut expected = BTreeMap::<Option<Name>, (Change, Change)>::new();
        for (stack, change) in naive([&a, &b], question) {
            expected.entry(stack.first().cloned()).or_default().0.add(change);
            let mut functions: Vec<Option<Name>> = stack.into_iter().map(Some).collect();
            functions.sort_unstable();
            functions.dedup();
            if functions.is_empty() {
                functions.push(None);
            }
            for function in functions {
                expected.entry(function).or_default().1.add(change);
            }
        }
        let changed = |change: &Change| change.status() != Status::Unchanged;
        expected.retain(|_, (own, total)| changed(own) || changed(total));
        let (_, functions) = rows(&diff);
        let found: BTreeMap<_, _> = (functions.iter())
            .map(|(name, own, total)| (name.clone(), (*own, *total)))
            .collect();
        prop_assert_eq!(&found, &expected);
        let own: i128 = functions.iter().map(|(_, own, _)| own.bytes()).sum();
        prop_assert_eq!(own, diff.total.bytes());
    }

    /// The same calls in another order.
    #[test]
    fn the_order_in_a_capture_does_not_matter(
        (calls, shuffled) in prop::collection::vec((0..5_usize, 0..5_usize, 1..9_u64), 1..20)
            .prop_flat_map(|calls| (Just(calls.clone()), Just(calls).prop_shuffle())),
        other in scripts(),
    ) {
        let run = |calls: &[(usize, usize, u64)]| {
            let ops = (1..).zip(calls).flat_map(|(n, &(outer, inner, size))| {
                [
                    Op::Push(outer),
                    Op::Push(inner),
                    call(Allocator::Malloc, n << 4, size),
                    Op::Pop(2),
                ]
            });
            read(&Script::plain(ops.collect::<Vec<_>>()))
        };
        let (first, second, other) = (run(&calls), run(&shuffled), read(&other));
        let same = diff([&first, &second], Question::Leaks, false);
        prop_assert!(same.stacks.is_empty() && same.functions.is_empty());
        let [a, b] = [&first, &second].map(|new| rows(&diff([&other, new], Question::Leaks, false)));
        prop_assert_eq!(a, b);
    }
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
