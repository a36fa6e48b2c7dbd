//! A selection by function: for terminals, as Markdown, as JSON.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::Write;

use memreport_aggregate::ingest::Tally;
use memreport_aggregate::{FunctionRow, Profile, Selected, Selection};
use serde_json::json;

use crate::ascii_json::write_line;
use crate::form::{Extent, Form, MARKDOWN_LINES, short_name, within};
use crate::heading::{json_heading, markdown_heading, text_heading};
use crate::markdown::code;
use crate::stacks::thread_label;
use crate::terminal::{Line, at, more, percent, table};
use crate::text::printable;
use crate::units::{Units, format_bytes, format_count};
use crate::{Error, Output};

/// Stands for what has no stack.
pub(crate) const NO_STACK: &str = "???";

/// What functions are ordered by, largest first; of equals, those met first come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FunctionOrder {
    /// Bytes that they allocate themselves.
    #[default]
    Own,
    /// Bytes that they and what they call allocate.
    Total,
    /// Allocations that they and what they call make.
    Count,
}

/// Which functions allocate: each with its own bytes, and with those of all that it calls.
///
/// * A function is a name and a file; its lines are together. A stack counts once for each function in
///   it, however often it is there
/// * The own bytes of the rows shown, and of those omitted, add up to the selection's total
/// * Shares are of that total. Units of text are as `units` says; Markdown and JSON have bytes
/// * Source: `semantics.md`, section 9
#[derive(Debug, Clone)]
pub struct Summary {
    /// What is shown. Which way stacks go does not matter.
    pub selection: Selection,
    /// What functions are ordered by.
    pub order: FunctionOrder,
    /// How many of them are shown.
    pub extent: Extent,
    /// Multiples that bytes are shown in.
    pub units: Units,
    /// The form.
    pub form: Form,
}

impl Output for Summary {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let mut functions = selected.by_function();
        functions.sort_by_key(|of| {
            Reverse(match self.order {
                FunctionOrder::Own => of.own.bytes,
                FunctionOrder::Total => of.total.bytes,
                FunctionOrder::Count => of.total.allocations,
            })
        });
        let list = List {
            selected,
            functions,
            units: self.units,
        };
        let most = self.extent.rows(MARKDOWN_LINES).min(list.functions.len());
        let text = match self.form {
            Form::Text { columns } => list.text(self.extent, columns).into_bytes(),
            Form::Markdown { budget } => within(budget, most + 1, |step| {
                Ok(list.markdown(step).into_bytes())
            })?,
            Form::Json { budget } => {
                within(budget, most + 1, |step| list.json(step, budget.is_some()))?
            }
        };
        out.write_all(&text)?;
        Ok(())
    }
}

/// Functions in order, of which the first are shown.
struct List<'a> {
    selected: Selected<'a>,
    functions: Vec<FunctionRow>,
    units: Units,
}

