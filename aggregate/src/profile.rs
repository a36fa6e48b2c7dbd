//! The profile: all that reports are made from.

use std::sync::Arc;

use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{
    CallTree, Container, Counters, Ending, FrameId, FrameTable, Location, Metadata, NativeResult,
    Recording, Source, SourceFiles, SourceLineOptions, SourceLines, StringTable, Tally, Thread,
    Warning, WarningKind, read,
};

use crate::error::Error;
use crate::interval_table::{Interval, merge};
use crate::ledger::Ledger;
use crate::matching::Matching;
use crate::sizes::SizeCounts;
use crate::slices::Slices;
use crate::sums;
use crate::temporaries::Temporaries;
use crate::thin::{stride, thin};

/// How a profile is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// Memory snapshots to keep at most; with more, slices become longer, and their peaks stay exact.
    pub max_memory_records: usize,
    /// How many allocations of its thread may lie between a temporary allocation and its end.
    pub temporary_threshold: usize,
    /// Events to work on at a time. No figure depends on it.
    pub events_per_batch: u32,
    /// Where symbols of native frames are looked for.
    pub symbols: SymbolOptions,
    /// Whether stacks keep memray's own frames, those above the one that started tracking.
    pub memray_frames: bool,
    /// Where lines of source are looked for.
    pub source_lines: SourceLineOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_memory_records: 10_000,
            temporary_threshold: 1,
            events_per_batch: 1 << 14,
            symbols: SymbolOptions {
                enabled: true,
                ..SymbolOptions::default()
            },
            memray_frames: false,
            source_lines: SourceLineOptions::default(),
        }
    }
}

/// Counts over a whole capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Records of any kind.
    pub records: u64,
    /// Allocations and deallocations, failed ones included.
    pub events: u64,
    /// Creations and destructions of objects (of an aggregated capture: objects that survived).
    pub object_events: u64,
    /// Allocations that did not fail.
    pub allocations: u64,
    /// Sum of their sizes.
    pub allocated_bytes: u64,
    /// Allocations at an address that was still live: the old block was freed unseen.
    pub implicit_frees: u64,
    /// Mappings over bytes that were still mapped.
    pub implicit_unmaps: u64,
    /// Deallocations of what was not live: allocated before tracking, or unseen.
    pub unknown_deallocations: u64,
}

/// The memory snapshot with the largest resident set; the first of several.
///
/// * Source: all snapshots, also those that were thinned out
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RssPeak {
    /// The slice that ends with it or, if it was thinned out, that it is in.
    pub slice: usize,
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// Resident set size in bytes.
    pub rss: u64,
    /// Heap at that moment in bytes.
    pub heap: u64,
}

impl RssPeak {
    fn new(slices: &Slices, stride: usize) -> Option<Self> {
        // Of equals, `max_by_key` finds the last.
        let (snapshot, &rss) = slices
            .rss
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|&(_, rss)| rss)?;
        Some(Self {
            slice: snapshot.div_ceil(stride),
            time_ms: slices.times_ms.get(snapshot).copied()?,
            rss,
            heap: slices.heap.get(snapshot).copied()?,
        })
    }
}

/// What a capture says, as columns.
///
/// * Source: `semantics.md`; section numbers at the parts
#[derive(Debug)]
pub struct Profile {
    /// Facts of the capture's header.
    pub metadata: Metadata,
    /// What the capture was wrapped in, from the outside in.
    pub containers: Vec<Container>,
    /// Bytes read of the source, before decompression.
    pub bytes_read: u64,
    /// Bytes there are in the source, if that is known.
    pub size: Option<u64>,
    /// How the capture ends.
    pub ending: Ending,
    /// What was odd in it.
    pub warnings: Vec<Warning>,
    /// Names and paths.
    pub strings: StringTable,
    /// Distinct frames.
    pub frames: FrameTable,
    /// Stacks; siblings have distinct frames.
    pub call_tree: CallTree<FrameId>,
    /// Threads, in the order of their first appearance.
    pub threads: Vec<Thread>,
    /// Locations, in the order of their first events.
    pub locations: Vec<Location>,
    /// Memory over time.
    pub slices: Slices,
    /// When the resident set was largest, if there are memory snapshots.
    pub rss_peak: Option<RssPeak>,
    /// The interval table, sorted by (start, location, end).
    pub intervals: Vec<Interval>,
    /// Allocations and bytes ever made, by location.
    pub made: Vec<Tally>,
    /// Temporary allocations, by location (4).
    pub temporaries: Temporaries,
    /// Distinct sizes ascending, each with its number of allocations (8).
    pub sizes: Vec<(u64, u64)>,
    /// Whether the capture holds sums only: then views of the whole run are all there is; counts,
    /// sizes, temporary allocations and moments are not known.
    pub is_aggregated: bool,
    /// How native stacks were resolved, if the capture has any.
    pub native: Option<NativeResult>,
    /// Lines of source of frames, if they were asked for.
    pub source_lines: Option<SourceLines>,
    /// Counts over the capture.
    pub counts: Counts,
    /// Each so-many-th memory snapshot is kept: 1 for all (5.1).
    pub snapshot_stride: usize,
}

