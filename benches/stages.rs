//! Each stage on its own: decompression, decoding, reading, matching, finalising, rendering.
//!
//!     cargo bench --bench stages
//!     cargo bench --bench stages -- decoding
//!
//! Bytes per second are bytes of the capture after decompression, records are records of any kind.

#[path = "support/sum.rs"]
mod sum;
#[path = "support/synthetic.rs"]
mod synthetic;

use std::hint::black_box;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};
use memreport_aggregate::{Matching, Options, Profile, profile_of, read_profile};
use memreport_capture::{Decoder, Header, Record};
use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{Batch, Recording, Source, read};
use memreport_render::{Html, Json, Output, Speedscope};
use sum::Sum;
use synthetic::Shape;

/// About 2.4 million records, as many long-lived blocks among them as a large service has.
const SHAPE: Shape = Shape {
    rows: 50_000,
    nodes: 20_000,
    short_lived: 16,
};
const REAL: &str = "tests/captures/v13-webapp.bin";
/// Bytes at a time, as when a capture is read.
const BLOCK_LEN: usize = 256 << 10;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    for sample in samples() {
        decompression(&mut criterion, &sample);
        decoding(&mut criterion, &sample);
        reading(&mut criterion, &sample);
        matching(&mut criterion, &sample);
        rendering(&mut criterion, &sample);
        whole(&mut criterion, &sample);
    }
    mappings(&mut criterion);
    criterion.final_summary();
}

