//! Exports as other programs read them, under Node.js: speedscope's importers and a decoder of pprof's
//! format.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use support::node::{Needs, node_test, root};

#[test]
fn readers_of_each_format_find_what_the_json_has() {
    let needs = Needs {
        package: Some("speedscope"),
        browser: false,
    };
    node_test(needs, &[root().join("tests/readers/readers.test.mjs")], &[]);
}
