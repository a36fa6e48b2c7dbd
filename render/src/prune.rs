//! Which lines of a tree are shown, when there is room for so many.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use memreport_aggregate::TallyNode;
use memreport_aggregate::ingest::Tally;
use rustc_hash::FxHashMap;

/// A line of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// Number of lines that it is below.
    pub(crate) depth: usize,
    pub(crate) of: Item,
    pub(crate) tally: Tally,
    /// Number of lines that would be right below it, of which none is shown.
    pub(crate) n_below: usize,
}

/// What a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    /// Nodes, each the only child of the one before, with all that it has.
    Chain {
        first: usize,
        last: usize,
        /// Number of nodes between the first and the last.
        n_between: usize,
    },
    /// What a node has of its own, besides children; the root's is that of stacks without frames.
    Own(usize),
    /// So many that are not shown.
    More(usize),
}

/// Chooses lines of a tree.
pub(crate) struct Pruner<'a> {
    pub(crate) nodes: &'a [TallyNode],
}

/// What is to be shown next of a node's items.
type Candidate = (u64, Reverse<usize>, usize);

impl Pruner<'_> {
    /// At most so many lines, but one if there is anything: the heaviest that can be reached, callers before
    /// their calls. The lines of a level, if it is shown at all, add up to the line that they are below.
    pub(crate) fn lines(&self, most: usize) -> Vec<TreeLine> {
        let mut levels = FxHashMap::from_iter([(0, Level::new(self.items(0)))]);
        let mut candidates = BinaryHeap::<Candidate>::new();
        let mut n_candidates = 0;
        let mut push = |candidates: &mut BinaryHeap<Candidate>, level: Option<&Level>, node| {
            if let Some((_, tally)) = level.and_then(|level| level.items.get(level.n_shown)) {
                n_candidates += 1;
                candidates.push((tally.bytes, Reverse(n_candidates), node));
            }
        };
        // At first, a line for all that is not shown.
        let mut n_lines = 1;
        push(&mut candidates, levels.get(&0), 0);
        while let Some((_, _, node)) = candidates.pop() {
            let Some(level) = levels.get_mut(&node) else {
                continue;
            };
            let Some(&(item, _)) = level.items.get(level.n_shown) else {
                continue;
            };
            let had_rest = node == 0 || level.n_shown > 0;
            let has_rest = level.n_shown + 1 < level.items.len();
            let n_after = n_lines + 1 + usize::from(has_rest) - usize::from(had_rest);
            if n_after > most {
                continue;
            }
            n_lines = n_after;
            level.n_shown += 1;
            push(&mut candidates, levels.get(&node), node);
            if let Item::Chain { last, .. } = item {
                levels.insert(last, Level::new(self.items(last)));
                push(&mut candidates, levels.get(&last), last);
            }
        }
        in_order(&levels)
    }

    /// What is below a node, most bytes first.
    fn items(&self, node: usize) -> Vec<(Item, Tally)> {
        let Some(of) = self.nodes.get(node) else {
            return Vec::new();
        };
        let chains = of.children.iter().filter_map(|&child| self.chain(child));
        let mut items: Vec<(Item, Tally)> = chains.collect();
        if of.own != Tally::default() && (!items.is_empty() || node == 0) {
            let at = items.partition_point(|(_, tally)| tally.bytes >= of.own.bytes);
            items.insert(at, (Item::Own(node), of.own));
        }
        items
    }

    /// The chain that starts with a node.
    fn chain(&self, first: usize) -> Option<(Item, Tally)> {
        let tally = self.nodes.get(first)?.total;
        let only_child = |&node: &usize| match self.nodes.get(node)? {
            of if of.own != Tally::default() => None,
            TallyNode { children, .. } => match children.as_slice() {
                &[child] => Some(child),
                _ => None,
            },
        };
        let (n_below, last) = std::iter::successors(Some(first), only_child)
            .enumerate()
            .last()?;
        let n_between = n_below.saturating_sub(1);
        let chain = Item::Chain {
            first,
            last,
            n_between,
        };
        Some((chain, tally))
    }
}

/// What is below a node, and how much of it is shown.
struct Level {
    items: Vec<(Item, Tally)>,
    n_shown: usize,
}

impl Level {
    fn new(items: Vec<(Item, Tally)>) -> Self {
        let n_shown = 0;
        Self { items, n_shown }
    }
}

