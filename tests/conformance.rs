//! Our exports say what memray says of the same captures, but for faults of memray that have a name.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memreport_aggregate::Options;
use serde_json::Value;

use support::captures::{Corpus, Entry};
use support::figures::{Difference, compare, compare_speedscope};
use support::profiles::{assert_none, json, profile_in, speedscope, thinned};

/// A fault of memray that shows in our captures.
struct Fault {
    /// What memray does wrong. The rule that we follow is tested in `memray_faults.rs`.
    name: &'static str,
    captures: &'static [&'static str],
    /// Figures that differ in each of these captures.
    figures: &'static [&'static str],
    /// In what they differ.
    difference: Difference,
}

const FAULTS: &[Fault] = &[
];

/// Figures by capture and name, each with how ours differs from memray's.
type Differences = BTreeMap<(String, String), Difference>;

/// What the table of faults says of the captures in `names`.
fn excused(names: &BTreeSet<String>) -> Differences {
    let mut excused = Differences::new();
    for fault in FAULTS {
        for capture in fault.captures.iter().filter(|name| names.contains(**name)) {
            for figure in fault.figures {
                let place = ((*capture).to_owned(), (*figure).to_owned());
                let before = excused.insert(place, fault.difference);
                assert!(before.is_none(), "{capture} {figure} is listed twice, last as: {}", fault.name);
            }
        }
    }
    excused
}

/// Figures compared, and those of them that differ.
#[derive(Default)]
struct Score {
    captures: BTreeSet<String>,
    figures: usize,
    differences: Differences,
}

impl Score {
    fn add(&mut self, capture: &str, compared: Vec<(String, Difference)>) {
        self.figures += compared.len();
        let differing = compared.into_iter().filter(|(_, difference)| *difference != Difference::None);
        self.differences.extend(differing.map(|(figure, difference)| ((capture.to_owned(), figure), difference)));
    }

    fn of(corpus: &Corpus, entries: &[Entry]) -> Self {
        let mut score = Self::default();
        for entry in entries {
            let name = entry.name.as_str();
            let oracle = corpus.oracle(name);
            if !memray_reads_every_record(&oracle) {
                continue;
            }
            score.captures.insert(name.to_owned());
            let profile = profile_in(corpus, name, &Options::default());
            score.add(name, compare(&oracle, &json(&profile)));
            if entry.has_speedscope() {
                let expected = corpus.expected(&format!("{name}.speedscope"));
                score.add(name, compare_speedscope(&expected, &speedscope(&profile)));
            }
            for max in entry.thinned_to() {
                let expected = corpus.expected(&format!("{name}.mmr{max}.oracle"));
                let profile = profile_in(corpus, name, &thinned(max));
                let compared = compare(&expected, &json(&profile)).into_iter();
                let named = compared.map(|(figure, difference)| (format!("{figure} of {max}"), difference));
                score.add(name, named.collect());
            }
        }
        score
    }

    /// Fails unless exactly those figures differ that the table of faults lists.
    fn check(&self, title: &str) {
        let excused = excused(&self.captures);
        println!(
            "{title}: {} of {} figures of {} captures equal memray's; {} differ by faults of memray",
            self.figures - self.differences.len(),
            self.figures,
            self.captures.len(),
            excused.len(),
        );
        let missing = |from: &Differences, of: &Differences| -> Vec<String> {
            let missing = of.iter().filter(|(place, difference)| from.get(place) != Some(difference));
            missing.map(|((capture, figure), difference)| format!("{capture}: {figure}: {difference:?}")).collect()
        };
        assert_none(&missing(&excused, &self.differences), "figures differ");
        assert_none(&missing(&self.differences, &excused), "listed faults of memray do not show");
    }
}

/// Whether memray opens the capture, and it is no aggregated one.
fn memray_reads_every_record(oracle: &Value) -> bool {
    oracle["errors"]["open"].is_null() && oracle["metadata"]["file_format"] != "AGGREGATED_ALLOCATIONS"
}

#[test]
fn every_figure_of_every_capture_is_memrays_or_a_named_fault() {
    let corpus = Corpus::own();
    let score = Score::of(&corpus, &corpus.entries());
    assert!(score.captures.len() > 80 && score.figures > 2000, "captures were lost");
    let listed = FAULTS.iter().flat_map(|fault| fault.captures);
    let unknown: Vec<_> = listed.filter(|name| !score.captures.contains(**name)).collect();
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
    let mut entries = corpus.entries();
    entries.retain(|entry| (11..=13).contains(&entry.version) && !corpus.oracle(&entry.name)["metadata"]["has_native_traces"].as_bool().unwrap_or(false));
    Score::of(&corpus, &entries).check("captures beside the checkout");
}
