//! Checks as CI systems read them, whatever names captures and rules have.

mod support;

use std::collections::BTreeMap;

use memreport_render::aggregate::ingest::capture::{Allocator, Record};
use memreport_render::aggregate::{
    Check, Checked, DiffOptions, Level, Profile, Rule, Severity, Verdict,
};
use memreport_render::{CheckForm, CheckReport, Error, Units};
use proptest::prelude::*;
use quick_xml::events::{BytesStart, Event};
use serde_json::{Value, json};

use support::capture::{call, code, profile_of_records, push, snapshot};

const NAMES: [&str; 12] = [
    "plain",
    "two\nlines\r::error::no",
    "a|b`c`",
    "\"quoted\" 'too' ]]> <![CDATA[ & </failure>",
    "<script>alert(1)</script>",
    "\u{1b}[31mred\u{1}\u{8}\u{b}.",
    "\u{fffe}\u{ffff}\u{202e}",
    "##[error]::set-output name=x::y",
    "日本語 – naïve 🦀",
    "back\\slash\\",
    "50% of a:b,c=d",
    "",
];

/// A run with a function of each name, in a file of that name.
fn profile(names: &[&str]) -> Profile {
    let mut records = vec![Record::ContextSwitch(1), snapshot(0, 1000)];
    for (id, name) in (1..).zip(names) {
        records.push(code(id, name.as_bytes(), name.as_bytes(), 3));
        records.extend([
            push(id),
            call(Allocator::Malloc, 0x1000 * id, 1000 * id),
            Record::FramePop(1),
        ]);
    }
    records.push(snapshot(10, 2000));
    profile_of_records(b"names", &records)
}

fn limits(texts: &[String]) -> Vec<Rule> {
    let rule = |text: &String| Rule::on_value(text, Severity::Limit).expect("it is a rule");
    texts.iter().map(rule).collect()
}

fn checked(profile: &Profile, rules: Vec<Rule>) -> Checked {
    let check = Check {
        rules,
        n_stacks: 20,
        options: DiffOptions::default(),
    };
    check.of(profile, None).expect("it has an answer")
}

/// A check of all names: limits and an alert, broken and kept.
fn hostile() -> Checked {
    let mut texts = vec!["peak<1".to_owned(), "allocated<1GB".to_owned()];
    let patterns = NAMES
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty());
    texts.extend(patterns.map(|name| format!("leaked<=0 in {}", escaped(name))));
    let mut rules = limits(&texts);
    rules.push(Rule::on_value("rss<1", Severity::Alert).expect("it is a rule"));
    checked(&profile(&NAMES), rules)
}

