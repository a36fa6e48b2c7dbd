//! The viewer: its own tests under Node.js, and the page in a real browser.
//!
//! They need Node.js, the packages of `web-assets/` (`npm ci`) and Chromium. Where something is missing
//! they say so and pass, unless `MEMREPORT_BROWSER` is `required`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::path::PathBuf;

use support::node::{Needs, node_test, root};

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
    node_test(Needs::default(), &tests);
}

#[test]
fn the_page_in_a_browser() {
    let needs = Needs {
        package: Some("playwright-core"),
        browser: true,
    };
    node_test(needs, &[root().join("tests/browser/page.test.mjs")]);
}
