//! Turns the records of a capture into batches of events, and the tables that events refer to.

use std::io::ErrorKind;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use memreport_capture::{Allocation, AllocatorKind, Decoder, FileFormat, Header, Record};

use crate::blocks::{Blocks, Counters};
use crate::call_tree::CallTree;
use crate::error::Error;
use crate::event::{Batch, Batches, Event, RangedEvent, Snapshot, lane_of};
use crate::frames::FrameTable;
use crate::id::{FrameId, LocationId, ThreadId};
use crate::locations::{Location, Locations, RecordedLocation};
use crate::metadata::{Ending, Metadata};
use crate::recorded::{Definitions, RecordedFrame, resolve};
use crate::source::{Container, Source};
use crate::stream::{End, Stream, Visitor};
use crate::strings::StringTable;
use crate::temporaries::Temporaries;
use crate::thread::{Thread, Threads};
use crate::warning::{Warning, WarningKind, Warnings};

/// Batches under way between decoding and matching.
const BATCHES_AHEAD: usize = 3;
/// Snapshots after which a batch is handed on even if it has few events.
const SNAPSHOTS_PER_BATCH: usize = 4096;

/// How a capture is read. What is read does not depend on it, save for `temporary_threshold`.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Lanes that a batch's events are divided into: a power of two.
    pub n_lanes: usize,
    /// Events in a batch, at least 1.
    pub events_per_batch: u32,
    /// How many allocations of its thread may lie between a temporary allocation and its end.
    pub temporary_threshold: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            n_lanes: 1,
            events_per_batch: 1 << 16,
            temporary_threshold: 1,
        }
    }
}

/// All that outlives the events.
#[derive(Debug)]
pub struct Recording {
    /// Facts of the header.
    pub metadata: Metadata,
    /// What the capture was wrapped in, from the outside in.
    pub containers: Vec<Container>,
    /// Names and paths.
    pub strings: StringTable,
    /// Distinct frames to show.
    pub frames: FrameTable,
    /// Stacks to show; siblings have distinct frames.
    pub call_tree: CallTree<FrameId>,
    /// Locations, in the order of their first events.
    pub locations: Vec<Location>,
    /// Threads, in the order of their first appearance.
    pub threads: Vec<Thread>,
    /// Temporary allocations, by location.
    pub temporaries: Temporaries,
    /// Number of events: allocations and deallocations, failed ones included.
    pub n_events: u64,
    /// Number of records of any kind.
    pub n_records: u64,
    /// How the capture ends.
    pub ending: Ending,
    /// What was odd on the way.
    pub warnings: Vec<Warning>,
}

/// Reads a capture. `consume` gets its batches in order, while it is read.
///
/// A `consume` that returns before the last batch misses the rest; the recording is whole all the same.
///
/// # Errors
/// [`Error`] when there is nothing to report on: no file, no capture, none that is readable. A
/// capture that is damaged after its header is read up to there; its [`Ending`] says so.
pub fn read<T>(
    source: Source,
    options: Options,
    counters: &Arc<Counters>,
    consume: impl FnOnce(Batches) -> T,
) -> Result<(Recording, T), Error> {
    let name = source.name.clone();
    let (blocks, send_blocks) = Blocks::new(source, Arc::clone(counters));
    let (full_in, full) = bounded(BATCHES_AHEAD);
    let (empty, empty_out) = bounded(BATCHES_AHEAD + 2);
    thread::scope(|scope| {
        scope.spawn(send_blocks);
        let decoding =
            scope.spawn(move || decode(&name, options, blocks, counters, full_in, empty_out));
        let consumed = consume(Batches { full, empty });
        let recording = decoding
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((recording, consumed))
    })
}

/// Decodes the whole capture into batches, and returns what outlives them.
fn decode(
    name: &str,
    options: Options,
    mut blocks: Blocks,
    counters: &Counters,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
) -> Result<Recording, Error> {
    let (header, input, offset) = read_header(name, &mut blocks)?;
    if header.file_format == FileFormat::Aggregated {
        return Err(Error::Aggregated {
            name: name.to_owned(),
        });
    }
    let stream = Stream {
        decoder: Decoder::new(&header, offset),
        has_trailer: header.version.has_trailer(),
        blocks: &mut blocks,
        counters,
    };
    let mut reader = Reader::new(header, options, full, empty);
    let end = stream.run(input, &mut reader)?;
    reader.flush();
    reader.finish(end, blocks.containers)
}

