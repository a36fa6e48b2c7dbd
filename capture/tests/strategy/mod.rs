//! Random captures that are valid by construction.

use std::ops::Range;
use std::sync::LazyLock;

use memreport_capture::{
    Allocation, Allocator, AllocatorKind, CodeObject, CodePush, FileFormat, FrameIndex, Header,
    MemoryRecord, NativeTrace, ObjectEvent, PythonAllocator, PythonVersion, Record, Segment,
    SegmentHeader, Version,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Every byte, twice. Strings and tables of random records are slices of it.
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..=255).chain(0..=255).collect());

/// Which fields and records a version has.
#[derive(Debug, Clone, Copy)]
struct Has {
    version: Version,
    native_traces: bool,
    code_objects: bool,
    /// Format 6, whose fields are of fixed sizes.
    structs: bool,
}

/// A header of any readable version and records to follow it.
pub(crate) fn capture() -> impl Strategy<Value = (Header, Vec<Record<'static>>)> {
    header().prop_flat_map(|header| {
        let records = records(&header);
        (Just(header), records)
    })
}

/// A header of any readable version.
pub(crate) fn header() -> impl Strategy<Value = Header> {
    (6..=13).prop_flat_map(header_of)
}

/// A header of one version, with nothing in the fields that it lacks.
fn header_of(number: i32) -> impl Strategy<Value = Header> {
    let has = move |since| number >= since;
    let python = (any::<u8>(), any::<u8>());
    let stats = (number_u64(), number_u64(), time(), time());
    let program = (string(), any::<i32>());
    let thread = (any::<u64>(), any::<u64>());
    let allocator = python_allocator(if has(8) { 0..256 } else { i32::MIN..i32::MAX });
    let flags = any::<[bool; 4]>();
    let paths = (string(), vec(path(), 0..4), vec(path(), 0..4));
    let paths = paths.prop_map(move |paths| if has(13) { paths } else { Default::default() });

    let fields = (python, stats, program, thread, allocator, flags, paths);
    fields.prop_map(
        move |(python, stats, program, thread, allocator, flags, paths)| {
            let [
                native_traces,
                is_aggregated,
                trace_python_allocators,
                track_object_lifetimes,
            ] = flags;
            Header {
                version: Version::new(number).expect("a known version"),
                python_version: has(12).then_some(PythonVersion {
                    major: python.0,
                    minor: python.1,
                }),
                native_traces,
                file_format: if has(10) && is_aggregated {
                    FileFormat::Aggregated
                } else {
                    FileFormat::AllAllocations
                },
                n_allocations: stats.0,
                n_frames: stats.1,
                start_time_ms: stats.2,
                end_time_ms: stats.3,
                command_line: program.0.to_vec(),
                pid: program.1,
                main_thread_id: has(9).then_some(thread.0),
                skipped_frames_on_main_thread: if has(9) { thread.1 } else { 0 },
                python_allocator: allocator,
                trace_python_allocators: has(11).then_some(trace_python_allocators),
                track_object_lifetimes: has(12) && track_object_lifetimes,
                libdest: paths.0.to_vec(),
                site_packages: owned(&paths.1),
                sys_path: owned(&paths.2),
            }
        },
    )
}

/// Records that may follow `header`: some that need no thread, a thread, any, perhaps a trailer.
fn records(header: &Header) -> impl Strategy<Value = Vec<Record<'static>>> + use<> {
    let has = Has {
        version: header.version,
        native_traces: header.native_traces,
        code_objects: header.version.has_code_objects(),
        structs: header.version.number() == 6,
    };
    let groups = (
        vec(group_without_thread(has), 0..4),
        context_switch(),
        vec(
            prop_oneof![1 => group_without_thread(has), 3 => group_of_thread(has)],
            0..60,
        ),
        any::<bool>(),
    );
    groups.prop_map(move |(before, switch, after, closed)| {
        let mut records = before.concat();
        records.push(switch);
        records.extend(after.concat());
        if closed && has.version.has_trailer() {
            records.push(Record::Trailer);
        }
        records
    })
}

/// Records that stand together and belong to no thread.
fn group_without_thread(has: Has) -> impl Strategy<Value = Vec<Record<'static>>> {
    let definition = if has.code_objects {
        code_object().boxed()
    } else {
        frame_index(has).boxed()
    };
    let alone = prop_oneof![
        definition,
        context_switch(),
        memory(),
        native_trace(has),
        Just(Record::MemoryMapStart)
    ];
    prop_oneof![4 => alone.prop_map(|record| vec![record]), 1 => image()]
}

/// A record that belongs to a thread.
fn group_of_thread(has: Has) -> impl Strategy<Value = Vec<Record<'static>>> {
    let of_stream = if has.code_objects {
        prop_oneof![code_push(), object(has)].boxed()
    } else {
        number_u64().prop_map(Record::FramePush).boxed()
    };
    let most_pops = if has.structs { 255 } else { 16 };
    let alone = prop_oneof![
        4 => allocation(has),
        2 => of_stream,
        1 => (1_u32..=most_pops).prop_map(Record::FramePop),
        1 => string().prop_map(Record::ThreadName),
    ];
    alone.prop_map(|record| vec![record])
}