/// A pattern that matches exactly this.
fn escaped(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

fn try_written(checked: &Checked, name: &str, form: CheckForm<'_>) -> Result<String, Error> {
    let doubts = ["a module `x|y` ]]> \u{1}\n::error::".to_owned()];
    let report = CheckReport {
        checked,
        name,
        baseline: None,
        doubts: &doubts,
        units: Units::Iec,
    };
    let mut bytes = Vec::new();
    report.write(form, &mut bytes)?;
    Ok(String::from_utf8(bytes).expect("reports are UTF-8"))
}

fn written(checked: &Checked, name: &str, form: CheckForm<'_>) -> String {
    try_written(checked, name, form).expect("it can be written")
}

/// A name as it is shown, which is on one line and steers nothing.
fn shown(name: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut text = String::new();
    for c in name.chars() {
        if hidden(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}

/// A test case of JUnit, as a reader of XML sees it.
#[derive(Debug, Default, Clone, PartialEq)]
struct Case {
    suite: String,
    name: String,
    failure: Option<String>,
    text: String,
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = element
        .try_get_attribute(name)
        .expect("attributes are in order")?;
    let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
    Some(value.expect("references are known").into_owned())
}

/// The test cases of a document, which must be XML 1.0 to the last character.
fn cases(xml: &str) -> Vec<Case> {
    let is_char = |c: char| matches!(c, '\n' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(is_char), "{xml:?}");
    let mut reader = quick_xml::Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = true;
    config.expand_empty_elements = true;
    let mut cases = Vec::new();
    let mut suite_counts = None;
    let mut path = Vec::new();
    loop {
        match reader.read_event().expect("it is XML") {
            Event::Start(element) => {
                let name = String::from_utf8(element.name().as_ref().to_vec()).expect("a name");
                let of = |name| attribute(&element, name);
                match name.as_str() {
                    "testsuite" => suite_counts = of("tests").zip(of("failures")),
                    "testcase" => cases.push(Case {
                        suite: of("classname").expect("it has one"),
                        name: of("name").expect("it has one"),
                        ..Case::default()
                    }),
                    "failure" => {
                        cases.last_mut().expect("of a case").failure = of("message");
                    }
                    _ => {}
                }
                path.push(name);
            }
            Event::End(_) => assert!(path.pop().is_some()),
            Event::Text(text) if path.iter().any(|name| name == "testcase") => {
                let text = text.decode().expect("it is UTF-8");
                cases.last_mut().expect("of a case").text.push_str(&text);
            }
            Event::GeneralRef(reference) if path.iter().any(|name| name == "testcase") => {
                let name = reference.decode().expect("it is UTF-8");
                let text = quick_xml::escape::unescape(&format!("&{name};"))
                    .expect("it is known")
                    .into_owned();
                cases.last_mut().expect("of a case").text.push_str(&text);
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert!(path.is_empty(), "all elements end");
    let failures = cases.iter().filter(|case| case.failure.is_some()).count();
    let counts = (cases.len().to_string(), failures.to_string());
    assert_eq!(suite_counts, Some(counts));
    cases
}

/// A workflow command, as the runner of GitHub Actions reads it.
#[derive(Debug, PartialEq)]
struct Command {
    name: String,
    properties: BTreeMap<String, String>,
    message: String,
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for (code, c) in [
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ] {
        text = text.replace(code, c);
    }
    text
}

fn command(line: &str) -> Command {
    let (head, message) = line
        .strip_prefix("::")
        .expect("a command")
        .split_once("::")
        .expect("a message");
    let (name, properties) = head.split_once(' ').unwrap_or((head, ""));
    let properties = properties
        .split(',')
        .filter_map(|property| property.split_once('='));
    Command {
        name: name.to_owned(),
        properties: properties
            .map(|(key, value)| (key.to_owned(), unescaped(value)))
            .collect(),
        message: unescaped(message),
    }
}

/// The commands of a log, without what stands where none are looked for.
fn commands(log: &str) -> Vec<Command> {
    assert!(log.ends_with('\n'));
    let mut stopped: Option<String> = None;
    let mut commands = Vec::new();
    for line in log.lines() {
        match &stopped {
            Some(token) => {
                if line.trim_start() == token {
                    stopped = None;
                }
            }
            None => match line.strip_prefix("::stop-commands::") {
                Some(token) => stopped = Some(format!("::{token}::")),
                None => commands.push(command(line)),
            },
        }
    }
    assert_eq!(stopped, None);
    commands
}

fn github<'a>(workspace: Option<&'a str>) -> CheckForm<'a> {
    CheckForm::Github {
        columns: 80,
        workspace,
        folder: None,
    }
}

fn check_markdown(markdown: &str) {
    for line in markdown.lines() {
        if line.starts_with('|') {
            let n = line.matches('|').count();
            assert!([3, 6].contains(&n), "{line}");
        }
        let quoted = line.matches('`').count();
        assert_eq!(quoted % 2, 0, "{line}");
        let outside: String = line.split('`').step_by(2).collect();
        let outside = outside.replace("<code>", "").replace("</code>", "");
        assert!(!outside.contains('<'), "{line}");
    }
    let steers = |c: char| c.is_control() && c != '\n';
    assert!(!markdown.contains(steers), "{markdown:?}");
}

#[test]
fn junit_has_each_rule_and_stack_unharmed() {
    let checked = hostile();
    let name = "out\n]]>&\"\u{0}\u{ffff}.bin";
    let xml = written(&checked, name, CheckForm::Junit);
    let cases = cases(&xml);
    let legal = |text: &str| shown(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    assert!(cases.iter().all(|case| case.suite == legal(name)));
    assert_eq!(cases.len(), checked.verdicts.len());
    for (case, verdict) in cases.iter().zip(&checked.verdicts) {
        let rule = legal(&verdict.rule.to_string());
        let alert = if verdict.rule.is_limit() {
            ""
        } else {
            "alert "
        };
        assert_eq!(case.name, format!("{alert}{rule}"));
        assert_eq!(case.failure.is_some(), verdict.level == Level::Failed);
    }
    let of_peak = cases
        .iter()
        .find(|case| case.name == "peak<1")
        .expect("it is there");
    for name in NAMES {
        let line = format!("    {} at {}:3\n", legal(name), legal(name));
        assert!(
            of_peak.text.contains(&line),
            "{line:?} in {:?}",
            of_peak.text
        );
    }
    assert!(xml.contains("<system-err>") && xml.contains("]]&gt;"));
}

#[test]
fn annotations_say_what_and_where_and_nothing_else_is_a_command() {
    let checked = hostile();
    let log = written(&checked, "out.bin", github(None));
    let commands = commands(&log);
    assert_eq!(commands.len(), 10);
    let broken: Vec<&Verdict> = checked.broken().collect();
    assert!(broken.len() > 10);
    for (command, verdict) in commands.iter().zip(broken) {
        assert_eq!(command.name, "error");
        let title = format!("memory: {}", shown(&verdict.rule.to_string()));
        assert_eq!(command.properties["title"], title);
        assert!(command.message.contains("more than allowed"));
        let stack = &verdict.explanation.stacks[0];
        let file = shown(&stack.frames[0].file);
        assert!(command.message.contains(&file), "{file}");
    }
    let files: Vec<_> = commands
        .iter()
        .filter_map(|command| command.properties.get("file"))
        .collect();
    assert!(files.contains(&&shown("50% of a:b,c=d")), "{files:?}");
}

#[test]
fn alerts_are_warnings() {
    let rule = Rule::on_value("rss<1", Severity::Alert).expect("it is a rule");
    let checked = checked(&profile(&["f"]), vec![rule]);
    let commands = commands(&written(&checked, "out.bin", github(None)));
    assert_eq!(commands.len(), 1);
    assert_eq!(commands[0].name, "warning");
    assert!(!commands[0].properties.contains_key("file"));
    assert!(checked.passed());
}

#[test]
fn annotations_are_at_files_of_the_workspace() {
    let names = [
        "/usr/lib/python3.12/json/decoder.py",
        "/ws/app/main.py",
        "/elsewhere/x.py",
    ];
    let rules = limits(&["peak<1".to_owned()]);
    let checked = checked(&profile(&names), rules);
    let file = |workspace| {
        let commands = commands(&written(&checked, "out.bin", github(workspace)));
        commands[0].properties.get("file").cloned()
    };
    assert_eq!(file(Some("/ws")), Some("app/main.py".to_owned()));
    assert_eq!(file(Some("/other")), None);
    assert_eq!(file(None), None);
}

#[test]
fn markdown_is_within_any_budget_and_its_cells_hold() {
    let checked = hostile();
    let name = "a|b`]]>\n<i>.bin";
    let of = |budget| try_written(&checked, name, CheckForm::Markdown { budget });
    let whole = of(None).expect("it can be written");
    check_markdown(&whole);
    assert!(
        whole.contains("<code>a&#124;b&#96;c&#96; at a&#124;b&#96;c&#96;:3</code>"),
        "{whole}"
    );
    let mut last = 0;
    for budget in (0..whole.len() + 2).step_by(7) {
        match of(Some(budget)) {
            Ok(markdown) => {
                assert!(markdown.len() <= budget);
                assert!(markdown.len() >= last, "more room holds no less");
                last = markdown.len();
                check_markdown(&markdown);
            }
            Err(Error::Budget { needed, .. }) => assert!(needed > budget && last == 0),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(whole.len() - last < 7);
}

#[test]
fn many_rules_do_not_break_a_comment() {
    let texts: Vec<String> = (0..3000)
        .map(|n| format!("peak<=0 in x{n}|{}", "y".repeat(90)))
        .collect();
    let checked = checked(&profile(&["f"]), limits(&texts));
    let markdown = written(&checked, "out.bin", CheckForm::Markdown { budget: None });
    assert!(
        (59_000..=60_000).contains(&markdown.len()),
        "{}",
        markdown.len()
    );
    assert!(markdown.contains(" more rules\n"));
}

#[test]
fn no_line_of_text_is_longer_than_the_terminal() {
    let checked = hostile();
    for columns in [1, 20, 40, 80, 200] {
        let text = written(
            &checked,
            "a\n\u{1b}long name of a capture.bin",
            CheckForm::Text { columns },
        );
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        let longest = text
            .lines()
            .map(unicode_width::UnicodeWidthStr::width)
            .max();
        assert!(longest <= Some(columns), "{columns}: {text}");
    }
}

#[test]
fn services_get_each_figure_once_under_a_name_that_stays() {
    let texts = ["peak<1 in f", "peak<=2 in f", "leaked<1 in f", "peak<1"].map(str::to_owned);
    let checked = checked(&profile(&["f", "g"]), limits(&texts));
    let of = |form| -> Value {
        serde_json::from_str(&written(&checked, "nightly", form)).expect("it is JSON")
    };
    let entry = |name: &str, unit: &str, value: u64| json!({ "name": format!("nightly: {name}"), "unit": unit, "value": value });
    assert_eq!(
        of(CheckForm::Benchmark),
        json!([
            entry("peak", "bytes", 3000),
            entry("leaked", "bytes", 3000),
            entry("allocated", "bytes", 3000),
            entry("allocations", "allocations", 2),
            entry("rss", "bytes", 2000),
            entry("leaked in f", "bytes", 1000),
            entry("peak in f", "bytes", 1000),
        ])
    );
    assert_eq!(
        of(CheckForm::Bencher),
        json!({
            "nightly": {
                "peak": { "value": 3000 },
                "leaked": { "value": 3000 },
                "allocated": { "value": 3000 },
                "allocations": { "value": 2 },
                "rss": { "value": 2000 },
            },
            "nightly in f": { "leaked": { "value": 1000 }, "peak": { "value": 1000 } },
        })
    );
}

/// Any text that can be a name in a capture.
fn names() -> impl Strategy<Value = String> {
    let marks = vec![
        '`', '|', '<', '&', ']', '%', ':', ',', '\n', '\r', '\u{1b}', '\u{fffe}', '/', '\\',
    ];
    let characters = prop_oneof![any::<char>(), prop::sample::select(marks)];
    let named = prop::collection::vec(characters, 0..12);
    named.prop_map(|name| name.into_iter().filter(|&c| c != '\0').collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_name_passes_through_every_form(
        function in names(),
        file in names(),
        name in names(),
    ) {
        let records = [
            Record::ContextSwitch(1),
            code(1, function.as_bytes(), file.as_bytes(), 7),
            push(1),
            call(Allocator::Malloc, 16, 100),
        ];
        let profile = profile_of_records(b"names", &records);
        let checked = checked(&profile, limits(&["peak<1".to_owned()]));
        let cases = cases(&written(&checked, &name, CheckForm::Junit));
        let legal = |text: &str| shown(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
        prop_assert_eq!(&cases[0].suite, &legal(&name));
        let place = format!("    {} at {}:7", legal(&function), legal(&file));
        prop_assert!(cases[0].text.contains(&place), "{}", cases[0].text);

        let commands = commands(&written(&checked, &name, github(None)));
        prop_assert_eq!(commands.len(), 1);
        let at = commands[0].properties.get("file");
        prop_assert!(at.is_none_or(|at| shown(&file.replace('\\', "/")).ends_with(at)));

        check_markdown(&written(&checked, &name, CheckForm::Markdown { budget: None }));
        let json: Value = serde_json::from_str(&written(&checked, &name, CheckForm::Json)).expect("it is JSON");
        prop_assert_eq!(&json["rules"][0]["stacks"][0]["stack"][0], &json!([function, file, 7]));
    }
}