struct Reader {
    header: Header,
    options: Options,
    strings: StringTable,
    definitions: Definitions,
    stacks: CallTree<RecordedFrame>,
    threads: Threads,
    /// The thread that records belong to, by memray's number and by ours.
    current_id: u64,
    current: ThreadId,
    locations: Locations,
    temporaries: Temporaries,
    generation: u32,
    saw_python_allocator: bool,
    last_time_ms: u64,
    batch: Batch,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
    warnings: Warnings,
}

impl Visitor<Decoder> for Reader {
    #[inline]
    fn record(&mut self, record: Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error> {
        self.decoded(record, offset, thread_id)
    }
}

impl Reader {
    fn new(header: Header, options: Options, full: Sender<Batch>, empty: Receiver<Batch>) -> Self {
        Self {
            options,
            strings: StringTable::default(),
            definitions: Definitions::default(),
            stacks: CallTree::default(),
            threads: Threads::new(options.temporary_threshold),
            current_id: 0,
            current: ThreadId::default(),
            locations: Locations::default(),
            temporaries: Temporaries::new(options.temporary_threshold),
            generation: 0,
            saw_python_allocator: false,
            last_time_ms: 0,
            batch: Batch::new(options.n_lanes),
            full,
            empty,
            warnings: Warnings::default(),
            header,
        }
    }

