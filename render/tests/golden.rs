//! Golden snapshots: what is written of two small captures, in a form in which a reader can check it.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use memreport_render::aggregate::ingest::capture::{Allocator, Record};
use memreport_render::aggregate::{
    Check, DiffOptions, Filter, Profile, Question, Rule, Selection, Severity,
};
use memreport_render::{
    CheckForm, CheckReport, Collapsed, Csv, DiffReport, Extent, Form, FunctionOrder, Gprof2dot,
    Html, Json, Speedscope, StatsJson, StatsMarkdown, StatsText, Summary, Table, TableFormat, Tree,
    Units,
};
use serde_json::Value;

use support::capture::{
    call, code, profile_of_file, profile_of_records, push, small_captures, snapshot,
};
use support::page::{NEVER, Page};
use support::written;

/// All golden files: folder and name.
const GOLDEN: [(&str, &str); 29] = [
    ("check", "v13-regress"),
    ("check", "v13-regress-github"),
    ("check", "v13-regress-json"),
    ("check", "v13-regress-junit"),
    ("check", "v13-regress-markdown"),
    ("collapsed", "two-threads"),
    ("csv", "two-threads"),
    ("diff", "v13-regress"),
    ("diff", "v13-regress-json"),
    ("diff", "v13-regress-markdown"),
    ("gprof2dot", "two-threads"),
    ("html", "two-threads"),
    ("html", "v13-spike"),
    ("json", "two-threads"),
    ("speedscope", "two-threads"),
    ("speedscope", "v13-spike"),
    ("stats", "two-threads"),
    ("stats", "two-threads-json"),
    ("stats", "v13-spike"),
    ("summary", "two-threads"),
    ("summary", "two-threads-json"),
    ("summary", "two-threads-markdown"),
    ("summary", "v13-spike"),
    ("stats", "two-threads-markdown"),
    ("table", "two-threads"),
    ("tree", "two-threads"),
    ("tree", "two-threads-json"),
    ("tree", "two-threads-markdown"),
    ("tree", "v13-spike"),
];

/// Stands for the version in golden files.
const VERSION: &str = "memreport [version]";

/// Widest value that is kept on one line.
const WIDTH: usize = 100;

fn folder(output: &str) -> PathBuf {
    Path::new("../../golden").join(output)
}

/// Compares with a golden file, at the one path where all of them are.
fn check(output: &str, name: &str, text: &str) {
    assert!(GOLDEN.contains(&(output, name)), "not in the list");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder(output));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Three snapshots, so four slices; a block that is left over, one that is temporary, one that is
/// reallocated, and a mapping that loses its second page, then its first.
fn two_threads() -> Profile {
    use Allocator as A;
    let (main, worker) = (Record::ContextSwitch(1), Record::ContextSwitch(2));
    let records = [
        code(1, b"_run_code", b"<frozen runpy>", 88),
        code(2, b"main", b"app.py", 3),
        code(3, b"load", b"app.py", 12),
        code(4, b"work", b"pool.py", 7),
        main,
        Record::ThreadName(b"MainThread"),
        push(1),
        push(2),
        snapshot(0, 1_000_000),
        call(A::Malloc, 0x10, 100), // 0
        push(3),
        call(A::Calloc, 0x20, 50), // 1
        call(A::Free, 0x20, 0),    // 2
        snapshot(10, 1_200_000),
        worker,
        Record::ThreadName(b"worker"),
        push(4),
        call(A::Mmap, 0x10000, 0x4000),   // 3
        call(A::Munmap, 0x11000, 0x1000), // 4
        main,
        call(A::Malloc, 0x40, 300),  // 5
        call(A::Free, 0x40, 0),      // 6
        call(A::Realloc, 0x40, 200), // 7
        snapshot(20, 1_100_000),
        call(A::Free, 0x40, 0),           // 8
        call(A::Munmap, 0x10000, 0x1000), // 9
    ];
    profile_of_records(b"app.py --twice", &records)
}

fn spike() -> Profile {
    real("v13-spike.bin")
}

fn real(name: &str) -> Profile {
    let captures = small_captures();
    let capture = captures.iter().find(|path| path.ends_with(name));
    profile_of_file(capture.expect("the capture is there")).expect("it is readable")
}

