//! Summaries, trees and tables add up to what they are of, fit where they must, and no name breaks them.

mod support;

use std::collections::BTreeSet;

use memreport_render::aggregate::ingest::Tally;
use memreport_render::aggregate::ingest::capture::{Allocator, Record};
use memreport_render::aggregate::{Filter, Profile, Question, Selection};
use memreport_render::{
    Extent, Form, FunctionOrder, StatsMarkdown, Summary, Table, TableFormat, Tree, Units,
};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use support::capture::{call, code, profile_of_file, profile_of_records, push, small_captures};
use support::html::elements;
use support::written;

const SCREEN_LINES: usize = 40;

fn summary(selection: &Selection, extent: Extent, form: Form) -> Summary {
    Summary {
        selection: selection.clone(),
        order: FunctionOrder::Own,
        extent,
        units: Units::Iec,
        form,
    }
}

fn tree(selection: &Selection, extent: Extent, form: Form) -> Tree {
    Tree {
        selection: selection.clone(),
        extent,
        units: Units::Iec,
        form,
    }
}

fn table(selection: &Selection, format: TableFormat) -> Table {
    Table {
        selection: selection.clone(),
        format,
        units: Units::Iec,
    }
}

/// A summary and a tree in one form.
fn both(profile: &Profile, selection: &Selection, extent: Extent, form: Form) -> [String; 2] {
    [
        written(&summary(selection, extent, form), profile),
        written(&tree(selection, extent, form), profile),
    ]
}

/// Every capture, and what can be asked of it.
fn each_view(mut check: impl FnMut(&str, &Profile, &Selection, Tally)) {
    for path in small_captures() {
        let Some(profile) = profile_of_file(&path).ok() else {
            continue;
        };
        let name = path.display().to_string();
        let temporary = Question::Temporary { threshold: 1 };
        let temporary = (!profile.is_aggregated).then_some(temporary);
        for question in [Question::Peak, Question::Leaks]
            .into_iter()
            .chain(temporary)
        {
            let selection = Selection::default().asking(question);
            let total = selection.of(&profile).expect("it has an answer").total();
            if question == Question::Peak {
                assert_eq!(total.bytes, profile.slices.peak(), "{name}");
            }
            check(&format!("{name} {question:?}"), &profile, &selection, total);
        }
    }
}

fn number(row: &Value, key: &str) -> u64 {
    row[key]
        .as_u64()
        .unwrap_or_else(|| panic!("no {key} in {row}"))
}

fn parsed(report: &str) -> Value {
    serde_json::from_str(report).expect("it is JSON")
}

/// What a summary's rows have of their own, and what it omits.
fn sum_of_summary(report: &str) -> (Tally, u64) {
    let document = parsed(report);
    let rows = document["functions"].as_array().expect("there are rows");
    let sum = |key: &str| {
        let shown: u64 = rows.iter().map(|row| number(row, key)).sum();
        shown + number(&document["omitted"], key)
    };
    let sum = Tally {
        bytes: sum("own_bytes"),
        allocations: sum("own_allocations"),
    };
    assert_eq!(number(&document, "bytes"), sum.bytes);
    (sum, number(&document["omitted"], "functions"))
}

/// What a tree's first level has. Every other level adds up to the line above it.
fn sum_of_tree(report: &str) -> Tally {
    let document = parsed(report);
    let lines = document["lines"].as_array().expect("there are lines");
    let sum = |from: usize, depth: u64| {
        let below = lines[from..]
            .iter()
            .take_while(|line| number(line, "depth") >= depth);
        let level = below.filter(|line| number(line, "depth") == depth);
        level.fold(Tally::default(), |mut sum, line| {
            sum.add_all(tally(line));
            sum
        })
    };
    for (i, line) in lines.iter().enumerate() {
        let depth = number(line, "depth");
        let next = lines.get(i + 1).map_or(0, |next| number(next, "depth"));
        if next > depth {
            assert_eq!(sum(i + 1, depth + 1), tally(line), "{line}");
            assert_eq!(number(line, "calls_below"), 0, "{line}");
        }
    }
    assert_eq!(number(&document, "bytes"), sum(0, 0).bytes);
    sum(0, 0)
}

