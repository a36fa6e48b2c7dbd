//! Rules in a file.

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::rule::{Rule, Severity};
use super::scan::FaultyText;

/// Why a file gives no rules.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is no TOML, or has keys that nothing is known of.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A rule in it is none.
    #[error("line {line}, column {column}: {fault}")]
    Rule {
        /// Line of the rule, from 1.
        line: usize,
        /// Column that the rule starts in, from 1, in characters.
        column: usize,
        /// What is wrong with it.
        fault: FaultyText,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    limits: Vec<Spanned<String>>,
    #[serde(default)]
    alerts: Vec<Spanned<String>>,
    #[serde(default)]
    growth: Growth,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Growth {
    #[serde(default)]
    limits: Vec<Spanned<String>>,
    #[serde(default)]
    alerts: Vec<Spanned<String>>,
}

type Parse = fn(&str, Severity) -> Result<Rule, FaultyText>;

impl Rule {
    /// The rules of a file: TOML with `limits` and `alerts`, lists of rules on values, and the same on growth in a
    /// table `growth`.
    ///
    /// # Errors
    /// [`ConfigError`] for what is no such file; it says where.
    pub fn of_config(text: &str) -> Result<Vec<Self>, ConfigError> {
        let file: File = toml::from_str(text)?;
        let lists: [(_, Parse, _); 4] = [
            (file.limits, Self::on_value, Severity::Limit),
            (file.alerts, Self::on_value, Severity::Alert),
            (file.growth.limits, Self::on_growth, Severity::Limit),
            (file.growth.alerts, Self::on_growth, Severity::Alert),
        ];
        let mut rules = Vec::new();
        for (list, parse, severity) in lists {
            for rule in list {
                let parsed = parse(rule.get_ref(), severity);
                rules.push(parsed.map_err(|fault| at(text, rule.span().start, fault))?);
            }
        }
        Ok(rules)
    }
}

fn at(text: &str, offset: usize, fault: FaultyText) -> ConfigError {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let of_line = before.get(line_start..).unwrap_or_default();
    ConfigError::Rule {
        line: before.matches('\n').count() + 1,
        column: of_line.chars().count() + 1,
        fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_rules_of_the_command_line() {
        let rules = Rule::of_config(
            r#"
            limits = ["peak<512MiB", 'leaked<1MB in ^my\.pkg']
            alerts = ["peak<400MiB"]

            [growth]
            limits = ["peak<=10%"]
            alerts = ["allocations"]
            "#,
        );
        let rules = rules.unwrap();
        let texts: Vec<_> = rules.iter().map(Rule::to_string).collect();
        assert_eq!(
            texts,
            [
                "peak<512MiB",
                r"leaked<1MB in ^my\.pkg",
                "peak<400MiB",
                "growth of peak<=10%",
                "growth of allocations<=5% or 1000",
            ]
        );
        let limits: Vec<_> = rules.iter().map(Rule::is_limit).collect();
        assert_eq!(limits, [true, true, false, true, false]);
        assert!(Rule::of_config("").unwrap().is_empty());
    }

    #[test]
    fn faults_say_line_and_column() {
        let fault = |text| Rule::of_config(text).unwrap_err().to_string();
        assert_eq!(
            fault("limits = [\n  'peak<1MB',\n  'é', \"peak>1MB\"]\n"),
            "line 3, column 3: a measure is expected: peak, leaked, allocated, allocations or rss\n  é\n  ^"
        );
        assert!(
            fault("limits = ['rss<1MB', 'rss<1MB in x']")
                .starts_with("line 1, column 22: the resident set")
        );
        assert!(fault("\nlimit = []").contains("line 2, column 1"));
        assert!(fault("[growth]\npeak = 1").contains("unknown field `peak`"));
        assert!(fault("limits = 'peak<1MB'").contains("line 1, column 10"));
        assert!(fault("limits = [").contains("line 1, column"));
    }
}
