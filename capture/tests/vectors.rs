//! Captures made by hand, which the memray releases of their versions read to these very values.

mod common;

use common::Reading;
use memreport_capture::{
    Allocation, Allocator, CodeObject, CodePush, Encoder, FileFormat, FrameIndex, Header,
    MemoryRecord, NativeTrace, PythonAllocator, PythonVersion, Record, Segment, SegmentHeader,
    Version,
};

const V6: &str = "\
    6d656d726179000600000000030000000000000001000000000000000068e5cf8b0100003268e5cf8b010000612e7079\
    004d000000010000000200000000000000000000006d61696e00612e7079000300000003000000000000000000000000\
    070000007f00000100000000070000007f00001000000055000000640000000000000001000000000000000000000000\
    0000000100000000070000007f000000000000107f00000020000000000000090000000000000000000000000000000a\
    0000000b68e5cf8b01000000803e00000000000800000000070000007f00000100000000000000010000000007000000\
    7f00001000000055000000000000000000000002000000000000000000000000000000";

const V11: &str = "\
    6d656d726179000b0000000100040000000000000002000000000000000068e5cf8b0100003268e5cf8b010000612e70\
    79004d00000001000000000000000000000000000000010006072f62696e2f7800010000400000000000080010000000\
    00000080400b8080fa010103006d61696e00612e707900060c0100000000000000040013026600612e7079000e040005\
    e8c880040005200212a0808080a0156402051f03a2e0ffffffdfae3f8040061921dfffffffdfae3f0a5400b1e0ffffff\
    dfae3f802010";

/// With Python 3.12.13; the offset of the micro version is [`V13_MICRO`].
const V13: &str = "\
    6d656d726179000d000000f00d0c030100050000000000000000000000000000000068e5cf8b010000e86be5cf8b0100\
    0073796e746865746963007b000000010000000000000000000000000000000100002f7573722f6c69622f707974686f\
    6e332e313200000006072f62696e2f78000100004000000000000800100000000000008040028080fa01010e016d6169\
    6e00612e7079000606d00000d900000c010000000000000041010405e8c8800400fe84808080d4020264f8fcffffffeb\
    f5070e0080408d8f00c801100a5400800f01802001";

const V13_MICRO: usize = 12;

const START_MS: i64 = 1_700_000_000_000;

/// The image `/bin/x` and its only segment.
const IMAGE: [Record<'_>; 2] = [
    Record::SegmentHeader(SegmentHeader {
        file: b"/bin/x",
        address: 0x40_0000,
        n_segments: 1,
    }),
    Record::Segment(Segment {
        virtual_address: 0x1000,
        size: 0x2000,
    }),
];

/// The frame of [`V6`], and the outer one of [`V11`].
const MAIN: FrameIndex<'_> = FrameIndex {
    id: 0,
    function: b"main",
    file: b"a.py",
    line: 3,
    is_entry: true,
};

const MEMORY: Record<'_> = Record::Memory(MemoryRecord {
    time_ms: 1_700_000_000_001,
    rss: 4_096_000,
});

/// The thread of [`V6`].
const THREAD_6: u64 = 0x7f00_0000_0700;

/// Address of the blocks, and of the mapped range.
const BLOCK: u64 = 0x55_0000_0010;
const RANGE: u64 = 0x7f10_0000_0000;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| str::from_utf8(pair).expect("hex is ASCII"))
        .map(|pair| u8::from_str_radix(pair, 16).expect("two hex digits"))
        .collect()
}

fn allocation(allocator: Allocator, address: u64, size: u64, native_id: u64) -> Record<'static> {
    Record::Allocation(Allocation {
        address,
        size,
        allocator,
        native_id,
    })
}

fn native(instruction_pointer: u64, parent: u64) -> Record<'static> {
    Record::NativeTrace(NativeTrace {
        instruction_pointer,
        parent,
    })
}

