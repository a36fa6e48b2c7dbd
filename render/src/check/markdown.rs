//! A check as Markdown.

use std::fmt::Write as _;

use memreport_aggregate::Verdict;

use super::CheckReport;
use super::words::{
    functions, heading, level_name, more, of_stack, result, sentence, share, short, signed,
};
use crate::Error;
use crate::diff::{CALLED_BY, COMMENT_BYTES};
use crate::form::{short_name, short_remarks, within};
use crate::markdown::{code, escaped};
use crate::units::format_count;

impl CheckReport<'_> {
    /// The result, a table of the rules, one of the whole run's figures, then what explains each broken rule. Where
    /// bytes are counted, the last are left out first.
    pub(super) fn markdown(&self, budget: Option<usize>) -> Result<Vec<u8>, Error> {
        let n_rules = self.checked.verdicts.len();
        let n_stacks: usize = self
            .checked
            .broken()
            .map(|broken| broken.explanation.stacks.len() + 1)
            .sum();
        let budget = budget.unwrap_or(COMMENT_BYTES);
        within(Some(budget), n_rules + n_stacks + 1, |step| {
            Ok(self.markdown_of(step).into_bytes())
        })
    }

    /// With so many rows: rules first, then figures and what is doubtful, then stacks.
    fn markdown_of(&self, step: usize) -> String {
        let name = |name: &str| code(&short_name(name));
        let against = self.baseline.map(|of| format!(" against {}", name(of)));
        let mut text = format!(
            "**Memory of {}{}: {}**\n",
            name(self.name),
            against.unwrap_or_default(),
            result(self.checked)
        );
        let verdicts = &self.checked.verdicts;
        let shown = step.min(verdicts.len());
        if shown > 0 {
            text.push_str("\n| | rule | measured | allowed | too much |\n");
            text.push_str("| :-- | :-- | --: | --: | --: |\n");
        }
        for verdict in verdicts.iter().take(shown) {
            text.push_str(&self.markdown_row(verdict));
        }
        let n_more = verdicts.len() - shown;
        if n_more > 0 {
            let _ = writeln!(text, "\n… {} more rules", format_count(n_more as u64));
        }
        let Some(mut left) = step.checked_sub(verdicts.len() + 1) else {
            return text;
        };
        self.markdown_figures(&mut text);
        for doubt in short_remarks(self.doubts) {
            let _ = writeln!(text, "\ndoubtful: {}", escaped(&doubt));
        }
        for verdict in self.checked.broken() {
            let Some(rest) = left.checked_sub(1) else {
                break;
            };
            let n = rest.min(verdict.explanation.stacks.len());
            left = rest - n;
            self.markdown_explanation(verdict, n, &mut text);
        }
        text
    }

    fn markdown_row(&self, verdict: &Verdict) -> String {
        let measure = verdict.rule.subject.measure;
        let excess = match verdict.excess() {
            0 => String::new(),
            excess => short(measure, excess, self.units),
        };
        format!(
            "| {} | {} | {} | {} | {excess} |\n",
            level_name(verdict.level),
            code(&short_name(&verdict.rule.to_string())),
            short(measure, verdict.measured, self.units),
            short(measure, verdict.most, self.units),
        )
    }

    fn markdown_figures(&self, text: &mut String) {
        let has_base = self.baseline.is_some();
        text.push_str(if has_base {
            "\n| whole run | baseline | here | change | % |\n| :-- | --: | --: | --: | --: |\n"
        } else {
            "\n| whole run | here |\n| :-- | --: |\n"
        });
        for figure in &self.checked.figures {
            let (measure, units) = (figure.measure, self.units);
            let value = short(measure, figure.value, units);
            if !has_base {
                let _ = writeln!(text, "| {measure} | {value} |");
                continue;
            }
            let [base, change, percent] = match figure.base {
                None => ["–".to_owned(), String::new(), String::new()],
                Some(base) => {
                    let change = i128::from(figure.value) - i128::from(base);
                    [
                        short(measure, base, units),
                        signed(measure, change, units),
                        share(change, base).unwrap_or_default(),
                    ]
                }
            };
            let _ = writeln!(
                text,
                "| {measure} | {base} | {value} | {change} | {percent} |"
            );
        }
    }

    fn markdown_explanation(&self, verdict: &Verdict, n: usize, text: &mut String) {
        let _ = writeln!(
            text,
            "\n**{}**: {}",
            code(&short_name(&verdict.rule.to_string())),
            sentence(verdict, self.units)
        );
        let explanation = &verdict.explanation;
        if explanation.stacks.is_empty() {
            return;
        }
        let (shown, others) = explanation.stacks.split_at(n);
        if n > 0 {
            let _ = writeln!(
                text,
                "\n| {} | stack, innermost function first |",
                heading(verdict)
            );
            text.push_str("| --: | :-- |\n");
        }
        for stack in shown {
            let amount = of_stack(verdict, stack.amount, self.units);
            let functions: Vec<String> = functions(stack)
                .iter()
                .map(|function| short_name(function))
                .collect();
            let stack = match functions.split_first() {
                Some((innermost, [])) => code(innermost),
                Some((innermost, callers)) => {
                    let callers = short_name(&callers.join(CALLED_BY));
                    code(innermost) + CALLED_BY + &code(&callers)
                }
                None => String::new(),
            };
            let _ = writeln!(text, "| {amount} | {stack} |");
        }
        let hidden: i128 = others.iter().map(|stack| stack.amount).sum();
        let n_more = explanation.n_more + others.len();
        if let Some(more) = more(verdict, n_more, explanation.more + hidden) {
            let _ = writeln!(text, "\n… {more}");
        }
    }
}
