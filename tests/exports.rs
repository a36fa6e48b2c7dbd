//! Every export of every capture adds up, to the byte, to what was asked for.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use memreport_aggregate::{Filter, Options, Profile, Question, Selected, Selection};
use memreport_ingest::Tally;
use memreport_render::{Collapsed, Csv, Gprof2dot, Json, Output, Pprof, Speedscope};
use serde_json::Value;

use support::captures::Corpus;
use support::figures::{chains, index};
use support::pprof::Pprof as Read;
use support::profiles::{profile_of, report};

fn profiles() -> impl Iterator<Item = (String, Profile)> {
    let corpus = Corpus::own();
    corpus.entries().into_iter().filter_map(move |entry| {
        let options = Options {
            symbols: memreport_ingest::native::SymbolOptions::default(),
            ..Options::default()
        };
        let profile = profile_of(&corpus.bytes(&entry.name), &options).ok()?;
        Some((entry.name, profile))
    })
}

/// Selections of all kinds that a profile can answer.
fn selections(profile: &Profile) -> Vec<Selection> {
    let mut selections = vec![
        Selection::default(),
        Selection {
            split_threads: true,
            ..Selection::default().asking(Question::Leaks)
        },
        Selection {
            filter: hiding(Filter::new(&[], &["(?i)main|run|load".to_owned()]).unwrap()),
            ..Selection::default()
        },
    ];
    if !profile.is_aggregated {
        selections.push(Selection {
            from: Some("0".parse().unwrap()),
            to: Some("peak".parse().unwrap()),
            filter: Filter::new(&["e".to_owned()], &[]).unwrap(),
            ..Selection::default().asking(Question::Leaks)
        });
        selections.push(Selection::default().asking(Question::Temporary { threshold: 1 }));
    }
    selections
}

fn hiding(mut filter: Filter) -> Filter {
    filter.hide_import_system = true;
    filter.hide_internals = true;
    filter
}

/// What a selection shows, and what it left out.
fn parts(selected: &Selected<'_>) -> [Tally; 2] {
    [selected.total(), selected.left_out()]
}

fn tally(allocations: u64, bytes: u64) -> Tally {
    Tally { allocations, bytes }
}

fn sum(tallies: impl IntoIterator<Item = Tally>) -> Tally {
    let mut sum = Tally::default();
    for tally in tallies {
        sum.add_all(tally);
    }
    sum
}

#[test]
fn exports_add_up_to_the_selection() {
    let mut n = 0;
    for (name, profile) in profiles() {
        for selection in selections(&profile) {
            let selected = selection.of(&profile).unwrap();
            let context = format!("{name}: {selection:?}");
            check_csv(&selected, &selection, &context);
            check_gprof2dot(&selected, &selection, &context);
            check_collapsed(&selected, &selection, &context);
            check_pprof(&selected, &selection, &context);
            check_speedscope(&selected, &selection, &context);
            check_json(&selected, &selection, &context);
            n += 1;
        }
    }
    assert!(n > 600, "captures were lost: {n} selections");
}

fn check_csv(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let selection = selection.clone();
    let bytes = report(selected.profile(), &Csv { selection });
    let mut reader = csv::Reader::from_reader(bytes.as_slice());
    let (mut kept, mut left_out) = (Tally::default(), Tally::default());
    for row in reader.records() {
        let row = row.unwrap();
        let of = tally(row[1].parse().unwrap(), row[2].parse().unwrap());
        if &row[5] == "<left out>" {
            assert_eq!([&row[0], &row[3], &row[4]], [""; 3]);
            left_out.add_all(of);
        } else {
            kept.add_all(of);
        }
    }
    assert_eq!([kept, left_out], parts(selected), "csv, {context}");
}

fn check_gprof2dot(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let selection = selection.clone();
    let document = parsed(&report(selected.profile(), &Gprof2dot { selection }));
    let (chains, costs) = chains(&document);
    let bytes = |is_left_out| -> u64 {
        let events = chains.iter().zip(&costs);
        let events = events.filter(|(chain, _)| (chain[..] == [["<left out>", ""]]) == is_left_out);
        events.map(|(_, cost)| cost).sum()
    };
    assert!(chains.iter().all(|chain| !chain.is_empty()));
    let without_stack = document["without_stack"]["bytes"].as_u64().unwrap_or(0);
    let [total, left_out] = parts(selected);
    assert_eq!(bytes(false) + without_stack, total.bytes, "{context}");
    assert_eq!(bytes(true), left_out.bytes, "{context}");
}

fn check_collapsed(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let selection = selection.clone();
    let text = report(selected.profile(), &Collapsed { selection });
    let total = sum(parts(selected)).bytes;
    if total == 0 {
        assert!(text.is_empty(), "{context}");
        return;
    }
    let lines = str::from_utf8(&text).unwrap().lines();
    let weights = lines.map(|line| line.rsplit_once(' ').unwrap().1);
    let weights = weights.map(|weight| weight.parse::<u64>().unwrap());
    assert_eq!(weights.sum::<u64>(), total, "{context}");
    // inferno reckons with doubles.
    if total >= 1 << f64::MANTISSA_DIGITS {
        return;
    }
    let mut options = inferno::flamegraph::Options::default();
    options.count_name = "bytes".to_owned();
    let mut svg = Vec::new();
    inferno::flamegraph::from_reader(&mut options, text.as_slice(), &mut svg)
        .unwrap_or_else(|error| panic!("{context}: {error}"));
    let svg = String::from_utf8(svg).unwrap();
    let (_, all) = svg.split_once("<title>all (").unwrap();
    let (read, _) = all.split_once(" bytes, 100%)").unwrap();
    let read: u64 = read.replace(',', "").parse().unwrap();
    assert_eq!(read, total, "{context}");
}