fn tally(row: &Value) -> Tally {
    Tally {
        allocations: number(row, "allocations"),
        bytes: number(row, "bytes"),
    }
}

/// Rows of a table, without the header.
fn rows(table: &str, separator: u8) -> Vec<[String; 5]> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .from_reader(table.as_bytes());
    let rows = reader.records().map(|row| {
        let row = row.expect("a row has as many values as the header");
        std::array::from_fn(|i| row[i].to_owned())
    });
    rows.collect()
}

fn sum_of_table(rows: &[[String; 5]]) -> Tally {
    let sum = |i: usize| {
        rows.iter()
            .map(|row| row[i].parse::<u64>().expect("a number"))
            .sum()
    };
    Tally {
        bytes: sum(1),
        allocations: sum(3),
    }
}

#[test]
fn every_report_adds_up_to_its_view_however_little_is_shown() {
    let json = Form::Json { budget: None };
    each_view(|name, profile, selection, total| {
        for extent in [
            Extent::All,
            Extent::Screen,
            Extent::Rows(1),
            Extent::Rows(5),
        ] {
            let [summary, tree] = both(profile, selection, extent, json);
            let (sum, n_omitted) = sum_of_summary(&summary);
            assert_eq!(sum, total, "{name}");
            assert!(extent != Extent::All || n_omitted == 0, "{name}");
            assert_eq!(sum_of_tree(&tree), total, "{name}");
        }
        let rows_of =
            |format, separator| rows(&written(&table(selection, format), profile), separator);
        let rows = rows_of(TableFormat::Csv, b',');
        assert_eq!(sum_of_table(&rows), total, "{name}");
        assert_eq!(rows, rows_of(TableFormat::Tsv, b'\t'), "{name}");
        let shown: BTreeSet<_> = rows.iter().map(|row| [&row[0], &row[2], &row[4]]).collect();
        assert_eq!(shown.len(), rows.len(), "{name}: rows that show the same");
    });
}

#[test]
fn threads_directions_and_hidden_frames_change_no_total() {
    let json = Form::Json { budget: None };
    each_view(|name, profile, selection, total| {
        let mut other = selection.clone();
        (other.split_threads, other.inverted) = (true, true);
        other.filter.hide_import_system = true;
        other.filter.hide_internals = true;
        let [summary, tree] = both(profile, &other, Extent::All, json);
        assert_eq!(sum_of_summary(&summary).0, total, "{name}");
        assert_eq!(sum_of_tree(&tree), total, "{name}");
        let csv = written(&table(&other, TableFormat::Csv), profile);
        assert_eq!(sum_of_table(&rows(&csv, b',')), total, "{name}");
    });
}

#[test]
fn what_a_filter_leaves_out_is_in_every_report() {
    each_view(|name, profile, selection, total| {
        let mut filtered = selection.clone();
        filtered.filter = Filter::new(&[], &["^main$".to_owned()]).expect("it is a pattern");
        let selected = filtered.of(profile).expect("it has an answer");
        let left_out = selected.left_out();
        let csv = rows(&written(&table(&filtered, TableFormat::Csv), profile), b',');
        assert_eq!(sum_of_table(&csv), total, "{name}");
        let is_said = left_out != Tally::default();
        assert_eq!(
            csv.iter().any(|row| row[4] == "(left out)"),
            is_said,
            "{name}"
        );
        let (columns, budget) = (80, Some(1000));
        for form in [Form::Text { columns }, Form::Markdown { budget }] {
            for report in both(profile, &filtered, Extent::Screen, form) {
                assert_eq!(report.contains("\nleft out: "), is_said, "{name}\n{report}");
            }
        }
        for report in both(profile, &filtered, Extent::All, Form::Json { budget }) {
            assert_eq!(tally(&parsed(&report)["left_out"]), left_out, "{name}");
        }
        let page = written(&table(&filtered, TableFormat::Html), profile);
        assert_eq!(page.contains("<span>left out: "), is_said, "{name}");
    });
}

