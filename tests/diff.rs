//! `memreport diff` on real captures: of one program, changed or moved, and of all kinds.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use memreport_ingest::capture::{CodeObject, Decoder, Encoder, Header, Record};
use serde_json::Value;

use support::captures::{Corpus, unpacked};

const BEFORE: &str = "v13-regress-before";
const AFTER: &str = "v13-regress-after";

fn diff(base: &Path, new: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::cargo_bin("memreport").unwrap();
    command
        .arg("diff")
        .args([base, new])
        .args(["--no-symbols", "-q"]);
    command.args(arguments).output().unwrap()
}

#[track_caller]
fn text(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn json(base: &Path, new: &Path, arguments: &[&str]) -> Value {
    let output = diff(base, new, &[&["--json"], arguments].concat());
    serde_json::from_str(&text(&output)).unwrap()
}

fn path(name: &str) -> PathBuf {
    Corpus::own().path(name)
}

/// The capture of a program that was edited and installed elsewhere: lines are others, own files in another
/// folder, threads have other names.
fn moved(capture: &[u8], to: &str, shift: i32) -> Vec<u8> {
    let capture = unpacked(capture);
    let (header, mut rest) = Header::parse(&capture).unwrap().unwrap();
    let mut decoder = Decoder::new(&header, (capture.len() - rest.len()) as u64);
    let mut encoder = Encoder::new(&header);
    while let Some((record, after)) = decoder.decode(rest).unwrap() {
        rest = after;
        let file = |code: &CodeObject<'_>| {
            let file = String::from_utf8(code.file.to_vec()).unwrap();
            match file.strip_suffix("regress.py") {
                Some(_) => format!("{to}/regress.py"),
                None => file.replace("/lib/python3.11/", "/elsewhere/lib/python3.14/"),
            }
        };
        let written = match record {
            Record::CodeObject(code) => encoder.push(&Record::CodeObject(CodeObject {
                file: file(&code).as_bytes(),
                first_line: code.first_line + shift,
                ..code
            })),
            Record::ThreadName(_) => encoder.push(&Record::ThreadName(b"another")),
            record => encoder.push(&record),
        };
        assert!(written);
        if matches!(record, Record::Trailer) {
            break;
        }
    }
    encoder.finish()
}

#[test]
fn the_guilty_function_comes_first_with_its_bytes() {
    let found = json(&path(BEFORE), &path(AFTER), &[]);
    let first = &found["functions"][0];
    // 30 blocks of 3 × 2,000 bytes and 57 of the object, and those of the round before that are still there.
    assert_eq!(
        (&first["function"], &first["module"]),
        (&"index".into(), &"regress.py".into())
    );
    assert_eq!(first["own_bytes_change"], 2 * 30 * 6001 - 30 * 2001);
    assert_eq!(found["total"]["bytes_change"], 565_389 - 224_857);

    let kept = json(&path(BEFORE), &path(AFTER), &["--leaks"]);
    assert_eq!(kept["functions"][0]["function"], "parse");
    assert_eq!(kept["view"], "leaks");
}

#[test]
fn another_folder_and_other_lines_are_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let as_it_is = json(&path(BEFORE), &path(AFTER), &[]);
    for (to, shift) in [
        ("/builds/7/project", 40),
        ("relative", 1),
        (r"C:\project", 7),
    ] {
        let after = folder.path().join("after.bin");
        fs::write(&after, moved(&Corpus::own().bytes(AFTER), to, shift)).unwrap();
        let found = json(&path(BEFORE), &after, &[]);
        for key in ["total", "functions", "stacks", "unchanged_stacks"] {
            assert_eq!(found[key], as_it_is[key], "{to}: {key}");
        }
        let same = json(&path(AFTER), &after, &[]);
        assert_eq!(same["functions"], Value::Array(Vec::new()), "{to}");
        let lines = json(&path(AFTER), &after, &["--exact"]);
        assert_ne!(lines["stacks"], Value::Array(Vec::new()), "{to}");
        assert_eq!(lines["total"]["bytes_change"], 0);
    }
}