impl List<'_> {
    /// The first `n`, and what the others have of their own.
    fn split(&self, n: usize) -> (&[FunctionRow], &[FunctionRow], Tally) {
        let (shown, omitted) = self.functions.split_at(n.min(self.functions.len()));
        let mut own = Tally::default();
        omitted.iter().for_each(|of| own.add_all(of.own));
        (shown, omitted, own)
    }

    /// Name and file.
    fn names(&self, of: &FunctionRow) -> [String; 2] {
        let text = |id| self.selected.profile().strings.text(id).into_owned();
        of.function.map_or_else(
            || [NO_STACK; 2].map(str::to_owned),
            |(function, file)| [text(function), text(file)],
        )
    }

    /// The label of the thread, if threads are split.
    fn thread(&self, of: &FunctionRow) -> Option<String> {
        let profile = self.selected.profile();
        let thread = profile.threads.get(of.thread?.index())?;
        Some(thread_label(profile, thread))
    }

    fn text(&self, extent: Extent, columns: usize) -> String {
        let mut text = text_heading(&self.selected, self.units, columns);
        // The line of headers, and that of what is omitted.
        let n_other_lines = text.lines().count() + 2;
        let fits = self.functions.len() <= extent.rows(n_other_lines - 1);
        let n = if fits {
            usize::MAX
        } else {
            extent.rows(n_other_lines)
        };
        let (shown, omitted, own) = self.split(n);
        let total = self.selected.total();
        let bytes = |bytes: u64| format_bytes(bytes, self.units);
        let mut lines: Vec<Line<'_, 5>> = Vec::with_capacity(shown.len() + 1);
        lines.extend(shown.iter().map(|of| {
            let [function, file] = self.names(of).map(|name| printable(&name));
            let thread = self.thread(of).map(|thread| printable(&thread) + ": ");
            let function = thread.unwrap_or_default() + &function;
            Line {
                numbers: [
                    bytes(of.own.bytes),
                    percent(of.own.bytes, total.bytes),
                    bytes(of.total.bytes),
                    percent(of.total.bytes, total.bytes),
                    format_count(of.total.allocations),
                ],
                name: Box::new(move |room| at(&function, &file, room)),
            }
        }));
        if !omitted.is_empty() {
            let more = more(omitted.len(), own.bytes);
            lines.push(Line {
                numbers: [
                    bytes(own.bytes),
                    percent(own.bytes, total.bytes),
                    String::new(),
                    String::new(),
                    String::new(),
                ],
                name: Box::new(move |_| more.clone()),
            });
        }
        if !lines.is_empty() {
            let headers = ["Own", "%", "Total", "%", "Count"];
            text.push_str(&table(
                (headers, "Function"),
                &lines,
                &[3, 4, 1, 2, 0],
                columns,
            ));
        }
        text
    }

    /// With `step` − 1 rows; at step 0 only what must not be missing.
    fn markdown(&self, step: usize) -> String {
        let (shown, omitted, own) = self.split(step.saturating_sub(1));
        let total = self.selected.total();
        let mut text = markdown_heading(&self.selected, self.units, step > 0);
        if !shown.is_empty() {
            text.push_str(
                "\n| own bytes | own % | total bytes | total % | allocations | function |\n",
            );
            text.push_str("| --: | --: | --: | --: | --: | :-- |\n");
        }
        for of in shown {
            let [function, file] = self.names(of).map(|name| code(&short_name(&name)));
            let thread = self
                .thread(of)
                .map(|thread| code(&short_name(&thread)) + ": ");
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {}{function} at {file} |",
                format_count(of.own.bytes),
                percent(of.own.bytes, total.bytes),
                format_count(of.total.bytes),
                percent(of.total.bytes, total.bytes),
                format_count(of.total.allocations),
                thread.unwrap_or_default(),
            );
        }
        if !omitted.is_empty() {
            let (n, bytes) = (format_count(omitted.len() as u64), format_count(own.bytes));
            let _ = writeln!(text, "\nomitted: {n} functions, {bytes} bytes of their own");
        }
        text
    }

    /// The same steps. Where bytes are counted, names are short.
    fn json(&self, step: usize, is_short: bool) -> Result<Vec<u8>, Error> {
        let (shown, omitted, own) = self.split(step.saturating_sub(1));
        let rows = shown.iter().map(|of| {
            let shown = |name: String| if is_short { short_name(&name) } else { name };
            let [function, file] = self.names(of).map(shown);
            let mut row = json!({
                "function": function,
                "file": file,
                "own_bytes": of.own.bytes,
                "own_allocations": of.own.allocations,
                "bytes": of.total.bytes,
                "allocations": of.total.allocations,
            });
            if let Some(thread) = self.thread(of) {
                row["thread"] = shown(thread).into();
            }
            row
        });
        let mut document = json_heading("summary", &self.selected, is_short, step > 0);
        document["functions"] = rows.collect();
        document["omitted"] = json!({
            "functions": omitted.len(),
            "own_bytes": own.bytes,
            "own_allocations": own.allocations,
        });
        let mut text = Vec::new();
        write_line(&document, &mut text)?;
        Ok(text)
    }
}
