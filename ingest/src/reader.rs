//! Turns the records of a capture into batches of events, and the tables that events refer to.

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use memreport_capture::{AggregatedDecoder, Decoder, FileFormat, Header};

use crate::blocks::{Blocks, Counters};
use crate::call_tree::CallTree;
use crate::error::Error;
use crate::event::{Batch, Batches};
use crate::events::EventReader;
use crate::frames::FrameTable;
use crate::id::FrameId;
use crate::locations::{Location, RecordedLocation};
use crate::metadata::{Ending, Metadata};
use crate::native::SymbolOptions;
use crate::resolve::{NativeResult, resolve};
use crate::source::{Container, Source};
use crate::stream::{End, Stream};
use crate::strings::StringTable;
use crate::sums::{SumReader, Sums};
use crate::tables::Tables;
use crate::thread::Thread;
use crate::warning::{Warning, WarningKind};

/// Batches under way between decoding and matching.
const BATCHES_AHEAD: usize = 3;

/// How a capture is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Events in a batch, at least 1.
    pub events_per_batch: u32,
    /// Where symbols of native frames are looked for.
    pub symbols: SymbolOptions,
    /// Whether stacks keep the frames above the one that started tracking, which are memray's own.
    pub memray_frames: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            events_per_batch: 1 << 16,
            symbols: SymbolOptions::default(),
            memray_frames: false,
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
    /// What an aggregated capture holds in place of events.
    pub sums: Option<Sums>,
    /// How native stacks were resolved, if the capture has any.
    pub native: Option<NativeResult>,
    /// Number of events: allocations and deallocations, failed ones included.
    pub n_events: u64,
    /// Creations and destructions of objects, or, in an aggregated capture, objects that survived. They
    /// count in no figure of memory.
    pub n_object_events: u64,
    /// Number of records of any kind.
    pub n_records: u64,
    /// Bytes read of the source, before decompression.
    pub bytes_read: u64,
    /// Bytes there are in the source, if that is known.
    pub size: Option<u64>,
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
    options: &Options,
    counters: &Arc<Counters>,
    consume: impl FnOnce(Batches) -> T,
) -> Result<(Recording, T), Error> {
    let (name, size) = (source.name.clone(), source.size());
    let (blocks, send_blocks) = Blocks::new(source, Arc::clone(counters));
    let (full_in, full) = bounded(BATCHES_AHEAD);
    let (empty, empty_out) = bounded(BATCHES_AHEAD + 2);
    let opened = Opened {
        name: &name,
        size,
        options,
        counters,
    };
    thread::scope(|scope| {
        scope.spawn(send_blocks);
        let decoding = scope.spawn(move || decode(opened, blocks, full_in, empty_out));
        let consumed = consume(Batches { full, empty });
        let recording = decoding
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((recording, consumed))
    })
}

/// Decodes the whole capture, events into batches, and returns what outlives them.
fn decode(
    source: Opened<'_>,
    mut blocks: Blocks,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
) -> Result<Recording, Error> {
    let (header, input, offset) = read_header(source.name, &mut blocks)?;
    match header.file_format {
        FileFormat::AllAllocations => {
            let mut reader = EventReader::new(&header, source.options, full, empty);
            let decoder = Decoder::new(&header, offset);
            let end = Stream::new(decoder, &header, &mut blocks, source.counters)
                .run(input, &mut reader)?;
            reader.flush();
            let n_events = reader.n_events();
            let EventReader {
                tables,
                locations,
                n_object_events,
                last_time_ms,
                ..
            } = reader;
            let read = Read {
                tables,
                locations: locations.finish(),
                sums: None,
                n_events,
                n_object_events,
                last_time_ms,
            };
            read.finish(&header, end, source, blocks.containers)
        }
        FileFormat::Aggregated => {
            drop(full);
            let mut reader = SumReader::new(&header);
            let decoder = AggregatedDecoder::new(&header, offset);
            let end = Stream::new(decoder, &header, &mut blocks, source.counters)
                .run(input, &mut reader)?;
            let last_time_ms = reader
                .sums
                .snapshots
                .last()
                .map_or(0, |snapshot| snapshot.time_ms);
            let read = Read {
                tables: reader.tables,
                locations: reader.locations.finish(),
                sums: Some(reader.sums),
                n_events: 0,
                n_object_events: reader.n_surviving_objects,
                last_time_ms,
            };
            read.finish(&header, end, source, blocks.containers)
        }
    }
}

/// What is read from, and how.
#[derive(Clone, Copy)]
struct Opened<'a> {
    name: &'a str,
    size: Option<u64>,
    options: &'a Options,
    counters: &'a Counters,
}

/// What was read of either kind of capture.
struct Read {
    tables: Tables,
    locations: Vec<(RecordedLocation, u64)>,
    sums: Option<Sums>,
    n_events: u64,
    n_object_events: u64,
    last_time_ms: u64,
}

impl Read {
    fn finish(
        mut self,
        header: &Header,
        end: End,
        source: Opened<'_>,
        containers: Vec<Container>,
    ) -> Result<Recording, Error> {
        let ending = end.ending.of_capture(header, self.n_events);
        if let Some(offset) = end.data_after_trailer {
            self.tables
                .warnings
                .add(WarningKind::DataAfterTrailer, offset);
        }
        let counted = header.n_allocations;
        if ending.is_complete() && self.sums.is_none() && counted != self.n_events {
            self.tables
                .warnings
                .add(WarningKind::WrongRecordCount, None);
        }
        let threads = self.tables.threads.threads();
        let end_time_ms = header.end_time_ms.max(self.last_time_ms.cast_signed());
        let symbols = SymbolOptions {
            captured_until_ms: Some(end_time_ms),
            ..source.options.symbols.clone()
        };
        let hidden = if source.options.memray_frames {
            0
        } else {
            header.skipped_frames_on_main_thread
        };
        let shown = resolve(
            header,
            &mut self.tables,
            &self.locations,
            &threads,
            &symbols,
            hidden,
        )?;
        Ok(Recording {
            metadata: metadata(header, &shown.locations, self.last_time_ms),
            containers,
            strings: self.tables.strings,
            frames: shown.frames,
            call_tree: shown.call_tree,
            locations: shown.locations,
            threads,
            sums: self.sums,
            native: shown.native,
            n_events: self.n_events,
            n_object_events: self.n_object_events,
            n_records: end.n_records,
            bytes_read: source.counters.bytes_read.load(Ordering::Relaxed),
            size: source.size,
            ending,
            warnings: self.tables.warnings.finish(),
        })
    }
}

/// The header's facts, with what only the records tell.
fn metadata(header: &Header, locations: &[Location], last_time_ms: u64) -> Metadata {
    let mut metadata = Metadata::new(header);
    let is_python = |location: &Location| location.allocator.name().starts_with("PYMALLOC");
    if metadata.trace_python_allocators.is_none() && locations.iter().any(is_python) {
        metadata.trace_python_allocators = Some(true);
    }
    if header.n_allocations == 0 && last_time_ms != 0 {
        // The end time of a capture that was not closed is that of its start.
        metadata.end_time_ms = metadata.end_time_ms.max(last_time_ms.cast_signed());
    }
    metadata
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

#[cfg(test)]
mod tests;
