//! The command as its users meet it: what it writes where, what it says, and how it ends.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;
use memreport_aggregate::Options;
use memreport_ingest::Ending;
use memreport_ingest::native::SymbolOptions;
use serde_json::Value;
use tempfile::TempDir;

use support::captures::{Corpus, is_lz4, unpacked, without_zero_fill};
use support::profiles::{assert_none, profile, profile_of};

const DONE: i32 = 0;
const UNREADABLE: i32 = 2;
const FROM_DAMAGED: i32 = 3;

/// A folder to work in, which goes with the test.
struct Desk {
    folder: TempDir,
}

/// What a run of the command left.
struct Ran {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// With a capture of the repository in it, as `out.bin`.
    fn with(capture: &str) -> Self {
        Self::holding("out.bin", &Corpus::own().bytes(capture))
    }

    fn holding(name: &str, bytes: &[u8]) -> Self {
        let desk = Self::new();
        desk.put(name, bytes);
        desk
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::cargo_bin("memreport").unwrap();
        command.current_dir(self.folder.path());
        command
    }

    /// Runs the command, with arguments divided by spaces.
    fn run(&self, arguments: &str) -> Ran {
        Ran::from(
            self.command()
                .args(arguments.split_whitespace())
                .output()
                .unwrap(),
        )
    }

    /// All files there are, hidden ones too.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    #[track_caller]
    fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.stderr);
        self
    }

    /// Says each of these, and nothing of a panic.
    #[track_caller]
    fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "not said: {part}\n{}",
                self.stderr
            );
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.stdout).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap()
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

// What commands give.

