//! Reads a capture of every record: allocations and deallocations become batches of events.

use std::ops::ControlFlow;

use crossbeam_channel::{Receiver, Sender};
use memreport_capture::{
    Allocation, Allocator, AllocatorKind, CodePush, Decoder, FrequentRecords, Header, Record,
};

use crate::call_tree::CallTree;
use crate::error::Error;
use crate::event::{Batch, Event, RangedEvent, Snapshot};
use crate::id::{LocationId, ThreadId};
use crate::locations::{Locations, RecordedLocation};
use crate::reader::Options;
use crate::recorded::{Definitions, RecordedFrame};
use crate::stream::Visitor;
use crate::tables::{Tables, enter};
use crate::thread::ThreadState;
use crate::warning::{WarningKind, Warnings};

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
    /// Creations and destructions of objects; they count in no figure of memory.
    pub(crate) n_object_events: u64,
    /// Time of the last memory snapshot, or 0.
    pub(crate) last_time_ms: u64,
    native_traces: bool,
    may_be_python_37: bool,
    events_per_batch: usize,
    batch: Batch,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
}

impl Visitor<Decoder> for EventReader {
    #[inline]
    fn record(&mut self, record: Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error> {
        self.tables.switch_to(thread_id)?;
        match record {
            Record::Allocation(allocation) => {
                if let Some(mut current) = self.current() {
                    current.allocation(allocation, offset)?;
                }
                if self.batch.events.len() >= self.events_per_batch {
                    self.flush();
                }
            }
            Record::CodePush(push) => self.push(push.into(), offset)?,
            Record::FramePush(id) => self.push(id.into(), offset)?,
            Record::FramePop(count) => {
                if let Some(mut current) = self.current() {
                    current.pop(count, offset);
                }
            }
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

    fn frequent(&mut self, decoder: &mut Decoder, input: &[u8]) -> Result<usize, Error> {
        self.tables.switch_to(decoder.thread_id())?;
        let mut taken = 0;
        loop {
            let Some(mut current) = self.current() else {
                return Ok(taken);
            };
            let rest = input.get(taken..).unwrap_or_default();
            taken += decoder.decode_frequent(rest, &mut current);
            current.failed?;
            if self.batch.events.len() < self.events_per_batch {
                return Ok(taken);
            }
            self.flush();
        }
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
            tables: Tables::new(header),
            locations: Locations::default(),
            n_object_events: 0,
            last_time_ms: 0,
            native_traces: header.native_traces,
            may_be_python_37: header.python_version.is_none(),
            events_per_batch: options.events_per_batch as usize,
            batch: Batch::default(),
            full,
            empty,
        }
    }

    fn push(&mut self, frame: RecordedFrame, offset: u64) -> Result<(), Error> {
        self.current()
            .map_or(Ok(()), |mut current| current.push(frame, offset))
    }

    /// The current thread, if there was any yet.
    #[inline]
    fn current(&mut self) -> Option<CurrentThread<'_>> {
        let Tables {
            stacks,
            definitions,
            warnings,
            threads,
            native,
            current,
            ..
        } = &mut self.tables;
        Some(CurrentThread {
            thread: threads.get_mut(*current)?,
            id: *current,
            generation: native.generation(),
            native_traces: self.native_traces,
            n_native_nodes: native.n_nodes(),
            may_be_python_37: self.may_be_python_37,
            stacks,
            definitions,
            warnings,
            locations: &mut self.locations,
            batch: &mut self.batch,
            events_per_batch: self.events_per_batch,
            failed: Ok(()),
        })
    }

    fn snapshot(&mut self, time_ms: u64, rss: u64) {
        self.last_time_ms = time_ms;
        self.batch.snapshots.push(Snapshot {
            time_ms,
            rss,
            at: self.batch.n_events(),
        });
        if self.batch.snapshots.len() >= SNAPSHOTS_PER_BATCH {
            self.flush();
        }
    }

    pub(crate) fn n_events(&self) -> u64 {
        self.batch
            .first_sequence
            .wrapping_add(self.batch.n_events().into())
    }

    /// Hands the batch on and starts the next.
    pub(crate) fn flush(&mut self) {
        let next_sequence = self.n_events();
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.clear(next_sequence);
        // Nobody receives any more when the consumer has seen enough.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }
}

/// A thread while records are its own, and all that they change.
struct CurrentThread<'a> {
    thread: &'a mut ThreadState,
    id: ThreadId,
    /// Of the memory map.
    generation: u32,
    native_traces: bool,
    /// Nodes of the tree of native stacks that are defined by now, from 1.
    n_native_nodes: u64,
    may_be_python_37: bool,
    stacks: &'a mut CallTree<RecordedFrame>,
    definitions: &'a Definitions,
    warnings: &'a mut Warnings,
    locations: &'a mut Locations,
    batch: &'a mut Batch,
    events_per_batch: usize,
    /// Why a frequent record was the last.
    failed: Result<(), Error>,
}

impl FrequentRecords for CurrentThread<'_> {
    #[inline(always)]
    fn allocated(&mut self, allocation: Allocation, offset: u64) -> ControlFlow<()> {
        match self.block_begins(allocation, offset) {
            Ok(()) => self.next(),
            Err(error) => self.fail(error),
        }
    }

