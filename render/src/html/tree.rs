//! The call tree as the page has it.

use std::cmp::Reverse;

use memreport_aggregate::ingest::{LocationId, NodeId};
use memreport_aggregate::{Profile, View};

use super::shown::{temporaries, used_locations};

/// The part of the call tree that locations of the page use, with children in the order of the page.
pub(super) struct Tree {
    children: Vec<Vec<NodeId>>,
    /// Whether locations of the page are at the node itself.
    is_used: Vec<bool>,
    /// Bytes at the whole run's peak of the node itself.
    own_bytes: Vec<u64>,
    /// Nodes that have a place of their own, if not all have.
    kept: Option<Vec<bool>>,
}

/// What has a place on the page.
pub(super) enum Visited<'a> {
    Node(NodeId),
    /// Folded nodes: all those of some siblings' stacks.
    Other(&'a [NodeId]),
}

impl Tree {
    /// At most `max_nodes` and, beside each of them, an "other" node have a place; where that would stand for a
    /// single node, the node has.
    pub(super) fn new(profile: &Profile, max_nodes: usize) -> Self {
        let n_nodes = profile.call_tree.len();
        let node_of = |id: LocationId| {
            let location = profile.locations.get(id.index());
            location.map_or(0, |location| location.node.index())
        };
        let mut is_used = vec![false; n_nodes];
        for node in used_locations(profile).map(node_of) {
            is_used[node] = true;
        }
        let mut own_bytes = vec![0_u64; n_nodes];
        for row in View::peak(profile, profile.slices.whole_run()).rows() {
            own_bytes[node_of(row.location)] += row.tally.bytes;
        }
        let mut seen = is_used.clone();
        let mut weights = own_bytes.clone();
        let mut children = vec![Vec::new(); n_nodes];
        // Parents come before children, so backwards every node is complete when it is met.
        for (node, parent, _) in profile.call_tree.nodes().rev() {
            if seen[node.index()] {
                seen[parent.index()] = true;
                weights[parent.index()] += weights[node.index()];
                children[parent.index()].push(node);
            }
        }
        for siblings in &mut children {
            siblings.sort_by_cached_key(|node| {
                let frame = profile
                    .frames
                    .get(profile.call_tree.frame(*node).unwrap_or_default());
                let (function, file) = (
                    profile.strings.bytes(frame.function),
                    profile.strings.bytes(frame.file),
                );
                (Reverse(weights[node.index()]), function, file, frame.line)
            });
        }
        seen[0] = true;
        let kept = kept(profile, &seen, max_nodes);
        Self {
            children,
            is_used,
            own_bytes,
            kept,
        }
    }

    /// Number of stacks with locations of the page among nodes, and their bytes at the peak.
    pub(super) fn own(&self, nodes: &[NodeId]) -> (u64, u64) {
        let used = || nodes.iter().map(|node| node.index());
        let stacks = used().filter(|&node| self.is_used[node]).count();
        (stacks as u64, used().map(|node| self.own_bytes[node]).sum())
    }

    /// Visits what has a place in preorder, each with its depth. Stacks can be tens of thousands deep: no
    /// recursion.
    pub(super) fn walk(&self, mut visit: impl FnMut(Visited<'_>, u64)) {
        enum Open {
            Node(NodeId),
            Other(Vec<NodeId>),
        }
        let mut open = vec![(Open::Node(NodeId(0)), 0_u64)];
        while let Some((next, depth)) = open.pop() {
            let node = match next {
                Open::Other(nodes) => {
                    visit(Visited::Other(&nodes), depth);
                    continue;
                }
                Open::Node(node) => node,
            };
            visit(Visited::Node(node), depth);
            let children = self.children[node.index()].iter().copied();
            let (kept, folded): (Vec<NodeId>, Vec<NodeId>) =
                children.partition(|child| self.is_kept(*child));
            let folded = self.below(folded);
            match folded[..] {
                [] => {}
                [only] => open.push((Open::Node(only), depth + 1)),
                _ => open.push((Open::Other(folded), depth + 1)),
            }
            let kept = kept.into_iter().rev();
            open.extend(kept.map(|child| (Open::Node(child), depth + 1)));
        }
    }

    fn is_kept(&self, node: NodeId) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept[node.index()])
    }

    /// The nodes with all that are below them.
    fn below(&self, mut nodes: Vec<NodeId>) -> Vec<NodeId> {
        let mut at = 0;
        while let Some(&node) = nodes.get(at) {
            nodes.extend(&self.children[node.index()]);
            at += 1;
        }
        nodes
    }
}

/// Which of the nodes `seen` are kept: those with the largest share of all rows' bytes and of all bytes of
/// temporary allocations, with what is below them. `None` if all are.
fn kept(profile: &Profile, seen: &[bool], max_nodes: usize) -> Option<Vec<bool>> {
    let n_seen = seen.iter().filter(|&&seen| seen).count();
    if n_seen <= max_nodes {
        return None;
    }
    let of_rows = profile
        .intervals
        .iter()
        .map(|row| (row.location, row.bytes));
    let of_temporaries = temporaries(profile).map(|(location, tally)| (location, tally.bytes));
    let mut shares = vec![0_u128; seen.len()];
    add_shares(profile, of_rows, &mut shares);
    add_shares(profile, of_temporaries, &mut shares);
    for (node, parent, _) in profile.call_tree.nodes().rev() {
        shares[parent.index()] += shares[node.index()];
    }
    // A parent has no smaller share than its children and comes before them: it is kept if one of them is.
    let mut nodes: Vec<usize> = (0..seen.len()).filter(|&node| seen[node]).collect();
    nodes.select_nth_unstable_by_key(max_nodes, |&node| (Reverse(shares[node]), node));
    let mut kept = vec![false; seen.len()];
    for &node in nodes.iter().take(max_nodes) {
        kept[node] = true;
    }
    Some(kept)
}

/// Adds to each node its share of all bytes, in parts of two to the power of 60.
fn add_shares(
    profile: &Profile,
    bytes: impl Iterator<Item = (LocationId, u64)> + Clone,
    shares: &mut [u128],
) {
    let all: u128 = bytes.clone().map(|(_, bytes)| u128::from(bytes)).sum();
    for (id, bytes) in bytes {
        if let Some(location) = profile.locations.get(id.index()) {
            shares[location.node.index()] += (u128::from(bytes) << 60) / all.max(1);
        }
    }
}
