//! Deallocations of what was not live, held against the blocks that are never freed.
//!
//! That a block is freed that was never seen allocated is normal: it is older than the tracking. That it
//! lies within another block, which stays live to the end, is not: both cannot be there. A capture whose
//! addresses were damaged is full of such.

use crate::live::Block;

/// Deallocations that are kept; damage shows in the first of them.
const MAX_KEPT: usize = 1 << 12;

/// Addresses that were freed and not live, each with the sequence number of its deallocation.
#[derive(Debug, Default)]
pub(crate) struct UnknownFrees(Vec<(u64, u64)>);

impl UnknownFrees {
    /// Adds a deallocation; they come in their order.
    pub(crate) fn add(&mut self, address: u64, sequence: u64) {
        if self.0.len() < MAX_KEPT {
            self.0.push((address, sequence));
        }
    }
}

/// Tells of a block whether something within it was freed while it was live.
#[derive(Debug)]
pub(crate) struct FreedWithin {
    /// Addresses, ascending.
    addresses: Vec<u64>,
    /// Row k: the latest deallocation of each 2^k neighbouring addresses.
    latest: Vec<Vec<u64>>,
}

impl FreedWithin {
    /// Of the first deallocations of all lanes: the same whatever lanes they are divided into.
    pub(crate) fn new<'a>(lanes: impl Iterator<Item = &'a UnknownFrees>) -> Self {
        let mut frees: Vec<(u64, u64)> = lanes.flat_map(|lane| lane.0.iter().copied()).collect();
        frees.sort_unstable_by_key(|&(_, sequence)| sequence);
        frees.truncate(MAX_KEPT);
        frees.sort_unstable();
        let mut latest = vec![
            frees
                .iter()
                .map(|&(_, sequence)| sequence)
                .collect::<Vec<_>>(),
        ];
        let mut width = 1;
        while let Some(row) = latest.last().filter(|row| row.len() > width) {
            let pairs = row.iter().zip(row.iter().skip(width));
            let next = pairs.map(|(&a, &b)| a.max(b)).collect();
            latest.push(next);
            width *= 2;
        }
        Self {
            addresses: frees.into_iter().map(|(address, _)| address).collect(),
            latest,
        }
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether something within the block at `address`, not at its start, was freed after it was allocated.
    pub(crate) fn is_within(&self, address: u64, block: &Block) -> bool {
        let end = address.saturating_add(block.size);
        let from = self.addresses.partition_point(|&freed| freed <= address);
        let to = self.addresses.partition_point(|&freed| freed < end);
        let Some(power) = to.checked_sub(from).and_then(usize::checked_ilog2) else {
            return false;
        };
        let row = self.latest.get(power as usize);
        let at = |index: usize| row.and_then(|row| row.get(index)).copied();
        let latest = at(from).max(at(to - (1 << power)));
        latest.is_some_and(|latest| latest > block.sequence)
    }
}

#[cfg(test)]
mod tests {
    use memreport_ingest::LocationId;
    use proptest::prelude::*;

    use super::*;

    fn block(size: u64, sequence: u64) -> Block {
        Block {
            size,
            sequence,
            location: LocationId::NONE,
        }
    }

    fn freed(frees: &[(u64, u64)]) -> UnknownFrees {
        let mut unknown = UnknownFrees::default();
        for &(address, sequence) in frees {
            unknown.add(address, sequence);
        }
        unknown
    }

    #[test]
    fn only_what_is_freed_later_and_inside_counts() {
        let within = FreedWithin::new([freed(&[(0x1010, 5)])].iter());
        assert!(within.is_within(0x1000, &block(0x20, 4)));
        assert!(!within.is_within(0x1000, &block(0x20, 6)), "it is younger");
        assert!(!within.is_within(0x1000, &block(0x10, 4)), "it ends there");
        assert!(
            !within.is_within(0x1010, &block(0x20, 4)),
            "it starts there"
        );
        assert!(FreedWithin::new([freed(&[])].iter()).is_empty());
    }

    #[test]
    fn how_many_are_kept_does_not_depend_on_lanes() {
        let frees: Vec<(u64, u64)> = (0..20_000).map(|i| (i * 7919 % 65_536 + 1, i)).collect();
        let divided = |n: u64| {
            let lanes = (0..n).map(|lane| {
                let of_lane = frees.iter().filter(|(address, _)| address % n == lane);
                freed(&of_lane.copied().collect::<Vec<_>>())
            });
            FreedWithin::new(lanes.collect::<Vec<_>>().iter()).addresses
        };
        assert_eq!(divided(1).len(), MAX_KEPT);
        assert_eq!(divided(1), divided(8));
    }

    proptest! {
        #[test]
        fn is_what_looking_at_each_gives(
            frees in prop::collection::vec((1..200_u64, 0..100_u64), 0..60),
            address in 1..200_u64, size in 0..100_u64, sequence in 0..100_u64,
        ) {
            let mut frees = frees;
            frees.sort_unstable_by_key(|&(_, sequence)| sequence);
            let expected = frees.iter().any(|&(freed, at)| freed > address && freed < address + size && at > sequence);
            let within = FreedWithin::new([freed(&frees)].iter());
            prop_assert_eq!(within.is_within(address, &block(size, sequence)), expected);
        }
    }
}