/// Levels by the node that they are below, as lines.
fn in_order(levels: &FxHashMap<usize, Level>) -> Vec<TreeLine> {
    let mut lines = Vec::new();
    // Nodes that are open, and the next of their items.
    let mut open = vec![(0, 0)];
    while let Some((node, next)) = open.pop() {
        let depth = open.len();
        let Some(level) = levels.get(&node) else {
            continue;
        };
        if next < level.n_shown {
            let Some(&(of, tally)) = level.items.get(next) else {
                continue;
            };
            let below = match of {
                Item::Chain { last, .. } => levels.get(&last),
                _ => None,
            };
            let hidden = below.filter(|level| level.n_shown == 0);
            lines.push(TreeLine {
                depth,
                of,
                tally,
                n_below: hidden.map_or(0, |level| level.items.len()),
            });
            open.push((node, next + 1));
            if let Item::Chain { last, .. } = of {
                open.push((last, 0));
            }
            continue;
        }
        let omitted = level.items.get(next..).unwrap_or_default();
        // Of what a line has below it nothing is said there if nothing of it is shown: the line says it.
        if !omitted.is_empty() && (node == 0 || next > 0) {
            let mut tally = Tally::default();
            omitted.iter().for_each(|(_, of)| tally.add_all(*of));
            lines.push(TreeLine {
                depth,
                of: Item::More(omitted.len()),
                tally,
                n_below: 0,
            });
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tally(bytes: u64) -> Tally {
        Tally {
            allocations: bytes.min(1),
            bytes,
        }
    }

    /// A tree in which node i + 1 has a parent before it, and so many bytes of its own.
    fn tree(parents: &[(usize, u64)]) -> Vec<TallyNode> {
        let mut nodes = vec![TallyNode::default()];
        for (i, &(parent, own)) in parents.iter().enumerate() {
            let parent = parent % (i + 1);
            nodes.push(TallyNode {
                own: tally(own),
                total: tally(own),
                ..TallyNode::default()
            });
            nodes[parent].children.push(i + 1);
        }
        for node in (0..nodes.len()).rev() {
            let children = nodes[node].children.clone();
            for child in children {
                let total = nodes[child].total;
                nodes[node].total.add_all(total);
            }
        }
        let bytes: Vec<u64> = nodes.iter().map(|node| node.total.bytes).collect();
        for node in &mut nodes {
            node.children.sort_by_key(|&child| Reverse(bytes[child]));
        }
        nodes
    }

    fn shown(lines: &[TreeLine]) -> Vec<(usize, u64)> {
        lines
            .iter()
            .map(|line| (line.depth, line.tally.bytes))
            .collect()
    }

    #[test]
    fn chains_are_one_line_and_the_heaviest_come_first() {
        // 1 calls 2 calls 3, which has 5 of its own and calls 4 (7) and 5 (1); 6 (2) is apart.
        let nodes = tree(&[(0, 0), (1, 0), (2, 5), (3, 7), (3, 1), (0, 2)]);
        let pruner = Pruner { nodes: &nodes };
        let lines = pruner.lines(usize::MAX);
        assert_eq!(shown(&lines), [(0, 13), (1, 7), (1, 5), (1, 1), (0, 2)]);
        let chain = Item::Chain {
            first: 1,
            last: 3,
            n_between: 1,
        };
        assert_eq!((lines[0].of, lines[2].of), (chain, Item::Own(3)));
        let few = pruner.lines(4);
        assert_eq!(shown(&few), [(0, 13), (1, 7), (1, 6), (0, 2)]);
        assert_eq!(few[2].of, Item::More(2));
        let fewer = pruner.lines(3);
        assert_eq!(shown(&fewer), [(0, 13), (0, 2)]);
        assert_eq!((fewer[0].n_below, few[0].n_below), (3, 0));
        assert_eq!(shown(&pruner.lines(1)), [(0, 15)]);
        assert_eq!(Pruner { nodes: &tree(&[]) }.lines(9), []);
    }

    proptest! {
        #[test]
        fn levels_add_up_however_few_lines_there_are(
            parents in prop::collection::vec((any::<usize>(), 0..5_u64), 0..40), most in 1..50_usize
        ) {
            let nodes = tree(&parents);
            let lines = Pruner { nodes: &nodes }.lines(most);
            prop_assert!(lines.len() <= most);
            // The sum of each line's level, and of the first.
            let sum = |from: usize, depth: usize| -> u64 {
                let below = lines[from..].iter().take_while(|line| line.depth >= depth);
                below.filter(|line| line.depth == depth).map(|line| line.tally.bytes).sum()
            };
            prop_assert_eq!(sum(0, 0), nodes[0].total.bytes);
            for (i, line) in lines.iter().enumerate() {
                let has_below = lines.get(i + 1).is_some_and(|next| next.depth > line.depth);
                if has_below {
                    prop_assert_eq!(sum(i + 1, line.depth + 1), line.tally.bytes);
                }
            }
        }
    }
}