fn header_6() -> Header {
    Header {
        version: Version::new(6).expect("a known version"),
        native_traces: false,
        n_allocations: 3,
        n_frames: 1,
        main_thread_id: None,
        trace_python_allocators: None,
        ..header_11()
    }
}

fn header_11() -> Header {
    Header {
        version: Version::new(11).expect("a known version"),
        python_version: None,
        native_traces: true,
        file_format: FileFormat::AllAllocations,
        n_allocations: 4,
        n_frames: 2,
        start_time_ms: START_MS,
        end_time_ms: START_MS + 50,
        command_line: b"a.py".to_vec(),
        pid: 77,
        main_thread_id: Some(1),
        skipped_frames_on_main_thread: 0,
        python_allocator: PythonAllocator::Pymalloc,
        trace_python_allocators: Some(false),
        track_object_lifetimes: false,
        libdest: Vec::new(),
        site_packages: Vec::new(),
        sys_path: Vec::new(),
    }
}

fn header_13() -> Header {
    Header {
        version: Version::new(13).expect("a known version"),
        python_version: Some(PythonVersion {
            major: 3,
            minor: 12,
        }),
        n_allocations: 5,
        n_frames: 0,
        end_time_ms: START_MS + 1000,
        command_line: b"synthetic".to_vec(),
        pid: 123,
        libdest: b"/usr/lib/python3.12".to_vec(),
        ..header_11()
    }
}

/// The records of [`V6`].
fn records_6() -> Vec<Record<'static>> {
    let memory = MemoryRecord {
        time_ms: 1_700_000_000_011,
        rss: 4_096_000,
    };
    vec![
        Record::FrameIndex(MAIN),
        Record::FramePush(0),
        allocation(Allocator::Malloc, BLOCK, 100, 0),
        allocation(Allocator::Mmap, RANGE, 8192, 0),
        Record::Memory(memory),
        Record::FramePop(1),
        allocation(Allocator::Free, BLOCK, 0, 0),
    ]
}

/// The records of [`V11`].
fn records_11() -> Vec<Record<'static>> {
    let f = FrameIndex {
        id: 1,
        function: b"f",
        line: 10,
        is_entry: false,
        ..MAIN
    };
    vec![
        Record::MemoryMapStart,
        IMAGE[0],
        IMAGE[1],
        MEMORY,
        Record::FrameIndex(MAIN),
        Record::ContextSwitch(1),
        Record::FramePush(0),
        Record::FrameIndex(f),
        Record::FramePush(1),
        native(0x40_1234, 0),
        native(0x40_1244, 1),
        allocation(Allocator::Malloc, BLOCK, 100, 2),
        native(0x40_1234, 0),
        allocation(Allocator::Mmap, RANGE, 8192, 3),
        Record::FramePop(2),
        allocation(Allocator::Free, BLOCK, 0, 0),
        Record::ThreadName(b"T"),
        allocation(Allocator::Munmap, RANGE, 4096, 0),
        Record::Trailer,
    ]
}

/// The records of [`V13`].
fn records_13() -> Vec<Record<'static>> {
    let code = CodeObject {
        id: 1,
        function: b"main",
        file: b"a.py",
        first_line: 3,
        line_table: &[0xd0, 0x00, 0x00, 0xd9, 0x00, 0x00],
    };
    let push = CodePush {
        code_id: 1,
        instruction_offset: 2,
        is_entry: true,
    };
    vec![
        Record::MemoryMapStart,
        IMAGE[0],
        IMAGE[1],
        MEMORY,
        Record::CodeObject(code),
        Record::ContextSwitch(1),
        Record::CodePush(push),
        native(0x40_1234, 0),
        allocation(Allocator::Malloc, BLOCK, 100, 1),
        allocation(Allocator::Mmap, RANGE, 8192, 1),
        allocation(Allocator::Free, BLOCK, 0, 0),
        allocation(Allocator::Realloc, BLOCK, 200, 1),
        Record::FramePop(1),
        Record::ThreadName(b"T"),
        allocation(Allocator::Munmap, RANGE, 4096, 0),
        Record::Trailer,
    ]
}

