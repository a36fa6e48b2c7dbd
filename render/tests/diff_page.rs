//! The page of two captures says what their diff says, and no name breaks it.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use memreport_render::aggregate::ingest::Tally;
use memreport_render::aggregate::ingest::capture::Record;
use memreport_render::aggregate::{
    Change, Diff, DiffOptions, Filter, Moment, Profile, Question, Selection, Status,
};
use memreport_render::{DiffPage, Html, Units};

use support::capture::{HOSTILE, hostile_calls, profile_of_file, profile_of_records, snapshot};
use support::page::{NEVER, Page};

fn asked(selection: Selection, made: bool) -> DiffPage {
    DiffPage {
        selection,
        made,
        options: DiffOptions::default(),
        names: ["old.bin", "new.bin"].map(str::to_owned),
        units: Units::Iec,
    }
}

fn written(page: &DiffPage, profiles: [&Profile; 2]) -> String {
    let mut bytes = Vec::new();
    page.write(profiles, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn capture(name: &str) -> Profile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    profile_of_file(&folder.join(format!("{name}.bin"))).unwrap()
}

/// Function and module of each frame, outermost first.
type Stack = Vec<(String, String)>;

/// What the page has of each stack, by the definition of the question.
fn of_page(
    sides: &[Page; 2],
    selection: &Selection,
    made: bool,
    profiles: [&Profile; 2],
) -> BTreeMap<Stack, Change> {
    let mut changes: BTreeMap<Stack, Change> = BTreeMap::new();
    for (side, page) in sides.iter().enumerate() {
        let range = selection.range(profiles[side]).unwrap();
        let (first, last) = (2 * range.first as u64, 2 * range.last as u64 + 1);
        let tick = 2 * profiles[side].slices.peak_slice(range) as u64;
        let of_rows = page.rows.iter().filter(|row| match selection.question {
            Question::Peak => row.start <= tick && row.end > tick,
            _ => (first..=last).contains(&row.start) && (row.end > last || row.end == NEVER),
        });
        let of_rows = || of_rows.map(|row| (row.location, row.allocations, row.bytes));
        let of_nodes = |sums: &Option<Vec<(u64, u64)>>| -> Vec<_> {
            let sums = sums.as_ref().unwrap().iter().enumerate();
            sums.map(|(node, &(count, bytes))| (node, count, bytes))
                .collect()
        };
        let tallies = match selection.question {
            _ if made => of_nodes(&page.made),
            Question::Temporary { .. } => of_nodes(&page.temporaries),
            _ => of_rows().collect(),
        };
        for (node, allocations, bytes) in tallies {
            let stack = page.stack(node).into_iter();
            let stack = stack.map(|(function, module, _)| (function.to_owned(), module.to_owned()));
            let change = changes.entry(stack.collect()).or_default();
            let of_side = if side == 0 {
                &mut change.base
            } else {
                &mut change.new
            };
            of_side.add_all(Tally { allocations, bytes });
        }
    }
    changes.retain(|_, change| *change != Change::default());
    changes
}

/// The same of the diff, and how many did not change.
fn of_diff(
    selection: &Selection,
    made: bool,
    profiles: [&Profile; 2],
) -> (BTreeMap<Stack, Change>, usize) {
    let [base, new] = profiles.map(|profile| {
        let selected = if made {
            selection.made(profile)
        } else {
            selection.of(profile)
        };
        selected.unwrap()
    });
    let diff = Diff::of([&base, &new], &DiffOptions::default()).unwrap();
    let text = |id| diff.common.strings.text(id).into_owned();
    let stacks = diff.stacks.iter().map(|of| {
        let frames = diff.common.call_tree.stack(of.node);
        let frames = frames.map(|id| diff.common.frames.get(id));
        let mut stack: Stack = frames
            .map(|frame| (text(frame.function), text(frame.file)))
            .collect();
        stack.reverse();
        (stack, of.change)
    });
    (stacks.collect(), diff.n_unchanged_stacks)
}

fn check(selection: &Selection, made: bool, profiles: [&Profile; 2]) {
    let text = written(&asked(selection.clone(), made), profiles);
    let sides = Page::of_two(&text);
    let mut changed = of_page(&sides, selection, made, profiles);
    let before = changed.len();
    changed.retain(|_, change| change.status() != Status::Unchanged);
    let (expected, n_expected) = of_diff(selection, made, profiles);
    assert_eq!(changed, expected);
    assert_eq!(before - changed.len(), n_expected);
    for (i, page) in sides.iter().enumerate() {
        let range = selection.range(profiles[i]).unwrap();
        assert_eq!(
            page.meta["range"],
            serde_json::json!([range.first, range.last])
        );
        assert_eq!(page.meta["peak_bytes"], profiles[i].slices.peak());
    }
}

/// The same program with other versions, or changed.
const PAIRS: [[&str; 2]; 8] = [
    ["v13-regress-before", "v13-regress-after"],
    ["v13-etl-py39", "v13-etl-py314"],
    ["v08-etl", "v13-etl"],
    ["v06-threads", "v13-threads"],
    ["v13-pyalloc", "v13-pyalloc-py313"],
    ["v09-leaky", "v13-leaky"],
    ["v12-native-cpp", "v13-native-cpp"],
    ["v13-quick", "v13-webapp"],
];

#[test]
fn the_rows_of_the_page_are_those_of_the_diff() {
    for names in PAIRS {
        println!("{names:?}");
        let [base, new] = names.map(capture);
        let profiles = [&base, &new];
        let whole = Selection::default();
        check(&whole, false, profiles);
        check(&whole, true, profiles);
        for question in [Question::Leaks, Question::Temporary { threshold: 1 }] {
            check(&whole.asking(question), false, profiles);
        }
        let hiding = Selection {
            filter: {
                let mut filter = Filter::new(&[], &["json".to_owned()]).unwrap();
                filter.hide_import_system = true;
                filter
            },
            ..Selection::default()
        };
        check(&hiding, false, profiles);
        for (from, to) in [(0, 20), (15, 60), (31, 33), (50, 10_000)] {
            let at = |ms| Some(Moment::AfterStart(Duration::from_millis(ms)));
            let part = Selection {
                from: at(from),
                to: at(to),
                ..Selection::default()
            };
            if profiles.iter().any(|profile| part.range(profile).is_err()) {
                continue;
            }
            check(&part.asking(Question::Leaks), false, profiles);
            check(&part, false, profiles);
        }
    }
}

#[test]
fn sums_compare_with_what_else_there_is() {
    for names in [
        ["v12-aggregate", "v13-aggregate"],
        ["v13-aggregate", "v13-etl"],
        ["v13-etl", "v12-aggregate"],
    ] {
        let [base, new] = names.map(capture);
        check(&Selection::default(), false, [&base, &new]);
        check(
            &Selection::default().asking(Question::Leaks),
            false,
            [&base, &new],
        );
        let text = written(&asked(Selection::default(), false), [&base, &new]);
        let [page, _] = Page::of_two(&text);
        assert_eq!(page.meta["whole"]["sums"], false);
        assert!(page.made.is_none() || !base.is_aggregated);
        let mut out = Vec::new();
        assert!(
            asked(Selection::default(), true)
                .write([&base, &new], &mut out)
                .is_err()
        );
        assert!(out.is_empty(), "nothing is written of what has no answer");
    }
}

#[test]
fn nothing_and_nothing_make_a_page() {
    let nothing = profile_of_records(b"", &[]);
    check(&Selection::default(), false, [&nothing, &nothing]);
    check(
        &Selection::default(),
        true,
        [&nothing, &capture("v13-quick")],
    );
}

#[test]
fn what_does_not_compare_is_said() {
    let cautions = |base: &Profile, new: &Profile| {
        let text = written(&asked(Selection::default(), false), [base, new]);
        let [page, _] = Page::of_two(&text);
        page.meta["whole"]["cautions"].as_array().unwrap().clone()
    };
    let etl = capture("v13-etl");
    assert!(cautions(&etl, &etl).is_empty());
    for (other, words) in [
        ("v13-pyalloc", "traced in new only"),
        (
            "v13-malloc",
            "Python's allocator is pymalloc in base and malloc in new",
        ),
        ("v13-native-cpp", "Native frames are in new only"),
        ("v13-aggregate", "New holds only sums"),
        ("v13-etl-py314", "Python is 3.11 in base and 3.14 in new"),
    ] {
        let said = cautions(&etl, &capture(other));
        let found = said
            .iter()
            .any(|text| text.as_str().unwrap().contains(words));
        assert!(found, "{other}: {said:?}");
        let back = cautions(&capture(other), &etl);
        assert_eq!(back.len(), said.len());
    }
}

/// Each frame calls the next; each allocates.
fn hostile_profile(command_line: &[u8], size: u64) -> Profile {
    let calls = [Record::ContextSwitch(1)]
        .into_iter()
        .chain(hostile_calls(size));
    let records: Vec<_> = calls.chain([snapshot(10, 1 << 20)]).collect();
    profile_of_records(command_line, &records)
}

#[test]
fn no_name_breaks_the_page_or_is_changed_by_it() {
    let hostile = "</title><!--payload-->{{csp}}</script>\u{2028}'\"`=&lt;";
    let [base, new] = [1, 3].map(|factor| hostile_profile(hostile.as_bytes(), factor));
    let mut page = asked(Selection::default(), false);
    page.names = [hostile, "<b>"].map(str::to_owned);
    let text = written(&page, [&base, &new]);
    assert!(text == written(&page, [&base, &new]), "made twice");
    assert!(Html::is_report(text.as_bytes()));
    check(&Selection::default(), false, [&base, &new]);
    let [read, _] = Page::of_two(&text);
    assert_eq!(read.meta["command"], hostile);
    assert_eq!(read.meta["name"], hostile);
    let deepest = read.nodes.len() - 1;
    let shown: Vec<_> = read
        .stack(deepest)
        .iter()
        .map(|of| of.0.to_owned())
        .collect();
    let names = HOSTILE.map(|(name, _)| String::from_utf8_lossy(name).into_owned());
    assert_eq!(shown, names);
    for markup in ["<script>", "<b>", "alert(1)", "{{csp}}</", "<!--payload-->"] {
        assert!(!text.contains(markup), "{markup} stands in the page");
    }
}

/// The policy has the hashes of the two scripts and of the style, and the whole page but META and the tables
/// is small.
#[test]
fn everything_but_data_is_small_and_allowed() {
    let nothing = profile_of_records(b"", &[]);
    let text = written(&asked(Selection::default(), false), [&nothing, &nothing]);
    let [page, _] = Page::of_two(&text);
    page.check_policy();
    let size = page.everything_but_data(&text);
    println!("everything but data: {size} bytes");
    assert!(page.code.len() > 10_000, "the viewer is in the page");
    assert!(size <= 100_000, "{size} bytes");
}
