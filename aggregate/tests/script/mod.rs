//! Random runs of a traced program, and the captures that a profiler would write of them.

use memreport_aggregate::ingest::capture::{
    Allocation, Allocator, CodeObject, CodePush, Encoder, FileFormat, FrameIndex, Header,
    MemoryRecord, PythonAllocator, PythonVersion, Record, Version,
};
use proptest::prelude::*;
use proptest::sample::select;

/// The thread that started tracking.
pub(crate) const MAIN_THREAD: u64 = 1;
/// When captures start, in milliseconds since the epoch.
pub(crate) const START_MS: u64 = 1_700_000_000_000;
/// Where a failed `mmap` is recorded.
const MAP_FAILED: u64 = u64::MAX;

/// Frames by number: function, file, line. The last two look the same and are not.
pub(crate) const FRAMES: [(&str, &str, i32); 8] = [
    ("main", "a.py", 1),
    ("load", "a.py", 20),
    ("_find_and_load", "<frozen importlib._bootstrap>", 5),
    ("_run_code", "<frozen runpy>", 88),
    ("tool", "/v/site-packages/pkg/tool.py", 3),
    ("run", "/v/site-packages/memray/run.py", 4),
    ("parse", "b.py", 7),
    ("parse", "b.py", 7),
];

/// Something that the program does, or the profiler.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Switch(u64),
    Name(&'static str),
    Push(usize),
    Pop(u32),
    /// A call of a hooked function. Frees have no size.
    Call {
        allocator: Allocator,
        address: u64,
        size: u64,
        native_id: u64,
    },
    MapImages,
    Snapshot {
        time_ms: u64,
        rss: u64,
    },
}

/// A run, in the format in which it is recorded.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) format: i32,
    pub(crate) native_traces: bool,
    /// Outermost frames of the main thread that lie above the tracker.
    pub(crate) hidden_frames: u64,
    pub(crate) ops: Vec<Op>,
}

impl Script {
    /// A run of these calls, all from one place.
    pub(crate) fn plain(calls: impl IntoIterator<Item = Op>) -> Self {
        let start = [Op::Switch(MAIN_THREAD), Op::Push(0)];
        Self {
            format: 13,
            native_traces: false,
            hidden_frames: 0,
            ops: start.into_iter().chain(calls).collect(),
        }
    }

    /// The capture.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::new(&self.header());
        let by_code = self.format >= 12;
        for (id, (function, file, line)) in (1..).zip(FRAMES) {
            put(&mut encoder, &definition(by_code, id, function, file, line));
        }
        for op in &self.ops {
            put(&mut encoder, &record(op, by_code));
        }
        put(&mut encoder, &Record::Trailer);
        encoder.finish()
    }

    fn header(&self) -> Header {
        let calls = self.ops.iter().filter(|op| matches!(op, Op::Call { .. }));
        Header {
            version: Version::new(self.format).expect("the format exists"),
            // With it, an empty line table means the first line.
            python_version: Some(PythonVersion { major: 3, minor: 9 }),
            native_traces: self.native_traces,
            file_format: FileFormat::AllAllocations,
            n_allocations: calls.count() as u64,
            n_frames: FRAMES.len() as u64,
            start_time_ms: START_MS.cast_signed(),
            end_time_ms: START_MS.cast_signed() + 1000,
            command_line: b"app.py".to_vec(),
            pid: 7,
            main_thread_id: Some(MAIN_THREAD),
            skipped_frames_on_main_thread: self.hidden_frames,
            python_allocator: PythonAllocator::Pymalloc,
            trace_python_allocators: Some(true),
            track_object_lifetimes: false,
            libdest: Vec::new(),
            site_packages: vec![b"/v/site-packages".to_vec()],
            sys_path: Vec::new(),
        }
    }
}

fn put(encoder: &mut Encoder, record: &Record<'_>) {
    assert!(encoder.push(record), "the format has no {}", record.name());
}

fn definition<'a>(
    by_code: bool,
    id: u64,
    function: &'a str,
    file: &'a str,
    line: i32,
) -> Record<'a> {
    let (function, file) = (function.as_bytes(), file.as_bytes());
    if by_code {
        Record::CodeObject(CodeObject {
            id,
            function,
            file,
            first_line: line,
            line_table: b"",
        })
    } else {
        Record::FrameIndex(FrameIndex {
            id,
            function,
            file,
            line,
            is_entry: true,
        })
    }
}