fn encoded(header: &Header, records: &[Record<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(header);
    for record in records {
        assert!(encoder.push(record), "{record:?}");
    }
    encoder.finish()
}

/// Checks what `capture` decodes to, and that all but the first `n_before` of its records come after
/// `thread_id` was named. Behind a trailer it has a tail of zeros, as memray leaves it.
fn check_decoded(
    capture: &[u8],
    header: &Header,
    records: &[Record<'_>],
    (n_before, thread_id): (usize, u64),
) {
    let tail = if header.version.has_trailer() { 16 } else { 0 };
    let padded = [capture, &vec![0; tail]].concat();
    let reading = Reading::whole(&padded).expect("it is valid");
    let reading = reading.expect("the header is whole");
    assert_eq!(reading.header, *header);
    let decoded: Vec<_> = reading.records.iter().map(|(_, record)| *record).collect();
    assert_eq!(decoded, records);
    assert_eq!(reading.n_bytes(), capture.len());
    for (index, (found, record)) in reading.records.iter().enumerate() {
        let expected = if index < n_before { 0 } else { thread_id };
        assert_eq!(*found, expected, "{record:?}");
    }
}

/// Checks that every cut of `capture` decodes, without an error, to its first records, and says how
/// many bytes they took.
fn check_cuts(capture: &[u8], records: &[Record<'_>]) {
    for end in 0..capture.len() {
        let Some(cut) = Reading::whole(&capture[..end]).expect("a cut is valid") else {
            continue;
        };
        let decoded: Vec<_> = cut.records.iter().map(|(_, record)| *record).collect();
        assert_eq!(decoded, records[..decoded.len()]);
        assert!(decoded.len() < records.len());
        assert!(cut.n_bytes() <= end);
    }
}

#[test]
fn version_6_decodes_to_what_memray_reads() {
    check_decoded(&bytes(V6), &header_6(), &records_6(), (1, THREAD_6));
}

#[test]
fn version_6_is_written_as_memray_writes_it() {
    let switch = [Record::ContextSwitch(THREAD_6)];
    let records = [&switch[..], &records_6()].concat();
    assert_eq!(encoded(&header_6(), &records), bytes(V6));
}

#[test]
fn version_11_decodes_to_what_memray_reads() {
    check_decoded(&bytes(V11), &header_11(), &records_11(), (5, 1));
}

#[test]
fn version_11_is_written_as_memray_writes_it() {
    assert_eq!(encoded(&header_11(), &records_11()), bytes(V11));
}

#[test]
fn version_13_decodes_to_what_memray_reads() {
    check_decoded(&bytes(V13), &header_13(), &records_13(), (5, 1));
}

#[test]
fn version_13_is_written_as_memray_writes_it_but_for_the_micro_version() {
    let mut expected = bytes(V13);
    assert_eq!(expected[V13_MICRO], 13);
    expected[V13_MICRO] = 0;
    assert_eq!(encoded(&header_13(), &records_13()), expected);
}

#[test]
fn version_12_differs_from_13_in_the_header_only() {
    let header = Header {
        version: Version::new(12).unwrap(),
        libdest: Vec::new(),
        ..header_13()
    };
    let mut expected = bytes(V13);
    // Without the paths, "/usr/lib/python3.12" and two empty lists.
    let records = expected.windows(9).position(|w| w == b"\x06\x07/bin/x\0");
    let records = records.unwrap();
    expected.drain(records - 22..records);
    expected[7] = 12;
    check_decoded(&expected, &header, &records_13(), (5, 1));
    expected[V13_MICRO] = 0;
    assert_eq!(encoded(&header, &records_13()), expected);
}

#[test]
fn cuts_decode_to_the_records_before_them() {
    check_cuts(&bytes(V6), &records_6());
    check_cuts(&bytes(V11), &records_11());
    check_cuts(&bytes(V13), &records_13());
}
