//! Our exports say what memray says of the same captures, but for faults of memray that have a name.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(clippy::print_stdout, reason = "the score is for who runs the test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memreport_aggregate::{Options, Profile, Selection};
use memreport_ingest::native::SymbolOptions;
use memreport_render::{Extent, Form, FunctionOrder, Summary, Units};
use serde_json::Value;

use support::captures::{Corpus, Entry};
use support::figures::{
    Difference, compare, compare_csv, compare_gprof2dot, compare_speedscope, compare_stats, index,
    threads_add_up,
};
use support::profiles::{
    assert_none, csv, gprof2dot, json, profile_in, report, speedscope, stats, thinned,
};

/// A fault of memray that shows in our captures.
struct Fault {
    /// What memray does wrong. The rule that we follow is tested in `memray_faults.rs`.
    name: &'static str,
    shows: &'static [Showing],
}

/// Captures, figures that differ in each of them, and in what they differ.
type Showing = (&'static [&'static str], &'static [&'static str], Difference);

const PEAK_ROWS: [&str; 2] = ["high_water_mark.merged", "high_water_mark.by_thread"];
const LEAK_ROWS: [&str; 2] = ["leaks.merged", "leaks.by_thread"];
const PEAKS_OVER_TIME: [&str; 2] = [
    "temporal_high_water_mark.merged",
    "temporal_high_water_mark.by_thread",
];
const LEAKS_OVER_TIME: [&str; 2] = ["temporal_leaks.merged", "temporal_leaks.by_thread"];
const STATS_PEAK: [&str; 1] = ["stats --json.metadata.peak_memory"];
const HEAP: [&str; 4] = [
    "peak",
    "snapshots",
    "stats.peak_memory_allocated",
    "slice_peaks",
];

