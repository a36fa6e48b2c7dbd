//! A selection as a tree of calls: for terminals, as Markdown, as JSON.

use std::fmt::Write as _;
use std::io::Write;

use memreport_aggregate::ingest::ThreadId;
use memreport_aggregate::{Profile, Selected, Selection, Step, TallyNode};
use serde_json::{Value, json};

use crate::ascii_json::write_line;
use crate::form::{Extent, Form, MARKDOWN_LINES, NAME_COLUMNS, short_name, within};
use crate::heading::{json_heading, markdown_heading, text_heading};
use crate::markdown::block;
use crate::prune::{Item, Pruner, TreeLine};
use crate::stacks::{frame, thread_label};
use crate::summary::NO_STACK;
use crate::terminal::{Line, at, more, percent, table};
use crate::text::{elided, printable, width};
use crate::units::{Units, format_bytes, format_count};
use crate::{Error, Output};

/// Levels whose guides are drawn in a terminal; those above are only hinted at.
const MAX_GUIDES: usize = 24;

/// Between the first call of a chain and its last.
const ARROW: &str = " → ";

/// Where memory is allocated from: the heaviest paths of the call tree.
///
/// * Calls that have all of their caller's bytes and allocations are on one line with it, the first of
///   such a chain and the last
/// * Under each line its calls, most bytes first, what it has of its own, and how many more there are with
///   how many bytes: they add up to it, and the lines of the first level to the selection's total
/// * Source: `semantics.md`, section 11
#[derive(Debug, Clone)]
pub struct Tree {
    /// What is shown.
    pub selection: Selection,
    /// How many lines the tree has.
    pub extent: Extent,
    /// Multiples that bytes are shown in.
    pub units: Units,
    /// The form.
    pub form: Form,
}

impl Output for Tree {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let tree = selected.tally_tree();
        let names = Names {
            selected: &selected,
            nodes: tree.nodes(),
            units: self.units,
        };
        let n_lines = || names.lines(self.extent.rows(MARKDOWN_LINES)).len();
        let text = match self.form {
            Form::Text { columns } => names.text(self.extent, columns).into_bytes(),
            Form::Markdown { budget } => within(budget, n_lines(), |step| {
                Ok(names.markdown(step).into_bytes())
            })?,
            Form::Json { budget } => {
                within(budget, n_lines(), |step| names.json(step, budget.is_some()))?
            }
        };
        out.write_all(&text)?;
        Ok(())
    }
}

/// A tree's lines in words.
struct Names<'a> {
    selected: &'a Selected<'a>,
    nodes: &'a [TallyNode],
    units: Units,
}

