//! `memreport check`: how it ends, what it writes where, and what it says of rules that are none.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use support::captures::Corpus;

const PASSED: i32 = 0;
const BROKEN: i32 = 1;
const USAGE: i32 = 2;
const DAMAGED: i32 = 3;

/// A folder with `before.bin` and `after.bin`, of a program that was made to need more.
struct Desk {
    folder: TempDir,
    environment: Vec<(&'static str, PathBuf)>,
}

struct Ran {
    code: i32,
    text: String,
    errors: String,
}

impl Desk {
    fn new() -> Self {
        let desk = Self {
            folder: tempfile::tempdir().unwrap(),
            environment: Vec::new(),
        };
        for name in ["before", "after"] {
            let capture = Corpus::own().bytes(&format!("v13-regress-{name}"));
            desk.put(&format!("{name}.bin"), &capture);
        }
        desk
    }

    /// As in a step of a GitHub action.
    fn in_action() -> Self {
        let mut desk = Self::new();
        let summary = desk.path("summary.md");
        let workspace = desk.folder.path().to_owned();
        desk.environment = vec![
            ("GITHUB_STEP_SUMMARY", summary),
            ("GITHUB_WORKSPACE", workspace),
        ];
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::cargo_bin("memreport").unwrap();
        command.current_dir(self.folder.path());
        command
            .env_remove("GITHUB_STEP_SUMMARY")
            .env_remove("GITHUB_WORKSPACE")
            .env_remove("COLUMNS")
            .envs(self.environment.iter().cloned());
        let output = command.args(arguments).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!errors.contains("panicked"), "{errors}");
        Ran {
            code: output.status.code().unwrap(),
            text: String::from_utf8(output.stdout).unwrap(),
            errors,
        }
    }

    fn check(&self, capture: &str, arguments: &[&str]) -> Ran {
        self.run(&[&["check", capture], arguments].concat())
    }
}

impl Ran {
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.text, self.errors);
        self
    }

    #[track_caller]
    fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.errors.contains(part),
                "not said: {part}\n{}",
                self.errors
            );
        }
        self
    }

    #[track_caller]
    fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.text.contains(part), "not shown: {part}\n{}", self.text);
        }
        self
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

// How it ends.

#[test]
fn a_limit_that_holds_is_no_failure() {
    let desk = Desk::new();
    let rules = [
        "--limit",
        "peak<=565389",
        "--limit",
        "leaked<1MB in regress",
    ];
    let ran = desk.check("after.bin", &rules).ends(PASSED);
    assert!(ran.errors.is_empty(), "{}", ran.errors);
    ran.shows(&[
        "after.bin: all 2 rules passed",
        "ok      peak<=565389: 552.1 KiB (565,389 bytes)",
        "ok      leaked<1MB in regress: 163.0 KiB (166,926 bytes)",
    ]);
}

#[test]
fn a_broken_limit_says_by_how_much_and_which_stacks() {
    let desk = Desk::new();
    let ran = desk.check("after.bin", &["--limit", "peak<565389", "-n", "1"]);
    ran.ends(BROKEN).shows(&[
        "after.bin: 1 of 1 rule failed",
        "FAILED  peak<565389",
        "552.1 KiB (565,389 bytes); 1 byte, or 0.0%, more than allowed",
        "351.6 KiB  <listcomp> in index at regress.py:22 ← main ←",
        "more stacks, 205,329 bytes",
    ]);
}

#[test]
fn an_alert_never_changes_how_it_ends() {
    let desk = Desk::new();
    let ran = desk.check(
        "after.bin",
        &["--alert", "peak<400kB", "--limit", "peak<1GiB"],
    );
    ran.ends(PASSED)
        .shows(&["none of 2 rules failed, 1 alert", "alert   peak<400kB"]);
    let growth = [
        "--baseline",
        "before.bin",
        "--growth",
        "peak<=1MiB",
        "--growth-alert",
        "peak",
    ];
    let ran = desk.check("after.bin", &growth).ends(PASSED);
    ran.shows(&[
        "alert   growth of peak<=5% or 256KiB",
        "what grew most:",
        "ok      growth of peak<=1MiB",
    ]);
}