/// Numbers are those of the captures' README, and of sections of `semantics.md`.
const FAULTS: &[Fault] = &[
    Fault {
        name: "line 0 for code on one line, with Python up to 3.9 (16.9)",
        shows: &[
            (
                &["v12-lines-py38", "v12-lines-py39", "v13-lines-py39"],
                &LEAK_ROWS,
                Difference::Lines,
            ),
            (
                &["v12-lines-py38", "v12-lines-py39", "v13-lines-py39"],
                &LEAKS_OVER_TIME,
                Difference::Lines,
            ),
            (&["v12-lines-py38"], &PEAK_ROWS, Difference::Lines),
            (&["v12-lines-py38"], &PEAKS_OVER_TIME, Difference::Lines),
            (
                &["v13-lines-py39"],
                &[
                    "stats --json.top_allocations_by_count",
                    "stats --json.top_allocations_by_size",
                ],
                Difference::Other,
            ),
        ],
    },
    Fault {
        name: "old bytes are kept where only bytes change (2; 16.1)",
        shows: &[(
            &[
                "v12-threads",
                "v13-native-threads",
                "v13-synthetic-stale",
                "v13-threads",
                "v13-threads-py313",
                "v13-webapp",
            ],
            &PEAKS_OVER_TIME,
            Difference::Bytes,
        )],
    },
    Fault {
        name: "a split mapping counts once a piece (5; 1)",
        shows: &[
            (
                &["v06-mmap", "v08-mmap", "v13-mmap"],
                &PEAK_ROWS,
                Difference::Allocations,
            ),
            (&["v13-mmap"], &PEAKS_OVER_TIME, Difference::Allocations),
            (
                &["v13-mmap"],
                &["speedscope.Allocations", "csv"],
                Difference::Allocations,
            ),
            (
                &[
                    "v06-mmap",
                    "v08-mmap",
                    "v13-mmap",
                    "v13-synthetic-unbalanced",
                ],
                &LEAK_ROWS,
                Difference::Allocations,
            ),
        ],
    },
    Fault {
        name: "mappings that overlap count twice (16.13)",
        shows: &[
            (&["v13-native-mmap"], &HEAP, Difference::Other),
            (&["v13-native-mmap"], &STATS_PEAK, Difference::Other),
            (&["v13-native-mmap"], &PEAK_ROWS, Difference::Other),
            (&["v13-native-mmap"], &LEAK_ROWS, Difference::Other),
            (&["v13-native-mmap"], &PEAKS_OVER_TIME, Difference::Other),
            (&["v13-native-mmap"], &LEAKS_OVER_TIME, Difference::Bytes),
            (&["v13-threads-py314"], &HEAP, Difference::Other),
            (&["v13-threads-py314"], &STATS_PEAK, Difference::Other),
            (&["v13-threads-py314"], &PEAK_ROWS, Difference::Bytes),
            (&["v13-threads-py314"], &LEAK_ROWS, Difference::Bytes),
            (&["v13-threads-py314"], &PEAKS_OVER_TIME, Difference::Bytes),
            (&["v13-threads-py314"], &LEAKS_OVER_TIME, Difference::Bytes),
            (
                &["v13-threads-py314"],
                &["speedscope.Memory", "csv", "gprof2dot"],
                Difference::Bytes,
            ),
        ],
    },
    Fault {
        name: "mappings that overlap, and blocks freed unseen, count twice (4; 16.2, 16.13)",
        shows: &[
            (&["v13-synthetic-unbalanced"], &HEAP, Difference::Other),
            (
                &["v13-synthetic-unbalanced"],
                &STATS_PEAK,
                Difference::Other,
            ),
            (&["v13-synthetic-unbalanced"], &PEAK_ROWS, Difference::Bytes),
            (
                &["v13-synthetic-unbalanced"],
                &PEAKS_OVER_TIME,
                Difference::Other,
            ),
            (
                &["v13-synthetic-unbalanced"],
                &LEAKS_OVER_TIME,
                Difference::Bytes,
            ),
            (
                &["v13-synthetic-unbalanced"],
                &["speedscope.Memory", "csv", "gprof2dot"],
                Difference::Bytes,
            ),
        ],
    },
    Fault {
        name: "of aggregated rows that fall together, all after the first count 1 (11; 16.8)",
        shows: &[
            (
                &[
                    "v10-aggregate",
                    "v12-aggregate",
                    "v13-aggregate",
                    "v13-aggregate-threads",
                    "v13-attach-aggregate",
                    "v13-pandas-aggregate",
                    "v13-pyalloc-aggregate",
                    "v13-regrtest-set",
                    "v13-webapp-aggregate",
                ],
                &PEAK_ROWS,
                Difference::Allocations,
            ),
            (
                &[
                    "v13-aggregate-threads",
                    "v13-attach-aggregate",
                    "v13-pandas-aggregate",
                    "v13-pyalloc-aggregate",
                    "v13-regrtest-set",
                    "v13-webapp-aggregate",
                ],
                &LEAK_ROWS,
                Difference::Allocations,
            ),
            (
                &[
                    "v13-aggregate",
                    "v13-aggregate-threads",
                    "v13-pandas-aggregate",
                    "v13-pyalloc-aggregate",
                    "v13-regrtest-set",
                    "v13-webapp-aggregate",
                ],
                &["speedscope.Allocations"],
                Difference::Allocations,
            ),
            (
                &[
                    "v13-aggregate",
                    "v13-aggregate-threads",
                    "v13-attach-aggregate",
                    "v13-pandas-aggregate",
                    "v13-pyalloc-aggregate",
                    "v13-regrtest-set",
                    "v13-webapp-aggregate",
                ],
                &["csv"],
                Difference::Allocations,
            ),
        ],
    },
    Fault {
        name: "captures that were not closed have the header's count of records, 0 (memray up to 1.1)",
        shows: &[(
            &["v06-fork-child2", "v06-killed", "v07-killed"],
            &["metadata.total_allocations"],
            Difference::Other,
        )],
    },
    Fault {
        name: "captures that were not closed end when they start",
        shows: &[(
            &[
                "v13-fork-child2",
                "v13-killed",
                "v13-killed-buffered",
                "v13-killed-native",
            ],
            &["stats --json.metadata.end_time"],
            Difference::Other,
        )],
    },
    Fault {
        name: "threads numbered above 2^63 have a sign",
        shows: &[(
            &["v13-synthetic-huge"],
            &["high_water_mark.by_thread", "leaks.by_thread"],
            Difference::Threads,
        )],
    },
];

/// Captures that are not in the repository.
const ONLY_BESIDE: [&str; 4] = [
    "v13-native-mmap",
    "v13-pandas-aggregate",
    "v13-regrtest-set",
    "v13-webapp-aggregate",
];

/// Figures by capture and name, each with how ours differs from memray's.
type Differences = BTreeMap<(String, String), Difference>;

