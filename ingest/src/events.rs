//! Reads a capture of every record: allocations and deallocations become batches of events.

use crossbeam_channel::{Receiver, Sender};
use memreport_capture::{Allocation, Allocator, AllocatorKind, Decoder, Header, Record};

use crate::error::Error;
use crate::event::{Batch, Event, RangedEvent, Snapshot, lane_of};
use crate::id::LocationId;
use crate::locations::{Locations, RecordedLocation};
use crate::reader::Options;
use crate::recorded::RecordedFrame;
use crate::stream::Visitor;
use crate::tables::Tables;
use crate::temporaries::Temporaries;
use crate::warning::WarningKind;

/// Snapshots after which a batch is handed on even if it has few events.
const SNAPSHOTS_PER_BATCH: usize = 4096;

/// The bits that are zero in the address of a page, on every system.
const PAGE_MASK: u64 = (4 << 10) - 1;
/// No system maps anything below this.
const MIN_ADDRESS: u64 = 64 << 10;

/// Takes records, keeps each thread's stack, and hands batches of events on.
pub(crate) struct EventReader {
    pub(crate) tables: Tables,
    pub(crate) locations: Locations,
    pub(crate) temporaries: Temporaries,
    /// Creations and destructions of objects; they count in no figure of memory.
    pub(crate) n_object_events: u64,
    /// Time of the last memory snapshot, or 0.
    pub(crate) last_time_ms: u64,
    native_traces: bool,
    may_be_python_37: bool,
    n_lanes: usize,
    events_per_batch: u32,
    batch: Batch,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
}

impl Visitor<Decoder> for EventReader {
    #[inline]
    fn record(&mut self, record: Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error> {
        self.tables.switch_to(thread_id)?;
        match record {
            Record::Allocation(allocation) => self.allocation(allocation, offset)?,
            Record::CodePush(push) => self.push(push.into(), offset)?,
            Record::FramePush(id) => self.push(id.into(), offset)?,
            Record::FramePop(count) => self.pop(count, offset),
            Record::Memory(memory) => self.snapshot(memory.time_ms, memory.rss),
            Record::CodeObject(code) => self.tables.code_object(&code, offset)?,
            Record::FrameIndex(frame) => self.tables.frame_index(&frame, offset)?,
            Record::ThreadName(name) => self.tables.thread_name(name)?,
            Record::NativeTrace(trace) => self.tables.native_trace(trace, offset),
            Record::MemoryMapStart => self.tables.native.start_map(),
            Record::SegmentHeader(header) => self.tables.native.image(&header),
            Record::Segment(segment) => self.tables.native.segment(segment),
            Record::Object(_) => self.n_object_events += 1,
            // The thread was switched above; the trailer ends the stream.
            _ => {}
        }
        Ok(())
    }
}

impl EventReader {
    pub(crate) fn new(
        header: &Header,
        options: &Options,
        full: Sender<Batch>,
        empty: Receiver<Batch>,
    ) -> Self {
        Self {
            tables: Tables::new(header, options.temporary_threshold),
            locations: Locations::default(),
            temporaries: Temporaries::new(options.temporary_threshold),
            n_object_events: 0,
            last_time_ms: 0,
            native_traces: header.native_traces,
            may_be_python_37: header.python_version.is_none(),
            n_lanes: options.n_lanes,
            events_per_batch: options.events_per_batch,
            batch: Batch::new(options.n_lanes),
            full,
            empty,
        }
    }