/// JSON over several lines, with what is short on one.
fn pretty(value: &Value, indent: usize) -> String {
    let line = value.to_string();
    let items: Vec<String> = match value {
        _ if line.len() <= WIDTH => return line,
        Value::Array(items) => items.iter().map(|item| pretty(item, indent + 1)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| format!("{}: {}", Value::from(&**key), pretty(value, indent + 1)))
            .collect(),
        _ => return line,
    };
    let (open, close) = (&line[..1], &line[line.len() - 1..]);
    let (outer, inner) = ("  ".repeat(indent), "  ".repeat(indent + 1));
    let items = items.join(&format!(",\n{inner}"));
    format!("{open}\n{inner}{items}\n{outer}{close}")
}

/// A JSON report, without the version that is under this key.
fn json_text(report: &str, version_key: &str) -> String {
    let mut document: Value = serde_json::from_str(report).expect("it is JSON");
    document[version_key] = VERSION.into();
    pretty(&document, 0)
}

/// The page's tables as text.
fn page_text(profile: &Profile) -> String {
    let mut page = Page::new(&written(&Html::default(), profile));
    page.meta["generator"] = VERSION.into();
    page.meta["sections"]["CODE"] = "[length]".into();
    let sections = [
        ("META", pretty(&page.meta, 0)),
        ("SNAP", slices_text(&page)),
        ("STRS", format!("{:?}", page.strings)),
        ("FRAM", frames_text(&page)),
        ("NODE", tree_text(&page)),
        ("LOCS", locations_text(&page)),
        ("ROWS, in ticks", rows_text(&page)),
    ];
    let temporaries = page.temporaries.as_deref().map(temporaries_text);
    sections
        .into_iter()
        .chain(temporaries.map(|text| ("TEMP", text)))
        .map(|(name, text)| format!("{name}\n{}\n", text.trim_end()))
        .collect::<Vec<_>>()
        .join("\n")
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").expect("memory takes it");
        text
    })
}

fn slices_text(page: &Page) -> String {
    lines(
        page.slices
            .iter()
            .enumerate()
            .map(|(slice, (peak, moment))| {
                let end = match page.snapshots.get(slice) {
                    Some((ms, rss, heap)) => format!("ends at {ms} ms with heap {heap}, RSS {rss}"),
                    None => "ends with the capture".to_owned(),
                };
                format!("slice {slice}: peak {peak} after {moment} events, {end}")
            }),
    )
}

fn frames_text(page: &Page) -> String {
    lines(page.frames.iter().enumerate().map(|(i, frame)| {
        let flags = ["", " irrelevant", " import", " irrelevant import"];
        let flags = flags[usize::from(frame.flags)];
        format!("{i}: {}{flags}", frame_text(page, i))
    }))
}

fn frame_text(page: &Page, frame: usize) -> String {
    match page.frame_text(frame) {
        (function, "", 0) => function.to_owned(),
        (function, file, line) => format!("{function} {file}:{line}"),
    }
}

fn tree_text(page: &Page) -> String {
    lines(page.nodes.iter().enumerate().map(|(i, node)| {
        let frame = frame_text(page, node.frame);
        format!("{}{i}: {frame}", "  ".repeat(node.depth))
    }))
}

fn locations_text(page: &Page) -> String {
    lines(page.locations.iter().enumerate().map(|(i, location)| {
        let thread = page.name("threads", location.thread);
        let allocator = page.name("allocators", location.allocator);
        format!("{i}: node {}, {thread}, {allocator}", location.node)
    }))
}

fn rows_text(page: &Page) -> String {
    let header = "start..end location allocations bytes".to_owned();
    let rows = page.rows.iter().map(|row| {
        let end = match row.end {
            NEVER => "never".to_owned(),
            end => end.to_string(),
        };
        let (start, location) = (row.start, row.location);
        format!(
            "{start}..{end} {location} {} {}",
            row.allocations, row.bytes
        )
    });
    lines(std::iter::once(header).chain(rows))
}

