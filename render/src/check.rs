//! What came of a check, for people, for CI systems and for services that keep figures.

mod benchmark;
mod github;
mod json;
mod junit;
mod markdown;
mod text;
mod words;

use std::io::Write;

use memreport_aggregate::Checked;

use self::github::Folders;
use crate::Error;
use crate::units::Units;

/// A report on a check.
#[derive(Debug)]
pub struct CheckReport<'a> {
    /// What came of it.
    pub checked: &'a Checked,
    /// What the run is called.
    pub name: &'a str,
    /// What the baseline is called, if there is one.
    pub baseline: Option<&'a str>,
    /// What is doubtful about the captures, in words.
    pub doubts: &'a [String],
    /// Multiples that bytes are shown in.
    pub units: Units,
}

/// How a check is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckForm<'a> {
    /// Lines for a terminal.
    Text {
        /// Its width; no line is longer.
        columns: usize,
    },
    /// The same for the log of a GitHub action, whose runner takes no line of it for a command; then the commands
    /// that make annotations of what is broken.
    Github {
        /// Columns of the lines.
        columns: usize,
        /// Folder that the repository is in: annotations are at files below it.
        workspace: Option<&'a str>,
        /// Folder that relative files are taken to be in: where the command runs.
        folder: Option<&'a str>,
    },
    /// Markdown, for a pull request or a job summary.
    Markdown {
        /// Bytes that are written at most; if none are said, as many as a comment may have.
        budget: Option<usize>,
    },
    /// JSON; `SCHEMA.md` documents its keys.
    Json,
    /// JUnit's XML: a test case for each rule.
    Junit,
    /// What github-action-benchmark reads as `customSmallerIsBetter`.
    Benchmark,
    /// Bencher Metric Format.
    Bencher,
}

impl CheckReport<'_> {
    /// Writes the report.
    ///
    /// # Errors
    /// [`Error`] if `out` cannot be written to, or a budget is too small for the result alone.
    pub fn write(&self, form: CheckForm<'_>, out: &mut dyn Write) -> Result<(), Error> {
        let text = match form {
            CheckForm::Text { columns } => self.text(columns).into_bytes(),
            CheckForm::Github {
                columns,
                workspace,
                folder,
            } => {
                let folders = Folders { workspace, folder };
                self.github(columns, &folders).into_bytes()
            }
            CheckForm::Markdown { budget } => self.markdown(budget)?,
            CheckForm::Json => return self.json(out),
            CheckForm::Junit => return self.junit(out),
            CheckForm::Benchmark => return self.benchmark(out),
            CheckForm::Bencher => return self.bencher(out),
        };
        out.write_all(&text)?;
        Ok(())
    }
}
