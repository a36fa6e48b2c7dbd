//! Profiles of random captures equal what a naive reading of the rules gives, on any number of
//! threads and in batches of any size.

mod naive;
mod script;

use std::io::Cursor;
use std::sync::LazyLock;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{Location, Source};
use memreport_aggregate::{
    Counts, Interval, NEVER, Options, Profile, SliceRange, View, read_profile,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rayon::{ThreadPool, ThreadPoolBuilder};

use naive::Naive;
use script::{FRAMES, Op, Script, call, scripts, snapshot};

/// One thread makes one lane, and so on.
static POOLS: LazyLock<[ThreadPool; 3]> = LazyLock::new(|| {
    [1, 2, 4].map(|n| {
        let pool = ThreadPoolBuilder::new().num_threads(n).build();
        pool.expect("threads can be started")
    })
});

fn read(capture: &[u8], options: &Options, pool: &ThreadPool) -> Profile {
    let source = Source::from_reader("random", Cursor::new(capture.to_vec()));
    pool.install(|| read_profile(source, options, &std::sync::Arc::default()))
        .expect("the capture is readable")
}

/// All ranges of neighbouring slices.
fn ranges(n_slices: usize) -> impl Iterator<Item = SliceRange> {
    (0..n_slices)
        .flat_map(move |first| (first..n_slices).map(move |last| SliceRange { first, last }))
}

/// What reports show of a location: thread, stack from the outside in, allocator, and where it is
/// first met.
fn shown(profile: &Profile, location: &Location) -> (u64, Vec<(String, String, i32)>, Allocator) {
    let stack = profile.call_tree.stack(location.node).map(|id| {
        let frame = profile.frames.get(id);
        let text = |id| profile.strings.text(id).into_owned();
        (text(frame.function), text(frame.file), frame.line)
    });
    let mut stack: Vec<_> = stack.collect();
    stack.reverse();
    let thread = profile.threads[location.thread.index()].id;
    (thread, stack, location.allocator)
}

fn check_tables(profile: &Profile, naive: &Naive) -> TestCaseResult {
    prop_assert_eq!(profile.locations.len(), naive.locations.len());
    for (location, expected) in profile.locations.iter().zip(&naive.locations) {
        let frames = expected.frames.iter().map(|&frame| {
            let (function, file, line) = FRAMES[frame];
            (function.to_owned(), file.to_owned(), line)
        });
        let expected_shown = (expected.thread, frames.collect(), expected.allocator);
        prop_assert_eq!(shown(profile, location), expected_shown);
        prop_assert_eq!(location.stack.index(), expected.stack);
        prop_assert_eq!(location.first_sequence, expected.first_sequence);
    }
    let threads = profile.threads.iter();
    let threads: Vec<_> = threads
        .map(|thread| (thread.id, profile.strings.text(thread.name)))
        .collect();
    let expected: Vec<_> = naive
        .threads
        .iter()
        .map(|&(id, name)| (id, name.into()))
        .collect();
    prop_assert_eq!(threads, expected);
    prop_assert_eq!(&profile.made, &naive.made);
    let sizes: Vec<_> = naive.sizes.iter().map(|(&size, &n)| (size, n)).collect();
    prop_assert_eq!(&profile.sizes, &sizes);
    let expected = Counts {
        records: profile.counts.records,
        object_events: 0,
        events: naive.n_events() as u64,
        allocations: naive.sizes.values().sum(),
        allocated_bytes: naive.sizes.iter().map(|(size, n)| size * n).sum(),
        implicit_frees: naive.implicit_frees,
        implicit_unmaps: naive.implicit_unmaps,
        unknown_deallocations: naive.unknown_deallocations,
    };
    prop_assert_eq!(profile.counts, expected);
    Ok(())
}

/// Rows are sorted by distinct keys, end after they start, within the run, and say something.
fn check_intervals(profile: &Profile) -> TestCaseResult {
    let key = |row: &Interval| (row.start, row.location, row.end);
    let ticks = u32::try_from(2 * profile.slices.len()).expect("few slices");
    for pair in profile.intervals.windows(2) {
        prop_assert!(key(&pair[0]) < key(&pair[1]), "{:?}", pair);
    }
    for row in &profile.intervals {
        prop_assert!(row.start < row.end, "{:?}", row);
        prop_assert!(row.start < ticks, "{:?}", row);
        prop_assert!(row.end < ticks || row.end == NEVER, "{:?}", row);
        prop_assert!(row.bytes > 0 || row.allocations > 0, "{:?}", row);
    }
    Ok(())
}

fn check_views(profile: &Profile, naive: &Naive) -> TestCaseResult {
    for range in ranges(profile.slices.len()) {
        let slice = profile.slices.peak_slice(range);
        prop_assert_eq!(slice, naive.peak_slice(range), "slice of {:?}", range);
        let peak = View::peak(profile, range);
        prop_assert_eq!(peak.rows(), naive.peak(range), "peak in {:?}", range);
        let highest = profile.slices.peaks[range.first..=range.last].iter().max();
        prop_assert_eq!(Some(&peak.total().bytes), highest, "peak in {:?}", range);
        let leaks = View::leaks(profile, range);
        prop_assert_eq!(leaks.rows(), naive.leaks(range), "leaks of {:?}", range);
    }
    let leaks = View::leaks(profile, profile.slices.whole_run());
    prop_assert_eq!(Some(&leaks.total().bytes), profile.slices.heap.last());
    for threshold in 0..=profile.temporaries.threshold() {
        let view = View::temporary(profile, threshold);
        prop_assert_eq!(view.rows(), naive.temporary(threshold));
    }
    Ok(())
}

fn check(profile: &Profile, naive: &Naive) -> TestCaseResult {
    prop_assert!(profile.ending.is_complete(), "{}", profile.ending);
    check_tables(profile, naive)?;
    prop_assert_eq!(&profile.slices, &naive.slices());
    check_intervals(profile)?;
    prop_assert_eq!(&profile.intervals, &naive.intervals());
    check_views(profile, naive)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn profiles_are_what_the_rules_say_on_any_threads_in_any_batches(script in scripts()) {
        let capture = script.encode();
        let default = read(&capture, &Options::default(), &POOLS[0]);
        check(&default, &Naive::new(&script))?;
        let default = format!("{default:?}");
        for events_per_batch in [1, 2, 7, 1 << 16] {
            let options = Options { events_per_batch, ..Options::default() };
            for pool in POOLS.iter() {
                let profile = format!("{:?}", read(&capture, &options, pool));
                prop_assert_eq!(
                    &profile, &default,
                    "batches of {}, {} threads", events_per_batch, pool.current_num_threads()
                );
            }
        }
    }

    #[test]
    fn thinned_profiles_are_those_of_captures_with_fewer_snapshots(
        script in scripts(),
        max_memory_records in 1..8_usize,
    ) {
        let options = Options { max_memory_records, events_per_batch: 5, temporary_threshold: 0, ..Options::default() };
        let profile = read(&script.encode(), &options, &POOLS[1]);
        let naive = Naive::new(&script);
        let stride = naive.n_snapshots().div_ceil(max_memory_records).max(1);
        prop_assert_eq!(profile.snapshot_stride, stride);
        check(&profile, &naive.thinned(stride))?;
        prop_assert!(profile.slices.n_snapshots() <= max_memory_records);
    }
}

/// More snapshots in a row than a batch takes.
#[test]
fn snapshots_without_events_between_them_make_slices_too() {
    let block = |n: u64| call(Allocator::Malloc, 8 * n, 10 * n);
    let idle = || (0..5000).map(|n| snapshot(n % 7));
    let script = Script::plain(
        [block(1)]
            .into_iter()
            .chain(idle())
            .chain([block(2)])
            .chain(idle()),
    );
    let naive = Naive::new(&script);
    for pool in POOLS.iter() {
        let profile = read(&script.encode(), &Options::default(), pool);
        assert_eq!(profile.slices, naive.slices());
        check_intervals(&profile).unwrap();
        assert_eq!(profile.intervals, naive.intervals());
    }
}

/// Enough blocks that the rows of an open slice are added up before it ends.
#[test]
fn many_blocks_that_die_in_one_slice_make_one_row() {
    const N: u64 = 300_000;
    let addresses = || (1..=N).map(|n| 8 * n);
    let run = |end: Vec<Op>| {
        let script = Script::plain(
            addresses()
                .map(|address| call(Allocator::Malloc, address, 3))
                .chain([snapshot(0)])
                .chain(addresses().map(|address| call(Allocator::Free, address, 0)))
                .chain(end),
        );
        read(&script.encode(), &Options::default(), &POOLS[0])
    };
    let row = |start, end, allocations, bytes, first_sequence| Interval {
        start,
        location: memreport_aggregate::ingest::LocationId(0),
        end,
        allocations,
        bytes,
        first_sequence,
    };
    let all = u32::try_from(N).unwrap();
    assert_eq!(run(vec![]).intervals, [row(0, 3, all, 3 * N, 0)]);

    // A higher peak after all, so that they die before it.
    let higher = run(vec![call(Allocator::Malloc, 8, 4 * N)]);
    let expected = [row(0, 2, all, 3 * N, 0), row(2, NEVER, 1, 4 * N, 2 * N)];
    assert_eq!(higher.intervals, expected);
}
