//! The same words for a check, wherever it is read.

use memreport_aggregate::{Checked, CodePlace, Level, Measure, Stack, Verdict};

use crate::diff::CALLED_BY;
use crate::diff::signed::{signed_bytes, signed_count, signed_percent};
use crate::summary::NO_STACK;
use crate::units::{Units, format_bytes, format_count};

/// The unit of a measure.
pub(super) fn unit(measure: Measure) -> &'static str {
    if measure.is_bytes() {
        "bytes"
    } else {
        "allocations"
    }
}

/// How a rule is kept.
pub(super) fn level_name(level: Level) -> &'static str {
    match level {
        Level::Passed => "passed",
        Level::Alert => "alert",
        Level::Failed => "failed",
    }
}

/// The result in a few words: `1 of 3 rules fails, 1 alert`.
pub(super) fn result(checked: &Checked) -> String {
    let n_rules = checked.verdicts.len();
    let of = match n_rules {
        0 => return "there are no rules".to_owned(),
        1 => "of 1 rule".to_owned(),
        n => format!("of {} rules", format_count(n as u64)),
    };
    let alerts = match checked.n(Level::Alert) {
        0 => String::new(),
        1 => ", 1 alert".to_owned(),
        n => format!(", {} alerts", format_count(n as u64)),
    };
    match checked.n(Level::Failed) {
        0 if alerts.is_empty() && n_rules == 1 => "1 rule passed".to_owned(),
        0 if alerts.is_empty() => format!("all {} rules passed", format_count(n_rules as u64)),
        0 => format!("none {of} failed{alerts}"),
        n => format!("{} {of} failed{alerts}", format_count(n as u64)),
    }
}

/// An amount as it is read most easily.
pub(super) fn short(measure: Measure, n: u64, units: Units) -> String {
    if measure.is_bytes() {
        format_bytes(n, units)
    } else {
        format_count(n)
    }
}

/// The same with its sign.
pub(super) fn signed(measure: Measure, n: i128, units: Units) -> String {
    if measure.is_bytes() {
        signed_bytes(n, units)
    } else {
        signed_count(n)
    }
}

/// An amount to the byte.
pub(super) fn exact(measure: Measure, n: u64, units: Units) -> String {
    let count = counted(n, unit(measure));
    if measure.is_bytes() && n >= 1000 {
        format!("{} ({count})", format_bytes(n, units))
    } else {
        count
    }
}

/// A number of what is named in the plural.
fn counted(n: u64, what: &str) -> String {
    let one = what.trim_end_matches('s');
    format!("{} {}", format_count(n), if n == 1 { one } else { what })
}

/// A change as a share of what was there, if anything was.
pub(super) fn share(change: i128, base: u64) -> Option<String> {
    (base > 0).then(|| signed_percent(change, base))
}

/// A part of a whole, if there is any.
fn percent(part: u64, whole: u64) -> Option<String> {
    let share = share(part.into(), whole)?;
    Some(share.trim_start_matches('+').to_owned())
}

/// What is measured for a rule, and how much too much it is.
pub(super) fn sentence(verdict: &Verdict, units: Units) -> String {
    let measure = verdict.rule.subject.measure;
    let of_nothing = if verdict.is_of_nothing {
        " (no frame matches the pattern)"
    } else {
        ""
    };
    let measured = exact(measure, verdict.measured, units);
    let against = verdict.base.map(|base| {
        let change = i128::from(verdict.measured) - i128::from(base);
        let share = share(change, base).map(|share| format!(" ({share})"));
        let change = signed(measure, change, units);
        let base = exact(measure, base, units);
        format!(
            ", {change}{} against the baseline's {base}",
            share.unwrap_or_default()
        )
    });
    let aside = (verdict.aside > 0).then(|| {
        let arenas = short(measure, verdict.aside, units);
        format!(", of which {arenas} of Python's arenas do not count")
    });
    let too_much = (verdict.level != Level::Passed).then(|| {
        let excess = exact(measure, verdict.excess(), units);
        match verdict.base {
            Some(_) => format!("; {excess} more than allowed"),
            None => {
                let share = percent(verdict.excess(), verdict.most);
                let share = share.map(|share| format!(", or {share},"));
                format!("; {excess}{} more than allowed", share.unwrap_or_default())
            }
        }
    });
    format!(
        "{measured}{of_nothing}{}{}{}",
        against.unwrap_or_default(),
        aside.unwrap_or_default(),
        too_much.unwrap_or_default()
    )
}

/// What stands above the stacks that explain a verdict.
pub(super) fn heading(verdict: &Verdict) -> &'static str {
    match verdict.base {
        Some(_) => "what grew most",
        None => "where it comes from",
    }
}

/// What stacks have.
pub(super) fn of_stack(verdict: &Verdict, amount: i128, units: Units) -> String {
    let measure = verdict.rule.subject.measure;
    match verdict.base {
        Some(_) => signed(measure, amount, units),
        None => short(measure, unsigned(amount), units),
    }
}

/// What stands for the stacks that are not shown, if there are any.
pub(super) fn more(verdict: &Verdict, n_more: usize, more: i128) -> Option<String> {
    let unit = unit(verdict.rule.subject.measure);
    let amount = match verdict.base {
        Some(_) => signed_count(more),
        None => format_count(unsigned(more)),
    };
    let stacks = counted(n_more as u64, "more stacks");
    (n_more > 0).then(|| format!("{stacks}, {amount} {unit}"))
}

fn unsigned(n: i128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// A function and where it is.
pub(super) fn place(place: &CodePlace) -> String {
    let CodePlace {
        function,
        file,
        line,
    } = place;
    match line {
        0 => format!("{function} at {file}"),
        line => format!("{function} at {file}:{line}"),
    }
}

/// The functions of a stack, innermost first: those that allocate and that are to be looked at with their place.
pub(super) fn functions(stack: &Stack) -> Vec<String> {
    if stack.frames.is_empty() {
        return vec![NO_STACK.to_owned()];
    }
    let frames = stack.frames.iter().enumerate();
    let functions = frames.map(|(i, frame)| match i {
        0 => place(frame),
        i if stack.blamed == Some(i) => place(frame),
        _ => frame.function.clone(),
    });
    functions.collect()
}

/// The same where there is little room: the function that allocates, in that to look at, then who called that.
pub(super) fn main_functions(stack: &Stack) -> Vec<String> {
    let blamed = stack.blamed.unwrap_or(0);
    let (Some(innermost), Some(guilty)) = (stack.frames.first(), stack.place()) else {
        return functions(stack);
    };
    let guilty = match blamed {
        0 => place(guilty),
        _ => format!("{} in {}", innermost.function, place(guilty)),
    };
    let callers = stack.frames.iter().skip(blamed + 1);
    let callers = callers.map(|frame| frame.function.clone());
    std::iter::once(guilty).chain(callers).collect()
}

/// All functions on one line.
pub(super) fn stack_line(stack: &Stack) -> String {
    functions(stack).join(CALLED_BY)
}