fn temporaries_text(temporaries: &[(u64, u64)]) -> String {
    let header = "location allocations bytes".to_owned();
    let tallies = temporaries.iter().enumerate();
    let tallies = tallies.map(|(i, (allocations, bytes))| format!("{i} {allocations} {bytes}"));
    lines(std::iter::once(header).chain(tallies))
}

#[test]
fn pages_have_these_tables() {
    check("html", "two-threads", &page_text(&two_threads()));
    check("html", "v13-spike", &page_text(&spike()));
}

#[test]
fn speedscope_files_are_these() {
    for (name, profile) in [("two-threads", two_threads()), ("v13-spike", spike())] {
        let report = written(&Speedscope::default(), &profile);
        check("speedscope", name, &json_text(&report, "exporter"));
    }
}

#[test]
fn json_exports_are_these() {
    let temporal = Json {
        temporal: true,
        ..Json::default()
    };
    let report = written(&temporal, &two_threads());
    check("json", "two-threads", &json_text(&report, "generator"));
}

#[test]
fn tables_of_stacks_are_these() {
    let profile = two_threads();
    let selection = Selection {
        split_threads: true,
        filter: Filter::new(&[], &["^work$".to_owned()]).expect("it is a pattern"),
        ..Selection::default().asking(Question::Leaks)
    };
    let of = |selection: &Selection| {
        let selection = selection.clone();
        [
            written(
                &Csv {
                    selection: selection.clone(),
                },
                &profile,
            ),
            written(
                &Collapsed {
                    selection: selection.clone(),
                },
                &profile,
            ),
            written(&Gprof2dot { selection }, &profile),
        ]
    };
    let whole = of(&Selection::default());
    let left_out = of(&selection);
    let mut both = whole.iter().zip(&left_out);
    for output in ["csv", "collapsed"] {
        let (peak, rest) = both.next().expect("there are three");
        check(output, "two-threads", &format!("{peak}\n{rest}"));
    }
    let (peak, _) = both.next().expect("there are three");
    let document: Value = serde_json::from_str(peak).expect("it is JSON");
    check("gprof2dot", "two-threads", &pretty(&document, 0));
}

#[test]
fn statistics_are_these() {
    let units = Units::Iec;
    for (name, profile, top) in [("two-threads", two_threads(), 2), ("v13-spike", spike(), 3)] {
        check("stats", name, &written(&StatsText { top, units }, &profile));
    }
    let markdown = StatsMarkdown {
        top: 1,
        units,
        budget: None,
    };
    let report = written(&markdown, &two_threads());
    check("stats", "two-threads-markdown", &report);
    let report = written(&StatsJson { top: 2 }, &two_threads());
    let document: Value = serde_json::from_str(&report).expect("it is JSON");
    check("stats", "two-threads-json", &pretty(&document, 0));
}

/// In text, with the rows that a screen has; in the other forms, with all.
fn summary(form: Form, split_threads: bool) -> Summary {
    Summary {
        selection: Selection {
            split_threads,
            ..Selection::default()
        },
        order: FunctionOrder::Own,
        extent: extent(form),
        units: Units::Iec,
        form,
    }
}

/// Of a program that was made to keep more, and to use larger blocks.
fn diff(form: Form) -> String {
    let [before, after] = ["v13-regress-before.bin", "v13-regress-after.bin"].map(real);
    let report = DiffReport {
        selection: Selection::default(),
        made: false,
        options: DiffOptions::default(),
        names: ["before.bin", "after.bin"].map(str::to_owned),
        extent: Extent::Rows(match form {
            Form::Json { .. } => 2,
            _ => 6,
        }),
        units: Units::Iec,
        form,
    };
    let mut text = Vec::new();
    let written = report.write([&before, &after], &mut text);
    written.expect("there is a diff");
    String::from_utf8(text).expect("it is text")
}

#[test]
fn diffs() {
    check("diff", "v13-regress", &diff(Form::Text { columns: 100 }));
    let markdown = diff(Form::Markdown { budget: None });
    check("diff", "v13-regress-markdown", &markdown);
    let json = diff(Form::Json { budget: None });
    let document: Value = serde_json::from_str(&json).expect("it is JSON");
    check("diff", "v13-regress-json", &pretty(&document, 0));
}

