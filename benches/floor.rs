//! The least that a report can take: each thing that cannot be left out, done alone on one core, beside
//! `memreport build` on the same capture.
//!
//!     cargo bench --bench floor
//!     cargo bench --bench floor -- CAPTURE…
//!     cargo bench --bench floor -- --rounds 5 CAPTURE…
//!
//! Without a capture it makes one, plain and as LZ4. Times are the best of the rounds (3).
#![allow(clippy::print_stdout, reason = "it prints a table")]

#[path = "support/sum.rs"]
mod sum;
#[path = "support/synthetic.rs"]
mod synthetic;

use std::fs::File;
use std::hint::black_box;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use memreport_capture::{
    Allocation, AllocatorKind, CodePush, Decoder, FileFormat, FrequentRecords, Header, Record,
};
use rustc_hash::FxBuildHasher;
use sum::Sum;
use synthetic::Shape;

const SHAPE: Shape = Shape {
    rows: 100_000,
    nodes: 20_000,
    short_lived: 40,
};
/// Bytes at a time: small enough to stay in cache from one step to the next.
const BLOCK_LEN: usize = 256 << 10;
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

fn main() -> Result<()> {
    let arguments = Arguments::parse()?;
    let folder = tempfile::tempdir()?;
    let captures = if arguments.captures.is_empty() {
        made(folder.path())?
    } else {
        arguments.captures
    };
    for capture in captures {
        let mut best = Floor::of(&capture)?;
        let mut build = build(&capture, folder.path())?;
        for _ in 1..arguments.rounds {
            best = best.best(&Floor::of(&capture)?);
            build = build.min(self::build(&capture, folder.path())?);
        }
        print(&capture, &best, build);
    }
    Ok(())
}

struct Arguments {
    captures: Vec<PathBuf>,
    rounds: u32,
}

impl Arguments {
    fn parse() -> Result<Self> {
        let mut captures = Vec::new();
        let mut rounds = 3;
        let mut arguments = std::env::args_os().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--rounds") => {
                    let number = arguments
                        .next()
                        .and_then(|text| text.to_str()?.parse().ok());
                    rounds = number.ok_or_else(|| Error::other("--rounds takes a number"))?;
                }
                // Cargo's, for every benchmark.
                Some("--bench" | "--test") => {}
                _ => captures.push(argument.into()),
            }
        }
        Ok(Self { captures, rounds })
    }
}

/// A made capture, plain and as LZ4.
fn made(folder: &Path) -> Result<Vec<PathBuf>> {
    let bytes = synthetic::capture(SHAPE);
    let plain = folder.join("synthetic-plain.bin");
    std::fs::write(&plain, &bytes)?;
    let packed = folder.join("synthetic.bin");
    let mut lz4 = FrameEncoder::new(File::create(&packed)?);
    lz4.write_all(&bytes)?;
    lz4.finish()?;
    Ok(vec![plain, packed])
}

/// `memreport build`, from start to end.
fn build(capture: &Path, folder: &Path) -> Result<Duration> {
    let start = Instant::now();
    let done = Command::new(env!("CARGO_BIN_EXE_memreport"))
        .args(["build", "--quiet", "--allow-truncated", "-o"])
        .arg(folder.join("report.html"))
        .arg(capture)
        .output()?;
    let taken = start.elapsed();
    if done.status.success() {
        Ok(taken)
    } else {
        let reason = String::from_utf8_lossy(&done.stderr);
        Err(Error::other(format!("memreport build failed: {reason}")))
    }
}

/// What each step took, over a whole capture.
#[derive(Debug, Default)]
struct Floor {
    /// Bytes of the capture after decompression.
    n_bytes: u64,
    n_events: u64,
    /// Reading the file, from the system's cache.
    reading: Duration,
    decompression: Duration,
    /// Varints, as if a capture were made of nothing else.
    varints: Duration,
    /// Whole records, which nobody takes.
    records: Duration,
    /// Blocks that begin and end, in one hash map by address.
    matching: Duration,
}

