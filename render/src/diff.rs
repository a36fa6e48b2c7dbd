//! What differs between two captures: for terminals, as Markdown, as JSON.

mod cautions;
mod figures;
pub(crate) mod signed;

use std::fmt::Write as _;
use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId};
use memreport_aggregate::{
    Change, Diff, DiffOptions, FunctionChange, Profile, Selected, Selection, StackChange, Status,
};
use serde_json::{Value, json};

pub use self::cautions::cautions;
use self::figures::{Figure, figures};
pub(crate) use self::signed::signed_bytes;
use self::signed::{json_number, signed_count, signed_percent};
use crate::Error;
use crate::ascii_json::write_line;
use crate::doubts::doubts;
use crate::form::{Extent, Form, short_name, short_remarks, within};
use crate::markdown::{code, escaped};
use crate::selection::{left_out, question_name, title};
use crate::summary::NO_STACK;
use crate::terminal::{Line, at, table, wrapped};
use crate::text::{printable, width};
use crate::units::{Units, format_bytes, format_count};

/// Version of the keys.
const SCHEMA: u32 = 1;

/// Functions, and stacks, that are shown without asking.
const ROWS: usize = 15;

/// Bytes of Markdown without asking: what comments of code reviews take, which is 65,536 characters, with
/// room for a sentence of whoever posts it.
pub(crate) const COMMENT_BYTES: usize = 60_000;

/// Between a function and its caller.
pub(crate) const CALLED_BY: &str = " ← ";

/// What changed from one capture to another: totals, then the functions and stacks that changed most.
///
/// * Changes are figures of new less those of base. Those of the rows shown, and of those omitted, add up to
///   the change of the total
/// * Units of text and Markdown are as `units` says, but totals and omissions, which have bytes too
/// * Source: [`Diff`]
#[derive(Debug, Clone)]
pub struct DiffReport {
    /// What is compared.
    pub selection: Selection,
    /// Whether all allocations of the run are compared, freed or not, in place of the selection's question.
    pub made: bool,
    /// When frames of the two are the same.
    pub options: DiffOptions,
    /// What the captures are called: base and new.
    pub names: [String; 2],
    /// How many functions are shown, and how many stacks.
    pub extent: Extent,
    /// Multiples that bytes are shown in.
    pub units: Units,
    /// The form.
    pub form: Form,
}

impl DiffReport {
    /// Writes the report on base and new.
    ///
    /// # Errors
    /// [`Error`] if `out` cannot be written to, or a profile has no answer.
    pub fn write(&self, profiles: [&Profile; 2], out: &mut dyn Write) -> Result<(), Error> {
        let select = |profile| {
            if self.made {
                self.selection.made(profile)
            } else {
                self.selection.of(profile)
            }
        };
        let [base, new] = profiles.map(select);
        let selected = [base?, new?];
        let report = Report {
            asked: self,
            diff: Diff::of([&selected[0], &selected[1]], &self.options)?,
            selected,
        };
        let all = report.diff.functions.len().max(report.diff.stacks.len());
        let most = match self.extent {
            Extent::Screen => ROWS,
            Extent::Rows(n) => n,
            Extent::All => usize::MAX,
        };
        let most = most.min(all);
        let text = match self.form {
            Form::Text { columns } => report.text(most, columns).into_bytes(),
            Form::Markdown { budget } => {
                let budget = budget.unwrap_or(COMMENT_BYTES);
                within(Some(budget), most + 1, |step| {
                    Ok(report.markdown(step).into_bytes())
                })?
            }
            Form::Json { budget } => {
                within(budget, most + 1, |step| report.json(step, budget.is_some()))?
            }
        };
        out.write_all(&text)?;
        Ok(())
    }
}

/// The diff, and what is said about it.
struct Report<'a> {
    asked: &'a DiffReport,
    selected: [Selected<'a>; 2],
    diff: Diff,
}

/// Rows of which the first are shown, and what the others changed by.
struct Split<'a, R> {
    shown: &'a [R],
    n_omitted: usize,
    omitted: Change,
}

fn split<R>(rows: &[R], n: usize, change: impl Fn(&R) -> Change) -> Split<'_, R> {
    let (shown, others) = rows.split_at(n.min(rows.len()));
    let mut omitted = Change::default();
    others.iter().for_each(|row| omitted.add(change(row)));
    Split {
        shown,
        n_omitted: others.len(),
        omitted,
    }
}