fn record(op: &Op, by_code: bool) -> Record<'_> {
    match *op {
        Op::Switch(thread) => Record::ContextSwitch(thread),
        Op::Name(name) => Record::ThreadName(name.as_bytes()),
        Op::Push(frame) if by_code => Record::CodePush(CodePush {
            code_id: frame as u64 + 1,
            instruction_offset: 0,
            is_entry: true,
        }),
        Op::Push(frame) => Record::FramePush(frame as u64 + 1),
        Op::Pop(count) => Record::FramePop(count),
        Op::Call {
            allocator,
            address,
            size,
            native_id,
        } => Record::Allocation(Allocation {
            address,
            size,
            allocator,
            native_id,
        }),
        Op::MapImages => Record::MemoryMapStart,
        Op::Snapshot { time_ms, rss } => Record::Memory(MemoryRecord { time_ms, rss }),
    }
}

/// A call by this function.
pub(crate) fn call(allocator: Allocator, address: u64, size: u64) -> Op {
    Op::Call {
        allocator,
        address,
        size,
        native_id: 0,
    }
}

/// A snapshot so many milliseconds after the start.
pub(crate) fn snapshot(after_ms: u64) -> Op {
    Op::Snapshot {
        time_ms: START_MS + after_ms,
        rss: 1000 * after_ms,
    }
}

/// Any run. Addresses are few, so that they are reused, with and without a free in between.
pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    let header = (select(vec![11, 13]), any::<bool>(), 0..3_u64);
    (header, prop::collection::vec(ops(), 0..70)).prop_map(
        |((format, native_traces, hidden_frames), ops)| Script {
            format,
            native_traces,
            hidden_frames,
            ops: std::iter::once(Op::Switch(MAIN_THREAD))
                .chain(ops)
                // Formats from 12 on record no mapping that failed.
                .filter(|op| !matches!(op, Op::Call { address: MAP_FAILED, .. } if format > 11))
                .map(|op| without_native(op, native_traces))
                .collect(),
        },
    )
}

fn ops() -> impl Strategy<Value = Op> {
    use Allocator as A;
    let blocks = select(vec![A::Malloc, A::Realloc, A::PymallocMalloc]);
    let frees = select(vec![A::Free, A::PymallocFree]);
    let block_address = (0..5_u64).prop_map(|n| 8 * n);
    let range_address = (0..12_u64).prop_map(|n| 8 * n);
    let size = prop_oneof![1 => Just(0), 4 => 1..40_u64, 1 => 1000..1100_u64];
    let length = prop_oneof![1 => Just(0), 6 => 1..60_u64];
    let native_id = 0..2_u64;
    let mapping = (
        Just(A::Mmap),
        range_address.clone(),
        length.clone(),
        native_id.clone(),
    );
    let unmapping = (Just(A::Munmap), range_address, length, Just(0));
    let failed = (Just(A::Mmap), Just(MAP_FAILED), 0..9_u64, Just(0));
    let to_call = |(allocator, address, size, native_id)| Op::Call {
        allocator,
        address,
        size,
        native_id,
    };
    prop_oneof![
        8 => (blocks, block_address.clone(), size, native_id).prop_map(to_call),
        6 => (frees, block_address, Just(0), Just(0)).prop_map(to_call),
        3 => mapping.prop_map(to_call),
        3 => unmapping.prop_map(to_call),
        1 => failed.prop_map(to_call),
        // Few times, so that they are equal and fall as often as they rise.
        4 => (0..4_u64).prop_map(snapshot),
        3 => (0..FRAMES.len()).prop_map(Op::Push),
        2 => (1..3_u32).prop_map(Op::Pop),
        2 => (1..4_u64).prop_map(Op::Switch),
        1 => select(vec!["", "worker", "other"]).prop_map(Op::Name),
        1 => Just(Op::MapImages),
    ]
}

fn without_native(op: Op, native_traces: bool) -> Op {
    match op {
        Op::Call {
            allocator,
            address,
            size,
            ..
        } if !native_traces => call(allocator, address, size),
        op => op,
    }
}