impl Floor {
    fn of(capture: &Path) -> Result<Self> {
        let mut floor = Self::default();
        let mut file = Timed::new(File::open(capture)?);
        let mut magic = [0; 4];
        file.read_exact(&mut magic)?;
        let mut whole = Timed::new(magic.chain(file));
        let is_lz4 = magic == LZ4_MAGIC;
        if is_lz4 {
            let mut unpacked = Timed::new(FrameDecoder::new(whole));
            floor.run(&mut unpacked)?;
            floor.reading = unpacked.reader.get_ref().taken;
            floor.decompression = unpacked.taken.saturating_sub(floor.reading);
        } else {
            floor.run(&mut whole)?;
            floor.reading = whole.taken;
        }
        Ok(floor)
    }

    /// Takes the steps after decompression, one block after the other.
    fn run(&mut self, capture: &mut impl Read) -> Result<()> {
        let mut live: HashMap<u64, u64, FxBuildHasher> = HashMap::default();
        let mut events = Events::default();
        let mut input = Vec::new();
        let mut decoder = None;
        let mut block = vec![0; BLOCK_LEN];
        loop {
            let len = fill(capture, &mut block)?;
            let block = block.get(..len).unwrap_or_default();
            self.n_bytes += len as u64;
            self.varints += timed(|| black_box(varints(block)));

            input.extend_from_slice(block);
            let decoder = match &mut decoder {
                Some(decoder) => decoder,
                empty => empty.insert(after_header(&mut input)?),
            };
            let mut unheard = decoder.clone();
            self.records += timed(|| decode(&mut unheard, &input, &mut Sum::default()));
            events.0.clear();
            let (used, is_over) = decode(decoder, &input, &mut events);
            input.drain(..used);
            self.n_events += events.0.len() as u64;
            self.matching += timed(|| events.apply(&mut live));
            if is_over || len < BLOCK_LEN {
                black_box(live);
                return Ok(());
            }
        }
    }

    fn best(self, other: &Self) -> Self {
        Self {
            reading: self.reading.min(other.reading),
            decompression: self.decompression.min(other.decompression),
            varints: self.varints.min(other.varints),
            records: self.records.min(other.records),
            matching: self.matching.min(other.matching),
            ..self
        }
    }

    /// The slowest step: the least time of a pipeline that has a core for each.
    fn slowest(&self) -> Duration {
        let unpacked = self.reading + self.decompression;
        unpacked.max(self.varints).max(self.matching)
    }

    /// All steps: the least time of one core.
    fn sum(&self) -> Duration {
        self.reading + self.decompression + self.varints + self.matching
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// A reader, and how long reading took so far.
struct Timed<R> {
    reader: R,
    taken: Duration,
}

impl<R> Timed<R> {
    fn new(reader: R) -> Self {
        Self {
            reader,
            taken: Duration::ZERO,
        }
    }
}

impl<R: Read> Read for Timed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let start = Instant::now();
        let n = self.reader.read(buffer);
        self.taken += start.elapsed();
        n
    }
}

/// Reads until the block is full or the capture ends.
fn fill(reader: &mut impl Read, block: &mut [u8]) -> Result<usize> {
    let mut len = 0;
    while let Some(free) = block.get_mut(len..).filter(|free| !free.is_empty()) {
        match reader.read(free)? {
            0 => break,
            n => len += n,
        }
    }
    Ok(len)
}

/// Takes the header from the start of the input.
fn after_header(input: &mut Vec<u8>) -> Result<Decoder> {
    let parsed = Header::parse(input).map_err(Error::other)?;
    let Some((header, rest)) = parsed else {
        return Err(Error::new(ErrorKind::UnexpectedEof, "no whole header"));
    };
    if header.file_format == FileFormat::Aggregated {
        return Err(Error::other(
            "an aggregated capture has no records to match",
        ));
    }
    let used = input.len() - rest.len();
    let decoder = Decoder::new(&header, used as u64);
    input.drain(..used);
    Ok(decoder)
}

/// The sum of the varints that the bytes are, seen so. Without branches, for their lengths cannot be
/// foretold.
fn varints(bytes: &[u8]) -> u64 {
    let (mut sum, mut shift) = (0_u64, 0_u32);
    for &byte in bytes {
        sum = sum.wrapping_add(u64::from(byte & 0x7f).wrapping_shl(shift));
        shift = (shift + 7) & u32::from(byte >> 7).wrapping_neg();
    }
    sum
}