#[test]
fn text_fits_the_screen_and_says_its_exact_total() {
    each_view(|name, profile, selection, total| {
        for columns in [1, 7, 20, 33, 50, 80, 200] {
            for report in both(profile, selection, Extent::Screen, Form::Text { columns }) {
                check_text(name, &report, columns, total);
                assert!(
                    report.lines().count() <= SCREEN_LINES || columns < 33,
                    "{name}\n{report}"
                );
            }
        }
        for report in both(
            profile,
            selection,
            Extent::Rows(2),
            Form::Text { columns: 80 },
        ) {
            assert!(report.lines().count() <= 6, "{name}\n{report}");
        }
    });
}

fn check_text(name: &str, report: &str, columns: usize, total: Tally) {
    for line in report.lines() {
        assert!(line.width() <= columns, "{name}: {columns} columns\n{line}");
        assert!(!line.contains(char::is_control), "{name}: {line:?}");
        assert!(!line.ends_with(' '), "{name}: {line:?}");
    }
    let has_rows = report.lines().count() > 3;
    assert!(has_rows || total == Tally::default(), "{name}\n{report}");
    if columns >= 80 {
        let bytes = memreport_render::format_count(total.bytes);
        assert!(
            report.contains(&format!("({bytes} bytes)")),
            "{name}\n{report}"
        );
    }
}

#[test]
fn budgets_are_kept_and_used_and_totals_stay() {
    each_view(|name, profile, selection, total| {
        for budget in [1000, 1500, 8000, 40_000] {
            let json = Form::Json {
                budget: Some(budget),
            };
            let [summary, tree] = both(profile, selection, Extent::All, json);
            assert!(summary.len() <= budget && tree.len() <= budget, "{name}");
            let (sum, n_omitted) = sum_of_summary(&summary);
            assert_eq!((sum, sum_of_tree(&tree)), (total, total), "{name}");
            assert!(
                n_omitted == 0 || summary.len() > budget - 900,
                "{name}: {}",
                summary.len()
            );
            let markdown = Form::Markdown {
                budget: Some(budget),
            };
            for report in both(profile, selection, Extent::All, markdown) {
                check_markdown(name, &report, budget, total);
            }
        }
    });
}

fn check_markdown(name: &str, report: &str, budget: usize, total: Tally) {
    assert!(report.len() <= budget, "{name}");
    assert!(
        !report.contains(|c: char| c.is_control() && c != '\n'),
        "{name}"
    );
    let bytes = memreport_render::format_count(total.bytes);
    assert!(
        report.contains(&format!("({bytes} bytes)")),
        "{name}\n{report}"
    );
    let plain = |number: &str| number.replace(',', "").parse::<u64>().expect("a number");
    let cells = report.lines().filter_map(|line| {
        assert!(
            !line.starts_with('|') || line.matches('|').count() == 7,
            "{name}: {line}"
        );
        line.strip_prefix("| ")?.split(' ').next()
    });
    let shown: u64 = cells
        .filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()))
        .map(plain)
        .sum();
    let omitted = report.lines().find_map(|line| {
        let (_, omitted) = line.strip_prefix("omitted: ")?.split_once("functions, ")?;
        omitted.split(' ').next().map(plain)
    });
    if report.contains("| own bytes") || omitted.is_some() {
        assert_eq!(
            shown + omitted.unwrap_or(0),
            total.bytes,
            "{name}\n{report}"
        );
    }
}

#[test]
fn statistics_in_markdown_keep_their_budget() {
    each_view(|name, profile, selection, _| {
        if profile.is_aggregated || selection.question != Question::Peak {
            return;
        }
        for budget in [1000, 3000, 8000] {
            let stats = StatsMarkdown {
                top: 1000,
                units: Units::Iec,
                budget: Some(budget),
            };
            let report = written(&stats, profile);
            assert!(report.len() <= budget, "{name}");
            let peak = memreport_render::format_count(profile.slices.peak());
            assert!(
                report.contains(&format!("({peak} bytes)")),
                "{name}\n{report}"
            );
            assert!(
                report.len() > budget / 2 || !report.contains("omitted"),
                "{name}\n{report}"
            );
        }
    });
}

