//! Interned stacks: a tree of frames in which every stack is a node.

use hashbrown::HashTable;

use crate::error::Error;
use crate::id::NodeId;

/// Distinct stacks, by number.
///
/// * Shape: per node its parent and what it adds to the parent's stack; a node's number is larger
///   than its parent's; node 0 is the empty stack
/// * `K` identifies a frame among the children of a node
#[derive(Debug, Clone)]
pub struct CallTree<K> {
    parents: Vec<NodeId>,
    frames: Vec<K>,
    children: HashTable<NodeId>,
    /// Nodes met lately, by the first bits of their hash: most pushes find theirs here.
    recent: Vec<NodeId>,
}

/// How many nodes are kept at hand, as a power of two.
const RECENT_BITS: u32 = 12;

impl<K: Copy + Eq + TreeKey + Default> Default for CallTree<K> {
    fn default() -> Self {
        Self {
            parents: vec![NodeId(0)],
            frames: vec![K::default()],
            children: HashTable::new(),
            recent: vec![NodeId(0); 1 << RECENT_BITS],
        }
    }
}

/// A frame's identity, cheap to mix into a hash: it is looked up at every push.
pub trait TreeKey {
    /// Bits that differ where identities differ, as far as 64 bits can.
    fn bits(&self) -> u64;
}

impl TreeKey for crate::id::FrameId {
    fn bits(&self) -> u64 {
        self.0.into()
    }
}

impl<K: Copy + Eq + TreeKey> CallTree<K> {
    /// The empty stack.
    pub const ROOT: NodeId = NodeId(0);

    /// Finds or adds the stack that `frame` makes of `parent`'s, and says whether it is new.
    ///
    /// # Errors
    /// [`Error::TooMany`] past four thousand million stacks.
    #[inline]
    pub fn intern(&mut self, parent: NodeId, frame: K) -> Result<NodeId, Error> {
        let hash = hash(parent, frame.bits());
        let place = usize::try_from(hash >> (64 - RECENT_BITS)).unwrap_or(0);
        if let Some(&id) = self.recent.get(place)
            && id != Self::ROOT
            && self.is(id, parent, frame)
        {
            return Ok(id);
        }
        let id = self.find_or_add(hash, parent, frame)?;
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = id;
        }
        Ok(id)
    }

    /// Whether `frame` makes the stack `id` of `parent`'s.
    #[inline]
    fn is(&self, id: NodeId, parent: NodeId, frame: K) -> bool {
        self.parents.get(id.index()) == Some(&parent) && self.frames.get(id.index()) == Some(&frame)
    }

    fn find_or_add(&mut self, hash: u64, parent: NodeId, frame: K) -> Result<NodeId, Error> {
        match self.children.find(hash, |&id| self.is(id, parent, frame)) {
            Some(&id) => Ok(id),
            None => self.add(hash, parent, frame),
        }
    }

    #[cold]
    fn add(&mut self, at: u64, parent: NodeId, frame: K) -> Result<NodeId, Error> {
        let id = NodeId::new(self.parents.len()).ok_or(Error::TooMany { what: "stacks" })?;
        self.parents.push(parent);
        self.frames.push(frame);
        let (parents, frames) = (&self.parents, &self.frames);
        self.children.insert_unique(at, id, |&id| {
            let bits = frames.get(id.index()).map_or(0, TreeKey::bits);
            hash(parents.get(id.index()).copied().unwrap_or_default(), bits)
        });
        Ok(id)
    }

    /// The stack without its innermost frame; the root's is the root.
    #[must_use]
    pub fn parent(&self, node: NodeId) -> NodeId {
        self.parents.get(node.index()).copied().unwrap_or_default()
    }

    /// The innermost frame, or `None` for the root.
    #[must_use]
    pub fn frame(&self, node: NodeId) -> Option<K> {
        if node == Self::ROOT {
            None
        } else {
            self.frames.get(node.index()).copied()
        }
    }

    /// The frames of a stack, innermost first.
    pub fn stack(&self, node: NodeId) -> impl Iterator<Item = K> + '_ {
        let above = move |&node: &NodeId| Some(self.parent(node));
        std::iter::successors(Some(node), above).map_while(|node| self.frame(node))
    }

    /// Number of nodes, the root among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there is no stack but the empty one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// All nodes but the root, parents first: number, parent, innermost frame.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, NodeId, K)> + '_ {
        let columns = self.parents.iter().zip(&self.frames).enumerate().skip(1);
        columns.filter_map(|(i, (&parent, &frame))| Some((NodeId::new(i)?, parent, frame)))
    }
}

#[inline]
fn hash(parent: NodeId, frame: u64) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (frame.wrapping_mul(MIX) ^ u64::from(parent.0)).wrapping_mul(MIX);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::FrameId;

    #[test]
    fn stacks_share_their_prefixes() {
        let mut tree = CallTree::<FrameId>::default();
        let a = tree.intern(NodeId(0), FrameId(1)).unwrap();
        let b = tree.intern(a, FrameId(2)).unwrap();
        assert_eq!(tree.intern(a, FrameId(2)).unwrap(), b);
        assert_eq!(tree.stack(b).collect::<Vec<_>>(), [FrameId(2), FrameId(1)]);
        assert_eq!(tree.stack(NodeId(0)).count(), 0);
        assert!(tree.nodes().all(|(node, parent, _)| parent < node));
    }
}