    #[inline]
    fn push(&mut self, frame: RecordedFrame, offset: u64) -> Result<(), Error> {
        let Some(parent) = self.tables.thread().map(|thread| thread.node()) else {
            return Ok(());
        };
        let node = self.tables.stack(parent, frame, offset)?;
        if let Some(thread) = self.tables.thread() {
            thread.push(node);
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self, count: u32, offset: u64) {
        let Some(thread) = self.tables.thread() else {
            return;
        };
        if !thread.pop(count) {
            self.tables
                .warnings
                .add(WarningKind::PopFromEmptyStack, offset);
        }
    }

    #[inline]
    fn allocation(&mut self, record: Allocation, offset: u64) -> Result<(), Error> {
        let index = self.batch.n_events;
        self.batch.n_events += 1;
        let Allocation { address, size, .. } = record;
        match record.allocator.kind() {
            _ if record.failed() => {}
            AllocatorKind::Allocation => {
                self.check(
                    record,
                    size >= 16 && address & self.block_mask(record) != 0,
                    offset,
                );
                let location = self.allocated(record, index)?;
                self.lane(Event {
                    address,
                    size,
                    location,
                    index,
                });
            }
            AllocatorKind::Deallocation => {
                self.deallocated(address, None);
                self.lane(Event {
                    address,
                    size: 0,
                    location: LocationId::NONE,
                    index,
                });
            }
            AllocatorKind::RangedAllocation => {
                let is_misaligned = address & PAGE_MASK != 0 && address >= MIN_ADDRESS;
                self.check(record, is_misaligned, offset);
                let location = self.allocated(record, index)?;
                self.batch.ranged.push(RangedEvent {
                    address,
                    length: size,
                    location,
                    index,
                });
            }
            AllocatorKind::RangedDeallocation => {
                self.deallocated(address, Some(size));
                let location = LocationId::NONE;
                self.batch.ranged.push(RangedEvent {
                    address,
                    length: size,
                    location,
                    index,
                });
            }
        }
        if self.batch.n_events >= self.events_per_batch {
            self.flush();
        }
        Ok(())
    }

    /// The bits that are zero in the address of a block of 16 bytes or more.
    #[inline]
    fn block_mask(&self, record: Allocation) -> u64 {
        // Python up to 3.7 aligned its own blocks to 8 bytes; formats up to 11 may come from there.
        let is_pythons = matches!(
            record.allocator,
            Allocator::PymallocMalloc | Allocator::PymallocCalloc | Allocator::PymallocRealloc
        );
        if is_pythons && self.may_be_python_37 {
            7
        } else {
            15
        }
    }

    /// Warns of what cannot be in an allocation.
    #[inline]
    fn check(&mut self, record: Allocation, is_misaligned: bool, offset: u64) {
        if is_misaligned {
            self.tables
                .warnings
                .add(WarningKind::MisalignedBlock, offset);
        }
        if self.native_traces && !self.tables.native.is_defined(record.native_id) {
            self.tables
                .warnings
                .add(WarningKind::UndefinedNativeStack, offset);
        }
    }

    #[inline]
    fn lane(&mut self, event: Event) {
        let lane = lane_of(event.address, self.n_lanes);
        if let Some(lane) = self.batch.lanes.get_mut(lane) {
            lane.push(event);
        }
    }

    #[inline]
    fn allocated(&mut self, record: Allocation, index: u32) -> Result<LocationId, Error> {
        let generation = self.tables.native.generation();
        let thread_id = self.tables.current;
        let Some(thread) = self.tables.thread() else {
            return Ok(LocationId::NONE);
        };
        // A native stack differs from call to call; its location is looked up each time.
        let cached = if self.native_traces {
            None
        } else {
            thread.cached(record.allocator)
        };
        let location = match cached {
            Some(location) => location,
            None => {
                let key = RecordedLocation {
                    node: thread.node(),
                    thread: thread_id,
                    allocator: record.allocator,
                    native_id: record.native_id,
                    generation,
                };
                let sequence = self.batch.first_sequence.wrapping_add(index.into());
                let location = self.locations.intern(key, sequence)?;
                thread.cache(record.allocator, location);
                location
            }
        };
        thread.recent.push(record.address, record.size, location);
        Ok(location)
    }

    #[inline]
    fn deallocated(&mut self, address: u64, length: Option<u64>) {
        let Some(thread) = self.tables.thread() else {
            return;
        };
        if let Some(found) = thread.recent.find(address, length) {
            self.temporaries.add(found);
        }
    }

    fn snapshot(&mut self, time_ms: u64, rss: u64) {
        self.last_time_ms = time_ms;
        self.batch.snapshots.push(Snapshot {
            time_ms,
            rss,
            at: self.batch.n_events,
        });
        if self.batch.snapshots.len() >= SNAPSHOTS_PER_BATCH {
            self.flush();
        }
    }

    pub(crate) fn n_events(&self) -> u64 {
        self.batch
            .first_sequence
            .wrapping_add(self.batch.n_events.into())
    }

    /// Hands the batch on and starts the next.
    pub(crate) fn flush(&mut self) {
        let next_sequence = self.n_events();
        let mut next = self
            .empty
            .try_recv()
            .unwrap_or_else(|_| Batch::new(self.n_lanes));
        next.clear(next_sequence);
        // Nobody receives any more when the consumer has seen enough.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }
}
