//! The profile's tables as the page has them: only what can be seen, numbered for compression.

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{FrameId, LocationId, Tally, ThreadId};
use memreport_aggregate::{Interval, NEVER, Profile, View};

use super::page_tree::{PageTree, Stacks};

/// How many allocations of its thread may lie between a temporary allocation and its end.
pub(crate) const TEMPORARY_THRESHOLD: usize = 1;

/// A location of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageLocation {
    /// Index of its node in preorder.
    pub(crate) node: usize,
    pub(crate) thread: ThreadId,
    pub(crate) allocator: Allocator,
}

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageRow {
    pub(crate) start: u32,
    /// Index of the location.
    pub(crate) location: usize,
    pub(crate) end: u32,
    pub(crate) allocations: u64,
    pub(crate) bytes: u64,
}

/// Tables of the page.
///
/// * Nodes are in preorder, the root first; siblings by their bytes at the whole run's peak, largest
///   first, then by name, so that the picture never jumps
/// * Locations are sorted by node, thread, allocator; rows by start, location, end
#[derive(Debug)]
pub(crate) struct Shown {
    /// Depth of each node, 0 for the root.
    pub(crate) depths: Vec<u64>,
    /// Frame of each node, as an index of `frames`.
    pub(crate) node_frames: Vec<usize>,
    /// Frames in the order of their first node.
    pub(crate) frames: Vec<FrameId>,
    pub(crate) locations: Vec<PageLocation>,
    pub(crate) rows: Vec<PageRow>,
    /// Temporary allocations of each location; none if the capture does not tell them.
    pub(crate) temporaries: Option<Vec<Tally>>,
}

impl Shown {
    pub(crate) fn new(profile: &Profile) -> Self {
        let tree = tree(profile);
        let key = |id: LocationId| {
            let location = profile.locations.get(id.index())?;
            let node = tree.place(location.node)?;
            Some(PageLocation {
                node,
                thread: location.thread,
                allocator: location.allocator,
            })
        };
        let mut locations: Vec<PageLocation> = used_locations(profile).filter_map(key).collect();
        locations.sort_unstable();
        locations.dedup();
        let index = |id| locations.binary_search(&key(id)?).ok();
        let rows = rows(&profile.intervals, index);
        let temporaries = (!profile.is_aggregated).then(|| {
            let mut sums = vec![Tally::default(); locations.len()];
            for (id, tally) in temporaries(profile) {
                if let Some(sum) = index(id).and_then(|index| sums.get_mut(index)) {
                    sum.allocations = sum.allocations.wrapping_add(tally.allocations);
                    sum.bytes = sum.bytes.wrapping_add(tally.bytes);
                }
            }
            sums
        });
        Self {
            depths: tree.depths,
            node_frames: tree.node_frames,
            frames: tree.frames,
            locations,
            rows,
            temporaries,
        }
    }
}

/// The part of the call tree that locations of the page use, by what is live at the whole run's peak.
fn tree(profile: &Profile) -> PageTree {
    let node_of = |id: LocationId| profile.locations.get(id.index()).map(|l| l.node);
    let mut own = vec![0_u64; profile.call_tree.len()];
    for row in View::peak(profile, profile.slices.whole_run()).rows() {
        own[node_of(row.location).unwrap_or_default().index()] += row.tally.bytes;
    }
    let stacks = Stacks {
        call_tree: &profile.call_tree,
        frames: &profile.frames,
        strings: &profile.strings,
    };
    PageTree::new(stacks, used_locations(profile).filter_map(node_of), own)
}

/// Locations with rows or temporary allocations; some more than once.
fn used_locations(profile: &Profile) -> impl Iterator<Item = LocationId> {
    let of_rows = profile.intervals.iter().map(|interval| interval.location);
    of_rows.chain(temporaries(profile).map(|(location, _)| location))
}

/// Locations with temporary allocations, and those.
fn temporaries(profile: &Profile) -> impl Iterator<Item = (LocationId, Tally)> {
    let locations = (0..).take(profile.locations.len()).map(LocationId);
    let tallies = locations.map(|id| (id, profile.temporaries.of(id, TEMPORARY_THRESHOLD)));
    tallies.filter(|(_, tally)| *tally != Tally::default())
}

/// Rows of the page; several locations of the profile may be one of the page's.
pub(crate) fn rows(
    intervals: &[Interval],
    index: impl Fn(LocationId) -> Option<usize>,
) -> Vec<PageRow> {
    let mut rows: Vec<PageRow> = intervals
        .iter()
        .filter_map(|interval| {
            Some(PageRow {
                start: interval.start,
                location: index(interval.location)?,
                end: interval.end,
                allocations: interval.allocations.into(),
                bytes: interval.bytes,
            })
        })
        .collect();
    rows.sort_unstable();
    rows.dedup_by(|later, earlier| {
        let same = |row: &PageRow| (row.start, row.location, row.end);
        let equal = same(later) == same(earlier);
        if equal {
            earlier.allocations += later.allocations;
            earlier.bytes += later.bytes;
        }
        equal
    });
    rows
}

impl PageRow {
    /// Ticks from start to end, or 0 if it never ends.
    pub(crate) fn duration(&self) -> u64 {
        if self.end == NEVER {
            0
        } else {
            u64::from(self.end - self.start)
        }
    }
}