impl Names<'_> {
    fn text(&self, extent: Extent, columns: usize) -> String {
        let mut text = text_heading(self.selected, self.units, columns);
        let n_other_lines = text.lines().count() + 1;
        let lines = self.lines(extent.rows(n_other_lines));
        let total = self.selected.total();
        let guides = guides(&lines);
        let rows = lines.iter().zip(guides).map(|(line, guide)| Line {
            numbers: [
                format_bytes(line.tally.bytes, self.units),
                percent(line.tally.bytes, total.bytes),
                format_count(line.tally.allocations),
            ],
            name: Box::new(move |room| {
                let guide = clipped(&guide, room / 2);
                let room = room - width(&guide);
                guide + &self.name(line, room)
            }),
        });
        let rows: Vec<Line<'_, 3>> = rows.collect();
        if !rows.is_empty() {
            let headers = ["Bytes", "%", "Count"];
            text.push_str(&table((headers, "Calls"), &rows, &[2, 1, 0], columns));
        }
        text
    }

    fn lines(&self, most: usize) -> Vec<TreeLine> {
        Pruner { nodes: self.nodes }.lines(most)
    }

    /// With `step` lines; the remarks are there from step 1 on.
    fn markdown(&self, step: usize) -> String {
        let total = self.selected.total();
        let mut lines = String::new();
        for line in self.lines(step) {
            let indent = "  ".repeat(line.depth);
            let bytes = format_count(line.tally.bytes);
            let percent = percent(line.tally.bytes, total.bytes);
            let name = self.name(&line, NAME_COLUMNS);
            let _ = writeln!(lines, "{indent}{bytes} {percent} {name}");
        }
        let heading = markdown_heading(self.selected, self.units, step > 0);
        if lines.is_empty() {
            return heading;
        }
        format!("{heading}\n{}", block(&lines))
    }

    /// The same steps. Where bytes are counted, names are short.
    fn json(&self, step: usize, is_short: bool) -> Result<Vec<u8>, Error> {
        let lines = self.lines(step);
        let rows = lines.iter().map(|line| {
            let mut row = json!({
                "depth": line.depth,
                "bytes": line.tally.bytes,
                "allocations": line.tally.allocations,
            });
            match line.of {
                Item::Chain {
                    first,
                    last,
                    n_between,
                } => {
                    row["calls_below"] = line.n_below.into();
                    row["call"] = self.step_json(last, is_short);
                    if first != last {
                        row["from"] = self.step_json(first, is_short);
                        row["calls_between"] = n_between.into();
                    }
                }
                Item::Own(_) => row["own"] = true.into(),
                Item::More(n) => row["omitted"] = n.into(),
            }
            row
        });
        let mut document = json_heading("tree", self.selected, is_short, step > 0);
        document["lines"] = rows.collect();
        let mut text = Vec::new();
        write_line(&document, &mut text)?;
        Ok(text)
    }

    fn step_json(&self, node: usize, is_short: bool) -> Value {
        let shown = |name: String| if is_short { short_name(&name) } else { name };
        match self.nodes.get(node).and_then(|node| node.step) {
            Some(Step::Frame(id)) => {
                let (frame, function, file) = frame(self.selected.profile(), id);
                json!([shown(function), shown(file), frame.line])
            }
            Some(Step::Thread(id)) => json!([shown(self.thread(id))]),
            None => json!([]),
        }
    }

    fn thread(&self, id: ThreadId) -> String {
        let profile = self.selected.profile();
        let thread = profile.threads.get(id.index());
        thread.map_or_else(String::new, |thread| thread_label(profile, thread))
    }

    /// What a line is of, in at most so many columns.
    fn name(&self, line: &TreeLine, room: usize) -> String {
        if line.n_below == 0 {
            return self.name_alone(line, room);
        }
        let end = format!("{ARROW}…");
        self.name_alone(line, room.saturating_sub(width(&end))) + &end
    }

    fn name_alone(&self, line: &TreeLine, room: usize) -> String {
        match line.of {
            Item::More(n) => elided(&more(n, line.tally.bytes), room),
            Item::Own(0) => elided(NO_STACK, room),
            Item::Own(_) if self.selected.inverted() => elided("(no further callers)", room),
            Item::Own(_) => elided("(itself)", room),
            Item::Chain { first, last, .. } if first == last => self.step(last, room),
            Item::Chain {
                first,
                last,
                n_between,
            } => self.chain(first, last, n_between, room),
        }
    }

    /// The first call and the last, or as much of it as there is room for. What counts is where the chain
    /// leads or, if inverted, what allocates: that is the last to lose anything.
    fn chain(&self, first: usize, last: usize, n_between: usize, room: usize) -> String {
        let between = match n_between {
            0 => String::new(),
            n => format!("{n} more{ARROW}"),
        };
        let whole = |node| self.step(node, usize::MAX);
        let function = |node| self.function_and_place(node).0;
        let is_inverted = self.selected.inverted();
        let shorter = if is_inverted {
            (whole(first), function(last))
        } else {
            (function(first), whole(last))
        };
        for (start, end) in [(whole(first), whole(last)), shorter] {
            let chain = format!("{start}{ARROW}{between}{end}");
            if width(&chain) <= room {
                return chain;
            }
        }
        let more = format!("{} more", n_between + 1);
        let left = room.saturating_sub(width(&more) + width(ARROW));
        let chain = if is_inverted {
            self.step(first, left) + ARROW + &more
        } else {
            more + ARROW + &self.step(last, left)
        };
        elided(&chain, room)
    }

    /// A call in at most so many columns.
    fn step(&self, node: usize, room: usize) -> String {
        match self.function_and_place(node) {
            (function, place) if place.is_empty() => elided(&function, room),
            (function, place) => at(&function, &place, room),
        }
    }

    fn function_and_place(&self, node: usize) -> (String, String) {
        match self.nodes.get(node).and_then(|node| node.step) {
            Some(Step::Frame(id)) => {
                let (frame, function, file) = frame(self.selected.profile(), id);
                let place = match frame.line {
                    line if line > 0 => format!("{}:{line}", printable(&file)),
                    _ => printable(&file),
                };
                (printable(&function), place)
            }
            Some(Step::Thread(id)) => (printable(&self.thread(id)), String::new()),
            None => (NO_STACK.to_owned(), String::new()),
        }
    }
}

/// For each line, what leads the eye from the line that it is below.
fn guides(lines: &[TreeLine]) -> Vec<String> {
    // Whether a line of a level follows below.
    let mut goes_on: Vec<bool> = Vec::new();
    let mut guides: Vec<String> = Vec::with_capacity(lines.len());
    for line in lines.iter().rev() {
        goes_on.resize(line.depth + 1, false);
        let hidden = line.depth.saturating_sub(MAX_GUIDES);
        let mut guide = String::new();
        if hidden > 0 {
            guide.push_str("… ");
        }
        let above = goes_on.get(hidden + 1..line.depth).unwrap_or_default();
        guide.extend(
            above
                .iter()
                .map(|&goes_on| if goes_on { "│ " } else { "  " }),
        );
        if let Some(goes_on) = goes_on.get_mut(line.depth) {
            if line.depth > 0 {
                guide.push_str(if *goes_on { "├ " } else { "└ " });
            }
            *goes_on = true;
        }
        guides.push(guide);
    }
    guides.reverse();
    guides
}

/// The end of a guide, in at most so many columns. A level takes two.
fn clipped(guide: &str, columns: usize) -> String {
    let n = guide.chars().count();
    if n <= columns {
        return guide.to_owned();
    }
    let n_kept = columns.saturating_sub(2) / 2 * 2;
    let kept = guide.chars().skip(n - n_kept);
    "… ".chars().chain(kept).take(columns).collect()
}
