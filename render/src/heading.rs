//! What stands above the rows of a report, whatever its form: what is selected, its exact total, what a
//! filter left out, what is doubtful.

use std::fmt::Write as _;

use memreport_aggregate::{Question, Selected};
use serde_json::{Value, json};

use crate::doubts::doubts;
use crate::form::short_remarks;
use crate::markdown::escaped;
use crate::selection::{left_out, question_name, title};
use crate::terminal::wrapped;
use crate::units::Units;

/// Version of the keys.
const SCHEMA: u32 = 1;

/// For a terminal, with an empty line below. What is doubtful is said on the error stream.
pub(crate) fn text_heading(selected: &Selected<'_>, units: Units, columns: usize) -> String {
    let mut text = wrapped(&title(selected, units), columns);
    if let Some(left_out) = left_out(selected, units) {
        text.push_str(&wrapped(&left_out, columns));
    }
    text.push('\n');
    text
}

/// As Markdown; remarks can be long, and are there on request.
pub(crate) fn markdown_heading(
    selected: &Selected<'_>,
    units: Units,
    with_remarks: bool,
) -> String {
    let mut text = format!("**{}**\n", title(selected, units));
    if let Some(left_out) = left_out(selected, units) {
        let _ = writeln!(text, "\n{left_out}");
    }
    if with_remarks {
        for remark in short_remarks(&doubts(selected.profile())) {
            let _ = writeln!(text, "\ndoubtful: {}", escaped(&remark));
        }
    }
    text
}

/// As JSON: an object for rows to be added to.
pub(crate) fn json_heading(
    report: &str,
    selected: &Selected<'_>,
    is_short: bool,
    with_remarks: bool,
) -> Value {
    let remarks = match with_remarks {
        true if is_short => short_remarks(&doubts(selected.profile())),
        true => doubts(selected.profile()),
        false => Vec::new(),
    };
    let mut heading = json!({
        "schema": SCHEMA,
        "report": report,
        "view": question_name(selected.question()),
        "whole_run": selected.is_whole_run(),
        "bytes": selected.total().bytes,
        "allocations": selected.total().allocations,
        "left_out": {
            "bytes": selected.left_out().bytes,
            "allocations": selected.left_out().allocations,
        },
        "doubts": remarks,
    });
    if let Question::Temporary { threshold } = selected.question() {
        heading["threshold"] = threshold.into();
    }
    heading
}
