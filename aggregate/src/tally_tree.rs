//! A selection as a tree of calls, with what is below each.

use std::cmp::Reverse;

use memreport_ingest::{FrameId, Tally, ThreadId};
use rustc_hash::FxHashMap;

use crate::frame_class::is_cpython_internal;
use crate::selection::Selected;

/// What leads from a node of a tree to a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A thread, if threads are split: the first step from the root.
    Thread(ThreadId),
    /// A call or, in an inverted tree, a caller.
    Frame(FrameId),
}

/// A node of a [`TallyTree`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TallyNode {
    /// How it is reached; `None` for the root.
    pub step: Option<Step>,
    /// What ends here: allocated by the innermost frame or, in an inverted tree, by stacks that go no
    /// further.
    pub own: Tally,
    /// That, and the totals of all children.
    pub total: Tally,
    /// Numbers of the children: most bytes first, of equals those met first.
    pub children: Vec<usize>,
}

/// The rows of a selection as a tree; node 0 is the root, whose total is the selection's.
///
/// * Frames of the interpreter's machinery of calls are left out, as memray leaves them out
/// * Source: `semantics.md`, section 11
#[derive(Debug, Clone)]
pub struct TallyTree {
    nodes: Vec<TallyNode>,
}

impl TallyTree {
    /// The nodes, parents before their children.
    #[must_use]
    pub fn nodes(&self) -> &[TallyNode] {
        &self.nodes
    }
}

impl Selected<'_> {
    /// The rows as a tree.
    #[must_use]
    pub fn tally_tree(&self) -> TallyTree {
        let profile = self.profile();
        let frames = profile.frames.as_slice().iter();
        let internal: Vec<bool> = frames
            .map(|frame| {
                let [function, file] =
                    [frame.function, frame.file].map(|id| profile.strings.text(id));
                is_cpython_internal(&function, &file)
            })
            .collect();
        let is_shown = |frame: &FrameId| !internal.get(frame.index()).copied().unwrap_or(false);
        let mut nodes = vec![TallyNode::default()];
        let mut places = FxHashMap::default();
        let mut frames = Vec::new();
        for row in self.by_stack() {
            self.root_first(row.node, &mut frames);
            let thread = self.split_threads().then_some(Step::Thread(row.thread));
            let steps = frames.iter().copied().filter(is_shown).map(Step::Frame);
            let mut node = 0;
            for step in thread.into_iter().chain(steps) {
                let parent = node;
                node = *places.entry((parent, step)).or_insert(nodes.len());
                if node == nodes.len() {
                    let step = Some(step);
                    nodes.push(TallyNode {
                        step,
                        ..TallyNode::default()
                    });
                    nodes[parent].children.push(node);
                }
                nodes[parent].total.add_all(row.tally);
            }
            nodes[node].total.add_all(row.tally);
            nodes[node].own.add_all(row.tally);
        }
        let bytes: Vec<u64> = nodes.iter().map(|node| node.total.bytes).collect();
        for node in &mut nodes {
            node.children.sort_by_key(|&child| Reverse(bytes[child]));
        }
        TallyTree { nodes }
    }
}
