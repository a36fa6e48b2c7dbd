//! Reads an aggregated capture: what was live at the peak and at the end, by location. It has no events.

use memreport_capture::{AggregatedAllocation, AggregatedDecoder, AggregatedRecord, Header};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::id::NodeId;
use crate::locations::{Locations, RecordedLocation};
use crate::recorded::RecordedFrame;
use crate::stream::Visitor;
use crate::tables::Tables;
use crate::tally::Tally;
use crate::warning::WarningKind;

/// What an aggregated capture holds in place of events.
///
/// * Shape: tallies by location; locations in the order of the capture's rows
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sums {
    /// Memory snapshots.
    pub snapshots: Vec<SumSnapshot>,
    /// What was live at the highest heap.
    pub peak: Vec<Tally>,
    /// What was live at the end.
    pub leaks: Vec<Tally>,
}

/// A memory snapshot of an aggregated capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumSnapshot {
    /// Milliseconds since the epoch.
    pub time_ms: u64,
    /// Resident set size in bytes.
    pub rss: u64,
    /// Heap in bytes.
    pub heap: u64,
}

/// Takes the records of an aggregated capture.
pub(crate) struct SumReader {
    pub(crate) tables: Tables,
    pub(crate) locations: Locations,
    pub(crate) sums: Sums,
    /// Objects that were alive at the end; they count in no figure of memory.
    pub(crate) n_surviving_objects: u64,
    /// Frames by their number in the file.
    frames: FxHashMap<u64, RecordedFrame>,
    /// Nodes in the order of the file; node k of the file, counted from 1, is at index k - 1.
    nodes: Vec<NodeId>,
}

impl Visitor<AggregatedDecoder> for SumReader {
    fn record(
        &mut self,
        record: AggregatedRecord<'_>,
        offset: u64,
        thread_id: u64,
    ) -> Result<(), Error> {
        self.tables.switch_to(thread_id)?;
        match record {
            AggregatedRecord::Snapshot(snapshot) => self.sums.snapshots.push(SumSnapshot {
                time_ms: snapshot.time_ms,
                rss: snapshot.rss,
                heap: snapshot.heap,
            }),
            AggregatedRecord::Allocation(row) => self.row(&row, offset)?,
            AggregatedRecord::Node(node) => self.node(node.frame_id, node.parent, offset)?,
            AggregatedRecord::Frame(frame) => {
                self.tables.frame_index(&frame, offset)?;
                self.frames.insert(frame.id, frame.id.into());
            }
            AggregatedRecord::CodeFrame(frame) => {
                self.frames.insert(frame.frame_id, frame.push.into());
            }
            AggregatedRecord::CodeObject(code) => self.tables.code_object(&code, offset)?,
            AggregatedRecord::NativeTrace(trace) => self.tables.native_trace(trace, offset),
            AggregatedRecord::MemoryMapStart => self.tables.native.start_map(),
            AggregatedRecord::SegmentHeader(header) => self.tables.native.image(&header),
            AggregatedRecord::Segment(segment) => self.tables.native.segment(segment),
            AggregatedRecord::ThreadName(name) => self.tables.thread_name(name)?,
            AggregatedRecord::SurvivingObject { .. } => self.n_surviving_objects += 1,
            // The thread was switched above; the trailer ends the stream.
            _ => {}
        }
        Ok(())
    }
}

impl SumReader {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            tables: Tables::new(header),
            locations: Locations::default(),
            sums: Sums::default(),
            n_surviving_objects: 0,
            frames: FxHashMap::default(),
            nodes: Vec::new(),
        }
    }

    fn node(&mut self, frame_id: u64, parent: u64, offset: u64) -> Result<(), Error> {
        let frame = match self.frames.get(&frame_id) {
            Some(&frame) => frame,
            // A frame that was never defined is shown without names.
            None => frame_id.into(),
        };
        let parent = self.node_of(parent, offset);
        let node = self.tables.stack(parent, frame, offset)?;
        self.nodes.push(node);
        Ok(())
    }

    /// The node that the file numbers so; 0 is the empty stack.
    fn node_of(&mut self, number: u64, offset: u64) -> NodeId {
        let Some(index) = number.checked_sub(1) else {
            return NodeId::default();
        };
        let node = usize::try_from(index)
            .ok()
            .and_then(|index| self.nodes.get(index));
        node.copied().unwrap_or_else(|| {
            self.tables
                .warnings
                .add(WarningKind::UndefinedFrame, offset);
            NodeId::default()
        })
    }

    fn row(&mut self, row: &AggregatedAllocation, offset: u64) -> Result<(), Error> {
        let key = RecordedLocation {
            node: self.node_of(row.node, offset),
            thread: self.tables.threads.intern(row.thread_id)?,
            allocator: row.allocator,
            native_id: row.native_id,
            generation: u32::try_from(row.generation).unwrap_or(u32::MAX),
        };
        let n_rows = self.sums.peak.len() as u64;
        let location = self.locations.intern(key, n_rows)?;
        let add = |column: &mut Vec<Tally>, allocations: u64, bytes: u64| {
            column.resize(column.len().max(location.index() + 1), Tally::default());
            if let Some(tally) = column.get_mut(location.index()) {
                tally.allocations = tally.allocations.saturating_add(allocations);
                tally.bytes = tally.bytes.saturating_add(bytes);
            }
        };
        add(&mut self.sums.peak, row.peak_allocations, row.peak_bytes);
        add(
            &mut self.sums.leaks,
            row.leaked_allocations,
            row.leaked_bytes,
        );
        Ok(())
    }
}