fn allocation(has: Has) -> impl Strategy<Value = Record<'static>> {
    let known: Vec<_> = Allocator::ALL
        .into_iter()
        .filter(|allocator| allocator.number(has.version).is_some())
        .collect();
    let fields = (select(known), address(has), number_u64(), native_id(has));
    fields.prop_map(move |(allocator, address, size, native_id)| {
        let carries_size = allocator.kind() != AllocatorKind::Deallocation;
        let is_range = matches!(
            allocator.kind(),
            AllocatorKind::RangedAllocation | AllocatorKind::RangedDeallocation
        );
        Record::Allocation(Allocation {
            // The sum of address and size must fit, for a range.
            address: if is_range { address >> 4 << 3 } else { address },
            size: if carries_size { size >> 1 } else { 0 },
            allocator,
            native_id: if carries_size { native_id } else { 0 },
        })
    })
}

fn object(has: Has) -> impl Strategy<Value = Record<'static>> {
    (address(has), any::<bool>(), native_id(has)).prop_map(|(address, created, native_id)| {
        Record::Object(ObjectEvent {
            address,
            created,
            native_id: if created { native_id } else { 0 },
        })
    })
}

fn frame_index(has: Has) -> impl Strategy<Value = Record<'static>> {
    let fields = (
        number_u64(),
        string(),
        string(),
        any::<i32>(),
        any::<bool>(),
    );
    fields.prop_map(move |(id, function, file, line, is_entry)| {
        Record::FrameIndex(FrameIndex {
            id,
            function,
            file,
            line,
            is_entry: is_entry || has.structs,
        })
    })
}

fn code_object() -> impl Strategy<Value = Record<'static>> {
    let fields = (number_u64(), string(), string(), any::<i32>(), table());
    fields.prop_map(|(id, function, file, first_line, line_table)| {
        Record::CodeObject(CodeObject {
            id,
            function,
            file,
            first_line,
            line_table,
        })
    })
}

fn code_push() -> impl Strategy<Value = Record<'static>> {
    let fields = (number_u64(), any::<i64>(), any::<bool>());
    fields.prop_map(|(code_id, instruction_offset, is_entry)| {
        Record::CodePush(CodePush {
            code_id,
            instruction_offset,
            is_entry,
        })
    })
}

fn memory() -> impl Strategy<Value = Record<'static>> {
    (any::<u64>(), number_u64())
        .prop_map(|(time_ms, rss)| Record::Memory(MemoryRecord { time_ms, rss }))
}

fn native_trace(has: Has) -> impl Strategy<Value = Record<'static>> {
    let parents = if has.structs {
        u32::MAX.into()
    } else {
        u64::MAX
    };
    (number_u64(), number_u64()).prop_map(move |(instruction_pointer, parent)| {
        Record::NativeTrace(NativeTrace {
            instruction_pointer,
            parent: parent & parents,
        })
    })
}

/// A segment header with its segments.
fn image() -> impl Strategy<Value = Vec<Record<'static>>> {
    let segment = (any::<u64>(), number_u64()).prop_map(|(virtual_address, size)| {
        Record::Segment(Segment {
            virtual_address,
            size,
        })
    });
    (string(), any::<u64>(), vec(segment, 0..4)).prop_map(|(file, address, segments)| {
        let header = Record::SegmentHeader(SegmentHeader {
            file,
            address,
            n_segments: segments.len().try_into().expect("few segments"),
        });
        [vec![header], segments].concat()
    })
}

fn context_switch() -> impl Strategy<Value = Record<'static>> {
    (1..=u64::MAX).prop_map(Record::ContextSwitch)
}

/// Addresses, half of them from a few so that they come again; multiples of 8 where only those
/// can be written.
fn address(has: Has) -> impl Strategy<Value = u64> {
    let mask = if has.code_objects { !7 } else { u64::MAX };
    prop_oneof![
        (0_u64..24).prop_map(|block| 0x7f00_0000_0000 + 64 * block),
        number_u64().prop_map(move |address| address & mask),
    ]
}

fn native_id(has: Has) -> impl Strategy<Value = u64> {
    number_u64().prop_map(move |id| if has.native_traces { id } else { 0 })
}

/// Numbers of any length in bits, each as likely as another.
fn number_u64() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift)
}

/// Times that a header may have.
fn time() -> Range<i64> {
    946_684_800_000..7_258_118_400_000
}

fn python_allocator(unknown: Range<i32>) -> impl Strategy<Value = PythonAllocator> {
    let known = select(vec![
        PythonAllocator::Pymalloc,
        PythonAllocator::PymallocDebug,
        PythonAllocator::Malloc,
        PythonAllocator::Other,
        PythonAllocator::Mimalloc,
        PythonAllocator::MimallocDebug,
    ]);
    let unknown = unknown
        .prop_filter("a known number", |number| !(1..=6).contains(number))
        .prop_map(PythonAllocator::Unknown);
    prop_oneof![known, unknown]
}

/// Up to 39 bytes without a NUL among them.
fn string() -> impl Strategy<Value = &'static [u8]> {
    slice(1..216, 0..40)
}

/// The same, but not empty.
fn path() -> impl Strategy<Value = &'static [u8]> {
    slice(1..216, 1..40)
}

/// Up to 299 bytes, so that their number takes one byte or two.
fn table() -> impl Strategy<Value = &'static [u8]> {
    slice(0..212, 0..300)
}

fn slice(start: Range<usize>, len: Range<usize>) -> impl Strategy<Value = &'static [u8]> {
    (start, len).prop_map(|(start, len)| &BYTES[start..start + len])
}

fn owned(paths: &[&[u8]]) -> Vec<Vec<u8>> {
    paths.iter().map(|path| path.to_vec()).collect()
}
