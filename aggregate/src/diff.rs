//! What differs between two captures: by stack and by function.

mod common_tree;
mod origin;
mod own_files;

use std::cmp::Ordering;

use memreport_ingest::{CallTree, FrameId, NodeId, StringId, Tally};
use rustc_hash::FxHashMap;

pub use self::common_tree::{CommonTree, DiffOptions, Side};
pub use self::origin::CodeOrigin;
use crate::error::Error;
use crate::selection::Selected;

/// Allocations and bytes of base and of new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// Of the base.
    pub base: Tally,
    /// Of the new capture.
    pub new: Tally,
}

/// What became of something from base to new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It is in the new capture only.
    New,
    /// It is in the base only.
    Gone,
    /// It has more bytes or, with as many bytes, more allocations.
    Grown,
    /// It has less.
    Shrank,
    /// It has the same.
    Unchanged,
}

impl Change {
    /// Bytes of new less those of base.
    #[must_use]
    pub fn bytes(&self) -> i128 {
        i128::from(self.new.bytes) - i128::from(self.base.bytes)
    }

    /// Allocations of new less those of base.
    #[must_use]
    pub fn allocations(&self) -> i128 {
        i128::from(self.new.allocations) - i128::from(self.base.allocations)
    }

    /// What became of it.
    #[must_use]
    pub fn status(&self) -> Status {
        let nothing = Tally::default();
        match (self.bytes(), self.allocations()).cmp(&(0, 0)) {
            Ordering::Equal => Status::Unchanged,
            _ if self.base == nothing => Status::New,
            _ if self.new == nothing => Status::Gone,
            Ordering::Greater => Status::Grown,
            Ordering::Less => Status::Shrank,
        }
    }

    /// Adds what others have.
    pub fn add(&mut self, others: Self) {
        self.base.add_all(others.base);
        self.new.add_all(others.new);
    }

    fn of(&mut self, side: Side) -> &mut Tally {
        match side {
            Side::Base => &mut self.base,
            Side::New => &mut self.new,
        }
    }

    /// By how much it changed, the most first when sorted: bytes, then allocations.
    fn rank(&self) -> std::cmp::Reverse<(u128, u128)> {
        std::cmp::Reverse((
            self.bytes().unsigned_abs(),
            self.allocations().unsigned_abs(),
        ))
    }
}

/// A stack that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackChange {
    /// The stack: a node of the common tree.
    pub node: NodeId,
    /// What it has itself.
    pub change: Change,
}

/// A function that changed, whichever its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionChange {
    /// Its name and its module, strings of the common tree; `None` stands for stacks without frames.
    pub function: Option<(StringId, StringId)>,
    /// What it allocates itself.
    pub own: Change,
    /// What it and all that it calls allocate; a stack counts once, however often the function is in it.
    pub total: Change,
    /// A frame of it: of the common tree.
    pub frame: Option<FrameId>,
}

/// What differs between what is selected of two captures.
///
/// * Rows that did not change are left out. Others are sorted by how many bytes they changed, then how many
///   allocations, then by their names
/// * The changes of all stacks add up to the change of the total; so do the own changes of all functions
/// * Threads do not matter
#[derive(Debug, Clone)]
pub struct Diff {
    /// The stacks of both.
    pub common: CommonTree,
    /// All that is selected.
    pub total: Change,
    /// Stacks.
    pub stacks: Vec<StackChange>,
    /// Functions, by what they have of their own.
    pub functions: Vec<FunctionChange>,
    /// Number of stacks that are the same in both.
    pub n_unchanged_stacks: usize,
    /// The node of the common tree for each node of base's and of new's call tree.
    pub nodes: [Vec<NodeId>; 2],
}