    #[inline(always)]
    fn freed(&mut self, address: u64) -> ControlFlow<()> {
        self.block_ends(address);
        self.next()
    }

    #[inline(always)]
    fn push(&mut self, push: CodePush, offset: u64) -> ControlFlow<()> {
        match self.push(push.into(), offset) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => self.fail(error),
        }
    }

    #[inline(always)]
    fn pop(&mut self, count: u32, offset: u64) -> ControlFlow<()> {
        self.pop(count, offset);
        ControlFlow::Continue(())
    }
}

impl CurrentThread<'_> {
    /// Whether the batch has room for another event.
    #[inline(always)]
    fn next(&self) -> ControlFlow<()> {
        if self.batch.events.len() < self.events_per_batch {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    #[cold]
    fn fail(&mut self, error: Error) -> ControlFlow<()> {
        self.failed = Err(error);
        ControlFlow::Break(())
    }

    /// A frame is entered.
    #[inline]
    fn push(&mut self, frame: RecordedFrame, offset: u64) -> Result<(), Error> {
        let parent = self.thread.node();
        let node = enter(
            self.stacks,
            self.definitions,
            self.warnings,
            parent,
            frame,
            offset,
        )?;
        self.thread.push(node);
        Ok(())
    }

    #[inline]
    fn pop(&mut self, count: u32, offset: u64) {
        if !self.thread.pop(count) {
            self.warnings.add(WarningKind::PopFromEmptyStack, offset);
        }
    }

    fn allocation(&mut self, record: Allocation, offset: u64) -> Result<(), Error> {
        let Allocation { address, size, .. } = record;
        match record.allocator.kind() {
            AllocatorKind::Allocation => return self.block_begins(record, offset),
            AllocatorKind::Deallocation => self.block_ends(address),
            AllocatorKind::RangedAllocation if record.failed() => self.no_block(),
            AllocatorKind::RangedAllocation => {
                if address & PAGE_MASK != 0 && address >= MIN_ADDRESS {
                    self.warnings.add(WarningKind::MisalignedBlock, offset);
                }
                self.check_native(record, offset);
                let location = self.location(record)?;
                self.ranged(address, size, location);
            }
            AllocatorKind::RangedDeallocation => self.ranged(address, size, LocationId::NONE),
        }
        Ok(())
    }

    fn ranged(&mut self, address: u64, length: u64, location: LocationId) {
        self.batch.ranged.push(RangedEvent {
            address,
            length,
            location,
            thread: self.id,
            index: self.batch.n_events(),
        });
        self.no_block();
    }

    /// An event that is not about a single block.
    fn no_block(&mut self) {
        self.batch.events.push(Event::NOTHING);
    }

    #[inline(always)]
    fn block_begins(&mut self, record: Allocation, offset: u64) -> Result<(), Error> {
        if record.failed() {
            self.no_block();
            return Ok(());
        }
        if record.size >= 16 && record.address & 15 != 0 && !self.may_lie_at(record) {
            self.warnings.add(WarningKind::MisalignedBlock, offset);
        }
        self.check_native(record, offset);
        let location = self.location(record)?;
        self.batch.events.push(Event {
            address: record.address,
            size: record.size,
            location,
            thread: self.id,
        });
        Ok(())
    }

    /// Whether a block of 16 bytes or more may lie at an address that is no multiple of 16.
    #[cold]
    fn may_lie_at(&self, record: Allocation) -> bool {
        // Python up to 3.7 aligned its own blocks to 8 bytes; formats up to 11 may come from there.
        let is_pythons = matches!(
            record.allocator,
            Allocator::PymallocMalloc | Allocator::PymallocCalloc | Allocator::PymallocRealloc
        );
        is_pythons && self.may_be_python_37 && record.address & 7 == 0
    }

    /// Warns of a native stack that does not exist.
    #[inline(always)]
    fn check_native(&mut self, record: Allocation, offset: u64) {
        // Without native stacks, the number is 0.
        if record.native_id > self.n_native_nodes {
            self.warnings.add(WarningKind::UndefinedNativeStack, offset);
        }
    }

    #[inline(always)]
    fn block_ends(&mut self, address: u64) {
        self.batch.events.push(Event {
            address,
            size: 0,
            location: LocationId::NONE,
            thread: self.id,
        });
    }

    /// Where an allocation is made, which is the next event.
    #[inline(always)]
    fn location(&mut self, record: Allocation) -> Result<LocationId, Error> {
        // A native stack differs from call to call; its location is looked up each time.
        let cached = if self.native_traces {
            None
        } else {
            self.thread.cached(record.allocator)
        };
        match cached {
            Some(location) => Ok(location),
            None => self.located(record),
        }
    }

    fn located(&mut self, record: Allocation) -> Result<LocationId, Error> {
        let key = RecordedLocation {
            node: self.thread.node(),
            thread: self.id,
            allocator: record.allocator,
            native_id: record.native_id,
            generation: self.generation,
        };
        let index = self.batch.n_events().into();
        let sequence = self.batch.first_sequence.wrapping_add(index);
        let location = self.locations.intern(key, sequence)?;
        self.thread.cache(record.allocator, location);
        Ok(location)
    }
}