/// Reads a capture into a profile. The profile is the same on any number of threads.
///
/// # Errors
/// [`Error`] when there is nothing to report on, or the figures would overflow.
pub fn read_profile(
    source: Source,
    options: &Options,
    counters: &Arc<Counters>,
) -> Result<Profile, Error> {
    let n_lanes = rayon::current_num_threads().next_power_of_two().min(64);
    let ingest_options = memreport_ingest::Options {
        events_per_batch: options.events_per_batch.max(1),
        symbols: options.symbols.clone(),
        memray_frames: options.memray_frames,
    };
    let (recording, matched) = read(source, &ingest_options, counters, |mut batches| {
        let mut matching = Matching::new(n_lanes, options.temporary_threshold);
        while let Some(batch) = batches.next() {
            matching.add(&batch)?;
            batches.recycle(batch);
        }
        Ok::<_, Error>(matching)
    })?;
    profile_of(recording, matched?, options)
}

/// The profile of a recording whose batches went, all of them and in order, through `matching`.
///
/// # Errors
/// [`Error`] if the figures would overflow.
pub fn profile_of(
    recording: Recording,
    mut matching: Matching,
    options: &Options,
) -> Result<Profile, Error> {
    let (slices, rows) = match &recording.sums {
        Some(sums) => sums::tables(sums)?,
        None => matching.finish(recording.n_events),
    };
    let snapshot_stride = stride(slices.n_snapshots(), options.max_memory_records);
    let rss_peak = RssPeak::new(&slices, snapshot_stride);
    let (slices, intervals) = if snapshot_stride == 1 {
        (slices, merge(rows))
    } else {
        thin(&slices, rows, snapshot_stride)
    };

    let lanes = &matching.lanes;
    let ledgers = [&matching.sift.ledger, &matching.ranges.ledger];
    let sizes = SizeCounts::sorted(ledgers.iter().map(|ledger| &ledger.sizes));
    let made = made_by_location(ledgers, recording.locations.len());
    let (allocations, allocated_bytes) = total(&sizes).ok_or(Error::TotalOverflow)?;
    let asked = options.source_lines.files != SourceFiles::None;
    let source_lines = asked.then(|| {
        let ended = recording.metadata.end_time_ms;
        SourceLines::read(
            &recording.frames,
            &recording.strings,
            ended,
            &options.source_lines,
        )
    });
    let counts = Counts {
        records: recording.n_records,
        events: recording.n_events,
        object_events: recording.n_object_events,
        allocations,
        allocated_bytes,
        implicit_frees: lanes.iter().map(|lane| lane.implicit_frees).sum(),
        implicit_unmaps: matching.ranges.implicit_unmaps,
        unknown_deallocations: lanes.iter().map(|lane| lane.unknown).sum::<u64>()
            + matching.ranges.unknown,
    };
    let temporaries = match &recording.sums {
        Some(_) => Temporaries::new(0),
        None => std::mem::take(&mut matching.sift.temporaries.found),
    };
    let mut warnings = recording.warnings;
    let freed_within = matching.freed_within();
    if freed_within > 0 {
        warnings.push(Warning {
            kind: WarningKind::FreeWithinBlock,
            count: freed_within,
            first_offset: None,
        });
    }
    Ok(Profile {
        metadata: recording.metadata,
        containers: recording.containers,
        bytes_read: recording.bytes_read,
        size: recording.size,
        ending: recording.ending,
        warnings,
        strings: recording.strings,
        frames: recording.frames,
        call_tree: recording.call_tree,
        threads: recording.threads,
        locations: recording.locations,
        slices,
        rss_peak,
        intervals,
        made,
        temporaries,
        sizes,
        is_aggregated: recording.sums.is_some(),
        native: recording.native,
        source_lines,
        counts,
        snapshot_stride,
    })
}

impl Profile {
    /// Slices and rows with each `stride`-th snapshot only; every peak stays exact.
    #[must_use]
    pub fn thinned(&self, stride: usize) -> (Slices, Vec<Interval>) {
        thin(&self.slices, self.intervals.clone(), stride)
    }
}

fn made_by_location<'a>(
    ledgers: impl IntoIterator<Item = &'a Ledger>,
    n_locations: usize,
) -> Vec<Tally> {
    let mut made = vec![Tally::default(); n_locations];
    for ledger in ledgers {
        for (sum, tally) in made.iter_mut().zip(&ledger.made) {
            // The sum over all locations is checked to fit, so each of them does.
            sum.add_all(*tally);
        }
    }
    made
}

/// Number and bytes of all allocations.
fn total(sizes: &[(u64, u64)]) -> Option<(u64, u64)> {
    let mut total = (0_u64, 0_u64);
    for &(size, count) in sizes {
        total.0 = total.0.checked_add(count)?;
        total.1 = total.1.checked_add(size.checked_mul(count)?)?;
    }
    Some(total)
}