/// Of the same program: a limit and an alert on one measure, one on a part, and the default ones on growth.
fn checked(form: CheckForm<'_>) -> String {
    let [before, after] = ["v13-regress-before.bin", "v13-regress-after.bin"].map(real);
    let on_value = |text, severity| Rule::on_value(text, severity).expect("it is a rule");
    let mut rules = vec![
        on_value("peak<512KiB in regress", Severity::Limit),
        on_value("peak<=400kB in regress", Severity::Alert),
        on_value("leaked<1MB in ^json", Severity::Limit),
    ];
    rules.extend(Rule::default_growths().expect("they are rules"));
    let check = Check {
        rules,
        n_stacks: 2,
        options: DiffOptions::default(),
    };
    let checked = check.of(&after, Some(&before)).expect("it has an answer");
    let report = CheckReport {
        checked: &checked,
        name: "after.bin",
        baseline: Some("before.bin"),
        doubts: &[],
        units: Units::Iec,
    };
    let mut text = Vec::new();
    report.write(form, &mut text).expect("it can be written");
    String::from_utf8(text).expect("it is text")
}

#[test]
fn checks() {
    let columns = 100;
    check(
        "check",
        "v13-regress",
        &checked(CheckForm::Text { columns }),
    );
    let github = checked(CheckForm::Github {
        columns,
        workspace: None,
        folder: None,
    });
    let annotations = github.lines().filter(|line| !line.contains("memreport-"));
    let annotations: Vec<&str> = annotations.filter(|line| line.starts_with("::")).collect();
    check("check", "v13-regress-github", &annotations.join("\n"));
    let markdown = checked(CheckForm::Markdown { budget: None });
    check("check", "v13-regress-markdown", &markdown);
    check("check", "v13-regress-junit", &checked(CheckForm::Junit));
    let json = checked(CheckForm::Json);
    let document: Value = serde_json::from_str(&json).expect("it is JSON");
    check("check", "v13-regress-json", &pretty(&document, 0));
}

fn tree(form: Form, split_threads: bool) -> Tree {
    let Summary {
        selection,
        extent,
        units,
        form,
        ..
    } = summary(form, split_threads);
    Tree {
        selection,
        extent,
        units,
        form,
    }
}

fn extent(form: Form) -> Extent {
    match form {
        Form::Text { .. } => Extent::Rows(12),
        _ => Extent::All,
    }
}

#[test]
fn summaries_and_trees_are_these() {
    let text = Form::Text { columns: 80 };
    let budget = None;
    let forms = [
        ("two-threads", two_threads(), text),
        ("v13-spike", spike(), text),
        (
            "two-threads-markdown",
            two_threads(),
            Form::Markdown { budget },
        ),
    ];
    for (name, profile, form) in forms {
        check("summary", name, &written(&summary(form, false), &profile));
        check("tree", name, &written(&tree(form, false), &profile));
    }
    let (json, name) = (Form::Json { budget }, "two-threads-json");
    for (folder, report) in [
        ("summary", written(&summary(json, true), &two_threads())),
        ("tree", written(&tree(json, true), &two_threads())),
    ] {
        let document: Value = serde_json::from_str(&report).expect("it is JSON");
        check(folder, name, &pretty(&document, 0));
    }
}

#[test]
fn tables_are_these() {
    let selection = Selection {
        split_threads: true,
        ..Selection::default()
    };
    let table = Table {
        selection: selection.asking(Question::Leaks),
        format: TableFormat::Csv,
        units: Units::Iec,
    };
    check("table", "two-threads", &written(&table, &two_threads()));
}

#[test]
fn no_golden_file_is_left_over() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden");
    let entries = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().path())
            .collect::<Vec<_>>()
    };
    let files = entries(&golden).into_iter().flat_map(|path| {
        if path.is_dir() {
            entries(&path)
        } else {
            vec![path]
        }
    });
    // A comparison that fails beside this test leaves a file of its own.
    let files = files.filter(|path| path.extension().is_none_or(|end| end != "new"));
    let files: BTreeSet<PathBuf> = files.collect();
    let expected = GOLDEN.map(|(output, name)| golden.join(output).join(format!("{name}.snap")));
    assert_eq!(files, expected.into());
}
