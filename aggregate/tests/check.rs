//! What comes of checks of random captures is what a naive reading of the rules gives.

#[allow(dead_code, reason = "each test program uses its own part of this")]
mod script;

use std::io::Cursor;

use memreport_aggregate::ingest::Source;
use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::{
    Check, Checked, DiffOptions, Filter, Level, Measure, Options, Profile, Question, Rule,
    Selection, Severity, read_profile,
};
use proptest::prelude::*;
use proptest::sample::select;

use script::{MAIN_THREAD, Op, Script, call, scripts, snapshot};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn read(script: &Script) -> Profile {
    let source = Source::from_reader("random", Cursor::new(script.encode()));
    let profile = read_profile(source, &Options::default(), &std::sync::Arc::default());
    profile.expect("the capture is readable")
}

fn limit(text: &str) -> Rule {
    Rule::on_value(text, Severity::Limit).expect("it is a rule")
}

fn alert(text: &str) -> Rule {
    Rule::on_value(text, Severity::Alert).expect("it is a rule")
}

fn growth(text: &str) -> Rule {
    Rule::on_growth(text, Severity::Limit).expect("it is a rule")
}

fn check(rules: &[Rule], n_stacks: usize, new: &Profile, base: Option<&Profile>) -> Checked {
    let check = Check {
        rules: rules.to_vec(),
        n_stacks,
        options: DiffOptions::default(),
    };
    check.of(new, base).expect("the capture knows all of it")
}

fn measures() -> impl Strategy<Value = Measure> {
    select(vec![
        Measure::Peak,
        Measure::Leaked,
        Measure::Allocated,
        Measure::Allocations,
    ])
}

/// A pattern that some frames match.
fn patterns() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![
        None,
        Some("parse"),
        Some(r"^pkg\."),
        Some("a.py"),
        Some("nothing"),
    ])
}

/// The value of a measure, as the selection with `--include` has it.
fn naive(measure: Measure, pattern: Option<&str>, profile: &Profile) -> u64 {
    let include: Vec<String> = pattern.iter().map(|&pattern| pattern.to_owned()).collect();
    let selection = Selection {
        filter: Filter::new(&include, &[]).expect("it is a pattern"),
        ..Selection::default()
    };
    let of = |question| selection.asking(question).of(profile);
    let selected = match measure {
        Measure::Peak => of(Question::Peak),
        Measure::Leaked => of(Question::Leaks),
        _ => selection.made(profile),
    };
    let rows = selected.expect("the whole run is always known");
    let rows = rows.rows().iter().map(|row| row.tally);
    rows.map(|tally| match measure {
        Measure::Allocations => tally.allocations,
        _ => tally.bytes,
    })
    .sum()
}

fn subject(measure: Measure, bound: &str, pattern: Option<&str>) -> String {
    let part = pattern.map(|pattern| format!(" in {pattern}"));
    format!("{measure}{bound}{}", part.unwrap_or_default())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_limit_is_broken_by_what_is_more(
        script in scripts(),
        measure in measures(),
        pattern in patterns(),
        off in -1..=1_i64,
        n_stacks in 0..5_usize,
    ) {
        let profile = read(&script);
        let value = naive(measure, pattern, &profile);
        let most = value.saturating_add_signed(off);
        let rules = [
            limit(&subject(measure, &format!("<={most}"), pattern)),
            alert(&subject(measure, &format!("<{}", most + 1), pattern)),
        ];
        let checked = check(&rules, n_stacks, &profile, None);
        let [first, second] = &checked.verdicts[..] else {
            panic!("{} verdicts", checked.verdicts.len());
        };
        prop_assert_eq!([first.measured, second.measured], [value, value]);
        let is_broken = value > most;
        prop_assert_eq!(checked.passed(), !is_broken);
        let levels = if is_broken {
            [Level::Failed, Level::Alert]
        } else {
            [Level::Passed, Level::Passed]
        };
        prop_assert_eq!([first.level, second.level], levels);
        prop_assert_eq!(first.excess(), value.saturating_sub(most));
        // What explains the limit explains the alert on the same.
        prop_assert!(second.explanation.stacks.is_empty());
        let explained = &first.explanation;
        let sum: i128 = explained.stacks.iter().map(|stack| stack.amount).sum();
        let expected = if is_broken { value } else { 0 };
        prop_assert_eq!(sum + explained.more, i128::from(expected));
        prop_assert!(explained.stacks.len() <= n_stacks);
        prop_assert!(explained.stacks.iter().all(|stack| stack.amount > 0));
    }

    #[test]
    fn nothing_grows_from_a_capture_to_itself(
        script in scripts(),
        measure in measures(),
        pattern in patterns(),
        bound in select(vec!["", "<0% or 0", "<=0", "<5%", "<=100% or 1k"]),
    ) {
        let profile = read(&script);
        let rules = [growth(&subject(measure, bound, pattern))];
        let checked = check(&rules, 3, &profile, Some(&profile));
        prop_assert!(checked.passed());
        prop_assert_eq!(checked.verdicts[0].base, Some(checked.verdicts[0].measured));
    }

    #[test]
    fn what_grew_adds_up_to_the_growth(
        base in scripts(),
        new in scripts(),
        measure in measures(),
        pattern in patterns(),
        n_stacks in 0..4_usize,
    ) {
        let [base, new] = [base, new].map(|script| read(&script));
        let rule = growth(&subject(measure, "<=0", pattern));
        let checked = check(&[rule], n_stacks, &new, Some(&base));
        let [before, after] = [&base, &new].map(|profile| naive(measure, pattern, profile));
        let verdict = &checked.verdicts[0];
        prop_assert_eq!((verdict.base, verdict.measured), (Some(before), after));
        prop_assert_eq!(checked.passed(), after <= before);
        if after > before {
            let explained = &verdict.explanation;
            let sum: i128 = explained.stacks.iter().map(|stack| stack.amount).sum();
            prop_assert_eq!(sum + explained.more, i128::from(after - before));
            let amounts: Vec<i128> = explained.stacks.iter().map(|stack| stack.amount).collect();
            prop_assert!(amounts.is_sorted_by(|a, b| a >= b) && amounts.iter().all(|&n| n > 0));
            prop_assert_eq!(amounts.len().min(1), n_stacks.min(1));
        }
    }
}

