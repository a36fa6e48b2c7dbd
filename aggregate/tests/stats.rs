//! Statistics of random captures are what counting one allocation after the other gives.

#[allow(dead_code, reason = "each test program uses its own part of this")]
mod script;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Cursor;

use memreport_aggregate::ingest::capture::{Allocator, AllocatorKind};
use memreport_aggregate::ingest::{FrameId, Source, Tally};
use memreport_aggregate::{Options, OrderBy, Profile, Stats, read_profile};
use proptest::prelude::*;

use script::{FRAMES, MAIN_THREAD, Op, Script, scripts};

fn read(script: &Script) -> Profile {
    let source = Source::from_reader("random", Cursor::new(script.encode()));
    read_profile(source, &Options::default(), &std::sync::Arc::default())
        .expect("the capture is readable")
}

/// The top-level module of each of `FRAMES`; none of what is in the standard library.
const MODULES: [Option<&str>; 8] = [
    Some("a"),
    Some("a"),
    None,
    None,
    Some("pkg"),
    Some("<root>"),
    Some("b"),
    Some("b"),
];

/// An allocation that did not fail: the frames that made it, outermost first.
struct Made {
    frames: Vec<usize>,
    allocator: Allocator,
    size: u64,
}

fn all_made(script: &Script) -> Vec<Made> {
    let mut frames = BTreeMap::<u64, Vec<usize>>::new();
    let mut thread = MAIN_THREAD;
    let mut made = Vec::new();
    for op in &script.ops {
        match *op {
            Op::Switch(to) => thread = to,
            Op::Push(frame) => frames.entry(thread).or_default().push(frame),
            Op::Pop(count) => {
                let frames = frames.entry(thread).or_default();
                frames.truncate(frames.len().saturating_sub(count as usize));
            }
            Op::Call {
                allocator,
                address,
                size,
                ..
            } => {
                let failed = match allocator.kind() {
                    AllocatorKind::Allocation => address == 0,
                    AllocatorKind::RangedAllocation => address == u64::MAX,
                    _ => true,
                };
                if !failed {
                    let frames = frames.entry(thread).or_default().clone();
                    made.push(Made {
                        frames,
                        allocator,
                        size,
                    });
                }
            }
            _ => {}
        }
    }
    made
}

/// A key's sum, and when it was met first.
type Sums<K> = BTreeMap<K, (Tally, usize)>;

fn sums<'a, K: Ord>(made: &'a [Made], key: impl Fn(&'a Made) -> K) -> Sums<K> {
    let mut sums = Sums::new();
    for (index, allocation) in made.iter().enumerate() {
        let (tally, _) = sums
            .entry(key(allocation))
            .or_insert((Tally::default(), index));
        tally.add(allocation.size);
    }
    sums
}

/// Function, file, line; nothing for the location of what has no stack.
type Place = Option<(&'static str, &'static str, i32)>;

fn place(made: &Made) -> Place {
    made.frames.last().map(|&frame| FRAMES[frame])
}

fn module(made: &Made) -> &'static str {
    let modules = made.frames.iter().rev().filter_map(|&frame| MODULES[frame]);
    modules.into_iter().next().unwrap_or("<root>")
}

/// Whether a path says where packages are.
fn is_told(made: &[Made]) -> bool {
    let mut frames = made.iter().flat_map(|made| &made.frames);
    frames.any(|frame| [4, 5].contains(frame))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn statistics_count_every_allocation(script in scripts(), n in 0..6_usize) {
        let profile = read(&script);
        let stats = Stats::new(&profile).expect("it is not aggregated");
        let made = all_made(&script);
        let bytes = made.iter().map(|made| made.size).sum::<u64>();
        prop_assert_eq!(stats.total, Tally { allocations: made.len() as u64, bytes });

        let by_allocator = sums(&made, |made| made.allocator.name());
        let mut expected: Vec<_> = by_allocator
            .iter()
            .map(|(&name, (tally, _))| (name, tally.allocations))
            .collect();
        expected.sort_by_key(|&(name, count)| (Reverse(count), name));
        let ours: Vec<_> = stats.by_allocator.iter().map(|&(of, n)| (of.name(), n)).collect();
        prop_assert_eq!(ours, expected);

        for by in [OrderBy::Bytes, OrderBy::Allocations] {
            let mut expected: Vec<_> = sums(&made, place).into_iter().collect();
            expected.sort_by_key(|&(place, (tally, first))| {
                (Reverse(by.of(tally)), place.is_none(), Reverse(first))
            });
            let expected: Vec<_> = expected.iter().take(n).map(|&(key, (sum, _))| (key, sum)).collect();
            let ours = stats.top_locations(by, n).into_iter().map(|(id, tally)| {
                let frame = profile.frames.get(id);
                let text = |id| profile.strings.text(id).into_owned();
                let named = (text(frame.function), text(frame.file), frame.line);
                ((id != FrameId(0)).then_some(named), tally)
            });
            let owned = |place: Place| place.map(|(function, file, line)| {
                (function.to_owned(), file.to_owned(), line)
            });
            let expected: Vec<_> = expected.into_iter().map(|(key, sum)| (owned(key), sum)).collect();
            prop_assert_eq!(ours.collect::<Vec<_>>(), expected);

            let mut expected: Vec<_> = sums(&made, module).into_iter().collect();
            expected.sort_by_key(|&(_, (tally, first))| (Reverse(by.of(tally)), first));
            if stats.modules_are_guessed && !is_told(&made) {
                expected.clear();
            }
            let expected: Vec<_> = expected
                .iter()
                .take(n)
                .map(|&(key, (sum, _))| (key.to_owned(), sum))
                .collect();
            let top = stats.top_modules(by, n).into_iter();
            let ours: Vec<_> = top
                .map(|(name, tally)| (profile.strings.text(name).into_owned(), tally))
                .collect();
            prop_assert_eq!(ours, expected);
        }
        prop_assert_eq!(stats.modules_are_guessed, script.format < 13);
    }
}
