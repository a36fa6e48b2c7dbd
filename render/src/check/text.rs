//! A check for terminals.

use memreport_aggregate::{Level, Verdict};

use super::CheckReport;
use super::words::{heading, main_functions, more, of_stack, result, sentence};
use crate::diff::innermost_first;
use crate::terminal::wrapped;
use crate::text::{elided, printable, width};

/// Columns before what is said of a rule.
const INDENT: usize = 8;

impl CheckReport<'_> {
    /// Broken rules first, worst first, each with what explains it; then those that are kept, a line each.
    pub(super) fn text(&self, columns: usize) -> String {
        let mut text = String::new();
        let against = self
            .baseline
            .map(|of| format!(" against {}", printable(of)));
        let name = printable(self.name);
        let title = format!(
            "{name}{}: {}",
            against.unwrap_or_default(),
            result(self.checked)
        );
        text.push_str(&wrapped(&title, columns));
        for verdict in &self.checked.verdicts {
            if verdict.level != Level::Passed {
                text.push('\n');
            }
            self.verdict(verdict, columns, &mut text);
        }
        text
    }

    fn verdict(&self, verdict: &Verdict, columns: usize, text: &mut String) {
        let word = match verdict.level {
            Level::Passed => "ok",
            Level::Alert => "alert",
            Level::Failed => "FAILED",
        };
        let room = columns.saturating_sub(INDENT).max(1);
        let mut line = |start: &str, line: &str| {
            text.push_str(&elided(&format!("{start:<INDENT$}{line}"), columns));
            text.push('\n');
        };
        let rule = printable(&verdict.rule.to_string());
        let said = sentence(verdict, self.units);
        let both = format!("{rule}: {said}");
        if width(&both) <= room {
            line(word, &both);
        } else {
            line(word, &elided(&rule, room));
            wrapped(&said, room).lines().for_each(|said| line("", said));
        }
        let explanation = &verdict.explanation;
        let amounts = explanation.stacks.iter();
        let amounts: Vec<String> = amounts
            .map(|stack| of_stack(verdict, stack.amount, self.units))
            .collect();
        let widest = amounts.iter().map(|amount| width(amount)).max();
        let Some(widest) = widest else {
            return;
        };
        line("", &format!("{}:", heading(verdict)));
        for (stack, amount) in explanation.stacks.iter().zip(&amounts) {
            let functions = main_functions(stack);
            let functions: Vec<String> = functions.iter().map(|name| printable(name)).collect();
            let functions = innermost_first(&functions, room.saturating_sub(widest + 4));
            line("", &format!("  {amount:>widest$}  {functions}"));
        }
        let more = more(verdict, explanation.n_more, explanation.more);
        more.iter()
            .for_each(|more| line("", &format!("  … {more}")));
    }
}
