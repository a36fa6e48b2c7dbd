//! The profile's tables as the page has them: only what can be seen, numbered for compression.

use std::borrow::Cow;

use memreport_aggregate::ingest::capture::Allocator;
use memreport_aggregate::ingest::{FrameId, LocationId, StringId, Tally, ThreadId};
use memreport_aggregate::{Interval, NEVER, Profile, Slices};
use rustc_hash::FxHashMap;

use super::detail::Detail;
use super::page_tree::PageTree;
use super::tree::{Tree, Visited};
use crate::stacks::Numbering;

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

/// What a page folds for its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Folded {
    /// Stacks that are part of an "other" node.
    pub(crate) stacks: u64,
    /// Their bytes at the whole run's peak.
    pub(crate) peak_bytes: u64,
}

enum PageFrame {
    Frame(usize),
    Other(usize),
}

/// Tables of the page.
///
/// * Nodes are in preorder, the root first; siblings by their bytes at the whole run's peak, largest
///   first, then by name, so that the picture never jumps; an "other" node, where small stacks are folded,
///   is the last
/// * Locations are sorted by node, thread, allocator; rows by start, location, end
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) slices: Cow<'a, Slices>,
    /// How many memory snapshots of the capture are one of the page's.
    pub(crate) snapshot_stride: usize,
    /// Depth of each node, 0 for the root.
    pub(crate) depths: Vec<u64>,
    /// Frame of each node, as an index of `frames` and, behind them, of `others`.
    pub(crate) node_frames: Vec<usize>,
    /// Frames in the order of their first node.
    pub(crate) frames: Vec<FrameId>,
    /// Frames of folded stacks, by how many there are.
    pub(crate) others: Vec<u64>,
    pub(crate) folded: Folded,
    pub(crate) locations: Vec<PageLocation>,
    pub(crate) rows: Vec<PageRow>,
    /// Temporary allocations of each location; none if the capture does not tell them.
    pub(crate) temporaries: Option<Vec<Tally>>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(profile: &'a Profile, detail: Detail) -> Self {
        let tree = Tree::new(profile, detail.max_nodes);
        let mut frames = Numbering::default();
        frames.number(FrameId(0));
        let mut others = Numbering::default();
        let mut folded = Folded::default();
        let mut depths = Vec::new();
        let mut frame_of_node = Vec::new();
        let mut places = FxHashMap::default();
        tree.walk(|visited, depth| {
            frame_of_node.push(match visited {
                Visited::Node(node) => {
                    places.insert(node, depths.len());
                    let frame = profile.call_tree.frame(node).unwrap_or_default();
                    PageFrame::Frame(frames.number(frame))
                }
                Visited::Other(nodes) => {
                    places.extend(nodes.iter().map(|&node| (node, depths.len())));
                    let (stacks, peak_bytes) = tree.own(nodes);
                    folded.stacks += stacks;
                    folded.peak_bytes += peak_bytes;
                    PageFrame::Other(others.number(stacks))
                }
            });
            depths.push(depth);
        });
        let n_frames = frames.things().len();
        let node_frames = frame_of_node.into_iter().map(|frame| match frame {
            PageFrame::Frame(index) => index,
            PageFrame::Other(index) => n_frames + index,
        });

        let key = |id: LocationId| {
            let location = profile.locations.get(id.index())?;
            let node = *places.get(&location.node)?;
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
        let (slices, intervals) = if detail.stride == 1 {
            (
                Cow::Borrowed(&profile.slices),
                Cow::Borrowed(&profile.intervals[..]),
            )
        } else {
            let (slices, intervals) = profile.thinned(detail.stride);
            (Cow::Owned(slices), Cow::Owned(intervals))
        };
        let rows = rows(&intervals, index);
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
            slices,
            snapshot_stride: profile.snapshot_stride * detail.stride,
            depths,
            node_frames: node_frames.collect(),
            frames: frames.things().to_vec(),
            others: others.things().to_vec(),
            folded,
            locations,
            rows,
            temporaries,
        }
    }

    /// Strings in the order of the frames that use them; the empty one first.
    pub(crate) fn strings(&self, profile: &Profile) -> Numbering<StringId> {
        PageTree::strings(&self.frames, &profile.frames)
    }
}

/// Locations with rows or temporary allocations; some more than once.
pub(super) fn used_locations(profile: &Profile) -> impl Iterator<Item = LocationId> {
    let of_rows = profile.intervals.iter().map(|interval| interval.location);
    of_rows.chain(temporaries(profile).map(|(location, _)| location))
}

/// Locations with temporary allocations, and those.
pub(super) fn temporaries(profile: &Profile) -> impl Iterator<Item = (LocationId, Tally)> + Clone {
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