impl Report<'_> {
    fn functions(&self, n: usize) -> Split<'_, FunctionChange> {
        split(&self.diff.functions, n, |function| function.own)
    }

    fn stacks(&self, n: usize) -> Split<'_, StackChange> {
        split(&self.diff.stacks, n, |stack| stack.change)
    }

    fn figures(&self) -> Vec<Figure> {
        figures([&self.selected[0], &self.selected[1]].map(Selected::profile))
    }

    fn view(&self) -> &'static str {
        if self.asked.made {
            return "allocations";
        }
        question_name(self.selected[1].question())
    }

    /// What is selected of both, and its change.
    fn titles(&self) -> [String; 3] {
        let units = self.asked.units;
        let of_side = |name: &str, selected: &Selected<'_>| {
            let what = if self.asked.made {
                let total = selected.total();
                let (bytes, count) = (total.bytes, format_count(total.allocations));
                let exact = format_count(bytes);
                let bytes = format_bytes(bytes, units);
                format!("All allocations: {bytes} ({exact} bytes) in {count} allocations")
            } else {
                title(selected, units)
            };
            let left_out = left_out(selected, units).map(|left_out| format!("; {left_out}"));
            format!("{name}: {what}{}", left_out.unwrap_or_default())
        };
        let total = &self.diff.total;
        [
            of_side("base", &self.selected[0]),
            of_side("new", &self.selected[1]),
            format!(
                "change: {} ({} bytes), {} allocations",
                signed_bytes(total.bytes(), units),
                signed_count(total.bytes()),
                signed_count(total.allocations())
            ),
        ]
    }

    /// Name and module of a function.
    fn names(&self, of: &FunctionChange) -> [String; 2] {
        let text = |id| self.diff.common.strings.text(id).into_owned();
        of.function.map_or_else(
            || [NO_STACK; 2].map(str::to_owned),
            |(function, module)| [text(function), text(module)],
        )
    }

    fn frame(&self, frame: FrameId) -> [String; 2] {
        let common = &self.diff.common;
        let frame = common.frames.get(frame);
        let line = match frame.line {
            line if line > 0 => format!(":{line}"),
            _ => String::new(),
        };
        [
            common.strings.text(frame.function).into_owned(),
            common.strings.text(frame.file).into_owned() + &line,
        ]
    }

    /// The innermost function, and where; then who called it.
    fn stack(&self, node: NodeId) -> ([String; 2], Vec<String>) {
        let mut frames = self.diff.common.call_tree.stack(node);
        let innermost = frames.next().map(|frame| self.frame(frame));
        let callers = frames.map(|frame| {
            let [function, _] = self.frame(frame);
            function
        });
        (
            innermost.unwrap_or_else(|| [NO_STACK; 2].map(str::to_owned)),
            callers.collect(),
        )
    }

    /// What its own bytes became, as a word or a share.
    fn became(change: &Change) -> String {
        match change.status() {
            Status::New => "new".to_owned(),
            Status::Gone => "gone".to_owned(),
            _ => signed_percent(change.bytes(), change.base.bytes),
        }
    }

    fn omitted(&self, what: &str, n: usize, omitted: &Change) -> Option<String> {
        (n > 0).then(|| {
            format!(
                "{} more {what}, {} bytes",
                format_count(n as u64),
                signed_count(omitted.bytes())
            )
        })
    }

    fn text(&self, n: usize, columns: usize) -> String {
        let units = self.asked.units;
        let mut text = String::new();
        for (side, name) in ["base", "new"].into_iter().zip(&self.asked.names) {
            text.push_str(&wrapped(&format!("{side}: {}", printable(name)), columns));
        }
        text.push('\n');
        let figures = self.figures();
        let lines: Vec<Line<'_, 4>> = figures.iter().map(|of| of.line(units)).collect();
        let headers = ["Base", "New", "Change", "%"];
        text.push_str(&table((headers, "Whole run"), &lines, &[3, 0], columns));
        text.push('\n');
        for title in self.titles() {
            text.push_str(&wrapped(&title, columns));
        }
        let functions = self.functions(n);
        let stacks = self.stacks(n);
        if self.diff.functions.is_empty() {
            text.push_str("nothing changed\n");
            return text;
        }
        let numbers = |change: &Change, others: Option<i128>| {
            [
                signed_bytes(change.bytes(), units),
                Self::became(change),
                format_bytes(change.new.bytes, units),
                others.map_or_else(String::new, |bytes| signed_bytes(bytes, units)),
                signed_count(change.allocations()),
            ]
        };
        let lines: Vec<Line<'_, 5>> = (functions.shown.iter())
            .map(|of| {
                let [function, module] = self.names(of).map(|name| printable(&name));
                Line {
                    numbers: numbers(&of.own, Some(of.total.bytes())),
                    name: Box::new(move |room| at(&function, &module, room)),
                }
            })
            .collect();
        text.push('\n');
        let headers = ["Own", "%", "New own", "Total", "Count"];
        text.push_str(&table(
            (headers, "Function"),
            &lines,
            &[4, 2, 3, 1],
            columns,
        ));
        let more = self.omitted("functions", functions.n_omitted, &functions.omitted);
        text.extend(more.map(|more| wrapped(&format!("… {more} of their own"), columns)));
        let lines: Vec<Line<'_, 4>> = (stacks.shown.iter())
            .map(|of| {
                let [change, became, new, _, count] = numbers(&of.change, None);
                let ([function, module], callers) = self.stack(of.node);
                let innermost = match function == NO_STACK {
                    true => function,
                    false => printable(&format!("{function} at {module}")),
                };
                let callers = callers.iter().map(|name| printable(name));
                let stack: Vec<String> = std::iter::once(innermost).chain(callers).collect();
                Line {
                    numbers: [change, became, new, count],
                    name: Box::new(move |room| innermost_first(&stack, room)),
                }
            })
            .collect();
        text.push('\n');
        let headers = ["Change", "%", "New", "Count"];
        text.push_str(&table((headers, "Stack"), &lines, &[3, 2, 1], columns));
        let more = self.omitted("stacks", stacks.n_omitted, &stacks.omitted);
        text.extend(more.map(|more| wrapped(&format!("… {more}"), columns)));
        text
    }

    /// With `step` − 1 functions and as many stacks; at step 0 only what must not be missing.
    fn markdown(&self, step: usize) -> String {
        let units = self.asked.units;
        let n = step.saturating_sub(1);
        let name = |name: &str| code(&short_name(name));
        let [base, new] = self.asked.names.each_ref().map(|side| name(side));
        let mut text = format!("**Memory: {base} → {new}**\n\n");
        text.push_str("| whole run | base | new | change | % |\n| :-- | --: | --: | --: | --: |\n");
        for figure in self.figures() {
            text.push_str(&figure.markdown(units));
        }
        for title in self.titles() {
            let _ = writeln!(text, "\n{title}");
        }
        if step > 0 {
            for remark in self.remarks(true) {
                let _ = writeln!(text, "\n{}", escaped(&remark));
            }
        }
        if self.diff.functions.is_empty() {
            text.push_str("\nNothing changed.\n");
            return text;
        }
        let functions = self.functions(n);
        if !functions.shown.is_empty() {
            text.push_str("\n| own bytes | % | with callees | allocations | function |\n");
            text.push_str("| --: | --: | --: | --: | :-- |\n");
        }
        for of in functions.shown {
            let [function, module] = self.names(of).map(|of| name(&of));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {function} at {module} |",
                signed_bytes(of.own.bytes(), units),
                Self::became(&of.own),
                signed_bytes(of.total.bytes(), units),
                signed_count(of.own.allocations()),
            );
        }
        let more = self.omitted("functions", functions.n_omitted, &functions.omitted);
        if let Some(more) = more {
            let _ = writeln!(text, "\n… {more} of their own");
        }
        let stacks = self.stacks(n);
        if !stacks.shown.is_empty() {
            text.push_str("\n| bytes | % | allocations | stack, innermost function first |\n");
            text.push_str("| --: | --: | --: | :-- |\n");
        }
        for of in stacks.shown {
            let ([function, module], callers) = self.stack(of.node);
            let stack = format!("{} at {}", name(&function), name(&module));
            let callers = match callers.as_slice() {
                [] => String::new(),
                callers => CALLED_BY.to_owned() + &name(&callers.join(CALLED_BY)),
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {stack}{callers} |",
                signed_bytes(of.change.bytes(), units),
                Self::became(&of.change),
                signed_count(of.change.allocations()),
            );
        }
        let more = self.omitted("stacks", stacks.n_omitted, &stacks.omitted);
        if let Some(more) = more {
            let _ = writeln!(text, "\n… {more}");
        }
        text
    }

    /// What is doubtful about either capture, and what keeps the two from being compared.
    fn remarks(&self, is_short: bool) -> Vec<String> {
        let profiles = self.selected.each_ref().map(Selected::profile);
        let sides = ["base", "new"].into_iter().zip(profiles);
        let doubts = sides.flat_map(|(side, profile)| {
            let doubts = doubts(profile).into_iter();
            doubts.map(move |doubt| format!("doubtful in {side}: {doubt}"))
        });
        let remarks: Vec<String> = doubts.chain(cautions(profiles)).collect();
        if is_short {
            return short_remarks(&remarks);
        }
        remarks
    }

    /// The same steps. Where bytes are counted, names are short, and stacks lose their outermost frames.
    fn json(&self, step: usize, is_short: bool) -> Result<Vec<u8>, Error> {
        let n = step.saturating_sub(1);
        let shown = |name: String| if is_short { short_name(&name) } else { name };
        let (functions, stacks) = (self.functions(n), self.stacks(n));
        let function_rows = functions.shown.iter().map(|of| {
            let [function, module] = self.names(of).map(shown);
            let mut row =
                json!({ "function": function, "module": module, "status": status(&of.own) });
            put(&mut row, "own_", &of.own);
            put(&mut row, "", &of.total);
            row
        });
        let stack_rows = stacks.shown.iter().map(|of| {
            let frames = self.diff.common.call_tree.stack(of.node);
            let most = if is_short { 64 } else { usize::MAX };
            let frames = frames.take(most).map(|frame| {
                let of_frame = self.diff.common.frames.get(frame);
                let text = |id| self.diff.common.strings.text(id).into_owned();
                let [function, module] =
                    [of_frame.function, of_frame.file].map(|id| shown(text(id)));
                let mut frame = json!({ "function": function, "module": module });
                if self.asked.options.exact {
                    frame["line"] = of_frame.line.into();
                }
                frame
            });
            let mut row =
                json!({ "stack": frames.collect::<Value>(), "status": status(&of.change) });
            put(&mut row, "", &of.change);
            row
        });
        let mut total = json!({});
        put(&mut total, "", &self.diff.total);
        let [base, new] = self.asked.names.each_ref().map(|name| shown(name.clone()));
        let mut document = json!({
            "schema": SCHEMA,
            "report": "diff",
            "base": base,
            "new": new,
            "view": self.view(),
            "whole_run": self.asked.made || self.selected.iter().all(Selected::is_whole_run),
            "exact": self.asked.options.exact,
            "figures": self.figures().iter().map(Figure::json).collect::<Value>(),
            "total": total,
            "doubts": if step > 0 { self.remarks(is_short) } else { Vec::new() },
            "functions": function_rows.collect::<Value>(),
            "stacks": stack_rows.collect::<Value>(),
            "unchanged_stacks": self.diff.n_unchanged_stacks,
            "omitted": {
                "functions": functions.n_omitted,
                "own_bytes_change": json_number(functions.omitted.bytes()),
                "stacks": stacks.n_omitted,
                "bytes_change": json_number(stacks.omitted.bytes()),
            },
        });
        let left_out = |side: &Selected<'_>| json!({ "bytes": side.left_out().bytes, "allocations": side.left_out().allocations });
        document["left_out"] =
            json!({ "base": left_out(&self.selected[0]), "new": left_out(&self.selected[1]) });
        let mut text = Vec::new();
        write_line(&document, &mut text)?;
        Ok(text)
    }
}