#[test]
fn patterns_select_as_include_does() {
    let desk = Desk::new();
    for (question, measure) in [("--leaks", "leaked"), ("-q", "peak")] {
        for pattern in ["^index$", "regress", "runpy", "no such"] {
            let export = [
                "export",
                "after.bin",
                "--format",
                "json",
                "--include",
                pattern,
                question,
            ];
            let exported = desk.run(&export).ends(PASSED).json();
            let bytes = exported["selection"]["bytes"].as_u64().unwrap();
            let rule = format!("{measure}<={bytes} in {pattern}");
            let checked = desk
                .check("after.bin", &["--limit", &rule, "--json", "-"])
                .ends(PASSED);
            assert_eq!(checked.json()["rules"][0]["measured"], bytes, "{rule}");
            if bytes > 0 {
                let rule = format!("{measure}<{bytes} in {pattern}");
                desk.check("after.bin", &["--limit", &rule]).ends(BROKEN);
            }
        }
    }
    let ran = desk.check("after.bin", &["--limit", "peak<1kB in regresss"]);
    ran.ends(PASSED)
        .shows(&["0 bytes (no frame matches the pattern)"]);
}

#[test]
fn a_real_regression_fails_and_the_way_back_does_not() {
    let desk = Desk::new();
    let ran = desk.check("after.bin", &["--baseline", "before.bin"]);
    ran.ends(BROKEN).shows(&[
        "after.bin against before.bin: 1 of 2 rules failed",
        "+332.6 KiB (+151.4%) against the baseline's",
        "+293.0 KiB  <listcomp> in index at regress.py:22 ← main ←",
    ]);
    desk.check("before.bin", &["--baseline", "after.bin"])
        .ends(PASSED);
    desk.run(&["slim", "before.bin", "-o", "base.mrp"])
        .ends(PASSED);
    let saved = desk.check("after.bin", &["--baseline", "base.mrp", "--json", "-"]);
    let mut saved = saved.ends(BROKEN).json();
    let plain = desk.check("after.bin", &["--baseline", "before.bin", "--json", "-"]);
    saved["baseline"] = "before.bin".into();
    assert_eq!(saved, plain.ends(BROKEN).json());
}

#[test]
fn a_baseline_against_itself_passes_whatever_may_grow() {
    let desk = Desk::new();
    for name in [
        "v13-regress-after",
        "v13-webapp",
        "v06-quick",
        "v12-aggregate",
        "v13-tick",
    ] {
        desk.put("out.bin", &Corpus::own().bytes(name));
        let mut arguments = vec!["--baseline", "out.bin", "--no-symbols"];
        let rules = ["peak<0% or 0B", "leaked<=0", "peak<0% in main"];
        rules
            .iter()
            .for_each(|rule| arguments.extend(["--growth", rule]));
        desk.check("out.bin", &arguments).ends(PASSED);
    }
}

#[test]
fn runs_of_one_program_never_alarm() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures/pairs");
    let desk = Desk::new();
    let capture = |n: u32| folder.join(format!("noisy-{n}.bin")).display().to_string();
    for n in 0..10 {
        let saved = format!("{n}.mrp");
        desk.run(&["slim", &capture(n), "-o", &saved, "--no-symbols", "-q"])
            .ends(PASSED);
    }
    let mut peaks = Vec::new();
    for new in 0..10 {
        for base in 0..10 {
            let [new, base] = [new, base].map(|n| format!("{n}.mrp"));
            let ran = desk
                .check(&new, &["--baseline", &base, "--json", "-"])
                .ends(PASSED);
            peaks.push(ran.json()["figures"][0]["value"].as_u64().unwrap());
        }
    }
    // Which proves something: they do differ, by an arena of Python's.
    let (least, most) = (peaks.iter().min().unwrap(), peaks.iter().max().unwrap());
    assert!(most - least > 1 << 20, "{least} {most}");
}

#[test]
fn damage_is_told_from_a_broken_limit() {
    let desk = Desk::new();
    desk.put("cut.bin", &Corpus::own().bytes("v13-cut"));
    desk.put("bad.bin", b"no capture");
    let limit = |size| ["--limit", size];
    desk.check("cut.bin", &limit("peak<1TB"))
        .ends(DAMAGED)
        .says(&["warning: "]);
    desk.check("cut.bin", &["--limit", "peak<1TB", "--allow-truncated"])
        .ends(PASSED);
    desk.check("cut.bin", &limit("peak<1")).ends(BROKEN);
    desk.check("bad.bin", &limit("peak<1"))
        .ends(USAGE)
        .says(&["hint: "]);
    desk.check("after.bin", &["--baseline", "bad.bin"])
        .ends(USAGE);
    let against = ["--baseline", "cut.bin", "--growth", "peak<1GB"];
    desk.check("after.bin", &against).ends(DAMAGED);
}

// What is no rule.

