//! How many allocations have each size.

use rustc_hash::FxHashMap;

/// Sizes below this are counted in an array: nearly all of them.
const SMALL: usize = 1024;

/// Allocations by exact size.
#[derive(Debug, Clone)]
pub(crate) struct SizeCounts {
    small: Vec<u64>,
    large: FxHashMap<u64, u64>,
}

impl Default for SizeCounts {
    fn default() -> Self {
        Self {
            small: vec![0; SMALL],
            large: FxHashMap::default(),
        }
    }
}

impl SizeCounts {
    #[inline(always)]
    pub(crate) fn add(&mut self, size: u64) {
        match usize::try_from(size)
            .ok()
            .and_then(|size| self.small.get_mut(size))
        {
            Some(count) => *count += 1,
            None => self.add_large(size),
        }
    }

    #[inline(never)]
    fn add_large(&mut self, size: u64) {
        *self.large.entry(size).or_default() += 1;
    }

    /// All counts together: sizes ascending, each with its count.
    pub(crate) fn sorted<'a>(all: impl Iterator<Item = &'a Self>) -> Vec<(u64, u64)> {
        let mut sum = FxHashMap::<u64, u64>::default();
        for counts in all {
            let small = (0..)
                .zip(counts.small.iter().copied())
                .filter(|&(_, count)| count > 0);
            for (size, count) in
                small.chain(counts.large.iter().map(|(&size, &count)| (size, count)))
            {
                *sum.entry(size).or_default() += count;
            }
        }
        let mut sorted: Vec<_> = sum.into_iter().collect();
        sorted.sort_unstable();
        sorted
    }
}