/// Takes events out of records.
trait Sink: FrequentRecords {
    fn other(&mut self, record: &Record<'_>);
}

/// Decodes what is at hand. Returns how many bytes that took, and whether no record can follow.
fn decode(decoder: &mut Decoder, input: &[u8], sink: &mut impl Sink) -> (usize, bool) {
    let mut at = 0;
    loop {
        let rest = input.get(at..).unwrap_or_default();
        at += decoder.decode_frequent(rest, sink);
        let rest = input.get(at..).unwrap_or_default();
        match decoder.decode(rest) {
            Ok(Some((Record::Trailer, _))) | Err(_) => return (at, true),
            Ok(None) => return (at, false),
            Ok(Some((record, behind))) => {
                sink.other(&record);
                at = input.len() - behind.len();
            }
        }
    }
}

impl Sink for Sum {
    fn other(&mut self, record: &Record<'_>) {
        black_box(record);
    }
}

/// Addresses at which blocks begin, with their sizes, and end ([`ENDS`]).
#[derive(Default)]
struct Events(Vec<(u64, u64)>);

const ENDS: u64 = u64::MAX;

impl Events {
    /// Matches them: the bytes that are live more at the end.
    fn apply(&self, live: &mut HashMap<u64, u64, FxBuildHasher>) -> u64 {
        let mut heap = 0_u64;
        for &(address, size) in &self.0 {
            let ended = if size == ENDS {
                live.remove(&address)
            } else {
                heap = heap.wrapping_add(size);
                live.insert(address, size)
            };
            heap = heap.wrapping_sub(ended.unwrap_or(0));
        }
        heap
    }
}

impl FrequentRecords for Events {
    #[inline]
    fn allocated(&mut self, allocation: Allocation, _offset: u64) -> ControlFlow<()> {
        self.0.push((allocation.address, allocation.size));
        ControlFlow::Continue(())
    }

    #[inline]
    fn freed(&mut self, address: u64) -> ControlFlow<()> {
        self.0.push((address, ENDS));
        ControlFlow::Continue(())
    }

    fn push(&mut self, _push: CodePush, _offset: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn pop(&mut self, _count: u32, _offset: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Sink for Events {
    fn other(&mut self, record: &Record<'_>) {
        let Record::Allocation(allocation) = record else {
            return;
        };
        match allocation.allocator.kind() {
            AllocatorKind::Allocation => self.0.push((allocation.address, allocation.size)),
            AllocatorKind::Deallocation => self.0.push((allocation.address, ENDS)),
            // Mapped ranges need another structure, and are few.
            AllocatorKind::RangedAllocation | AllocatorKind::RangedDeallocation => {}
        }
    }
}

fn print(capture: &Path, floor: &Floor, build: Duration) {
    let name = capture.file_name().unwrap_or(capture.as_os_str());
    println!("## {}", name.to_string_lossy());
    println!();
    println!(
        "{} MB after decompression, {:.2} million allocations and deallocations",
        floor.n_bytes / 1_000_000,
        millions(floor.n_events),
    );
    println!();
    println!(
        "| step, alone on one core | ms | MB/s | million/s | `build` takes so many times that |"
    );
    println!("| --- | --: | --: | --: | --: |");
    let steps = [
        ("read the file", floor.reading),
        ("decompress LZ4", floor.decompression),
        ("decode varints", floor.varints),
        ("match in a hash map", floor.matching),
        ("**slowest** of these", floor.slowest()),
        ("**sum** of these", floor.sum()),
        ("(decode records, for nobody)", floor.records),
        ("`memreport build`, all cores", build),
    ];
    for (name, time) in steps {
        if time.is_zero() {
            continue;
        }
        let seconds = time.as_secs_f64();
        println!(
            "| {name} | {:.1} | {:.0} | {:.1} | {:.2} |",
            1000.0 * seconds,
            millions(floor.n_bytes) / seconds,
            millions(floor.n_events) / seconds,
            build.as_secs_f64() / seconds,
        );
    }
    println!();
}

fn millions(count: u64) -> f64 {
    Duration::from_micros(count).as_secs_f64()
}