#[test]
fn what_is_no_rule_is_said_with_its_place() {
    let desk = Desk::new();
    for (arguments, parts) in [
        (
            ["--limit", "peak<512Mib on x"],
            [
                "only `in PATTERN` can follow here",
                "  peak<512Mib on x\n              ^^",
            ],
        ),
        (
            ["--limit", "rss<1MB in x"],
            ["the resident set is the whole process's", "           ^"],
        ),
        (["--alert", "peak<5%"], ["only `in PATTERN`", "      ^"]),
        (
            ["--limit", "leaked<1MB in ("],
            ["no regular expression: unclosed group", "^"],
        ),
        (["--growth", "peak"], ["--baseline", "required"]),
    ] {
        let ran = desk.check("after.bin", &arguments).ends(USAGE);
        assert!(ran.text.is_empty());
        ran.says(&parts);
    }
    desk.check("after.bin", &[])
        .ends(USAGE)
        .says(&["there is nothing to check"]);
    let rss = ["--limit", "rss<1TB"];
    desk.put("aggregated.bin", &Corpus::own().bytes("v12-aggregate"));
    desk.check("aggregated.bin", &["--limit", "allocated<1TB"])
        .ends(USAGE)
        .says(&["holds only sums"]);
    desk.check("after.bin", &rss).ends(PASSED);
}

#[test]
fn rules_come_from_a_file_that_is_asked_for() {
    let desk = Desk::new();
    desk.put(
        "memreport.toml",
        b"limits = ['peak<1MiB', 'peak<512KiB in index']\nalerts = ['leaked<1kB']\n\n[growth]\nlimits = ['peak<=1MiB']\n",
    );
    let config = ["--config", "memreport.toml"];
    let ran = desk.check("after.bin", &config).ends(PASSED);
    let ran = ran.says(&["note: rules on growth are left out: there is no --baseline"]);
    ran.shows(&["none of 3 rules failed, 1 alert"]);
    let base = ["--config", "memreport.toml", "--baseline", "before.bin"];
    desk.check("after.bin", &base)
        .ends(PASSED)
        .shows(&["ok      growth of peak<=1MiB"]);
    desk.put("growth.toml", b"[growth]\nlimits = ['peak']\n");
    let growth = ["--config", "growth.toml"];
    let ran = desk.check("after.bin", &growth).ends(PASSED);
    ran.shows(&["after.bin: there are no rules"]);
    // It is not read by itself, and rules that are typed come on top.
    desk.check("after.bin", &[]).ends(USAGE);
    let both = ["--config", "memreport.toml", "--limit", "peak<1kB"];
    desk.check("after.bin", &both)
        .ends(BROKEN)
        .shows(&["1 of 4 rules failed"]);
}

#[test]
fn faults_of_the_file_say_line_and_column() {
    let desk = Desk::new();
    let config = ["--config", "rules.toml"];
    desk.check("after.bin", &config)
        .ends(USAGE)
        .says(&["cannot read rules.toml"]);
    for (text, parts) in [
        (
            "limits = [\n  'peak>1MB',\n]",
            [
                "rules.toml: line 2, column 3: < or <= is expected",
                "      ^",
            ],
        ),
        (
            "limit = ['peak<1MB']",
            ["line 1, column 1", "unknown field `limit`"],
        ),
        ("limits = ['peak<1MB'\n[growth]", ["line 2", "rules.toml"]),
        (
            "[growth]\nlimits = ['peak<5%%']",
            ["line 2, column 11", "only `in PATTERN`"],
        ),
    ] {
        desk.put("rules.toml", text.as_bytes());
        desk.check("after.bin", &config).ends(USAGE).says(&parts);
    }
    desk.put("rules.toml", b"limits = ['\xff']");
    desk.check("after.bin", &config)
        .ends(USAGE)
        .says(&["cannot read rules.toml"]);
}

// What it writes.

#[test]
fn all_reports_come_of_one_reading_all_or_none() {
    let desk = Desk::new();
    let rules = ["--limit", "peak<500kB", "--baseline", "before.bin"];
    let files = [
        ("--json", "a.json"),
        ("--markdown", "a.md"),
        ("--junit", "a.xml"),
        ("--benchmark-json", "b.json"),
        ("--bencher", "c.json"),
    ];
    let mut arguments = rules.to_vec();
    files
        .iter()
        .for_each(|(option, file)| arguments.extend([*option, *file]));
    let ran = desk.check("after.bin", &arguments).ends(BROKEN);
    ran.shows(&["2 of 3 rules failed"]);
    for (option, file) in files {
        let alone = [&rules[..], &[option, "-"]].concat();
        let alone = desk.check("after.bin", &alone).ends(BROKEN);
        assert_eq!(desk.text(file), alone.text, "{option}");
    }
    let result: Value = serde_json::from_str(&desk.text("a.json")).unwrap();
    assert_eq!(result["passed"], false);
    assert_eq!(result["rules"][0]["excess"], 78_388);
    assert!(
        desk.text("a.md")
            .starts_with("**Memory of `after.bin` against `before.bin`: 2 of 3")
    );
    assert!(desk.text("a.xml").contains("tests=\"3\" failures=\"2\""));
    let figures: Value = serde_json::from_str(&desk.text("b.json")).unwrap();
    assert_eq!(figures[0]["name"], "after.bin: peak");
    assert_eq!(figures[0]["value"], 565_389);

    let into_nowhere = [
        "--limit",
        "peak<1",
        "--json",
        "d.json",
        "--junit",
        "no/such/folder.xml",
    ];
    desk.check("after.bin", &into_nowhere).ends(USAGE);
    assert!(!desk.has("d.json"));
}