/// Names that mean something wherever they are written.
const NAMES: [&str; 12] = [
    "a|b",
    "`tick`",
    "```",
    "<script>alert(1)</script>",
    "line\nbreak\r\n| x | y |",
    "\u{1b}[31mred\u{9b}0m",
    "\u{202e}turned",
    "back\\slash\\",
    "quote\",comma\ttab",
    "{{csp}}<!--rows-->",
    "",
    "日本語の長い名前が続く関数の名前",
];

fn names() -> Profile {
    let long = "long".repeat(30_000);
    let names: Vec<&str> = NAMES.into_iter().chain([long.as_str()]).collect();
    let mut records = vec![
        Record::ContextSwitch(1),
        Record::ThreadName(b"\x1b|`</script>"),
    ];
    for (id, name) in (1..).zip(&names) {
        records.push(code(id, name.as_bytes(), name.as_bytes(), 3));
    }
    for id in 1..=names.len() as u64 {
        records.extend([push(id), call(Allocator::Malloc, 0x1000 * id, 10 + id)]);
    }
    profile_of_records(b"names|`\x1b</title>", &records)
}

#[test]
fn no_name_steers_a_terminal_or_ends_a_cell() {
    let profile = names();
    let selection = Selection {
        split_threads: true,
        ..Selection::default()
    };
    let total = selection.of(&profile).expect("it has an answer").total();
    for columns in [10, 40, 80, 300] {
        for report in both(&profile, &selection, Extent::All, Form::Text { columns }) {
            check_text("names", &report, columns, total);
        }
    }
    for budget in [1000, 2000, 10_000] {
        let form = Form::Markdown {
            budget: Some(budget),
        };
        for report in both(&profile, &selection, Extent::All, form) {
            check_markdown("names", &report, budget, total);
            let fences = report.lines().filter(|line| line.starts_with("```"));
            assert!([0, 2].contains(&fences.count()), "{report}");
        }
    }
    let markdown = written(
        &summary(&selection, Extent::All, Form::Markdown { budget: None }),
        &profile,
    );
    assert!(
        markdown.contains("<code>a&#124;b</code> at <code>a&#124;b</code>"),
        "{markdown}"
    );
    assert!(
        markdown.contains("`<script>alert(1)</script>` at"),
        "{markdown}"
    );
    let csv = written(&table(&selection, TableFormat::Csv), &profile);
    assert!(
        !csv.contains(|c: char| c.is_control() && c != '\n'),
        "{csv}"
    );
    assert_eq!(sum_of_table(&rows(&csv, b',')), total);
}

#[test]
fn the_page_of_a_table_is_its_own_and_no_name_is_markup() {
    let profile = names();
    let page = written(&table(&Selection::default(), TableFormat::Html), &profile);
    let elements = elements(&page);
    let count = |name: &str| {
        elements
            .iter()
            .filter(|element| element.name == name)
            .count()
    };
    assert_eq!(
        ["script", "style", "table", "tr"].map(count),
        [2, 1, 1, 1 + NAMES.len() + 1]
    );
    let policy = elements.iter().find_map(|element| {
        let of = element.attribute("http-equiv")?;
        (of == "Content-Security-Policy").then(|| element.attribute("content"))?
    });
    let policy = policy.expect("there is a policy");
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-"),
        "{policy}"
    );
    for attribute in ["src", "href", "onclick", "style"] {
        assert!(
            elements
                .iter()
                .all(|element| element.attribute(attribute).is_none())
        );
    }
    let data = elements
        .iter()
        .find(|element| element.attribute("id").is_some_and(|id| id == "rows"));
    let rows = parsed(&data.expect("there are rows").text);
    let rows = rows.as_array().expect("rows are a list");
    let sum: u64 = rows
        .iter()
        .map(|row| row[0].as_u64().expect("a number"))
        .sum();
    assert_eq!((rows.len(), sum), (NAMES.len() + 1, profile.slices.peak()));
}
