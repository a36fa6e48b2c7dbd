//! Merges a Python stack and the native stack of the same allocation into one.
//!
//! A native frame of the interpreter's loop stands for a run of Python frames: the one that entered
//! the loop and, from Python 3.11 on, those that it called without entering another. Merging puts the
//! Python frames in its place. Source: `capture-format.md`, section 13.

use crate::id::FrameId;

/// A frame of a Python stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PythonFrame {
    pub(crate) frame: FrameId,
    /// Whether the interpreter's loop was entered for it.
    pub(crate) is_entry: bool,
    /// Whether it is a Cython function that announced itself: no loop belongs to it.
    pub(crate) is_cython: bool,
}

/// A frame of a native stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NativeStackFrame {
    pub(crate) frame: FrameId,
    /// Whether it is the interpreter's loop.
    pub(crate) is_loop: bool,
}

/// How stacks of a format version are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Formats 9 and later: from the outermost frame in. Both stacks reach above the tracker.
    OutsideIn,
    /// Formats up to 8: from the innermost frame out. The Python stack ends at the tracker, the native
    /// one goes on above it.
    InsideOut,
}

/// A stack to show, outermost frame first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Of both.
    Hybrid(Vec<FrameId>),
    /// Of Python alone: the native stack has too few runs of the loop, as with a stripped interpreter.
    PythonOnly(Vec<FrameId>),
}

impl Rule {
    /// Merges two stacks, both innermost frame first. The `hidden` outermost Python frames, and what is
    /// above the last of them, are left out.
    pub(crate) fn merge(
        self,
        python: &[PythonFrame],
        native: &[NativeStackFrame],
        hidden: usize,
    ) -> Merged {
        let merged = match self {
            Self::OutsideIn => outside_in(python, native, hidden),
            Self::InsideOut => inside_out(python, native),
        };
        merged.map_or_else(
            || Merged::PythonOnly(python_only(python, hidden)),
            Merged::Hybrid,
        )
    }
}

fn python_only(python: &[PythonFrame], hidden: usize) -> Vec<FrameId> {
    python
        .iter()
        .rev()
        .skip(hidden)
        .map(|frame| frame.frame)
        .collect()
}

fn outside_in(
    python: &[PythonFrame],
    native: &[NativeStackFrame],
    hidden: usize,
) -> Option<Vec<FrameId>> {
    let mut out = Vec::with_capacity(python.len() + native.len());
    let mut placed = 0;
    let mut outermost_first = python.iter().rev().peekable();
    for frame in native.iter().rev() {
        if !frame.is_loop || outermost_first.peek().is_none() {
            out.push(frame.frame);
            continue;
        }
        while let Some(frame) = outermost_first.next() {
            if hidden != 0 && placed == hidden {
                out.clear();
            }
            out.push(frame.frame);
            placed += 1;
            if outermost_first.peek().is_none_or(|next| next.is_entry) {
                break;
            }
        }
    }
    outermost_first.peek().is_none().then_some(out)
}

fn inside_out(python: &[PythonFrame], native: &[NativeStackFrame]) -> Option<Vec<FrameId>> {
    let mut innermost_first = python.iter().filter(|frame| !frame.is_cython).peekable();
    if innermost_first.peek().is_none() {
        return Some(native.iter().rev().map(|frame| frame.frame).collect());
    }
    let mut out = Vec::with_capacity(python.len() + native.len());
    for frame in native {
        if innermost_first.peek().is_none() {
            break;
        }
        if !frame.is_loop {
            out.push(frame.frame);
            continue;
        }
        for frame in innermost_first.by_ref() {
            out.push(frame.frame);
            if frame.is_entry {
                break;
            }
        }
    }
    if innermost_first.peek().is_some() {
        return None;
    }
    out.reverse();
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of frames, innermost first: `p` a Python frame that entered the loop, `q` one that did not,
    /// `c` a Cython one; numbers make them distinct.
    fn python(stack: &[&str]) -> Vec<PythonFrame> {
        let frame = |name: &&str| PythonFrame {
            frame: id(name),
            is_entry: !name.starts_with('q'),
            is_cython: name.starts_with('c'),
        };
        stack.iter().map(frame).collect()
    }

    /// `E` is the loop, anything else another native frame.
    fn native(stack: &[&str]) -> Vec<NativeStackFrame> {
        stack
            .iter()
            .map(|name| NativeStackFrame {
                frame: id(name),
                is_loop: name.starts_with('E'),
            })
            .collect()
    }

    fn id(name: &str) -> FrameId {
        FrameId(name.bytes().fold(0, |id, byte| id * 256 + u32::from(byte)))
    }

    fn ids(stack: &[&str]) -> Vec<FrameId> {
        stack.iter().map(|name| id(name)).collect()
    }

    fn hybrid(stack: &[&str]) -> Merged {
        Merged::Hybrid(ids(stack))
    }

    #[test]
    fn the_loop_gives_way_to_the_frames_that_it_runs() {
        let (python, native) = (
            python(&["q3", "p2", "q1", "p0"]),
            native(&["m", "E1", "call", "E0", "main"]),
        );
        let merged = Rule::OutsideIn.merge(&python, &native, 0);
        assert_eq!(
            merged,
            hybrid(&["main", "p0", "q1", "call", "p2", "q3", "m"])
        );
    }

    #[test]
    fn hidden_frames_take_what_is_above_them_along() {
        let (python, native) = (
            python(&["p2", "q1", "p0"]),
            native(&["m", "E1", "call", "E0", "main"]),
        );
        let merge = |hidden| Rule::OutsideIn.merge(&python, &native, hidden);
        assert_eq!(merge(1), hybrid(&["q1", "call", "p2", "m"]));
        assert_eq!(merge(2), hybrid(&["p2", "m"]));
    }

    #[test]
    fn loops_without_a_frame_stay() {
        let native = native(&["m", "E1", "E0"]);
        assert_eq!(
            Rule::OutsideIn.merge(&python(&["p0"]), &native, 0),
            hybrid(&["p0", "E1", "m"])
        );
        assert_eq!(
            Rule::OutsideIn.merge(&[], &native, 0),
            hybrid(&["E0", "E1", "m"])
        );
    }

    #[test]
    fn frames_without_a_loop_leave_the_python_stack() {
        let (python, native) = (python(&["p1", "p0"]), native(&["m", "E0"]));
        let merge = |rule: Rule, hidden| rule.merge(&python, &native, hidden);
        assert_eq!(merge(Rule::OutsideIn, 1), Merged::PythonOnly(ids(&["p1"])));
        assert_eq!(
            merge(Rule::InsideOut, 0),
            Merged::PythonOnly(ids(&["p0", "p1"]))
        );
    }

    #[test]
    fn old_formats_are_merged_from_the_inside_up_to_the_tracker() {
        let native = native(&["m", "E1", "call", "E0", "E9", "main"]);
        let merge = |stack: &[&str]| Rule::InsideOut.merge(&python(stack), &native, 0);
        assert_eq!(merge(&["p1", "p0"]), hybrid(&["p0", "call", "p1", "m"]));
        assert_eq!(
            merge(&["p1", "c7", "p0"]),
            hybrid(&["p0", "call", "p1", "m"])
        );
        assert_eq!(merge(&["q1", "p0"]), hybrid(&["p0", "q1", "m"]));
        assert_eq!(
            merge(&["c7"]),
            hybrid(&["main", "E9", "E0", "call", "E1", "m"])
        );
    }
}
