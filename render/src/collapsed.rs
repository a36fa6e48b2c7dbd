//! Collapsed stacks: a line each, for flame graph tools.

use std::fmt::Write as _;
use std::io::Write;

use memreport_aggregate::ingest::{FrameId, NodeId, Tally};
use memreport_aggregate::{Profile, Selected, Selection};

use crate::selection::LEFT_OUT;
use crate::stacks::{NO_STACK, frame, thread_label};
use crate::{Error, Output};

/// Bytes of each stack, as flamegraph.pl, inferno and speedscope read them.
///
/// * Shape: a line a stack, in the order of their first allocations: its frames from the root on, joined by
///   `;`, a space, its bytes. If threads are split, the first frame is the thread's label. Stacks without
///   bytes have no line
/// * A frame is `function (file:line)`, without the line or the file if they are not known. In names,
///   `;` and `\`, control characters and a space that no reader would keep are written `\u{3b}` and so on,
///   by their number in hexadecimal
/// * Allocations without stack are the line `<stack trace unavailable>`, what a filter left out is the last,
///   `<left out>`: all lines add up to the whole view
#[derive(Debug, Clone, Default)]
pub struct Collapsed {
    /// What is shown.
    pub selection: Selection,
}

impl Output for Collapsed {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let mut names = Names::new(profile);
        let mut frames = Vec::new();
        let mut line = String::new();
        for row in selected.by_stack() {
            if row.tally.bytes == 0 {
                continue;
            }
            line.clear();
            let thread = profile.threads.get(row.thread.index());
            if let Some(thread) = thread.filter(|_| selected.split_threads()) {
                push(&mut line, &escaped(&thread_label(profile, thread)));
            }
            stack(&selected, row.node, &mut frames, &mut names, &mut line);
            writeln!(out, "{line} {}", row.tally.bytes)?;
        }
        let Tally { bytes, .. } = selected.left_out();
        if bytes > 0 {
            writeln!(out, "{LEFT_OUT} {bytes}")?;
        }
        Ok(())
    }
}

/// Adds the frames of a stack to a line.
fn stack(
    selected: &Selected<'_>,
    node: NodeId,
    frames: &mut Vec<FrameId>,
    names: &mut Names<'_>,
    line: &mut String,
) {
    if node == NodeId(0) {
        push(line, NO_STACK);
        return;
    }
    selected.root_first(node, frames);
    for &id in &*frames {
        push(line, names.of(id));
    }
}

fn push(line: &mut String, frame: &str) {
    if !line.is_empty() {
        line.push(';');
    }
    line.push_str(frame);
}

/// Frames as they are written, each made once.
struct Names<'p> {
    profile: &'p Profile,
    names: Vec<Option<String>>,
}

impl<'p> Names<'p> {
    fn new(profile: &'p Profile) -> Self {
        let names = vec![None; profile.frames.as_slice().len()];
        Self { profile, names }
    }

    fn of(&mut self, id: FrameId) -> &str {
        let profile = self.profile;
        match self.names.get_mut(id.index()) {
            Some(name) => name.get_or_insert_with(|| text(profile, id)),
            None => "",
        }
    }
}

fn text(profile: &Profile, id: FrameId) -> String {
    let (frame, function, file) = frame(profile, id);
    match (file.as_str(), frame.line) {
        ("", _) => escaped(&function),
        (file, line) if line > 0 => format!("{} ({}:{line})", escaped(&function), escaped(file)),
        (file, _) => format!("{} ({})", escaped(&function), escaped(file)),
    }
}

/// A name without what divides frames and lines, and without what readers trim or take for a count.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    // Numbers after a space at a line's end are counts.
    let before_number = name
        .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
        .len();
    for (at, c) in name.char_indices() {
        let at_edge = at == 0 || at + c.len_utf8() >= before_number;
        if c == ';' || c == '\\' || c.is_control() || (c.is_whitespace() && (at_edge || c != ' ')) {
            let _ = write!(text, "{}", c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    if text.is_empty() {
        text.push('?');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_frames_and_lines_apart() {
        assert_eq!(escaped("a;b\nc\\d"), r"a\u{3b}b\u{a}c\u{5c}d");
        assert_eq!(
            escaped("operator new(unsigned long)"),
            "operator new(unsigned long)"
        );
        assert_eq!(escaped("take 12"), r"take\u{20}12");
        assert_eq!(escaped("take  1.5"), r"take \u{20}1.5");
        assert_eq!(escaped(" a\u{2028}b "), r"\u{20}a\u{2028}b\u{20}");
        assert_eq!(escaped("naïve 日 x"), "naïve 日 x");
        assert_eq!(escaped(""), "?");
        assert_eq!(escaped("12"), "12");
    }
}