/// What the table of faults says of these figures.
fn excused(compared: &BTreeSet<(String, String)>) -> Differences {
    let mut excused = Differences::new();
    for fault in FAULTS {
        for &(captures, figures, difference) in fault.shows {
            for capture in captures {
                for figure in figures {
                    let place = ((*capture).to_owned(), (*figure).to_owned());
                    if !compared.contains(&place) {
                        continue;
                    }
                    let before = excused.insert(place, difference);
                    assert_eq!(
                        before, None,
                        "{capture}: {figure}: twice, last in: {}",
                        fault.name
                    );
                }
            }
        }
    }
    excused
}

/// Figures compared, and those of them that differ.
#[derive(Default)]
struct Score {
    captures: BTreeSet<String>,
    compared: BTreeSet<(String, String)>,
    differences: Differences,
}

impl Score {
    fn add(&mut self, capture: &str, compared: Vec<(String, Difference)>) {
        for (figure, difference) in compared {
            let place = (capture.to_owned(), figure);
            if difference != Difference::None {
                self.differences.insert(place.clone(), difference);
            }
            self.compared.insert(place);
        }
    }

    fn of(corpus: &Corpus, entries: &[Entry]) -> Self {
        let mut score = Self::default();
        for entry in entries {
            let name = entry.name.as_str();
            let oracle = corpus.oracle(name);
            if !memray_opens(&oracle) {
                continue;
            }
            score.captures.insert(name.to_owned());
            let profile = profile_in(corpus, name, &without_symbols());
            score.add(name, compare(&oracle, &json(&profile)));
            // Native frames depend on the machine that memray read the capture on.
            if profile.native.is_none() && entry.version == 13 {
                score.add_transforms(corpus, entry, &profile);
            }
            if entry.has("stats.json") && entry.version == 13 {
                let expected = corpus.expected(&format!("{name}.stats"));
                score.add(name, compare_stats(&expected, &stats(&profile)));
            }
            for max in entry.thinned_to() {
                let expected = corpus.expected(&format!("{name}.mmr{max}.oracle"));
                let profile = profile_in(corpus, name, &thinned(max));
                let compared = compare(&expected, &json(&profile)).into_iter();
                let named =
                    compared.map(|(figure, difference)| (format!("{figure} of {max}"), difference));
                score.add(name, named.collect());
            }
        }
        score
    }

    /// What `memray transform` makes of the capture.
    fn add_transforms(&mut self, corpus: &Corpus, entry: &Entry, profile: &Profile) {
        let name = &entry.name;
        if entry.has("speedscope.json") {
            let expected = corpus.expected(&format!("{name}.speedscope"));
            self.add(name, compare_speedscope(&expected, &speedscope(profile)));
        }
        if entry.has("transform.csv") {
            let expected = corpus.expected_text(&format!("{name}.transform.csv"));
            self.add(name, vec![compare_csv(&expected, &csv(profile))]);
        }
        if entry.has("gprof2dot.json") {
            let expected = corpus.expected(&format!("{name}.gprof2dot"));
            self.add(
                name,
                vec![compare_gprof2dot(&expected, &gprof2dot(profile))],
            );
        }
    }

    /// Fails unless exactly those figures differ that the table of faults lists.
    fn check(&self, title: &str) {
        let excused = excused(&self.compared);
        println!(
            "{title}: {} of {} figures of {} captures equal memray's; {} differ by faults of memray",
            self.compared.len() - self.differences.len(),
            self.compared.len(),
            self.captures.len(),
            excused.len(),
        );
        let missing = |from: &Differences, of: &Differences| -> Vec<String> {
            let missing = of
                .iter()
                .filter(|(place, difference)| from.get(place) != Some(difference));
            missing
                .map(|((capture, figure), difference)| {
                    format!("{capture}: {figure}: {difference:?}")
                })
                .collect()
        };
        assert_none(&missing(&excused, &self.differences), "figures differ");
        assert_none(
            &missing(&self.differences, &excused),
            "listed faults of memray do not show",
        );
    }
}

/// Native stacks depend on the files of the machine. Without them Python's are left, which are compared.
fn without_symbols() -> Options {
    Options {
        symbols: SymbolOptions::default(),
        ..Options::default()
    }
}

fn memray_opens(oracle: &Value) -> bool {
    oracle["errors"]["open"].is_null()
}

#[test]
fn every_figure_of_every_capture_is_memrays_or_a_named_fault() {
    let corpus = Corpus::own();
    let score = Score::of(&corpus, &corpus.entries());
    assert!(
        score.captures.len() > 80 && score.compared.len() > 2000,
        "captures were lost"
    );
    let shows = FAULTS.iter().flat_map(|fault| fault.shows);
    let listed = shows.flat_map(|(captures, _, _)| *captures);
    let unknown: Vec<_> = listed
        .filter(|name| !score.captures.contains(**name) && !ONLY_BESIDE.contains(*name))
        .collect();
    assert_none(&unknown, "listed captures do not exist");
    score.check("own captures");
}