#[test]
fn a_capture_is_no_different_from_itself() {
    let mut n = 0;
    for entry in Corpus::own().entries() {
        let capture = path(&entry.name);
        let views: &[&[&str]] = match entry.name.contains("aggregate") {
            true => &[&[], &["--leaks"]],
            false => &[
                &["--exact"],
                &["--leaks"],
                &["--temporary-allocations"],
                &["--allocations"],
            ],
        };
        for view in views {
            let output = diff(
                &capture,
                &capture,
                &[*view, &["--json", "--allow-truncated"]].concat(),
            );
            if output.status.code() == Some(2) {
                continue;
            }
            let found: Value = serde_json::from_str(&text(&output)).unwrap();
            let none = Value::Array(Vec::new());
            assert_eq!(
                (&found["functions"], &found["stacks"]),
                (&none, &none),
                "{}",
                entry.name
            );
            assert_eq!(found["total"]["bytes_change"], 0, "{}", entry.name);
            let changes = found["figures"]
                .as_array()
                .unwrap()
                .iter()
                .map(|of| &of["change"]);
            assert!(
                changes
                    .into_iter()
                    .all(|change| change.is_null() || *change == 0),
                "{}",
                entry.name
            );
            n += 1;
        }
    }
    assert!(n > 400, "{n} diffs");
}

#[test]
fn captures_of_all_formats_compare() {
    let (mut n, newest) = (0, path("v13-tick"));
    for format in 6..13 {
        let name = format!("v{format:02}-tick");
        let found = json(&path(&name), &newest, &[]);
        let rows = found["stacks"].as_array().unwrap();
        let sum: i64 = rows
            .iter()
            .map(|row| row["bytes_change"].as_i64().unwrap())
            .sum();
        let total = &found["total"];
        assert_eq!(total["bytes_change"], sum, "{name}");
        let sides = ["bytes_new", "bytes_base"].map(|key| total[key].as_i64().unwrap());
        assert_eq!(sides[0] - sides[1], sum, "{name}");
        assert!(
            found["unchanged_stacks"].as_u64().unwrap() > 0,
            "{name} has nothing in common"
        );
        n += 1;
    }
    assert_eq!(n, 7);
}

#[test]
fn budgets_are_kept_and_what_is_omitted_is_counted() {
    let (base, new) = (path("v06-threads"), path("v13-etl"));
    let all = json(&base, &new, &[]);
    for budget in [2500, 8000, 20_000, 60_000] {
        let asked = budget.to_string();
        let output = diff(&base, &new, &["--markdown", "--all", "--budget", &asked]);
        assert!(text(&output).len() <= budget);
        assert!(text(&output).contains("change: "));
        let short = json(&base, &new, &["--budget", &asked]);
        assert!(short.to_string().len() <= budget);
        assert_eq!(short["total"], all["total"]);
        let shown = short["functions"].as_array().unwrap();
        let mut sum = short["omitted"]["own_bytes_change"].as_i64().unwrap();
        sum += shown
            .iter()
            .map(|of| of["own_bytes_change"].as_i64().unwrap())
            .sum::<i64>();
        assert_eq!(short["total"]["bytes_change"], sum);
    }
    let unasked = text(&diff(&base, &new, &["--markdown", "--all"]));
    assert!(unasked.len() <= 60_000);
}

#[test]
fn names_harm_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("odd.bin");
    let hostile = "/x|y`z`<b>&\n::error::%0A]]>\u{202e}\u{1b}[31m";
    fs::write(&odd, moved(&Corpus::own().bytes(AFTER), hostile, 0)).unwrap();
    let found = json(&path("v13-etl"), &odd, &[]);
    let module = format!("{hostile}/regress.py");
    let functions = found["functions"].as_array().unwrap();
    assert!(functions.iter().any(|of| of["module"] == module.as_str()));

    for form in [&["--markdown"][..], &["-n", "9"]] {
        let written = text(&diff(&path("v13-etl"), &odd, form));
        assert!(!written.contains(['\u{202e}', '\u{1b}']), "{written}");
        assert!(
            written.lines().all(|line| !line.starts_with("::error")),
            "{written}"
        );
        for row in written
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains("regress"))
        {
            let expected = if row.matches(" at ").count() == 1 {
                [5, 6]
            } else {
                [0, 0]
            };
            assert!(expected.contains(&row.matches('|').count()), "{row}");
            assert!(!row.contains("<b>"), "{row}");
        }
    }
}

#[test]
fn damage_on_either_side_is_said() {
    let (whole, killed) = (path("v13-etl"), path("v13-killed"));
    for (base, new) in [(&whole, &killed), (&killed, &whole)] {
        let output = diff(base, new, &["--json"]);
        assert_eq!(output.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&output.stderr).contains("warning: "));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(found["doubts"].as_array().unwrap().len(), 1);
        let allowed = diff(base, new, &["--allow-truncated"]);
        assert_eq!(allowed.status.code(), Some(0));
    }
    let missing = diff(&whole, Path::new("no-such-file.bin"), &[]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(missing.stdout.is_empty());
}

