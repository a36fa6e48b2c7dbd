//! The figures of a check for services that keep them over time.

use std::io::Write;

use memreport_aggregate::Verdict;
use serde_json::{Map, Value, json};

use super::CheckReport;
use super::words::unit;
use crate::Error;
use crate::ascii_json::write_line;

impl CheckReport<'_> {
    /// The measures of the whole run, then those of parts that rules are on, once each.
    ///
    /// * Source: the README of github-action-benchmark, `customSmallerIsBetter`
    pub(super) fn benchmark(&self, out: &mut dyn Write) -> Result<(), Error> {
        let entry = |name: String, unit: &str, value: u64| {
            let name = format!("{}: {name}", self.name);
            json!({ "name": name, "unit": unit, "value": value })
        };
        let figures = self.checked.figures.iter();
        let figures = figures.map(|figure| {
            let measure = figure.measure;
            entry(measure.to_string(), unit(measure), figure.value)
        });
        let parts = self.parts().into_iter().map(|part| {
            let subject = &part.rule.subject;
            entry(subject.to_string(), unit(subject.measure), part.measured)
        });
        write_line(&figures.chain(parts).collect::<Value>(), out)
    }

    /// A benchmark for the whole run, and one for each part that rules are on; each with its measures.
    ///
    /// * Source: Bencher's documentation of its metric format
    pub(super) fn bencher(&self, out: &mut dyn Write) -> Result<(), Error> {
        let mut benchmarks = Map::new();
        let mut put = |benchmark: String, measure: &str, value: u64| {
            let measures = benchmarks.entry(benchmark).or_insert_with(|| json!({}));
            measures[measure] = json!({ "value": value });
        };
        for figure in &self.checked.figures {
            put(self.name.to_owned(), figure.measure.name(), figure.value);
        }
        for part in self.parts() {
            let subject = &part.rule.subject;
            let pattern = subject.pattern().unwrap_or_default();
            let name = format!("{} in {pattern}", self.name);
            put(name, subject.measure.name(), part.measured);
        }
        write_line(&Value::Object(benchmarks), out)
    }

    /// A verdict for each part that rules are on, and measure of it: in the order of their names, which does not
    /// change from run to run as that of verdicts does.
    fn parts(&self) -> Vec<&Verdict> {
        let verdicts = self.checked.verdicts.iter();
        let of_parts = verdicts.filter(|of| of.rule.subject.part.is_some());
        let mut parts: Vec<&Verdict> = of_parts.collect();
        parts.sort_by_cached_key(|of| of.rule.subject.to_string());
        parts.dedup_by(|a, b| a.rule.subject == b.rule.subject);
        parts
    }
}