#[test]
fn build_writes_the_page_and_says_what_is_in_it() {
    let desk = Desk::with("v13-tick");
    let ran = desk.run("build out.bin -o report.html").ends(DONE);
    assert!(ran.stdout.is_empty());
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    let ran = ran.says(&["report.html: peak ", " left over, ", " allocations"]);
    assert!(
        !ran.stderr.contains('\u{1b}'),
        "colours or bars without a terminal"
    );
    assert_eq!(desk.files(), ["out.bin", "report.html"]);
    let page = String::from_utf8(desk.read("report.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    assert!(page.trim_end().ends_with("</html>"));
}

#[test]
fn build_makes_a_page_of_each_of_several_captures() {
    let desk = Desk::new();
    let names = [
        "v13-tick",
        "v13-etl",
        "v06-threads",
        "v12-aggregate",
        "v10-end-peak",
    ];
    for name in names {
        desk.put(&format!("{name}.bin"), &Corpus::own().bytes(name));
    }
    let captures: String = names.map(|name| format!("{name}.bin ")).concat();
    let page = |folder: &str, name: &str| desk.read(&format!("{folder}/{name}.html"));
    for jobs in ["", "-j 1", "--jobs 9"] {
        let ran = desk
            .run(&format!("build {captures} -o pages/ {jobs}"))
            .ends(DONE);
        for name in names {
            desk.run(&format!("build {name}.bin -q -o alone/"))
                .ends(DONE);
            assert!(page("pages", name) == page("alone", name), "{name}");
        }
        let said = ran.says(&["note: v12-aggregate.bin: the capture holds only sums"]);
        assert_eq!(said.stderr.matches(".html: peak ").count(), names.len());
        fs::remove_dir_all(desk.path("pages")).unwrap();
    }
    desk.run(&format!("build {captures}")).ends(DONE);
    assert!(
        names
            .iter()
            .all(|name| desk.path(&format!("{name}.html")).is_file())
    );
}

#[test]
fn a_capture_that_cannot_be_read_keeps_no_other_from_its_page() {
    let desk = Desk::with("v13-tick");
    desk.put("text.bin", b"no capture");
    let cut = &Corpus::own().bytes("v13-nocompress")[..4000];
    desk.put("cut.bin", cut);
    desk.run("build text.bin out.bin cut.bin -o pages/")
        .ends(UNREADABLE)
        .says(&[
            "error: text.bin: cannot read text.bin: not a memray capture",
            "warning: cut.bin: ",
            "error: 1 of 3 captures have no page",
        ]);
    let pages = fs::read_dir(desk.path("pages")).unwrap().count();
    assert_eq!(pages, 2, "and nothing half-written");
    desk.run("build out.bin cut.bin -o pages/")
        .ends(FROM_DAMAGED);
}

#[test]
fn several_pages_have_places_of_their_own() {
    let desk = Desk::with("v13-tick");
    for folder in ["a", "b"] {
        fs::create_dir(desk.path(folder)).unwrap();
        desk.put(&format!("{folder}/out.bin"), &desk.read("out.bin"));
    }
    for (arguments, said) in [
        (
            "a/out.bin b/out.bin",
            "two outputs have the same place: out.html",
        ),
        ("a/out.bin out.bin -o a/x.html", "a/x.html is no folder"),
        (
            "a/out.bin out.bin --json x.json",
            "other outputs are of one capture",
        ),
        ("- - -o a/", "the same place"),
    ] {
        desk.run(&format!("build {arguments}"))
            .ends(UNREADABLE)
            .says(&[said]);
    }
    assert_eq!(desk.files(), ["a", "b", "out.bin"]);
}

#[test]
fn a_page_can_be_kept_small() {
    let desk = Desk::with("v13-webapp");
    let ran = desk
        .run("build out.bin -o a.html --max-html-size 100k")
        .ends(DONE)
        .says(&[
            "note: to keep the page below 100.0 kB, ",
            " are folded into \"other\" frames; totals and peaks are exact (--max-html-size)",
        ]);
    assert_eq!(ran.stderr.lines().count(), 2);
    assert!(desk.read("a.html").len() <= 100_000);
    desk.run("build out.bin -o b.html --max-html-size 20k --json b.json")
        .ends(UNREADABLE)
        .says(&["the page takes at least ", ", and 20000 are allowed"]);
    assert_eq!(desk.files(), ["a.html", "out.bin"]);
}

#[test]
fn build_writes_the_other_outputs_of_the_same_pass() {
    let desk = Desk::with("v13-tick");
    let formats = [
        "collapsed",
        "csv",
        "gprof2dot",
        "json",
        "pprof",
        "speedscope",
    ];
    let files = formats.map(|format| format!("--{format} a.{format}"));
    for question in ["", "--leaks", "--temporary-allocations"] {
        let options = format!("{} --stats a.txt {question}", files.join(" "));
        desk.run(&format!("build out.bin -o a.html {options}"))
            .ends(DONE);
        for format in formats {
            let temporal = if format == "json" { "--temporal" } else { "" };
            let exported = desk.run(&format!(
                "export out.bin --format {format} {temporal} {question}"
            ));
            assert_eq!(
                desk.read(&format!("a.{format}")),
                exported.ends(DONE).stdout,
                "{format} {question}"
            );
        }
        assert_eq!(desk.read("a.txt"), desk.run("stats out.bin").stdout);
    }
    desk.run("build out.bin -o a.html --stats s.json")
        .ends(DONE);
    assert_eq!(desk.read("s.json"), desk.run("stats out.bin --json").stdout);
    assert_eq!(
        desk.files(),
        [
            "a.collapsed",
            "a.csv",
            "a.gprof2dot",
            "a.html",
            "a.json",
            "a.pprof",
            "a.speedscope",
            "a.txt",
            "out.bin",
            "s.json"
        ]
    );
}

#[test]
fn lines_of_source_are_embedded_only_if_asked_for() {
    let desk = Desk::with("v13-etl");
    desk.put("etl.py", "x = 1\n".repeat(99).as_bytes());
    let built = |options: &str| {
        let ran = desk.run(&format!("build out.bin -o a.html --json a.json {options}"));
        let ran = ran.ends(DONE);
        let document: Value = serde_json::from_slice(&desk.read("a.json")).unwrap();
        (desk.read("a.html"), document["source"].clone(), ran)
    };
    let (plain, source, ran) = built("");
    assert!(source.is_null());
    assert!(!ran.stderr.contains("source"), "{}", ran.stderr);
    assert_eq!(built("--source none").0, plain);
    let (page, source, ran) = built("--source py");
    assert_ne!(page, plain);
    assert_eq!(source["changed"], serde_json::json!(["etl.py"]));
    assert_eq!(source["read"], 1);
    assert!(source["unreadable"].as_u64().unwrap() > 10);
    ran.says(&[
        "were changed after the capture ended",
        ": etl.py",
        "files of source are not here",
    ]);
}

#[test]
fn build_writes_all_that_is_asked_for_or_nothing() {
    // Statistics are not in such a capture, nor are temporary allocations.
    let desk = Desk::with("v13-aggregate");
    for options in [
        "--csv a.csv --stats a.txt",
        "--temporary-allocations --json a.json",
    ] {
        desk.run(&format!("build out.bin -o a.html {options}"))
            .ends(UNREADABLE)
            .says(&["holds only sums"]);
        assert_eq!(desk.files(), ["out.bin"]);
    }
    desk.run("build out.bin --leaks --temporary-allocations")
        .ends(UNREADABLE)
        .says(&["cannot be used with"]);
}

#[test]
fn exports_say_what_they_are_of() {
    let desk = Desk::with("v13-threads");
    let exported = |options: &str| {
        let ran = desk.run(&format!("export out.bin --format {options}"));
        String::from_utf8(ran.ends(DONE).stdout).unwrap()
    };
    let names = exported("speedscope");
    assert!(names.contains("Memory (peak; without a stack: "), "{names}");
    let names = exported("speedscope --split-threads --include nowhere");
    assert!(names.contains("Memory (peak; left out: "), "{names}");
    let csv = exported("csv --split-threads --include nowhere");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 2, "{csv}");
    assert!(lines[1].ends_with(",,,<left out>"), "{csv}");
    let bytes = lines[1].split(',').nth(2).unwrap();
    let collapsed = exported("collapsed --include nowhere");
    assert_eq!(collapsed, format!("<left out> {bytes}\n"));
    let collapsed = exported("collapsed --split-threads");
    assert!(collapsed.lines().all(|line| line.starts_with("0x")));
    let inverted = exported("collapsed --inverted");
    assert_eq!(
        inverted.lines().count(),
        exported("collapsed").lines().count()
    );
    assert_ne!(inverted, exported("collapsed"));
    for format in ["csv", "gprof2dot", "pprof", "json"] {
        desk.run(&format!("export out.bin --format {format} --inverted"))
            .ends(UNREADABLE)
            .says(&["always innermost first"]);
    }
    desk.run("export out.bin --format csv --temporal")
        .ends(UNREADABLE)
        .says(&["json only"]);
}

#[test]
fn json_has_a_selection_beside_the_whole_run() {
    let desk = Desk::with("v13-spike");
    let exported = |options: &str| {
        let ran = desk.run(&format!("export out.bin --format json {options}"));
        ran.ends(DONE).json()
    };
    let (all, some) = (exported(""), exported("--from 0 --to 0.01"));
    assert!(all["selection"].is_null());
    assert_eq!(some["high_water_mark"], all["high_water_mark"]);
    let selection = &some["selection"];
    assert_eq!(selection["view"], "peak");
    let slices = &selection["slices"];
    let peak = |slice: u64| some["slices"][usize::try_from(slice).unwrap()][0].clone();
    assert_eq!(slices[0], 0);
    assert_eq!(
        selection["bytes"],
        peak(selection["peak_slice"].as_u64().unwrap())
    );
    assert_eq!(selection["left_out"]["bytes"], 0);
    let leaks = exported("--leaks --split-threads");
    let section = &leaks["leaks"]["by_thread"];
    for key in ["rows", "bytes", "allocations"] {
        assert_eq!(leaks["selection"][key], section[key], "{key}");
    }
}

#[test]
fn quiet_says_nothing_of_a_good_capture() {
    let desk = Desk::with("v13-tick");
    let ran = desk.run("build out.bin -q").ends(DONE);
    assert_eq!((ran.stdout.len(), ran.stderr.as_str()), (0, ""));
    let ran = desk
        .run("export out.bin --format json -o a.json")
        .ends(DONE);
    assert_eq!((ran.stdout.len(), ran.stderr.as_str()), (0, ""));
}

#[test]
fn export_has_sections_over_time_only_when_asked() {
    let desk = Desk::with("v13-tick");
    let exported = |options: &str| {
        desk.run(&format!("export out.bin --format json {options}"))
            .ends(DONE)
            .json()
    };
    assert!(exported("--temporal")["temporal_leaks"].is_object());
    assert!(exported("")["temporal_leaks"].is_null());
    assert!(exported("")["leaks"].is_object());
}

#[test]
fn thinning_keeps_so_many_snapshots_and_the_peak() {
    let desk = Desk::with("v13-tick");
    let exported = |options: &str| {
        desk.run(&format!("export out.bin --format json {options}"))
            .ends(DONE)
            .json()
    };
    let (all, few) = (exported(""), exported("--max-memory-records 7"));
    assert_eq!(all["snapshots"].as_array().unwrap().len(), 23);
    assert_eq!(few["snapshots"].as_array().unwrap().len(), 6);
    assert_eq!(
        all["metadata"]["peak_memory"],
        few["metadata"]["peak_memory"]
    );
    desk.run("export out.bin --format json --max-memory-records 0")
        .ends(UNREADABLE)
        .says(&["at least 1"]);
}

#[test]
fn leaks_open_first_when_asked() {
    let desk = Desk::with("v13-tick");
    let first = |options: &str| {
        let document = desk
            .run(&format!("export out.bin --format speedscope {options}"))
            .ends(DONE)
            .json();
        let index = document["activeProfileIndex"].as_u64().unwrap();
        document["profiles"][usize::try_from(index).unwrap()]["name"].clone()
    };
    assert_eq!(first(""), "Memory (peak)");
    assert_eq!(first("--leaks"), "Memory (leaks)");
    assert_eq!(first("--temporary-allocations"), "Memory (temporary)");
    assert_eq!(
        first("--temporary-allocation-threshold 7"),
        "Memory (temporary)"
    );
    assert_eq!(first("--leaks --split-threads"), "Memory (leaks; 0x1)");
    desk.run("build out.bin -o peak.html").ends(DONE);
    desk.run("build out.bin -o leaks.html --leaks").ends(DONE);
    assert_ne!(desk.read("peak.html"), desk.read("leaks.html"));
}

/// Names of speedscope profiles, with the sums of their weights.
fn profiles(desk: &Desk, options: &str) -> Vec<(String, u64)> {
    let exported = desk.run(&format!("export out.bin --format speedscope {options}"));
    let document = exported.ends(DONE).json();
    let profiles = document["profiles"].as_array().unwrap().iter();
    profiles
        .map(|profile| {
            let name = profile["name"].as_str().unwrap().to_owned();
            (name, profile["endValue"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn what_a_filter_leaves_out_is_said() {
    let desk = Desk::with("v13-etl");
    let all = profiles(&desk, "");
    let kept = profiles(&desk, r"--include ^etl\.py$ --exclude ^load_database$");
    assert_eq!(all.len(), 6);
    assert_eq!(all[0], ("Memory (peak)".to_owned(), 1_665_049));
    assert_eq!(kept.len(), all.len());
    assert!(kept[0].1 < all[0].1);
    assert!(
        kept[0].0.starts_with("Memory (peak; left out: "),
        "{}",
        kept[0].0
    );
    let none = profiles(&desk, "--include nowhere");
    let left_out = format!("left out: 1.6 MiB in {} allocations", all[1].1);
    assert_eq!(none[0], (format!("Memory (peak; {left_out})"), 0));
    desk.run("export out.bin --format speedscope --include (")
        .ends(UNREADABLE)
        .says(&["regex parse error"]);
}

#[test]
fn ranges_are_of_seconds_or_named_moments() {
    let desk = Desk::with("v13-spike");
    let peaks = |options: &str| profiles(&desk, options)[0].1;
    let whole = peaks("");
    assert_eq!(peaks("--from peak --to peak"), whole);
    assert_eq!(peaks("--to end"), whole);
    assert!(peaks("--from 0 --to 0.01") < whole);
    assert_eq!(
        profiles(&desk, "--to rss-peak").len(),
        4,
        "no temporary allocations in a range"
    );
    for (options, said) in [
        ("--from x", "x is no moment"),
        ("--from -1", "unexpected argument"),
        ("--from end --to 0", "the range is empty"),
        (
            "--from peak --temporary-allocations",
            "of the whole run only",
        ),
        ("--leaks --temporary-allocations", "cannot be used with"),
        ("--temporary-allocation-threshold 1001", "not in 0..=1000"),
    ] {
        desk.run(&format!("export out.bin --format speedscope {options}"))
            .ends(UNREADABLE)
            .says(&[said]);
    }
    let desk = Desk::with("v13-aggregate");
    assert_eq!(profiles(&desk, "").len(), 4);
    for (options, said) in [
        ("--from 0.1", "ranges of time"),
        ("--temporary-allocations", "temporary"),
    ] {
        desk.run(&format!("export out.bin --format speedscope {options}"))
            .ends(UNREADABLE)
            .says(&["holds only sums", said]);
    }
}

#[test]
fn stats_are_text_or_memrays_json() {
    let desk = Desk::with("v13-etl");
    let text = desk.run("stats out.bin -n 2").ends(DONE);
    assert_eq!(text.stderr, "");
    for part in [
        "Allocated  3.6 MiB in 3,195 allocations\n",
        "Peak       1.6 MiB (1,665,049 bytes)\n",
        "  2,930  MALLOC\n",
        "  347.6 KiB  load_database:etl.py:55\n",
        "by bytes\n    2.6 MiB  etl\n  537.7 KiB  jinja2\n\n",
    ] {
        assert!(text.text().contains(part), "{part}\n{}", text.text());
    }
    let si = desk.run("stats out.bin --units si").ends(DONE);
    assert!(si.text().contains("Peak       1.7 MB (1,665,049 bytes)\n"));

    let memrays = Corpus::own().expected("v13-etl.stats");
    let json = desk.run("stats out.bin --json").ends(DONE).json();
    for (key, value) in memrays.as_object().unwrap() {
        if key != "metadata" {
            assert_eq!(json[key], *value, "{key}");
        }
    }
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&json)[..keys(&memrays).len()], keys(&memrays));
    assert_eq!(keys(&json["metadata"]), keys(&memrays["metadata"]));
    desk.run("stats out.bin --json -n 2 -o s.json").ends(DONE);
    let few: Value = serde_json::from_slice(&desk.read("s.json")).unwrap();
    assert_eq!(few["top_allocations_by_size"].as_array().unwrap().len(), 2);
    desk.run("stats out.bin -n 0")
        .ends(UNREADABLE)
        .says(&["at least 1"]);
    desk.run("stats out.bin -o out.bin")
        .ends(UNREADABLE)
        .says(&["is the capture itself"]);
}

#[test]
fn stats_say_where_modules_are_guessed_and_what_is_doubtful() {
    let ran = Desk::with("v12-etl").run("stats out.bin").ends(DONE);
    assert!(
        ran.text()
            .contains("by bytes (guessed from their paths)\n    2.6 MiB  etl\n")
    );
    let ran = Desk::with("v13-cut-nocompress")
        .run("stats out.bin")
        .ends(FROM_DAMAGED);
    assert!(
        ran.text().contains("Doubtful   the capture is cut off"),
        "{}",
        ran.text()
    );
    let ran = Desk::with("v13-aggregate")
        .run("stats out.bin --json")
        .ends(UNREADABLE);
    assert!(ran.stdout.is_empty());
    ran.says(&["holds only sums", "statistics are not in it"]);
}

#[test]
fn summaries_and_trees_fit_the_terminal() {
    let desk = Desk::with("v13-etl");
    for command in ["summary", "tree"] {
        let ran = desk.run(&format!("{command} out.bin")).ends(DONE);
        assert_eq!(ran.stderr, "");
        assert_eq!(ran.text().lines().count(), 40, "{}", ran.text());
        assert!(
            ran.text()
                .starts_with("Peak: 1.6 MiB (1,665,049 bytes) in 458 allocations\n\n")
        );
        assert!(ran.text().contains(" more, "), "{}", ran.text());
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        assert_eq!(longest(ran.text()), Some(80));
        let mut narrow = desk.command();
        narrow.env("COLUMNS", "50").args([command, "out.bin"]);
        let narrow = Ran::from(narrow.output().unwrap()).ends(DONE);
        assert_eq!(longest(narrow.text()), Some(50));
        let few = desk.run(&format!("{command} out.bin -n 3")).ends(DONE);
        assert!(few.text().lines().count() <= 7, "{}", few.text());
        let all = desk.run(&format!("{command} out.bin --all")).ends(DONE);
        assert!(all.text().lines().count() > 100);
        assert!(!all.text().contains(" more, "));
        desk.run(&format!("{command} out.bin -n 0"))
            .ends(UNREADABLE)
            .says(&["at least 1"]);
    }
}

#[test]
fn an_inverted_tree_names_what_allocates() {
    let desk = Desk::with("v13-webapp");
    let ran = desk.run("tree out.bin --inverted -n 8").ends(DONE);
    for function in [
        "update_wrapper at ",
        "UpdateDictMixin at ",
        "_compile_bytecode at ",
    ] {
        assert!(ran.text().contains(function), "{function}\n{}", ran.text());
    }
}

#[test]
fn summaries_are_sorted_as_asked() {
    let desk = Desk::with("v13-etl");
    let column = |sort: &str| -> Vec<Value> {
        let key = match sort {
            "own" => "own_bytes",
            "total" => "bytes",
            _ => "allocations",
        };
        let ran = desk.run(&format!("summary out.bin --json --sort {sort}"));
        let document = ran.ends(DONE).json();
        let functions = document["functions"].as_array().unwrap().iter();
        functions.map(|of| of[key].clone()).collect()
    };
    for sort in ["own", "total", "count"] {
        let column = column(sort);
        assert!(
            column.is_sorted_by_key(|value| std::cmp::Reverse(value.as_u64())),
            "{sort}"
        );
    }
    desk.run("summary out.bin --inverted")
        .ends(UNREADABLE)
        .says(&["--inverted does not apply"]);
}

#[test]
fn budgets_are_of_markdown_and_json() {
    let desk = Desk::with("v13-webapp");
    for arguments in [
        "summary out.bin --markdown",
        "summary out.bin --json",
        "tree out.bin --markdown",
        "tree out.bin --json",
        "stats out.bin -n 1000 --markdown",
    ] {
        let len = |budget: &str| {
            desk.run(&format!("{arguments} --budget {budget}"))
                .ends(DONE)
                .stdout
                .len()
        };
        assert!(
            (1500..=2000).contains(&len("2k")),
            "{arguments}: {}",
            len("2k")
        );
        assert!(
            (7000..=8000).contains(&len("8000")),
            "{arguments}: {}",
            len("8000")
        );
        assert!(len("1M") > 8000, "{arguments}");
    }
    for (arguments, said) in [
        ("summary out.bin --budget 8k", "needs --markdown or --json"),
        ("stats out.bin --json --budget 8k", "needs --markdown"),
        ("tree out.bin --json --budget 999", "at least 1000 bytes"),
        ("tree out.bin --json --budget 8q", "a number of bytes"),
        ("tree out.bin --json --markdown", "cannot be used with"),
    ] {
        desk.run(arguments).ends(UNREADABLE).says(&[said]);
    }
}

#[test]
fn tables_have_the_format_of_their_name() {
    let desk = Desk::with("v13-threads");
    desk.run("table out.bin -o t.csv").ends(DONE);
    desk.run("table out.bin -o t.tsv").ends(DONE);
    desk.run("table out.bin -o t.html").ends(DONE);
    let csv = desk.run("table out.bin -o -").ends(DONE);
    assert!(
        csv.text()
            .starts_with("thread,size,allocator,count,location\nmerged thread,")
    );
    assert_eq!(desk.read("t.csv"), csv.stdout);
    assert!(desk.read("t.tsv").starts_with(b"thread\tsize\t"));
    assert!(desk.read("t.html").starts_with(b"<!doctype html>"));
    let split = desk
        .run("table out.bin -o x --format csv --split-threads --leaks")
        .ends(DONE);
    assert_eq!((split.stdout.len(), split.stderr.as_str()), (0, ""));
    let split = String::from_utf8(desk.read("x")).unwrap();
    assert!(
        split.lines().skip(1).all(|line| line.starts_with("0x")),
        "{split}"
    );
    for (arguments, said) in [
        ("table out.bin -o y", "say which with --format"),
        ("table out.bin", "--output"),
        (
            "table out.bin -o out.bin --format csv",
            "is the capture itself",
        ),
        ("table out.bin -o - --inverted", "does not apply"),
    ] {
        desk.run(arguments).ends(UNREADABLE).says(&[said]);
    }
}

#[test]
fn info_shows_the_header() {
    let desk = Desk::with("v13-nocompress");
    let ran = desk.run("info out.bin").ends(DONE).says(&[]);
    for fact in [
        "13 (memray 1.20)",
        "3.11",
        "24.0 KiB",
        "in good order",
        "tick.py 30 5",
        "pymalloc",
    ] {
        assert!(
            ran.text().contains(fact),
            "{fact} is missing:\n{}",
            ran.text()
        );
    }
    let info = desk.run("info out.bin --json").ends(DONE).json();
    assert_eq!(info["format"], 13);
    assert_eq!(info["size"], 24_576);
    assert_eq!(info["containers"], Value::Array(Vec::new()));
    assert_eq!(info["closed"], true);
    let oracle = Corpus::own().oracle("v13-nocompress");
    for key in [
        "pid",
        "start_time_ms",
        "end_time_ms",
        "total_allocations",
        "main_thread_id",
    ] {
        assert_eq!(info[key], oracle["metadata"][key], "{key}");
    }
}

/// Each way to end, what `info` says of it, its name in JSON, and whether the whole is recoverable.
#[test]
fn info_says_how_a_capture_ended_and_what_is_recoverable() {
    let corpus = Corpus::own();
    let plain = corpus.bytes("v13-nocompress");
    let mut hole = plain.clone();
    hole[9_000..9_500].fill(0);
    let mut miscounted = plain.clone();
    miscounted[17] ^= 1;
    for (bytes, ending, said, recoverable) in [
        (
            plain.clone(),
            "complete",
            "in good order, after ",
            "everything: ",
        ),
        (
            corpus.bytes("v13-etl"),
            "complete",
            "in good order, after ",
            "everything: ",
        ),
        (
            corpus.bytes("v13-killed"),
            "interrupted",
            "without an end record: the process was killed, or is still running; its data ends at byte 20895",
            "records, ",
        ),
        (
            corpus.bytes("v11-fork-child2"),
            "interrupted",
            "without an end record",
            "records, ",
        ),
        (
            corpus.bytes("v13-cut-nocompress"),
            "truncated",
            "cut off within record 3949, at byte 45580",
            "3,949 records, ",
        ),
        (
            corpus.bytes("v13-cut"),
            "truncated",
            "cut off within record 3872, at byte 40596",
            "3,872 records, ",
        ),
        (
            corpus.bytes("v13-cut-aggregate"),
            "truncated",
            "cut off within record ",
            "sums that are not among them are missing",
        ),
        (hole, "corrupt", "the capture is damaged: ", "records, "),
        (
            miscounted,
            "complete",
            "but its header counts ",
            "everything: ",
        ),
        (
            plain[..1_000].to_vec(),
            "truncated",
            "cut off within record ",
            "records, ",
        ),
    ] {
        let desk = Desk::holding("out.bin", &bytes);
        let text = desk.run("info out.bin").ends(DONE);
        let line = |name: &str| {
            let line = text.text().lines().find(|line| line.starts_with(name));
            line.unwrap_or_else(|| panic!("no {name}:\n{}", text.text()))
        };
        assert!(line("Ended").contains(said), "{}", text.text());
        assert!(line("Recoverable").contains(recoverable), "{}", text.text());
        let info = desk.run("info out.bin --json").ends(DONE).json();
        assert_eq!(info["ending"]["ending"], ending, "{said}");
        assert_eq!(info["ending"]["certain"], true);
        // What is promised is what a report holds.
        let profile = profile_of(&bytes, &Options::default()).unwrap();
        if !profile.is_aggregated {
            assert_eq!(
                info["recoverable"]["allocation_records"],
                profile.counts.events
            );
        }
        assert_eq!(info["recoverable"]["records"], profile.counts.records);
    }
    let info = Desk::with("v13-killed").run("info out.bin --json").json();
    assert_eq!(info["closed"], false);
}

/// A capture that is too large to be read for `info` is only promised what was looked at.
#[test]
fn info_says_what_it_does_not_know_of_a_large_capture() {
    let killed = without_zero_fill(&Corpus::own().bytes("v13-killed")).to_vec();
    let desk = Desk::holding("out.bin", &killed);
    let file = fs::OpenOptions::new()
        .write(true)
        .open(desk.path("out.bin"));
    file.unwrap().set_len(1 << 40).unwrap();
    let ran = desk.run("info out.bin").ends(DONE);
    let held = format!("what the first {} of the file's bytes hold", killed.len());
    for said in ["not closed", held.as_str(), "memreport records"] {
        assert!(ran.text().contains(said), "{said}:\n{}", ran.text());
    }
    let info = desk.run("info out.bin --json").ends(DONE).json();
    assert_eq!(info["ending"]["certain"], false);
    assert!(info["recoverable"]["records"].is_null());
    assert_eq!(info["recoverable"]["file_bytes"], killed.len());
}

#[test]
fn info_tells_the_containers_from_the_outside_in() {
    let desk = Desk::holding("out.bin.gz", &gzip(&Corpus::own().bytes("v13-tick")));
    let info = desk.run("info out.bin.gz --json").ends(DONE).json();
    assert_eq!(info["containers"], serde_json::json!(["gzip", "LZ4"]));
}

/// The frames above the traced script are of `runpy` and of memray's command; with native frames, of
/// what started Python, too.
#[test]
fn memrays_own_frames_are_shown_when_asked_for() {
    for (capture, options, outermost) in [
        ("v13-tick", "", "_run_module_as_main"),
        ("v11-tick", "", "_run_module_as_main"),
        ("v13-native-cpp", "--no-symbols", "_run_module_as_main"),
        ("v12-aggregate", "", "_run_module_as_main"),
    ] {
        let desk = Desk::with(capture);
        let exported = |option: &str| {
            let command = format!("export out.bin --format json -q {options} {option}");
            desk.run(&command).ends(DONE).json()
        };
        let (hidden, shown) = (exported(""), exported("--show-memray-frames"));
        let functions = |document: &Value| -> Vec<String> {
            let frames = document["frames"].as_array().unwrap().iter();
            frames
                .map(|frame| frame[0].as_str().unwrap().to_owned())
                .collect()
        };
        let has = |document: &Value| functions(document).iter().any(|name| name == outermost);
        assert!(!has(&hidden) && has(&shown), "{capture}");
        // Every stack of the main thread ends with it.
        let number = functions(&shown)
            .iter()
            .position(|name| name == outermost)
            .unwrap();
        let ends = |stack: &Value| {
            let stack = stack.as_array().unwrap();
            stack
                .last()
                .is_none_or(|frame| frame.as_u64() == Some(number as u64))
        };
        assert!(
            shown["stacks"].as_array().unwrap().iter().all(ends),
            "{capture}"
        );
        for section in ["high_water_mark", "leaks"] {
            let sums = |document: &Value| document[section]["merged"]["bytes"].clone();
            assert_eq!(sums(&hidden), sums(&shown), "{capture}");
        }
        desk.run(&format!("build out.bin -q {options} --show-memray-frames"))
            .ends(DONE);
        let page = String::from_utf8(desk.read("out.html")).unwrap();
        assert!(page.len() > 10_000);
    }
}

/// Without symbols no native frame is known as the interpreter's loop, so none can be merged: the native
/// stacks stand beside the Python ones, with the same bytes.
#[test]
fn native_stacks_that_cannot_be_merged_are_shown_beside_pythons() {
    let desk = Desk::with("v13-native-cpp");
    let ran = desk
        .run("export out.bin --format json --no-symbols")
        .ends(DONE)
        .says(&[
            "native stacks do not show where Python frames belong",
            "beside them",
        ]);
    let document = ran.json();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let rows = list(&document["unmerged_stacks"]);
    // A stack may have a row for each thread and allocator.
    assert!(rows.len() > 40);
    let stacks = list(&document["stacks"]);
    let frames = list(&document["frames"]);
    let function = |frame: &Value| {
        let index = usize::try_from(frame.as_u64().unwrap()).unwrap();
        frames[index][0].as_str().unwrap().to_owned()
    };
    for row in &rows {
        let native = list(&row[3]);
        assert!(!native.is_empty() && native.iter().all(|frame| function(frame).contains("+0x")));
        let stack = list(&stacks[usize::try_from(row[2].as_u64().unwrap()).unwrap()]);
        assert!(!stack.is_empty() && !stack.iter().any(|frame| function(frame).contains("+0x")));
    }
    for (section, column) in [("high_water_mark", 4), ("leaks", 5)] {
        let of_stacks = |rows: &[Value], at: &dyn Fn(&Value) -> Value| -> u64 {
            rows.iter().map(|row| at(row).as_u64().unwrap()).sum()
        };
        let beside = of_stacks(&rows, &|row| row[column][0].clone());
        let all = list(&document[section]["by_thread"]["rows"]);
        let shown: Vec<Value> = all
            .into_iter()
            .filter(|row| rows.iter().any(|unmerged| unmerged[2] == row[2]))
            .collect();
        assert_eq!(
            beside,
            of_stacks(&shown, &|row| row[4].clone()),
            "{section}"
        );
    }
}

#[test]
fn records_are_lines_of_json_in_the_order_of_the_capture() {
    for name in ["v06-tick", "v11-tick", "v13-tick", "v13-aggregate-threads"] {
        let desk = Desk::holding("out.bin", &Corpus::own().bytes(name));
        let ran = desk.run("records out.bin").ends(DONE);
        let printed = String::from_utf8(ran.stdout).unwrap();
        let lines: Vec<Value> = printed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines[0]["record"], "HEADER", "{name}");
        let offsets: Vec<u64> = lines
            .iter()
            .map(|line| line["offset"].as_u64().unwrap())
            .collect();
        assert!(offsets.is_sorted_by(|a, b| a < b), "{name}");
        let trailers = u64::from(name != "v06-tick");
        assert_eq!(
            lines.len() as u64 - 1 + trailers,
            profile(name).counts.records,
            "{name}"
        );
    }
}

#[test]
fn records_of_a_damaged_capture_end_with_3() {
    let desk = Desk::holding("out.bin", &Corpus::own().bytes("v13-cut-nocompress"));
    desk.run("records out.bin")
        .ends(FROM_DAMAGED)
        .says(&["is cut off within record 3949"]);
    desk.run("records out.bin --allow-truncated").ends(DONE);
}

#[test]
fn every_command_has_help() {
    let desk = Desk::new();
    for command in ["", "build", "export", "stats", "info"] {
        for option in ["--help", "-h"] {
            let ran = desk.run(&format!("{command} {option}")).ends(DONE);
            assert!(
                ran.text().contains("Usage: memreport"),
                "{command}: {}",
                ran.text()
            );
            assert_eq!(ran.stderr, "");
        }
    }
    let help = desk.run("--help");
    for named in ["build", "export", "stats", "info", "Exit codes", "Examples"] {
        assert!(help.text().contains(named), "{named}");
    }
    assert!(
        desk.run("--version")
            .ends(DONE)
            .text()
            .starts_with("memreport ")
    );
}

#[test]
fn bad_usage_ends_with_2_and_a_hint_at_help() {
    let desk = Desk::with("v13-tick");
    for arguments in [
        "",
        "build",
        "frobnicate",
        "export out.bin",
        "export out.bin --format xml",
        "build out.bin --no-such",
    ] {
        let ran = desk.run(arguments).ends(UNREADABLE);
        assert!(ran.stderr.contains("--help"), "{arguments}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
    assert_eq!(desk.files(), ["out.bin"]);
}

// Captures that cannot be read, or not to their end.

/// Captures of which nothing can be reported: name, bytes, and what is said of them.
fn unreadable() -> Vec<(&'static str, Vec<u8>, Vec<&'static str>)> {
    let plain = Corpus::own().bytes("v13-nocompress");
    let version = |number: u8| {
        let mut bytes = plain.clone();
        bytes[7] = number;
        bytes
    };
    vec![
        (
            "empty",
            Vec::new(),
            vec!["empty.bin is empty", "--aggregate"],
        ),
        (
            "foreign",
            b"hello world\n".to_vec(),
            vec!["not a memray capture", "hello"],
        ),
        (
            "page",
            b"<!DOCTYPE html>".to_vec(),
            vec!["not a memray capture"],
        ),
        (
            "in-header",
            plain[..40].to_vec(),
            vec!["ends after 40 bytes, within its header"],
        ),
        (
            "too-new",
            version(99),
            vec![
                "format 99 is newer than the newest known, 13",
                "a newer memreport",
            ],
        ),
        ("too-old", version(2), vec!["format 2 is older"]),
        (
            "cut-lz4",
            Corpus::own().bytes("v13-cut")[..60].to_vec(),
            vec!["compressed", "cut off"],
        ),
        ("damaged-lz4", damaged_lz4(), vec!["compressed", "damaged"]),
        (
            "cut-gzip",
            gzip(&plain)[..60].to_vec(),
            vec!["compressed", "cut off"],
        ),
    ]
}

/// A capture whose first compressed block refers to what is not there.
fn damaged_lz4() -> Vec<u8> {
    let mut bytes = Corpus::own().bytes("v13-etl");
    bytes[100..2_000].fill(0xff);
    bytes
}

#[test]
fn what_cannot_be_read_ends_with_2_says_why_and_leaves_nothing() {
    for (name, bytes, said) in unreadable() {
        let file = format!("{name}.bin");
        let desk = Desk::holding(&file, &bytes);
        for command in [
            "build",
            "build -f",
            "export --format json -o out.json",
            "export --format speedscope",
        ] {
            let ran = desk
                .run(&format!("{command} {file}"))
                .ends(UNREADABLE)
                .says(&["error: ", &file])
                .says(&said);
            assert_eq!(ran.stderr.matches("error:").count(), 1, "{}", ran.stderr);
            assert!(ran.stdout.is_empty(), "{name}: {command}");
            assert_eq!(desk.files(), [file.as_str()], "{name}: {command}");
        }
        desk.run(&format!("info {file}"))
            .ends(UNREADABLE)
            .says(&said);
    }
}

#[test]
fn what_cannot_be_opened_ends_with_2_and_the_systems_answer() {
    let desk = Desk::new();
    fs::create_dir(desk.path("folder")).unwrap();
    for (name, said) in [
        ("missing.bin", "No such file"),
        ("folder", "is a directory"),
    ] {
        for command in ["build", "info", "export --format json"] {
            let ran = desk
                .run(&format!("{command} {name}"))
                .ends(UNREADABLE)
                .says(&["cannot open", name]);
            assert!(!cfg!(unix) || ran.stderr.contains(said), "{}", ran.stderr);
        }
    }
    assert_eq!(desk.files(), ["folder"]);
}

#[test]
fn a_failed_run_leaves_an_older_report_as_it_was() {
    let desk = Desk::with("v13-tick");
    desk.run("build out.bin --json out.json").ends(DONE);
    let before = (desk.read("out.html"), desk.read("out.json"));
    desk.put("out.bin", b"no capture");
    desk.run("build out.bin --json out.json").ends(UNREADABLE);
    desk.run("build out.bin -f -o out.html").ends(UNREADABLE);
    desk.run("export out.bin --format json -o out.json")
        .ends(UNREADABLE);
    assert_eq!((desk.read("out.html"), desk.read("out.json")), before);
    assert_eq!(desk.files(), ["out.bin", "out.html", "out.json"]);
}

#[test]
fn when_one_output_cannot_be_written_none_is() {
    let desk = Desk::with("v13-tick");
    desk.put("out.html", b"older");
    desk.run("build out.bin -o out.html --json no/such/folder/out.json")
        .ends(UNREADABLE)
        .says(&["cannot write no/such/folder/out.json"]);
    assert_eq!(desk.read("out.html"), b"older");
    fs::create_dir(desk.path("folder")).unwrap();
    desk.run("build out.bin -o out.html --json folder")
        .ends(UNREADABLE)
        .says(&["cannot write folder: it is a folder"]);
    assert!(desk.read("out.html") == b"older");
    assert_eq!(desk.files(), ["folder", "out.bin", "out.html"]);
}

/// Captures that can be read up to some point, and what is said of them.
fn damaged() -> Vec<(&'static str, Vec<u8>, String)> {
    let corpus = Corpus::own();
    let plain = corpus.bytes("v13-nocompress");
    let (byte, offset) = damaging_byte(&plain);
    let mut broken = plain.clone();
    broken[byte] = !broken[byte];
    let mut hole = plain;
    hole[9_000..9_500].fill(0);
    vec![
        (
            "cut",
            corpus.bytes("v13-cut-nocompress"),
            "cut off within record 3949, at byte 45580".to_owned(),
        ),
        (
            "cut-lz4",
            corpus.bytes("v13-cut"),
            "cut off within record 3872, at byte 40596".to_owned(),
        ),
        (
            "killed",
            corpus.bytes("v13-killed"),
            "no end record (was the process killed?); all data up to byte 20895".to_owned(),
        ),
        (
            "one-byte",
            broken,
            format!("records before byte {offset} were read"),
        ),
        ("hole", hole, "damaged".to_owned()),
    ]
}

/// A byte in the middle of a plain capture that cannot be another, and where the damage is seen.
fn damaging_byte(capture: &[u8]) -> (usize, u64) {
    let middle = without_zero_fill(capture).len() / 2;
    let seen_at = |byte: &usize| {
        let mut broken = capture.to_vec();
        broken[*byte] = !broken[*byte];
        match profile_of(&broken, &Options::default()).unwrap().ending {
            Ending::Corrupt { offset, .. } => Some((*byte, offset)),
            _ => None,
        }
    };
    (middle..capture.len())
        .find_map(|byte| seen_at(&byte))
        .unwrap()
}

#[test]
fn damaged_captures_are_reported_up_to_the_damage_and_end_with_3() {
    for (name, bytes, said) in damaged() {
        let desk = Desk::holding("out.bin", &bytes);
        let ran = desk
            .run("build out.bin")
            .ends(FROM_DAMAGED)
            .says(&["warning: ", &said]);
        assert_eq!(
            ran.stderr.matches("warning: the capture").count(),
            1,
            "{}",
            ran.stderr
        );
        assert_eq!(desk.files(), ["out.bin", "out.html"], "{name}");
        let ran = desk
            .run("export out.bin --format json -q")
            .ends(FROM_DAMAGED)
            .says(&[&said]);
        let damage = &ran.json()["damage"];
        assert!(
            ["interrupted", "truncated", "corrupt"].contains(&damage["ending"].as_str().unwrap())
        );
        assert!(damage["text"].as_str().unwrap().contains(&said), "{name}");
        assert!(damage["offset"].as_u64().unwrap() > 0, "{name}");
    }
}

#[test]
fn damaged_captures_end_with_0_where_that_is_allowed() {
    for (name, bytes, said) in damaged() {
        let desk = Desk::holding("out.bin", &bytes);
        desk.run("build out.bin --allow-truncated")
            .ends(DONE)
            .says(&["warning: ", &said]);
        assert_eq!(desk.files(), ["out.bin", "out.html"], "{name}");
        desk.run("export out.bin --format json --allow-truncated")
            .ends(DONE)
            .says(&[&said]);
    }
    let desk = Desk::holding("out.bin", b"no capture");
    desk.run("build out.bin --allow-truncated").ends(UNREADABLE);
}

/// The header's count of records, with which the capture agrees or not, stands at a fixed place.
#[test]
fn a_capture_with_other_records_than_its_header_counts_ends_with_3() {
    let mut bytes = Corpus::own().bytes("v13-nocompress");
    let counted = profile("v13-nocompress").counts.events.to_le_bytes();
    let at = bytes
        .windows(8)
        .position(|window| window == counted)
        .unwrap();
    bytes[at] ^= 1;
    let desk = Desk::holding("out.bin", &bytes);
    let said = "the header counts other records than the capture holds";
    desk.run("build out.bin").ends(FROM_DAMAGED).says(&[said]);
    desk.run("export out.bin --format json")
        .ends(FROM_DAMAGED)
        .says(&[said]);
    desk.run("build out.bin --allow-truncated")
        .ends(DONE)
        .says(&[said]);
}

// Where outputs go.

#[test]
fn the_report_is_named_for_the_capture_and_lies_in_the_working_folder() {
    let desk = Desk::new();
    fs::create_dir(desk.path("captures")).unwrap();
    desk.put("captures/some run.v2.bin", &Corpus::own().bytes("v13-tick"));
    let mut command = desk.command();
    Ran::from(
        command
            .args(["build", "captures/some run.v2.bin"])
            .output()
            .unwrap(),
    )
    .ends(DONE);
    assert_eq!(desk.files(), ["captures", "some run.v2.html"]);
}

#[test]
fn the_reports_name_fits_the_file_system() {
    let name = format!("{}.bin", "test_[a-b]:ü".repeat(19));
    let desk = Desk::holding(&name, &Corpus::own().bytes("v13-tick"));
    Ran::from(desk.command().args(["build", &name]).output().unwrap()).ends(DONE);
    let files = desk.files();
    assert_eq!(files.len(), 2);
    assert!(
        files.iter().any(|file| file.ends_with(".html")),
        "{files:?}"
    );
}

#[test]
fn a_file_that_is_no_report_is_replaced_only_by_force() {
    let desk = Desk::with("v13-tick");
    desk.put("out.html", b"<p>mine</p>");
    desk.run("build out.bin")
        .ends(UNREADABLE)
        .says(&["out.html exists", "-o", "-f"]);
    assert_eq!(desk.read("out.html"), b"<p>mine</p>");
    desk.run("build out.bin -f").ends(DONE);
    let report = desk.read("out.html");
    assert_ne!(report, b"<p>mine</p>");
    desk.run("build out.bin --leaks").ends(DONE);
    assert_ne!(
        desk.read("out.html"),
        report,
        "our own report is replaced without a word"
    );
    desk.put("named.html", b"<p>mine</p>");
    desk.run("build out.bin -o named.html").ends(DONE);
    assert_ne!(
        desk.read("named.html"),
        b"<p>mine</p>",
        "what -o names is replaced"
    );
}

#[test]
fn a_dash_is_standard_output() {
    let desk = Desk::with("v13-tick");
    let page = desk.run("build out.bin -o - -q").ends(DONE);
    assert_eq!(page.stderr, "");
    assert_eq!(desk.files(), ["out.bin"]);
    desk.run("build out.bin").ends(DONE);
    assert!(page.stdout == desk.read("out.html"));
    desk.run("export out.bin --format json -o a.json")
        .ends(DONE);
    assert!(desk.run("export out.bin --format json -o -").stdout == desk.read("a.json"));
}

#[test]
fn two_outputs_in_one_place_are_refused() {
    let desk = Desk::with("v13-tick");
    for arguments in [
        "-o a.html --json a.html",
        "-o a.html --json ./a.html",
        "-o a.html --json x --speedscope ./x",
        "--json out.html",
        "-o - --json -",
    ] {
        desk.run(&format!("build out.bin {arguments}"))
            .ends(UNREADABLE)
            .says(&["two outputs have the same place"]);
        assert_eq!(desk.files(), ["out.bin"], "{arguments}");
    }
}

#[test]
fn no_output_takes_the_captures_place() {
    let desk = Desk::with("v13-tick");
    let capture = desk.read("out.bin");
    for arguments in [
        "build out.bin -o out.bin",
        "build -f out.bin -o ./out.bin",
        "build out.bin --json out.bin",
        "export out.bin --format json -o out.bin",
    ] {
        desk.run(arguments)
            .ends(UNREADABLE)
            .says(&["is the capture itself"]);
        assert!(desk.read("out.bin") == capture, "{arguments}");
        assert_eq!(desk.files(), ["out.bin"], "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn reports_are_readable_as_the_users_other_files() {
    use std::os::unix::fs::PermissionsExt;
    let program = assert_cmd::cargo::cargo_bin("memreport");
    for (mask, mode) in [("022", 0o644), ("027", 0o640), ("077", 0o600)] {
        let desk = Desk::with("v13-tick");
        let script = format!("umask {mask}; exec \"$0\" build out.bin -q --json out.json");
        let mut shell = std::process::Command::new("sh");
        let status = shell
            .arg("-c")
            .arg(script)
            .arg(&program)
            .current_dir(desk.folder.path())
            .status();
        assert!(status.unwrap().success());
        for file in ["out.html", "out.json"] {
            let permissions = fs::metadata(desk.path(file)).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{file} under {mask}");
        }
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let desk = Desk::with("v13-webapp");
    for arguments in [
        "export out.bin --format json --temporal",
        "export out.bin --format csv",
        "export out.bin --format gprof2dot",
        "export out.bin --format collapsed",
        "export out.bin --format pprof",
        "build out.bin -q -o -",
        "stats out.bin",
        "stats out.bin --json",
        "summary out.bin --all",
        "tree out.bin --all",
        "table out.bin -o -",
        "info out.bin",
        "--help",
    ] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("memreport"));
        command
            .args(arguments.split_whitespace())
            .current_dir(desk.folder.path());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output();
        let ran = Ran::from(output.unwrap()).ends(DONE);
        assert_eq!(ran.stderr, "", "{arguments}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let desk = Desk::with("v13-tick");
    for arguments in [
        "build out.bin -o /dev/full",
        "export out.bin --format json -o /dev/full",
    ] {
        desk.run(arguments)
            .ends(UNREADABLE)
            .says(&["cannot write /dev/full", "No space left"]);
    }
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("memreport"));
    command
        .args(["export", "--format", "json"])
        .arg(desk.path("out.bin"));
    let output = command
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output();
    Ran::from(output.unwrap())
        .ends(UNREADABLE)
        .says(&["No space left"]);
}

// The same capture gives the same bytes.

/// The page, JSON and speedscope of a capture.
fn outputs(desk: &Desk, capture: &str, threads: &str) -> [Vec<u8>; 3] {
    let mut command = desk.command();
    command.env("RAYON_NUM_THREADS", threads);
    let arguments = [
        "-q",
        "-o",
        "a.html",
        "--json",
        "a.json",
        "--speedscope",
        "a.speedscope",
    ];
    Ran::from(
        command
            .arg("build")
            .arg(capture)
            .args(arguments)
            .output()
            .unwrap(),
    )
    .ends(DONE);
    ["a.html", "a.json", "a.speedscope"].map(|name| desk.read(name))
}

#[test]
fn outputs_do_not_depend_on_the_number_of_threads() {
    for capture in ["v13-webapp", "v13-threads-py314", "v13-manysnaps"] {
        let desk = Desk::with(capture);
        let one = outputs(&desk, "out.bin", "1");
        for threads in ["2", "4", "7"] {
            assert!(
                outputs(&desk, "out.bin", threads) == one,
                "{capture} on {threads} threads"
            );
        }
    }
}

#[test]
fn outputs_do_not_depend_on_what_a_capture_is_wrapped_in() {
    let desk = Desk::with("v13-threads");
    let bare = outputs(&desk, "out.bin", "2");
    let capture = desk.read("out.bin");
    assert!(is_lz4(&capture));
    desk.put("plain", &unpacked(&capture));
    desk.put("gzipped", &gzip(&capture));
    desk.put("gzipped-plain", &gzip(&unpacked(&capture)));
    for wrapped in ["plain", "gzipped", "gzipped-plain"] {
        assert!(outputs(&desk, wrapped, "2") == bare, "{wrapped}");
    }
}

#[test]
fn a_capture_may_come_from_standard_input() {
    let desk = Desk::new();
    let capture = Corpus::own().bytes("v13-tick");
    let piped = |arguments: &str| {
        let mut command = desk.command();
        command
            .args(arguments.split_whitespace())
            .write_stdin(capture.clone());
        Ran::from(command.output().unwrap()).ends(DONE)
    };
    piped("build -");
    assert_eq!(desk.files(), ["memreport.html"]);
    let exported = piped("export - --format json").stdout;
    assert_eq!(piped("info - --json").json()["format"], 13);
    desk.put("out.bin", &capture);
    assert!(desk.run("export out.bin --format json").stdout == exported);
    desk.run("build out.bin").ends(DONE);
    assert!(desk.read("out.html") == desk.read("memreport.html"));
}

#[test]
fn a_command_line_or_name_with_markup_ends_no_script() {
    let scripts = |capture: &str| {
        let page = Desk::with(capture).run("build out.bin -q -o -").ends(DONE);
        page.text().matches("</script").count()
    };
    let plain = scripts("v13-tick");
    assert_eq!(
        scripts("v13-synthetic-paths"),
        plain,
        "its command line has such a tag"
    );
    assert_eq!(
        scripts("v13-lines-py311"),
        plain,
        "its files have such names"
    );
}

// Captures that are cut, through the library for speed.

/// What must hold of any beginning of a capture.
struct Cuts {
    name: String,
    capture: Vec<u8>,
    n_events: u64,
    n_records: u64,
    has_trailer: bool,
}

impl Cuts {
    fn of(name: &str) -> Self {
        let bytes = Corpus::own().bytes(name);
        let profile = profile(name);
        let capture = if is_lz4(&bytes) {
            bytes
        } else {
            without_zero_fill(&bytes).to_vec()
        };
        Self {
            name: name.to_owned(),
            capture,
            n_events: profile.counts.events,
            n_records: profile.counts.records,
            has_trailer: profile.metadata.format >= 8,
        }
    }

    /// Reads the first `len` bytes; what is wrong, if anything, and how many events there were.
    fn check(&self, len: usize) -> (Option<String>, u64) {
        let cut = &self.capture[..len];
        // Symbols are not looked up: they do not depend on where a capture is cut.
        let options = Options {
            symbols: SymbolOptions::default(),
            ..Options::default()
        };
        let Ok(profile) = profile_of(cut, &options) else {
            let readable = len == self.capture.len();
            return (readable.then(|| format!("{}: unreadable", self.name)), 0);
        };
        let n_events = profile.counts.events;
        let all_there = if self.has_trailer {
            profile.counts.records == self.n_records
        } else {
            n_events == self.n_events
        };
        let complete = profile.ending.is_complete();
        let wrong = (complete && !all_there)
            .then(|| format!("{} cut at {len} passes for complete", self.name));
        (wrong, n_events)
    }

    fn check_all(&self, lens: impl Iterator<Item = usize>) -> Vec<String> {
        let mut before = 0;
        let mut all_wrong = Vec::new();
        for len in lens {
            let (wrong, n_events) = self.check(len);
            all_wrong.extend(wrong);
            if n_events < before {
                all_wrong.push(format!(
                    "{} cut at {len} has fewer events than cut before",
                    self.name
                ));
            }
            before = n_events;
        }
        all_wrong
    }
}

#[test]
fn a_capture_cut_at_any_byte_is_read_up_to_there_and_never_passes_for_complete() {
    for name in [
        "v13-synthetic-unbalanced",
        "v13-synthetic-stale",
        "v13-end-peak",
        "v12-killed",
        "v13-nocompress",
    ] {
        let cuts = Cuts::of(name);
        assert_none(&cuts.check_all(0..=cuts.capture.len()), "wrong");
    }
}

#[test]
fn every_capture_cut_at_many_places_is_read_up_to_there_and_never_passes_for_complete() {
    for entry in Corpus::own().entries() {
        let cuts = Cuts::of(&entry.name);
        let len = cuts.capture.len();
        assert_none(
            &cuts.check_all((0..=200).map(|part| len * part / 200)),
            "wrong",
        );
    }
}

#[test]
fn a_capture_cut_within_its_trailer_is_not_complete_and_one_with_it_is() {
    let cuts = Cuts::of("v13-nocompress");
    let ending = |len: usize| {
        profile_of(&cuts.capture[..len], &Options::default())
            .unwrap()
            .ending
    };
    assert_eq!(ending(cuts.capture.len()), Ending::Complete);
    assert_ne!(ending(cuts.capture.len() - 1), Ending::Complete);
}

/// A byte changed anywhere may go unseen, but it breaks nothing.
#[test]
fn a_capture_with_one_byte_changed_is_read_or_refused() {
    for name in [
        "v13-nocompress",
        "v13-tick",
        "v11-tick",
        "v13-threads",
        "v13-mmap",
    ] {
        let capture = Corpus::own().bytes(name);
        for part in 0..100 {
            let mut broken = capture.clone();
            broken[capture.len() * part / 100] ^= 1 << (part % 8);
            if let Ok(profile) = profile_of(&broken, &Options::default()) {
                assert_eq!(profile.slices.len(), profile.slices.n_snapshots() + 1);
            }
        }
    }
}