#[test]
fn outputs_do_not_get_into_each_others_way() {
    let desk = Desk::new();
    let limit = ["--limit", "peak<1"];
    for (arguments, part) in [
        (
            &["--json", "a", "--junit", "./a"][..],
            "two outputs have the same place",
        ),
        (
            &["--json", "-", "--junit", "-"],
            "two outputs have the same place",
        ),
        (&["--json", "after.bin"], "is the capture itself"),
        (
            &["--json", "before.bin", "--baseline", "before.bin"],
            "is the capture itself",
        ),
        (
            &["--json", "-", "--github"],
            "--github writes to standard output",
        ),
    ] {
        let ran = desk.check("after.bin", &[&limit[..], arguments].concat());
        ran.ends(USAGE).says(&[part]);
    }
    let twice = desk.run(&["check", "-", "--baseline", "-"]).ends(USAGE);
    twice.says(&["standard input is one capture only"]);
    let capture = fs::read(desk.path("after.bin")).unwrap();
    assert_eq!(capture, Corpus::own().bytes("v13-regress-after"));
}

#[test]
fn the_name_is_the_files_unless_another_is_given() {
    let desk = Desk::new();
    let named = [
        "--limit",
        "peak<1GB",
        "--name",
        "nightly: app",
        "--bencher",
        "-",
    ];
    let figures = desk.check("./after.bin", &named).ends(PASSED).json();
    assert_eq!(figures["nightly: app"]["peak"]["value"], 565_389);
    let unnamed = ["--limit", "peak<1GB", "--bencher", "-"];
    let figures = desk.check("./after.bin", &unnamed).ends(PASSED).json();
    assert_eq!(figures["after.bin"]["allocations"]["value"], 677);
}

// In a GitHub action.

#[test]
fn annotations_are_at_the_guilty_line() {
    let desk = Desk::in_action();
    let ran = desk
        .check("after.bin", &["--baseline", "before.bin", "--github"])
        .ends(BROKEN);
    let last = ran.text.lines().last().unwrap();
    let start = "::error file=regress.py,line=22,title=memory%3A growth of peak<=5%25 or 256KiB::";
    assert!(last.starts_with(start), "{last}");
    assert!(
        last.contains("more than allowed%0Awhat grew most:%0A+293.0 KiB"),
        "{last}"
    );
    assert!(ran.text.starts_with("::stop-commands::"));
    assert!(ran.errors.is_empty(), "{}", ran.errors);
    assert!(
        desk.text("summary.md")
            .starts_with("\n**Memory of `after.bin`")
    );
    let passed = desk
        .check("after.bin", &["--limit", "peak<1GB", "--github"])
        .ends(PASSED);
    assert!(!passed.text.contains("::error"));
}

#[test]
fn the_job_summary_is_added_to_and_stays_below_its_size() {
    let desk = Desk::in_action();
    let arguments = ["--limit", "peak<1", "--github"];
    desk.put("summary.md", b"# before\n");
    desk.check("after.bin", &arguments).ends(BROKEN);
    let whole = desk.text("summary.md");
    assert!(whole.starts_with("# before\n\n**Memory of"));
    let added = whole.len() - "# before\n".len();
    for room in [0, 50, 100, added / 2, added, added + 100] {
        let taken = (1 << 20) - room;
        desk.put("summary.md", &vec![b'x'; taken]);
        let ran = desk.check("after.bin", &arguments).ends(BROKEN);
        let n_bytes = desk.text("summary.md").len();
        assert!(n_bytes < 1 << 20 || n_bytes == taken, "{room}");
        if n_bytes == taken {
            assert!(room <= 100);
            ran.says(&["the job summary is full"]);
        }
    }
    let outside = Desk::new().check("after.bin", &arguments).ends(BROKEN);
    outside.says(&["GITHUB_STEP_SUMMARY is not set"]);
}