impl Diff {
    /// The diff of base and new.
    ///
    /// # Errors
    /// As [`CommonTree::of`].
    pub fn of(sides: [&Selected<'_>; 2], options: &DiffOptions) -> Result<Self, Error> {
        let trees = sides.map(|side| (side.profile(), side.call_tree()));
        let (common, nodes) = CommonTree::of(trees, options)?;
        let mut total = Change::default();
        let mut own = vec![Change::default(); common.call_tree.len()];
        for ((side, selected), nodes) in Side::BOTH.into_iter().zip(sides).zip(&nodes) {
            *total.of(side) = selected.total();
            for row in selected.rows() {
                let node = nodes.get(row.node.index()).copied().unwrap_or_default();
                if let Some(own) = own.get_mut(node.index()) {
                    own.of(side).add_all(row.tally);
                }
            }
        }
        let functions = functions(&common, &own);
        let (stacks, n_unchanged_stacks) = stacks(&common, &own);
        Ok(Self {
            common,
            total,
            stacks,
            functions,
            n_unchanged_stacks,
            nodes,
        })
    }
}

/// The stacks that changed, and the number of others that have something.
fn stacks(common: &CommonTree, own: &[Change]) -> (Vec<StackChange>, usize) {
    let mut stacks = Vec::new();
    let mut n_unchanged = 0;
    for (index, &change) in own.iter().enumerate() {
        if change.status() != Status::Unchanged {
            stacks.extend(NodeId::new(index).map(|node| StackChange { node, change }));
        } else if change != Change::default() {
            n_unchanged += 1;
        }
    }
    let places = places_by_name(common);
    let place = |node: NodeId| places.get(node.index()).copied();
    stacks.sort_by_cached_key(|of| (of.change.rank(), place(of.node)));
    (stacks, n_unchanged)
}

/// The place of each node when stacks are sorted by their names, outermost frame first. Of stacks that are
/// compared in pairs, each would be walked again and again.
fn places_by_name(common: &CommonTree) -> Vec<usize> {
    let names = |node: NodeId| {
        let frame = common.call_tree.frame(node).unwrap_or_default();
        let frame = common.frames.get(frame);
        let bytes = |id| common.strings.bytes(id);
        (
            bytes(frame.function),
            bytes(frame.file),
            frame.line,
            frame.is_native,
        )
    };
    let mut children = children(&common.call_tree);
    for siblings in &mut children {
        siblings.sort_by(|&a, &b| names(b).cmp(&names(a)));
    }
    let mut places = vec![0; children.len()];
    let mut path = vec![CallTree::<FrameId>::ROOT];
    let mut next = 0;
    while let Some(node) = path.pop() {
        if let Some(place) = places.get_mut(node.index()) {
            *place = next;
        }
        next += 1;
        path.extend(children.get(node.index()).into_iter().flatten());
    }
    places
}

/// The nodes right below each node.
fn children(tree: &CallTree<FrameId>) -> Vec<Vec<NodeId>> {
    let mut children = vec![Vec::new(); tree.len()];
    for (node, parent, _) in tree.nodes() {
        if let Some(children) = children.get_mut(parent.index()) {
            children.push(node);
        }
    }
    children
}

/// The functions that changed.
fn functions(common: &CommonTree, own: &[Change]) -> Vec<FunctionChange> {
    let tree = &common.call_tree;
    let with_callees = with_callees(tree, own);
    let mut places = FxHashMap::default();
    let mut functions: Vec<FunctionChange> = Vec::new();
    let mut of_node = vec![0; tree.len()];
    let nodes = tree.nodes().map(|(node, _, frame)| (node, Some(frame)));
    for (node, frame) in std::iter::once((CallTree::<FrameId>::ROOT, None)).chain(nodes) {
        let function = frame.map(|frame| {
            let frame = common.frames.get(frame);
            (frame.function, frame.file)
        });
        let place = *places.entry(function).or_insert_with(|| {
            let (own, total) = (Change::default(), Change::default());
            functions.push(FunctionChange {
                function,
                own,
                total,
                frame,
            });
            functions.len() - 1
        });
        if let (Some(slot), Some(function), Some(&own)) = (
            of_node.get_mut(node.index()),
            functions.get_mut(place),
            own.get(node.index()),
        ) {
            *slot = place;
            function.own.add(own);
        }
    }
    if let (Some(no_stack), Some(&own)) = (functions.first_mut(), own.first()) {
        no_stack.total = own;
    }
    for node in outermost(tree, &of_node, functions.len()) {
        let place = of_node.get(node.index()).copied().unwrap_or(0);
        if let (Some(function), Some(&all)) =
            (functions.get_mut(place), with_callees.get(node.index()))
        {
            function.total.add(all);
        }
    }
    let changed = |of: &Change| of.status() != Status::Unchanged;
    functions.retain(|function| changed(&function.own) || changed(&function.total));
    let names = |of: &FunctionChange| {
        let bytes = |id| common.strings.bytes(id);
        of.function
            .map(|(name, module)| (bytes(name), bytes(module)))
    };
    functions.sort_by(|a, b| {
        let by_change = a.own.rank().cmp(&b.own.rank());
        let by_total = || a.total.rank().cmp(&b.total.rank());
        by_change
            .then_with(by_total)
            .then_with(|| names(a).cmp(&names(b)))
    });
    functions
}

/// What each node has with all that is below it.
fn with_callees(tree: &CallTree<FrameId>, own: &[Change]) -> Vec<Change> {
    let mut sums = own.to_vec();
    for (node, parent, _) in tree.nodes().rev() {
        let sum = sums.get(node.index()).copied().unwrap_or_default();
        if let Some(parent) = sums.get_mut(parent.index()) {
            parent.add(sum);
        }
    }
    sums
}

/// The nodes above which their function is not on the stack: walks the tree once, however deep it is.
fn outermost(tree: &CallTree<FrameId>, of_node: &[usize], n_functions: usize) -> Vec<NodeId> {
    let mut children = children(tree);
    let mut on_stack = vec![0_u32; n_functions];
    let mut outermost = Vec::new();
    let mut path = vec![CallTree::<FrameId>::ROOT];
    while let Some(&node) = path.last() {
        if let Some(child) = children.get_mut(node.index()).and_then(Vec::pop) {
            let place = of_node.get(child.index()).copied().unwrap_or(0);
            if let Some(count) = on_stack.get_mut(place) {
                if *count == 0 {
                    outermost.push(child);
                }
                *count += 1;
            }
            path.push(child);
        } else {
            path.pop();
            let place = of_node.get(node.index()).copied().unwrap_or(0);
            if let Some(count) = on_stack.get_mut(place) {
                *count = count.saturating_sub(1);
            }
        }
    }
    outermost
}
