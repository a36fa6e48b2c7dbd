//! The live blocks of a lane: a hash table made for addresses.

use memreport_ingest::LocationId;

/// A live block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) size: u64,
    /// Sequence number of its allocation.
    pub(crate) sequence: u64,
    pub(crate) location: LocationId,
}

/// A slot of the table: 32 bytes, so that key and value share a cache line.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// 0 marks an empty slot: no block lives there.
    address: u64,
    block: Block,
}

const EMPTY: Slot = Slot {
    address: 0,
    block: Block {
        size: 0,
        sequence: 0,
        location: LocationId::NONE,
    },
};

/// Blocks by address.
///
/// * Shape: open addressing with linear probing, at most three quarters full; a removal moves later
///   slots back, so no tombstones pile up under the churn of allocations
#[derive(Debug)]
pub(crate) struct LiveMap {
    slots: Vec<Slot>,
    /// How far a hash is shifted right to give a slot.
    shift: u32,
    len: usize,
}

impl LiveMap {
    const MIN_BITS: u32 = 10;

    pub(crate) fn new() -> Self {
        Self {
            slots: vec![EMPTY; 1 << Self::MIN_BITS],
            shift: 64 - Self::MIN_BITS,
            len: 0,
        }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    /// The slot where a search for `address` starts: the top bits of its product with 2^64 / φ.
    #[inline]
    fn home(&self, address: u64) -> usize {
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        usize::try_from(hash >> self.shift).unwrap_or(0)
    }

    /// The slot that holds `address`, or the empty one where it would go.
    #[inline]
    fn find(&self, address: u64) -> usize {
        let mask = self.mask();
        let mut at = self.home(address) & mask;
        loop {
            let key = self.slots[at].address;
            if key == address || key == 0 {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a block and returns the one that it replaces. Address 0 holds no block.
    #[inline]
    pub(crate) fn insert(&mut self, address: u64, block: Block) -> Option<Block> {
        if address == 0 {
            return None;
        }
        let at = self.find(address);
        let slot = &mut self.slots[at];
        if slot.address == address {
            return Some(std::mem::replace(&mut slot.block, block));
        }
        *slot = Slot { address, block };
        self.len += 1;
        if self.len > self.slots.len() / 4 * 3 {
            self.grow();
        }
        None
    }

    /// Removes a block.
    #[inline]
    pub(crate) fn remove(&mut self, address: u64) -> Option<Block> {
        if address == 0 {
            return None;
        }
        let found = self.find(address);
        let slot = self.slots[found];
        if slot.address == 0 {
            return None;
        }
        self.close_gap(found);
        self.len -= 1;
        Some(slot.block)
    }

    /// Empties a slot, moving back the slots after it that would be cut off from their home.
    #[inline]
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.mask();
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.address == 0 {
                break;
            }
            let from_home = at.wrapping_sub(self.home(slot.address)) & mask;
            let from_gap = at.wrapping_sub(gap) & mask;
            if from_home >= from_gap {
                self.slots[gap] = slot;
                gap = at;
            }
        }
        self.slots[gap] = EMPTY;
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![EMPTY; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, larger);
        self.shift -= 1;
        for slot in old.into_iter().filter(|slot| slot.address != 0) {
            let at = self.find(slot.address);
            self.slots[at] = slot;
        }
    }

    /// The blocks with their addresses, in no order that means anything.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, &Block)> {
        self.slots
            .iter()
            .filter(|slot| slot.address != 0)
            .map(|slot| (slot.address, &slot.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn block(n: u64) -> Block {
        Block {
            size: n,
            sequence: n,
            location: LocationId(0),
        }
    }

    #[test]
    fn nothing_lives_at_address_zero() {
        let mut map = LiveMap::new();
        assert_eq!(map.insert(0, block(1)), None);
        assert_eq!(map.remove(0), None);
        assert_eq!(map.blocks().count(), 0);
    }

    proptest! {
        /// Few distinct addresses, so that insertions replace and removals hit; more than fill the
        /// smallest table, so that it grows.
        #[test]
        fn behaves_as_a_map(ops in prop::collection::vec((any::<bool>(), 1..3000_u64), 0..6000)) {
            let mut map = LiveMap::new();
            let mut model = HashMap::new();
            for (n, (insert, key)) in (0..).zip(ops) {
                let address = key << 4;
                if insert {
                    prop_assert_eq!(map.insert(address, block(n)), model.insert(address, block(n)));
                } else {
                    prop_assert_eq!(map.remove(address), model.remove(&address));
                }
            }
            let mut left: Vec<u64> = map.blocks().map(|(_, b)| b.sequence).collect();
            let mut expected: Vec<u64> = model.values().map(|b| b.sequence).collect();
            left.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
        }
    }
}
