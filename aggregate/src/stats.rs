//! Statistics: all allocations that were ever made, by size, allocator, location and module.

use std::cmp::Reverse;

use memreport_ingest::capture::Allocator;
use memreport_ingest::{FrameId, SearchPaths, StringId, Tally};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::histogram::{Bin, histogram};
use crate::profile::Profile;

/// Statistics of all allocations that did not fail, whether they were freed or not.
///
/// * Source: `semantics.md`, section 8
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// All of them.
    pub total: Tally,
    /// By size.
    pub histogram: Vec<Bin>,
    /// By allocation function: most allocations first, then by name.
    pub by_allocator: Vec<(Allocator, u64)>,
    /// By the innermost Python frame, even if it is one of the profiler's own; frame 0 without a Python
    /// stack. In the order of their first allocations.
    pub locations: Vec<(FrameId, Tally)>,
    /// By the top-level module that allocations are made for, in the order of their first allocations;
    /// empty if no path in the capture says what is a module.
    pub modules: Vec<(StringId, Tally)>,
    /// Whether modules are guessed from patterns of paths: the capture does not say where Python looked
    /// for them.
    pub modules_are_guessed: bool,
}

/// What a list is ordered by, largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    /// Bytes.
    Bytes,
    /// Number of allocations.
    Allocations,
}

impl OrderBy {
    /// The number that it orders by.
    #[must_use]
    pub fn of(self, tally: Tally) -> u64 {
        match self {
            Self::Bytes => tally.bytes,
            Self::Allocations => tally.allocations,
        }
    }
}

impl Stats {
    /// The statistics of a profile.
    ///
    /// # Errors
    /// [`Error::NotInAggregated`] for an aggregated capture: it holds no freed allocations.
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        if profile.is_aggregated {
            return Err(Error::NotInAggregated("statistics"));
        }
        let made = || profile.locations.iter().zip(&profile.made);
        let by_allocator = added_up(made().map(|(of, &tally)| (of.allocator, tally)));
        let mut by_allocator: Vec<(Allocator, u64)> = by_allocator
            .into_iter()
            .map(|(allocator, tally)| (allocator, tally.allocations))
            .collect();
        by_allocator.sort_by_key(|&(allocator, count)| (Reverse(count), allocator.name()));
        let modules_are_guessed = profile.metadata.search_paths == SearchPaths::Guessed;
        let mut modules = added_up(made().map(|(of, &tally)| (of.module, tally)));
        if modules_are_guessed {
            modules.retain(|&(name, _)| name != StringId(0));
        }
        Ok(Self {
            total: Tally {
                allocations: profile.counts.allocations,
                bytes: profile.counts.allocated_bytes,
            },
            histogram: histogram(&profile.sizes),
            by_allocator,
            locations: added_up(made().map(|(of, &tally)| (of.python_frame, tally))),
            modules,
            modules_are_guessed,
        })
    }

    /// The first `n` locations. Of equals, those met later come first, and the one without a stack last.
    #[must_use]
    pub fn top_locations(&self, by: OrderBy, n: usize) -> Vec<(FrameId, Tally)> {
        let mut top: Vec<_> = self.locations.iter().rev().copied().collect();
        top.sort_by_key(|&(frame, tally)| (Reverse(by.of(tally)), frame == FrameId(0)));
        top.truncate(n);
        top
    }

    /// The first `n` modules. Of equals, those met earlier come first.
    #[must_use]
    pub fn top_modules(&self, by: OrderBy, n: usize) -> Vec<(StringId, Tally)> {
        let mut top = self.modules.clone();
        top.sort_by_key(|&(_, tally)| Reverse(by.of(tally)));
        top.truncate(n);
        top
    }
}

/// Sums by key, in the order in which keys are first met.
fn added_up<K: Copy + Eq + std::hash::Hash>(
    rows: impl Iterator<Item = (K, Tally)>,
) -> Vec<(K, Tally)> {
    let mut places = FxHashMap::<K, usize>::default();
    let mut sums: Vec<(K, Tally)> = Vec::new();
    for (key, tally) in rows {
        let place = *places.entry(key).or_insert(sums.len());
        match sums.get_mut(place) {
            Some((_, sum)) => sum.add_all(tally),
            None => sums.push((key, tally)),
        }
    }
    sums
}