/// The same over more captures, if there are any: in `MEMREPORT_CAPTURES`, or beside the checkout.
#[test]
fn every_figure_of_captures_beside_the_checkout_is_memrays_or_a_named_fault() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    let folder = std::env::var_os("MEMREPORT_CAPTURES").map_or_else(beside, PathBuf::from);
    if !folder.join("manifest.json").exists() {
        println!("no captures in {}: nothing compared", folder.display());
        return;
    }
    let corpus = Corpus::at(folder);
    let entries = corpus.entries();
    Score::of(&corpus, &entries).check("captures beside the checkout");
}

/// Own bytes, bytes and allocations by function and file.
type Functions = BTreeMap<(String, String), (u64, u64, u64)>;

/// What `memray summary` shows of its rows of the peak, if it showed all of them: it stops after the rows
/// that make 95 % of the bytes. Native stacks are not compared: their names depend on the machine.
fn memrays_functions(oracle: &Value) -> Functions {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let frames = list(&oracle["frames"]);
    let stacks = list(&oracle["stacks"]);
    let mut functions = Functions::new();
    for row in list(&oracle["high_water_mark"]["merged"]["rows"]) {
        let (bytes, allocations) = (row[4].as_u64().unwrap(), row[5].as_u64().unwrap());
        let stack = list(&stacks[index(&row[2])]);
        let names = stack.iter().map(|frame| {
            let frame = &frames[index(frame)];
            (text(&frame[0]), text(&frame[1]))
        });
        let mut names: Vec<_> = names.collect();
        if names.is_empty() {
            names.push(("???".to_owned(), "???".to_owned()));
        }
        functions.entry(names[0].clone()).or_default().0 += bytes;
        for name in names.into_iter().collect::<BTreeSet<_>>() {
            let of = functions.entry(name).or_default();
            of.1 += bytes;
            of.2 += allocations;
        }
    }
    functions
}

fn our_functions(profile: &Profile) -> Functions {
    let summary = Summary {
        selection: Selection::default(),
        order: FunctionOrder::Own,
        extent: Extent::All,
        units: Units::Iec,
        form: Form::Json { budget: None },
    };
    let document: Value = serde_json::from_slice(&report(profile, &summary)).unwrap();
    let functions = document["functions"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let functions = functions.map(|of| {
        let [own, bytes, allocations] =
            ["own_bytes", "bytes", "allocations"].map(|key| of[key].as_u64().unwrap());
        let name = (text(&of["function"]), text(&of["file"]));
        (name, (own, bytes, allocations))
    });
    functions.collect()
}

#[test]
fn summaries_are_memrays_where_its_rows_are_right() {
    let corpus = Corpus::own();
    let wrong_rows: BTreeSet<&str> = FAULTS
        .iter()
        .flat_map(|fault| fault.shows)
        .filter(|(_, figures, difference)| {
            figures.contains(&PEAK_ROWS[0]) && *difference != Difference::Lines
        })
        .flat_map(|(captures, _, _)| captures.iter().copied())
        .collect();
    let mut n_compared = 0;
    for Entry { name, .. } in corpus.entries() {
        let oracle = corpus.oracle(&name);
        if !memray_opens(&oracle)
            || wrong_rows.contains(name.as_str())
            || oracle["high_water_mark"]["merged"].is_null()
            || !threads_add_up(&oracle, "high_water_mark")
            || oracle["metadata"]["has_native_traces"] == true
        {
            continue;
        }
        let profile = profile_in(&corpus, &name, &without_symbols());
        let (ours, memrays) = (our_functions(&profile), memrays_functions(&oracle));
        let names = ours
            .keys()
            .chain(memrays.keys())
            .collect::<BTreeSet<_>>()
            .into_iter();
        let different = names.filter(|name| ours.get(*name) != memrays.get(*name));
        let different = different.map(|of| (name.as_str(), of, ours.get(of), memrays.get(of)));
        assert_none(
            &different.collect::<Vec<_>>(),
            "functions differ: ours, memray's",
        );
        n_compared += 1;
    }
    println!("{n_compared} summaries equal memray's");
    assert!(n_compared > 80, "captures were lost");
}
