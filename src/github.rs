//! The runner of a GitHub action: what it says in the environment, and the file of its job summary.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use memreport_render::{CheckForm, CheckReport, Error as RenderError};

use crate::progress::say;

/// Bytes that a step may add to its job's summary.
const SUMMARY_BYTES: u64 = 1 << 20;

/// Where the runner has put the repository, if this runs in an action.
pub(crate) fn workspace() -> Option<String> {
    let folder = env::var_os("GITHUB_WORKSPACE").filter(|folder| !folder.is_empty())?;
    Some(folder.to_string_lossy().into_owned())
}

/// Where the command runs, which relative files of a capture are taken to be below.
pub(crate) fn folder() -> Option<String> {
    let folder = env::current_dir().ok()?;
    Some(folder.to_string_lossy().into_owned())
}

/// Adds the report to the job's summary, as much of it as there is room for.
pub(crate) fn add_to_summary(report: &CheckReport<'_>) -> Result<()> {
    let file = env::var_os("GITHUB_STEP_SUMMARY").filter(|file| !file.is_empty());
    let Some(file) = file.map(PathBuf::from) else {
        say("note: GITHUB_STEP_SUMMARY is not set: there is no job summary to add to");
        return Ok(());
    };
    let cannot = || format!("cannot add to the job summary {}", file.display());
    let budget = room(&file);
    let mut text = Vec::new();
    let form = CheckForm::Markdown {
        budget: Some(budget),
    };
    match report.write(form, &mut text) {
        Ok(()) => {}
        Err(RenderError::Budget { .. }) => {
            say("note: the job summary is full; nothing is added to it");
            return Ok(());
        }
        Err(error) => return Err(error).with_context(cannot),
    }
    // What stands before it ends with its line, and what follows starts a paragraph.
    let text = [b"\n", text.as_slice(), b"\n"].concat();
    let mut options = OpenOptions::new();
    let opened = options.append(true).create(true).open(&file);
    opened
        .and_then(|mut file| file.write_all(&text))
        .with_context(cannot)
}

/// Bytes that the summary still takes, with a line's end before and after them.
fn room(file: &Path) -> usize {
    let taken = fs::metadata(file).map_or(0, |metadata| metadata.len());
    let room = SUMMARY_BYTES.saturating_sub(taken).saturating_sub(3);
    usize::try_from(room).unwrap_or(0)
}
