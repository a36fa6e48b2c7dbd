//! A call tree as a page has it: in preorder, siblings in an order that no range changes.

use std::cmp::Reverse;

use memreport_aggregate::ingest::{CallTree, FrameId, FrameTable, NodeId, StringId, StringTable};
use rustc_hash::FxHashMap;

use crate::stacks::Numbering;

/// Stacks, and the names in them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stacks<'a> {
    pub(crate) call_tree: &'a CallTree<FrameId>,
    pub(crate) frames: &'a FrameTable,
    pub(crate) strings: &'a StringTable,
}

/// The part of a call tree that a page shows.
///
/// * Nodes are in preorder, the root first; siblings by the bytes that they are ordered by, largest first,
///   then by name, so that the picture never jumps
#[derive(Debug)]
pub(crate) struct PageTree {
    /// Depth of each node, 0 for the root.
    pub(crate) depths: Vec<u64>,
    /// Frame of each node, as an index of `frames`.
    pub(crate) node_frames: Vec<usize>,
    /// Frames in the order of their first node; the root's first.
    pub(crate) frames: Vec<FrameId>,
    places: FxHashMap<NodeId, usize>,
}

impl PageTree {
    /// The tree of some nodes, and of those above them. `own` has bytes of each node of the call tree
    /// itself, by which siblings are ordered.
    pub(crate) fn new(
        stacks: Stacks<'_>,
        used: impl Iterator<Item = NodeId>,
        own: Vec<u64>,
    ) -> Self {
        let children = children(stacks, used, own);
        let mut frames = Numbering::default();
        frames.number(FrameId(0));
        let mut depths = Vec::new();
        let mut node_frames = Vec::new();
        let mut places = FxHashMap::default();
        // Stacks can be tens of thousands deep: no recursion.
        let mut open = vec![(NodeId(0), 0_u64)];
        while let Some((node, depth)) = open.pop() {
            places.insert(node, depths.len());
            depths.push(depth);
            let frame = stacks.call_tree.frame(node).unwrap_or_default();
            node_frames.push(frames.number(frame));
            let below = children[node.index()].iter().rev();
            open.extend(below.map(|&child| (child, depth + 1)));
        }
        Self {
            depths,
            node_frames,
            frames: frames.things().to_vec(),
            places,
        }
    }

    /// The index of a node in preorder, if it is shown.
    pub(crate) fn place(&self, node: NodeId) -> Option<usize> {
        self.places.get(&node).copied()
    }

    /// Strings in the order of the frames that use them; the empty one first.
    pub(crate) fn strings(frames: &[FrameId], table: &FrameTable) -> Numbering<StringId> {
        let mut strings = Numbering::default();
        strings.number(StringId(0));
        for frame in frames.iter().map(|&id| table.get(id)) {
            strings.number(frame.function);
            strings.number(frame.file);
        }
        strings
    }
}

/// The children of each node that are shown, in their order.
fn children(
    stacks: Stacks<'_>,
    used: impl Iterator<Item = NodeId>,
    own: Vec<u64>,
) -> Vec<Vec<NodeId>> {
    let n_nodes = stacks.call_tree.len();
    let mut seen = vec![false; n_nodes];
    for node in used {
        seen[node.index()] = true;
    }
    let mut weights = own;
    weights.resize(n_nodes, 0);
    let mut children = vec![Vec::new(); n_nodes];
    // Parents come before children, so backwards every node is complete when it is met.
    for (node, parent, _) in stacks.call_tree.nodes().rev() {
        if seen[node.index()] {
            seen[parent.index()] = true;
            weights[parent.index()] = weights[parent.index()].saturating_add(weights[node.index()]);
            children[parent.index()].push(node);
        }
    }
    for siblings in &mut children {
        siblings.sort_by_cached_key(|node| {
            let frame = stacks.call_tree.frame(*node).unwrap_or_default();
            let frame = stacks.frames.get(frame);
            let bytes = |id| stacks.strings.bytes(id);
            (
                Reverse(weights[node.index()]),
                bytes(frame.function),
                bytes(frame.file),
                frame.line,
                frame.is_native,
            )
        });
    }
    children
}