#[test]
fn saved_profiles_compare_as_their_captures_do() {
    let folder = tempfile::tempdir().unwrap();
    let saved = [BEFORE, AFTER].map(|name| {
        let saved = folder.path().join(format!("{name}.mrp"));
        let mut slim = Command::cargo_bin("memreport").unwrap();
        slim.arg("slim")
            .arg(path(name))
            .args(["--no-symbols", "-q", "-o"]);
        slim.arg(&saved).assert().success();
        saved
    });
    for view in [&[][..], &["--leaks"], &["--allocations"], &["--exact"]] {
        let mut from_captures = json(&path(BEFORE), &path(AFTER), view);
        let mut from_saved = json(&saved[0], &saved[1], view);
        for found in [&mut from_captures, &mut from_saved] {
            for side in ["base", "new"] {
                found[side] = Value::Null;
            }
        }
        assert_eq!(from_saved, from_captures);
    }
}

#[test]
fn the_name_of_the_file_says_the_form() {
    let folder = tempfile::tempdir().unwrap();
    let (base, new) = (path(BEFORE), path(AFTER));
    let written = |name: &str, arguments: &[&str]| {
        let file = folder.path().join(name);
        let output = diff(
            &base,
            &new,
            &[arguments, &["-o", file.to_str().unwrap()]].concat(),
        );
        (output, fs::read_to_string(file).unwrap_or_default())
    };
    for (name, arguments) in [
        ("a.md", &["--markdown"][..]),
        ("a.json", &["--json"]),
        ("a.txt", &[]),
        ("a.JSON", &["--json"]),
        ("of.html.md", &["--markdown"]),
    ] {
        let (output, found) = written(name, &[]);
        assert!(text(&output).is_empty(), "{name}");
        assert_eq!(found, text(&diff(&base, &new, arguments)), "{name}");
    }
    for name in ["a.html", "a.HTM"] {
        let (output, page) = written(name, &["--all"]);
        assert!(text(&output).is_empty());
        assert!(page.starts_with("<!doctype html>"), "{name}");
    }
    for name in ["a.log", "a", ".html", "html"] {
        let (output, found) = written(name, &[]);
        assert_eq!((output.status.code(), &*found), (Some(2), ""), "{name}");
        let error = String::from_utf8(output.stderr).unwrap();
        for ending in [".html", ".md", ".json", ".txt"] {
            assert!(error.contains(ending), "{error}");
        }
        let (output, found) = written(name, &["--json"]);
        assert!(output.status.success() && found.starts_with('{'), "{name}");
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    let (output, short) = written("a.md", &["--budget", "2k"]);
    assert!(output.status.success() && short.len() <= 2000);
    for arguments in [&["-n", "3"][..], &["--budget", "8k"]] {
        let (output, _) = written("none.html", arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(!folder.path().join("none.html").exists());
    }
    #[cfg(unix)]
    assert!(diff(&base, &new, &["-o", "/dev/null"]).status.success());
}

#[test]
fn damage_on_either_side_is_in_the_page_and_in_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("diff.html");
    let arguments = ["-o", page.to_str().unwrap()];
    let (whole, killed) = (path("v13-etl"), path("v13-killed"));
    for (base, new) in [(&whole, &killed), (&killed, &whole)] {
        let output = diff(base, new, &arguments);
        assert_eq!(output.status.code(), Some(3));
        let found = fs::read_to_string(&page).unwrap();
        assert!(found.contains("The capture has no end record"));
        fs::remove_file(&page).unwrap();
    }
    let output = diff(&whole, Path::new("no-such-file.bin"), &arguments);
    assert_eq!(output.status.code(), Some(2));
    assert!(!page.exists());
}

#[test]
fn what_does_not_compare_is_said() {
    let run = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("memreport").unwrap();
        let captures = [path("v13-etl"), path("v13-pyalloc")];
        command.arg("diff").args(captures).args(arguments);
        command.output().unwrap()
    };
    let words = "Python's own allocators were traced in new only";
    let output = run(&["--json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains(words));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(found["doubts"][0].as_str().unwrap().contains(words));
    assert!(text(&run(&["--markdown"])).contains(words));
    assert!(run(&["-q"]).stderr.is_empty());
}
