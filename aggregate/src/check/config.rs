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
