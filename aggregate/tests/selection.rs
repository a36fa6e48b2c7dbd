//! What selections of random captures have is what a naive reading of the rules gives.

#[allow(dead_code, reason = "each test program uses its own part of this")]
mod naive;
#[allow(dead_code, reason = "each test program uses its own part of this")]
mod script;

use std::collections::BTreeMap;
use std::io::Cursor;
use std::time::Duration;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{Source, Tally};
use memreport_aggregate::{
    Error, Filter, Moment, Options, Profile, Question, Row, Selected, Selection, SliceRange,
    Slices, View, ViewRow, read_profile,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::TestCaseResult;

use naive::{Naive, NaiveLocation};
use script::{FRAMES, Op, START_MS, Script, call, scripts, snapshot};

fn read(script: &Script) -> Profile {
    read_with(script, &Options::default())
}

fn read_with(script: &Script, options: &Options) -> Profile {
    let source = Source::from_reader("random", Cursor::new(script.encode()));
    read_profile(source, options, &std::sync::Arc::default()).expect("the capture is readable")
}

/// A pattern, and the frames that it matches by function, file or module.
type Pattern = (&'static str, &'static [usize]);

const PATTERNS: [Pattern; 6] = [
    ("^load$", &[1]),
    (r"a\.py$", &[0, 1]),
    (r"^pkg\.tool$", &[4]),
    ("^importlib", &[2]),
    ("site-packages", &[4, 5]),
    ("no such frame", &[]),
];

/// The frame from which on stacks are hidden, and the one that is hidden alone.
const IMPORTS: usize = 2;
const INTERNAL: usize = 3;

#[derive(Debug, Clone)]
struct Asked {
    question: Question,
    from: Option<Moment>,
    to: Option<Moment>,
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    hide_import_system: bool,
    hide_internals: bool,
    split_threads: bool,
}

impl Asked {
    fn selection(&self) -> Selection {
        let texts = |patterns: &[Pattern]| -> Vec<String> {
            patterns
                .iter()
                .map(|(text, _)| (*text).to_owned())
                .collect()
        };
        let filter = Filter::new(&texts(&self.include), &texts(&self.exclude));
        let mut filter = filter.expect("they are patterns");
        filter.hide_import_system = self.hide_import_system;
        filter.hide_internals = self.hide_internals;
        Selection {
            question: self.question,
            from: self.from,
            to: self.to,
            filter,
            split_threads: self.split_threads,
            inverted: false,
        }
    }

    fn keeps(&self, frames: &[usize]) -> bool {
        let any = |patterns: &[Pattern]| {
            let mut matched = patterns.iter().flat_map(|(_, matched)| *matched);
            matched.any(|frame| frames.contains(frame))
        };
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }

    fn shown(&self, frames: &[usize]) -> Vec<usize> {
        let mut frames = frames.to_vec();
        if self.hide_import_system {
            let end = frames.iter().position(|&frame| frame == IMPORTS);
            frames.truncate(end.unwrap_or(frames.len()));
        }
        frames.retain(|&frame| !(self.hide_internals && frame == INTERNAL));
        frames
    }

    /// The range, or nothing if it is empty or not known.
    fn range(&self, naive: &Naive, slices: &Slices) -> Option<SliceRange> {
        let last = slices.peaks.len() - 1;
        let whole = SliceRange { first: 0, last };
        let rss_peak = || {
            let largest = slices.rss.iter().max()?;
            slices.rss.iter().position(|rss| rss == largest)
        };
        let since_start = |&time: &u64| Duration::from_millis(time - START_MS);
        let mut times = slices.times_ms.iter().map(since_start);
        let first = match self.from {
            None => 0,
            Some(Moment::End) => last,
            Some(Moment::Peak) => naive.peak_slice(whole),
            Some(Moment::RssPeak) => rss_peak()?,
            Some(Moment::AfterStart(from)) => times.position(|time| time >= from).unwrap_or(last),
        };
        let mut times = slices.times_ms.iter().map(since_start);
        let to = match self.to {
            None | Some(Moment::End) => last,
            Some(Moment::Peak) => naive.peak_slice(whole),
            Some(Moment::RssPeak) => rss_peak()?,
            Some(Moment::AfterStart(to)) => times.position(|time| time > to).unwrap_or(last),
        };
        (first <= to).then_some(SliceRange { first, last: to })
    }
}

fn moments() -> impl Strategy<Value = Option<Moment>> {
    let times = (0..9_u64)
        .prop_map(|half_ms| Some(Moment::AfterStart(Duration::from_micros(500 * half_ms))));
    prop_oneof![
        2 => Just(None),
        4 => times,
        3 => select(vec![Some(Moment::Peak), Some(Moment::RssPeak), Some(Moment::End)]),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let questions = select(vec![
        Question::Peak,
        Question::Leaks,
        Question::Temporary { threshold: 0 },
        Question::Temporary { threshold: 1 },
    ]);
    let patterns = || prop_oneof![Just(Vec::new()), subsequence(PATTERNS.to_vec(), 1..3),];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (
        questions,
        moments(),
        moments(),
        patterns(),
        patterns(),
        flags,
    )
        .prop_map(|(question, from, to, include, exclude, flags)| Asked {
            question,
            from,
            to,
            include,
            exclude,
            hide_import_system: flags.0,
            hide_internals: flags.1,
            split_threads: flags.2,
        })
}

/// Function, file and line of a row's frames, outermost first.
fn shown(selected: &Selected<'_>, row: &Row) -> Vec<(String, String, i32)> {
    let profile = selected.profile();
    let mut frames = Vec::new();
    selected.root_first(row.node, &mut frames);
    let named = frames.into_iter().map(|id| {
        let frame = profile.frames.get(id);
        let text = |id| profile.strings.text(id).into_owned();
        (text(frame.function), text(frame.file), frame.line)
    });
    named.collect()
}

fn named(frames: &[usize]) -> Vec<(String, String, i32)> {
    let named = frames.iter().map(|&frame| {
        let (function, file, line) = FRAMES[frame];
        (function.to_owned(), file.to_owned(), line)
    });
    named.collect()
}

fn sum(tallies: impl Iterator<Item = Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut sum, tally| {
        sum.add_all(tally);
        sum
    })
}

/// What a row of a selection says: stack, thread, allocator, tally.
type Said = (Vec<(String, String, i32)>, u64, Allocator, Tally);

fn said(selected: &Selected<'_>, row: &Row) -> Said {
    let thread = selected.profile().threads[row.thread.index()].id;
    (shown(selected, row), thread, row.allocator, row.tally)
}

/// Rows with equal keys added up, at the place of the first.
fn added_up<K: Ord>(rows: &[(K, Said)]) -> Vec<Said> {
    let mut places = BTreeMap::new();
    let mut sums: Vec<Said> = Vec::new();
    for (key, row) in rows {
        let place = *places.entry(key).or_insert(sums.len());
        match sums.get_mut(place) {
            Some(sum) => sum.3.add_all(row.3),
            None => sums.push(row.clone()),
        }
    }
    sums
}

fn check(asked: &Asked, profile: &Profile, naive: &Naive) -> TestCaseResult {
    let is_temporary = matches!(asked.question, Question::Temporary { .. });
    let is_whole = asked.from.is_none() && matches!(asked.to, None | Some(Moment::End));
    let range = asked.range(naive, &profile.slices);
    let answer = asked.selection().of(profile);
    let Some(range) = range.filter(|_| is_whole || !is_temporary) else {
        let error = answer.err();
        let expected = matches!(
            error,
            Some(Error::EmptyRange | Error::NoSnapshots | Error::TemporaryInRange)
        );
        prop_assert!(expected, "{:?}", error);
        return Ok(());
    };
    let selected = answer.expect("the range is not empty");
    prop_assert_eq!(selected.range(), range);
    let view: Vec<ViewRow> = match asked.question {
        Question::Peak => naive.peak(range),
        Question::Leaks => naive.leaks(range),
        Question::Temporary { threshold } => naive.temporary(threshold),
    };
    let of = |row: &ViewRow| -> &NaiveLocation { &naive.locations[row.location.index()] };
    let (kept, left_out): (Vec<&ViewRow>, Vec<&ViewRow>) =
        view.iter().partition(|row| asked.keeps(&of(row).frames));
    prop_assert_eq!(selected.total(), sum(kept.iter().map(|row| row.tally)));
    prop_assert_eq!(
        selected.left_out(),
        sum(left_out.iter().map(|row| row.tally))
    );

    let expected: Vec<(&NaiveLocation, Said)> = kept
        .iter()
        .map(|row| {
            let location = of(row);
            let stack = named(&asked.shown(&location.frames));
            (
                location,
                (stack, location.thread, location.allocator, row.tally),
            )
        })
        .collect();
    let rows: Vec<Said> = selected
        .rows()
        .iter()
        .map(|row| said(&selected, row))
        .collect();
    let plain: Vec<Said> = expected.iter().map(|(_, row)| row.clone()).collect();
    prop_assert_eq!(rows, plain);

    let thread = |location: &NaiveLocation| asked.split_threads.then_some(location.thread);
    let by_stack: Vec<_> = expected
        .iter()
        .map(|(location, row)| ((row.0.clone(), thread(location)), row.clone()))
        .collect();
    let ours: Vec<Said> = selected
        .by_stack()
        .iter()
        .map(|row| said(&selected, row))
        .collect();
    prop_assert_eq!(ours, added_up(&by_stack));
    let by_recorded: Vec<_> = expected
        .iter()
        .map(|(location, row)| ((location.stack, thread(location)), row.clone()))
        .collect();
    let rows = selected.by_recorded_stack();
    let ours: Vec<Said> = rows.iter().map(|row| said(&selected, row)).collect();
    prop_assert_eq!(ours, added_up(&by_recorded));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn selections_have_what_the_rules_say(
        script in scripts(),
        asked in prop::collection::vec(asked(), 8),
    ) {
        let profile = read(&script);
        let naive = Naive::new(&script);
        for asked in &asked {
            check(asked, &profile, &naive)?;
        }
    }

    #[test]
    fn the_largest_resident_set_is_found_however_few_snapshots_are_kept(
        times in prop::collection::vec(0..9_u64, 1..30),
        max_memory_records in 1..30_usize,
    ) {
        let script = Script::plain(times.iter().flat_map(|&time| {
            [call(Allocator::Malloc, 8 * (time + 1), 10), snapshot(time)]
        }));
        let all = read(&script).rss_peak.expect("there are snapshots");
        let options = Options { max_memory_records, ..Options::default() };
        let thinned = read_with(&script, &options);
        let peak = thinned.rss_peak.expect("there are snapshots");
        prop_assert_eq!((peak.time_ms, peak.rss, peak.heap), (all.time_ms, all.rss, all.heap));
        // The slice that the snapshot's last event is in.
        let slices = &thinned.slices;
        let event = u64::try_from(all.slice).expect("few");
        let slice = slices.ends.iter().position(|&end| end > event).expect("it is in one");
        prop_assert_eq!(peak.slice, slice);
    }
}

#[test]
fn moments_are_read_as_they_are_typed() {
    let ok = |text: &str| text.parse::<Moment>().unwrap();
    assert_eq!(ok("1.5"), Moment::AfterStart(Duration::from_millis(1500)));
    assert_eq!(ok("0"), Moment::AfterStart(Duration::ZERO));
    assert_eq!(
        [ok("peak"), ok("rss-peak")],
        [Moment::Peak, Moment::RssPeak]
    );
    assert_eq!(ok("end"), Moment::End);
    for text in ["", "-1", "nan", "inf", "1e300", "1 s", "Peak", "start"] {
        let error = text.parse::<Moment>().unwrap_err();
        assert!(matches!(error, Error::NotAMoment(_)), "{text}: {error}");
    }
}

#[test]
fn what_is_not_counted_is_refused() {
    let options = Options {
        temporary_threshold: 3,
        ..Options::default()
    };
    let profile = read_with(&Script::plain([call(Allocator::Malloc, 8, 1)]), &options);
    let ask = |threshold| Selection::default().asking(Question::Temporary { threshold });
    assert!(ask(3).of(&profile).is_ok());
    let error = ask(4).of(&profile).unwrap_err();
    assert!(matches!(
        error,
        Error::ThresholdTooLarge {
            threshold: 4,
            known: 3
        }
    ));
    let error = Filter::new(&["(".to_owned()], &[]).unwrap_err();
    assert!(matches!(error, Error::NotAPattern(_)));
}

/// What a hidden frame is called by keeps its bytes.
#[test]
fn hiding_frames_changes_no_total() {
    let script = Script::plain([
        Op::Push(2),
        call(Allocator::Malloc, 8, 100),
        Op::Push(3),
        call(Allocator::Malloc, 16, 7),
    ]);
    let profile = read(&script);
    let mut selection = Selection::default();
    selection.filter.hide_import_system = true;
    selection.filter.hide_internals = true;
    let selected = selection.of(&profile).unwrap();
    assert_eq!(
        selected.total(),
        View::peak(&profile, profile.slices.whole_run()).total()
    );
    assert_eq!(selected.left_out(), Tally::default());
    let stacks: Vec<_> = selected
        .by_stack()
        .iter()
        .map(|row| shown(&selected, row))
        .collect();
    assert_eq!(stacks, [named(&[0])]);
}
