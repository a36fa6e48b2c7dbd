//! The viewer: its own tests under Node.js, and the page in a real browser.
//!
//! They need Node.js, the packages of `web-assets/` (`npm ci`) and Chromium. Where something is missing
//! they say so and pass, unless `MEMREPORT_BROWSER` is `required`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(
    clippy::print_stdout,
    reason = "who runs the test sees what is missing"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a test needs and does not find.
fn missing(needs_browser: bool) -> Option<String> {
    let works = |program: &Path| Command::new(program).arg("--version").output().is_ok();
    if !works(Path::new("node")) {
        return Some("Node.js is not installed".to_owned());
    }
    if !needs_browser {
        return None;
    }
    let chromium =
        PathBuf::from(std::env::var("CHROMIUM").unwrap_or("/usr/bin/chromium".to_owned()));
    if !works(&chromium) {
        return Some(format!("there is no {}", chromium.display()));
    }
    let packages = root().join("web-assets/node_modules/playwright-core");
    (!packages.exists()).then(|| "run `npm ci` in web-assets/ first".to_owned())
}

/// Runs Node.js's test runner on files or folders.
fn node_test(needs_browser: bool, paths: &[PathBuf]) {
    if let Some(missing) = missing(needs_browser) {
        let required = std::env::var("MEMREPORT_BROWSER").is_ok_and(|value| value == "required");
        assert!(!required, "{missing}");
        println!("skipped: {missing}");
        return;
    }
    let output = Command::new("node")
        .arg("--test")
        .args(paths)
        .current_dir(root())
        .env("MEMREPORT", env!("CARGO_BIN_EXE_memreport"))
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{report}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let passed = report.lines().find_map(|line| line.strip_prefix("# pass "));
    assert!(passed.is_some_and(|n| n != "0"), "no test ran:\n{report}");
}

#[test]
fn the_modules_that_know_no_page() {
    let core = root().join("web-assets/core");
    let files = std::fs::read_dir(core)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let tests: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    assert!(!tests.is_empty());
    node_test(false, &tests);
}

#[test]
fn the_page_of_a_table_in_a_browser() {
    node_test(true, &[root().join("tests/browser/table.test.mjs")]);
}

#[test]
fn the_page_in_a_browser() {
    node_test(true, &[root().join("tests/browser/page.test.mjs")]);
}