    #[inline]
    fn decoded(&mut self, record: Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error> {
        if thread_id != self.current_id {
            self.current_id = thread_id;
            self.current = self.threads.intern(thread_id)?;
        }
        match record {
            Record::Allocation(allocation) => self.allocation(allocation)?,
            Record::CodePush(push) => self.push(push.into(), offset)?,
            Record::FramePush(id) => self.push(id.into(), offset)?,
            Record::FramePop(count) => self.pop(count, offset),
            Record::Memory(memory) => self.snapshot(memory.time_ms, memory.rss),
            Record::CodeObject(code) => {
                let new = self.definitions.add_code(&mut self.strings, &code)?;
                self.defined(new, offset);
            }
            Record::FrameIndex(frame) => {
                let new = self.definitions.add_frame(&mut self.strings, &frame)?;
                self.defined(new, offset);
            }
            Record::ThreadName(name) => {
                let name = self.strings.intern(name)?;
                if let Some(state) = self.threads.get_mut(self.current) {
                    state.thread.name = name;
                }
            }
            // Without native stacks nothing depends on what is mapped where.
            Record::MemoryMapStart if self.header.native_traces => {
                self.generation = self.generation.saturating_add(1);
            }
            // A context switch is done above; native stacks and object lifetimes count in no figure here.
            _ => {}
        }
        Ok(())
    }

    fn defined(&mut self, new: bool, offset: u64) {
        if !new {
            self.warnings.add(WarningKind::DuplicateDefinition, offset);
        }
    }

    #[inline]
    fn push(&mut self, frame: RecordedFrame, offset: u64) -> Result<(), Error> {
        let Some(thread) = self.threads.get_mut(self.current) else {
            return Ok(());
        };
        let n_nodes = self.stacks.len();
        let node = self.stacks.intern(thread.node(), frame)?;
        thread.push(node);
        if self.stacks.len() > n_nodes && !self.definitions.contains(frame) {
            self.warnings.add(WarningKind::UndefinedFrame, offset);
        }
        Ok(())
    }

    #[inline]
    fn pop(&mut self, count: u32, offset: u64) {
        let Some(thread) = self.threads.get_mut(self.current) else {
            return;
        };
        if !thread.pop(count) {
            self.warnings.add(WarningKind::PopFromEmptyStack, offset);
        }
    }

    #[inline]
    fn allocation(&mut self, record: Allocation) -> Result<(), Error> {
        let index = self.batch.n_events;
        self.batch.n_events += 1;
        let Allocation { address, size, .. } = record;
        match record.allocator.kind() {
            _ if record.failed() => {}
            AllocatorKind::Allocation => {
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
        if self.batch.n_events >= self.options.events_per_batch {
            self.flush();
        }
        Ok(())
    }

    #[inline]
    fn lane(&mut self, event: Event) {
        let lane = lane_of(event.address, self.options.n_lanes);
        if let Some(lane) = self.batch.lanes.get_mut(lane) {
            lane.push(event);
        }
    }

    #[inline]
    fn allocated(&mut self, record: Allocation, index: u32) -> Result<LocationId, Error> {
        let Some(thread) = self.threads.get_mut(self.current) else {
            return Ok(LocationId::NONE);
        };
        // A native stack differs from call to call; its location is looked up each time.
        let cached = if self.header.native_traces {
            None
        } else {
            thread.cached(record.allocator)
        };
        let location = match cached {
            Some(location) => location,
            None => {
                let key = RecordedLocation {
                    node: thread.node(),
                    thread: self.current,
                    allocator: record.allocator,
                    native_id: record.native_id,
                    generation: self.generation,
                };
                let sequence = self.batch.first_sequence.wrapping_add(index.into());
                let location = self.locations.intern(key, sequence)?;
                self.saw_python_allocator |= record.allocator.name().starts_with("PYMALLOC");
                thread.cache(record.allocator, location);
                location
            }
        };
        thread.recent.push(record.address, record.size, location);
        Ok(location)
    }

    #[inline]
    fn deallocated(&mut self, address: u64, length: Option<u64>) {
        let Some(thread) = self.threads.get_mut(self.current) else {
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

    fn n_events(&self) -> u64 {
        self.batch
            .first_sequence
            .wrapping_add(self.batch.n_events.into())
    }

    /// Formats without a trailer are complete if they hold what the header counts.
    fn ending(&self, ending: Ending) -> Ending {
        let counted = self.header.n_allocations;
        let without_trailer = !self.header.version.has_trailer();
        match ending {
            Ending::Interrupted { .. }
                if without_trailer && counted != 0 && counted == self.n_events() =>
            {
                Ending::Complete
            }
            ending => ending,
        }
    }

    /// Hands the batch on and starts the next.
    fn flush(&mut self) {
        let next_sequence = self.n_events();
        let mut next = self
            .empty
            .try_recv()
            .unwrap_or_else(|_| Batch::new(self.options.n_lanes));
        next.clear(next_sequence);
        // Nobody receives any more when the consumer has seen enough.
        let _ = self.full.send(std::mem::replace(&mut self.batch, next));
    }

    fn finish(mut self, end: End, containers: Vec<Container>) -> Result<Recording, Error> {
        let n_events = self.n_events();
        let ending = self.ending(end.ending);
        if let Some(offset) = end.data_after_trailer {
            self.warnings.add(WarningKind::DataAfterTrailer, offset);
        }
        if ending.is_complete() && self.header.n_allocations != n_events {
            self.warnings.add(WarningKind::WrongRecordCount, 0);
        }
        let threads = self.threads.finish();
        let locations = self.locations.finish();
        let shown = resolve(
            &self.header,
            &self.definitions,
            &self.stacks,
            &locations,
            &threads,
        )?;
        let mut metadata = Metadata::new(&self.header);
        if metadata.trace_python_allocators.is_none() && self.saw_python_allocator {
            metadata.trace_python_allocators = Some(true);
        }
        if self.header.n_allocations == 0 && self.last_time_ms != 0 {
            // The end time of a capture that was not closed is that of its start.
            let last = self.last_time_ms.cast_signed();
            metadata.end_time_ms = metadata.end_time_ms.max(last);
        }
        Ok(Recording {
            metadata,
            containers,
            strings: self.strings,
            frames: shown.frames,
            call_tree: shown.call_tree,
            locations: shown.locations,
            threads,
            temporaries: self.temporaries,
            n_events,
            n_records: end.n_records,
            ending,
            warnings: self.warnings.finish(),
        })
    }
}

/// Reads the header. Returns it with the bytes that were read past it, and its length.
pub(crate) fn read_header(
    name: &str,
    blocks: &mut Blocks,
) -> Result<(Header, Vec<u8>, u64), Error> {
    let mut input = Vec::new();
    loop {
        let more = blocks.read_more(&mut input);
        match Header::parse(&input) {
            Ok(Some((header, rest))) => {
                let offset = input.len().saturating_sub(rest.len()) as u64;
                return Ok((header, rest.to_vec(), offset));
            }
            Ok(None) if more => {}
            Ok(None) => return Err(no_header(name, blocks, input.len())),
            Err(source) => {
                return Err(Error::Capture {
                    name: name.to_owned(),
                    source,
                });
            }
        }
    }
}

/// Why there is no header: nothing, too little, or nothing that could be unpacked.
fn no_header(name: &str, blocks: &mut Blocks, len: usize) -> Error {
    let name = name.to_owned();
    match blocks.error.take() {
        Some(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Error::TruncatedContainer { name }
        }
        Some(source) if source.raw_os_error().is_some() => Error::Read { name, source },
        Some(source) => Error::DamagedContainer { name, source },
        None if len == 0 && !blocks.containers.is_empty() => Error::TruncatedContainer { name },
        None if len == 0 => Error::Empty { name },
        None => Error::TruncatedHeader {
            name,
            len: len as u64,
        },
    }
}