/// As many functions of a stack as fit, and how many more there are; the first always.
pub(crate) fn innermost_first(stack: &[String], columns: usize) -> String {
    let more = |n: usize| format!("{CALLED_BY}{} more", format_count(n as u64));
    let mut best = String::new();
    let mut text = String::new();
    for (n, function) in (1..).zip(stack) {
        if n > 1 {
            text.push_str(CALLED_BY);
        }
        text.push_str(function);
        let left = stack.len() - n;
        let shown = match left {
            0 => text.clone(),
            _ => text.clone() + &more(left),
        };
        if n == 1 || width(&shown) <= columns {
            best = shown;
        }
        if width(&text) > columns {
            break;
        }
    }
    best
}

/// Puts a change's figures into a row.
fn put(row: &mut Value, prefix: &str, change: &Change) {
    for (name, value) in [
        ("bytes_base", change.base.bytes.into()),
        ("bytes_new", change.new.bytes.into()),
        ("bytes_change", json_number(change.bytes())),
        ("allocations_base", change.base.allocations.into()),
        ("allocations_new", change.new.allocations.into()),
        ("allocations_change", json_number(change.allocations())),
    ] {
        let value: Value = value;
        row[format!("{prefix}{name}")] = value;
    }
}

fn status(change: &Change) -> &'static str {
    match change.status() {
        Status::New => "new",
        Status::Gone => "gone",
        Status::Grown => "grown",
        Status::Shrank => "shrank",
        Status::Unchanged => "unchanged",
    }
}
