//! Tests that Node.js runs.
#![allow(
    clippy::print_stdout,
    reason = "who runs the test sees what is missing"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What a test needs beside Node.js.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// A package of `web-assets/`.
    pub(crate) package: Option<&'static str>,
    /// Chromium.
    pub(crate) browser: bool,
}

impl Needs {
    /// What is not there.
    fn missing(self) -> Option<String> {
        let works = |program: &Path| Command::new(program).arg("--version").output().is_ok();
        if !works(Path::new("node")) {
            return Some("Node.js is not installed".to_owned());
        }
        let chromium =
            PathBuf::from(std::env::var("CHROMIUM").unwrap_or("/usr/bin/chromium".to_owned()));
        if self.browser && !works(&chromium) {
            return Some(format!("there is no {}", chromium.display()));
        }
        let folder = root().join("web-assets/node_modules");
        let missing = self
            .package
            .is_some_and(|package| !folder.join(package).exists());
        missing.then(|| "run `npm ci` in web-assets/ first".to_owned())
    }
}

/// Runs Node.js's test runner on files or folders, with these files in the environment. Where something is missing it says so and passes, unless
/// `MEMREPORT_BROWSER` is `required`.
pub(crate) fn node_test(needs: Needs, paths: &[PathBuf], files: &[(&str, &Path)]) {
    if let Some(missing) = needs.missing() {
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
        .envs(files.iter().copied())
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