fn check_pprof(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let selection = selection.clone();
    let profile = Read::read(&report(selected.profile(), &Pprof { selection }));
    let prefix = match selected.question() {
        Question::Peak => "inuse",
        Question::Leaks => "leaked",
        Question::Temporary { .. } => "temporary",
    };
    let read = |prefix: &str| {
        let of = |what| profile.total(&format!("{prefix}_{what}"));
        tally(of("objects"), of("space"))
    };
    assert_eq!(read(prefix), selected.total(), "{context}");
    let said = |comment: &String| comment.contains("left out: ");
    let has_left_out = selected.left_out() != Tally::default();
    let of_whole = profile.comments.iter().any(said);
    assert!(of_whole || !has_left_out, "{context}");
    if profile.types.iter().any(|name| name == "alloc_space") && !of_whole {
        let counts = selected.profile().counts;
        let made = tally(counts.allocations, counts.allocated_bytes);
        assert_eq!(read("alloc"), made, "{context}");
    }
    for sample in &profile.samples {
        assert!(!sample.stack.is_empty());
        assert_eq!(sample.labels.len(), usize::from(selected.split_threads()));
    }
}

fn check_speedscope(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let selection = selection.clone();
    let document = parsed(&report(selected.profile(), &Speedscope { selection }));
    let view = match selected.question() {
        Question::Peak => "peak",
        Question::Leaks => "leaks",
        Question::Temporary { .. } => "temporary",
    };
    let profiles = document["profiles"].as_array().unwrap();
    let total = |unit: &str| -> u64 {
        let of_view = profiles.iter().filter(|profile| {
            let name = profile["name"].as_str().unwrap();
            profile["unit"] == unit && name.contains(&format!("({view}"))
        });
        of_view
            .map(|profile| {
                let weights = profile["weights"].as_array().unwrap().iter();
                let sum: u64 = weights.map(|weight| weight.as_u64().unwrap()).sum();
                assert_eq!(profile["endValue"], sum, "{context}");
                sum
            })
            .sum()
    };
    let with_stack = selected.rows().iter().filter(|row| row.node.0 != 0);
    let expected = sum(with_stack.map(|row| row.tally));
    let read = tally(total("none"), total("bytes"));
    assert_eq!(read, expected, "{context}");
    let says = profiles[0]["name"]
        .as_str()
        .unwrap()
        .contains("without a stack");
    if view == "peak" && !selected.split_threads() {
        assert_eq!(says, expected != selected.total(), "{context}");
    }
}

fn check_json(selected: &Selected<'_>, selection: &Selection, context: &str) {
    let all = parsed(&report(selected.profile(), &Json::default()));
    let selection = Json {
        selection: Some(selection.clone()),
        ..Json::default()
    };
    let mut document = parsed(&report(selected.profile(), &selection));
    let section = document.as_object_mut().unwrap().shift_remove("selection");
    let section = section.unwrap();
    let of = |value: &Value| {
        let [allocations, bytes] = ["allocations", "bytes"].map(|key| value[key].as_u64().unwrap());
        tally(allocations, bytes)
    };
    let read = [of(&section), of(&section["left_out"])];
    assert_eq!(read, parts(selected), "{context}");
    let rows = section["rows"].as_array().unwrap();
    let stacks = document["stacks"].as_array().unwrap();
    let rows = rows.iter().map(|row| {
        assert!(index(&row[2]) < stacks.len());
        tally(row[5].as_u64().unwrap(), row[4].as_u64().unwrap())
    });
    assert_eq!(sum(rows), selected.total(), "{context}");
    // Stacks of a selection come after the others; nothing else changes.
    for (key, value) in all.as_object().unwrap() {
        match key.as_str() {
            "stacks" => assert!(stacks.starts_with(value.as_array().unwrap())),
            _ => assert_eq!(document[key], *value, "{key}, {context}"),
        }
    }
}

fn parsed(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[test]
fn exports_are_the_same_each_time() {
    for name in ["v13-threads", "v13-etl", "v11-aggregate-threads"] {
        let bytes = Corpus::own().bytes(name);
        let made = |options: &Options| -> Vec<Vec<u8>> {
            let profile = profile_of(&bytes, options).unwrap();
            let selection = Selection {
                split_threads: true,
                ..Selection::default()
            };
            let outputs: [Box<dyn Output>; 6] = [
                Box::new(Csv {
                    selection: selection.clone(),
                }),
                Box::new(Gprof2dot {
                    selection: selection.clone(),
                }),
                Box::new(Collapsed {
                    selection: selection.clone(),
                }),
                Box::new(Pprof {
                    selection: selection.clone(),
                }),
                Box::new(Speedscope {
                    selection: selection.clone(),
                }),
                Box::new(Json {
                    selection: Some(selection),
                    temporal: true,
                }),
            ];
            outputs
                .iter()
                .map(|output| report(&profile, output.as_ref()))
                .collect()
        };
        let small_batches = Options {
            events_per_batch: 7,
            ..Options::default()
        };
        assert_eq!(made(&Options::default()), made(&small_batches), "{name}");
    }
}