/// Twice as many live mappings must take little more than twice as long.
fn mappings(criterion: &mut Criterion) {
    for (name, n) in [("50000", 50_000), ("100000", 100_000), ("200000", 200_000)] {
        let sample = Sample::new(name, synthetic::mappings(n));
        let mut group = sample.group(criterion, "mappings");
        group.bench_function(sample.id("whole"), |bencher| {
            bencher.iter_batched(
                || sample.source(),
                |source| read_profile(source, &options(), &Arc::default()),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

/// A capture, not compressed.
struct Sample {
    name: &'static str,
    bytes: Vec<u8>,
    n_records: u64,
}

fn samples() -> [Sample; 2] {
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join(REAL);
    let real = std::fs::read(real).expect("the capture is there");
    [
        Sample::new("synthetic", synthetic::capture(SHAPE)),
        Sample::new("webapp", unpacked(FrameDecoder::new(&real[..]))),
    ]
}

impl Sample {
    fn new(name: &'static str, bytes: Vec<u8>) -> Self {
        let n_records = decode_each(&bytes);
        Self {
            name,
            bytes,
            n_records,
        }
    }

    fn group<'a>(&self, criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::ElementsAndBytes {
            elements: self.n_records,
            bytes: self.bytes.len() as u64,
        });
        group
    }

    fn id(&self, function: &str) -> BenchmarkId {
        BenchmarkId::new(function, self.name)
    }

    fn source(&self) -> Source {
        Source::from_reader(self.name, Cursor::new(self.bytes.clone()))
    }

    /// The recording, and its batches.
    fn read(&self) -> (Recording, Vec<Batch>) {
        let options = memreport_ingest::Options::default();
        read(self.source(), &options, &Arc::default(), Iterator::collect)
            .expect("the capture is readable")
    }

    fn profile(&self) -> Profile {
        read_profile(self.source(), &options(), &Arc::default()).expect("the capture is readable")
    }
}

/// With a lane for each core, as for a profile.
fn nothing_live() -> Matching {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options::default();
    Matching::new(
        n_cores.next_power_of_two().min(64),
        options.temporary_threshold,
    )
}

fn options() -> Options {
    Options {
        symbols: SymbolOptions::default(),
        ..Options::default()
    }
}

fn unpacked(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .expect("what was packed here can be unpacked");
    bytes
}

fn decompression(criterion: &mut Criterion, sample: &Sample) {
    let mut lz4 = FrameEncoder::new(Vec::new());
    lz4.write_all(&sample.bytes).expect("memory takes all");
    let lz4 = lz4.finish().expect("memory takes all");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&sample.bytes).expect("memory takes all");
    let gzip = gzip.finish().expect("memory takes all");

    let mut group = sample.group(criterion, "decompression");
    group.bench_function(sample.id("lz4"), |bencher| {
        bencher.iter(|| drain(FrameDecoder::new(&lz4[..])));
    });
    group.bench_function(sample.id("gzip"), |bencher| {
        bencher.iter(|| drain(MultiGzDecoder::new(&gzip[..])));
    });
    group.finish();
}

fn drain(mut reader: impl Read) {
    let mut block = vec![0; BLOCK_LEN];
    while reader.read(&mut block).expect("it was packed here") > 0 {
        black_box(&block);
    }
}

fn decoding(criterion: &mut Criterion, sample: &Sample) {
    let mut group = sample.group(criterion, "decoding");
    group.bench_function(sample.id("one by one"), |bencher| {
        bencher.iter(|| decode_each(black_box(&sample.bytes)));
    });
    group.bench_function(sample.id("frequent"), |bencher| {
        bencher.iter(|| decode_frequent(black_box(&sample.bytes)));
    });
    group.finish();
}

/// Decodes every record by itself. Returns their number.
fn decode_each(capture: &[u8]) -> u64 {
    let (mut decoder, mut rest) = start(capture);
    while let Some((record, behind)) = decoder.decode(rest).expect("it is no damaged capture") {
        if black_box(record) == Record::Trailer {
            break;
        }
        rest = behind;
    }
    decoder.n_records()
}

/// Decodes frequent records many at a time, and the others between them. Returns the number of all.
fn decode_frequent(capture: &[u8]) -> u64 {
    let (mut decoder, mut rest) = start(capture);
    let mut sum = Sum::default();
    loop {
        let taken = decoder.decode_frequent(rest, &mut sum);
        rest = &rest[taken..];
        match decoder.decode(rest).expect("it is no damaged capture") {
            None | Some((Record::Trailer, _)) => break,
            Some((record, behind)) => {
                black_box(record);
                rest = behind;
            }
        }
    }
    black_box(sum);
    decoder.n_records()
}

fn start(capture: &[u8]) -> (Decoder, &[u8]) {
    let (header, rest) = Header::parse(capture)
        .expect("it is a capture")
        .expect("it is whole");
    let offset = (capture.len() - rest.len()) as u64;
    (Decoder::new(&header, offset), rest)
}

/// From bytes to batches: decoding, and interning of stacks and locations.
fn reading(criterion: &mut Criterion, sample: &Sample) {
    let mut group = sample.group(criterion, "reading");
    group.bench_function(sample.id("batches"), |bencher| {
        let options = memreport_ingest::Options::default();
        bencher.iter_batched(
            || sample.source(),
            |source| {
                read(source, &options, &Arc::default(), |mut batches| {
                    while let Some(batch) = batches.next() {
                        batches.recycle(batch);
                    }
                })
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Batches that are in memory already. "one slice" has no memory snapshots in it: nearly nothing is to be
/// finalised, so what "slices" takes longer is finalising.
fn matching(criterion: &mut Criterion, sample: &Sample) {
    let (_, batches) = sample.read();
    let (_, mut one_slice) = sample.read();
    for batch in &mut one_slice {
        batch.snapshots.clear();
    }
    let mut group = sample.group(criterion, "matching");
    for (name, batches) in [("one slice", &one_slice), ("slices", &batches)] {
        group.bench_function(sample.id(name), |bencher| {
            bencher.iter_batched(
                nothing_live,
                |matching| matched(matching, batches),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();

    let mut group = sample.group(criterion, "finalising");
    group.bench_function(sample.id("tables"), |bencher| {
        bencher.iter_batched(
            || {
                let (recording, batches) = sample.read();
                (recording, matched(nothing_live(), &batches))
            },
            |(recording, matching)| profile_of(recording, matching, &options()),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn matched(mut matching: Matching, batches: &[Batch]) -> Matching {
    for batch in batches {
        matching.add(batch).expect("the heap does not overflow");
    }
    matching
}

fn rendering(criterion: &mut Criterion, sample: &Sample) {
    let profile = sample.profile();
    let json = Json {
        temporal: true,
        ..Json::default()
    };
    let outputs: [(&str, &dyn Output); 3] = [
        ("html", &Html::default()),
        ("json", &json),
        ("speedscope", &Speedscope::default()),
    ];
    let mut group = sample.group(criterion, "rendering");
    for (name, output) in outputs {
        group.bench_function(sample.id(name), |bencher| {
            bencher.iter(|| output.write(&profile, &mut io::sink()));
        });
    }
    group.finish();
}

/// From bytes to a profile, all stages at once.
fn whole(criterion: &mut Criterion, sample: &Sample) {
    let mut group = sample.group(criterion, "profile");
    group.bench_function(sample.id("whole"), |bencher| {
        bencher.iter_batched(
            || sample.source(),
            |source| read_profile(source, &options(), &Arc::default()),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}