/// A run that allocates so much at once, and keeps it.
fn run(sizes: &[(Allocator, u64)]) -> Profile {
    let calls = sizes.iter().zip(1_u64..);
    let calls = calls.map(|(&(allocator, size), n)| call(allocator, n << 32, size));
    let end = [snapshot(10)];
    read(&Script::plain(calls.chain(end)))
}

#[test]
fn by_default_peak_and_leaked_may_grow_by_a_twentieth_or_256_kib() {
    let defaults = Rule::default_growths().expect("they are rules");
    let block = |size| run(&[(Allocator::Malloc, size)]);
    for (before, most) in [
        (0, 256 * KIB),
        (MIB, MIB + 256 * KIB),
        (100 * MIB, 105 * MIB),
    ] {
        let base = block(before);
        assert!(check(&defaults, 3, &block(most), Some(&base)).passed());
        let checked = check(&defaults, 3, &block(most + 1), Some(&base));
        assert_eq!(checked.n(Level::Failed), 2);
        assert!(checked.verdicts.iter().all(|of| of.excess() == 1));
    }
}

#[test]
fn two_arenas_more_are_chance_and_three_are_not() {
    let defaults = Rule::default_growths().expect("they are rules");
    for (arena, spare) in [(MIB, 0), (256 * KIB, 0), (MIB, 256 * KIB)] {
        let arenas = |n: usize, spare: u64| {
            let mut blocks = vec![(Allocator::Mmap, arena); n];
            blocks.push((Allocator::Malloc, 1 + spare));
            let mut profile = run(&blocks);
            profile.metadata.trace_python_allocators = Some(false);
            profile
        };
        let base = arenas(4, 0);
        let two = check(&defaults, 3, &arenas(6, spare), Some(&base));
        assert!(two.passed(), "{arena}");
        assert_eq!(two.verdicts[0].aside, 2 * arena);
        let beyond = check(&defaults, 3, &arenas(6, 256 * KIB + 1), Some(&base));
        assert!(!beyond.passed(), "{arena}");
        let fewer = check(&defaults, 3, &arenas(2, 256 * KIB + 1), Some(&base));
        assert_eq!(fewer.verdicts[0].aside, 0);
        let mut traced = arenas(6, 0);
        traced.metadata.trace_python_allocators = Some(true);
        assert!(!check(&defaults, 3, &traced, Some(&base)).passed());
    }
    let mapped = |size| {
        let mut profile = run(&[(Allocator::Mmap, size)]);
        profile.metadata.trace_python_allocators = Some(false);
        profile
    };
    let other = check(&defaults, 3, &mapped(3 * MIB - 1), Some(&mapped(MIB)));
    assert!(!other.passed(), "they are no arenas");
}

#[test]
fn the_guilty_frame_is_of_the_program_itself_or_of_the_part() {
    let program = Script {
        ops: vec![
            Op::Switch(MAIN_THREAD),
            Op::Push(3),
            Op::Push(1),
            Op::Push(4),
            Op::Push(2),
            call(Allocator::Malloc, 8, 100),
        ],
        ..Script::plain([])
    };
    let profile = read(&program);
    let blamed = |rule: &str| {
        let checked = check(&[limit(rule)], 1, &profile, None);
        let stack = &checked.verdicts[0].explanation.stacks[0];
        let place = stack.place().expect("it has frames");
        (place.function.clone(), place.line)
    };
    assert_eq!(blamed("peak<1"), ("load".to_owned(), 20));
    assert_eq!(blamed("peak<1 in ^pkg"), ("tool".to_owned(), 3));
}

#[test]
fn a_rule_that_cannot_be_checked_is_an_error() {
    let profile = run(&[]);
    let no_snapshots = read(&Script::plain([]));
    let check = |text: &str, profile| {
        let check = Check {
            rules: vec![limit(text)],
            n_stacks: 1,
            options: DiffOptions::default(),
        };
        check.of(profile, None).map(|checked| checked.passed())
    };
    assert!(check("rss<1", &no_snapshots).is_err());
    assert!(!check("rss<1", &profile).expect("there is a snapshot"));
}
