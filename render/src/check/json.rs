//! A check as JSON.

use std::io::Write;

use memreport_aggregate::{CodePlace, Figure, Severity, Stack, Verdict};
use serde_json::{Value, json};

use super::CheckReport;
use super::words::level_name;
use crate::Error;
use crate::ascii_json::write_line;
use crate::diff::signed::json_number;

/// Version of the keys.
const SCHEMA: u32 = 1;

impl CheckReport<'_> {
    pub(super) fn json(&self, out: &mut dyn Write) -> Result<(), Error> {
        let document = json!({
            "schema": SCHEMA,
            "report": "check",
            "name": self.name,
            "baseline": self.baseline,
            "passed": self.checked.passed(),
            "doubts": self.doubts,
            "figures": self.checked.figures.iter().map(figure).collect::<Value>(),
            "rules": self.checked.verdicts.iter().map(rule).collect::<Value>(),
        });
        write_line(&document, out)
    }
}

fn figure(figure: &Figure) -> Value {
    let change = |base| i128::from(figure.value) - i128::from(base);
    json!({
        "measure": figure.measure.name(),
        "value": figure.value,
        "base": figure.base,
        "change": figure.base.map(|base| json_number(change(base))),
    })
}

fn rule(verdict: &Verdict) -> Value {
    let explanation = &verdict.explanation;
    json!({
        "rule": verdict.rule.to_string(),
        "severity": match verdict.rule.severity {
            Severity::Limit => "limit",
            Severity::Alert => "alert",
        },
        "measure": verdict.rule.subject.measure.name(),
        "pattern": verdict.rule.subject.pattern(),
        "on_growth": verdict.rule.is_on_growth(),
        "result": level_name(verdict.level),
        "measured": verdict.measured,
        "matches_nothing": verdict.is_of_nothing,
        "base": verdict.base,
        "most": verdict.most,
        "aside": verdict.aside,
        "excess": verdict.excess(),
        "stacks": explanation.stacks.iter().map(stack).collect::<Value>(),
        "omitted": {
            "stacks": explanation.n_more,
            "amount": json_number(explanation.more),
        },
    })
}

fn stack(stack: &Stack) -> Value {
    let frame = |place: &CodePlace| json!([place.function, place.file, place.line]);
    json!({
        "amount": json_number(stack.amount),
        "stack": stack.frames.iter().map(frame).collect::<Value>(),
        "blamed": stack.blamed,
    })
}
