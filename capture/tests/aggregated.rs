//! Aggregated captures: some made by hand, which the memray releases of their versions read to these
//! very values, and random ones.

use std::ops::Range;
use std::sync::LazyLock;

use AggregatedRecord as R;
use memreport_capture::{
    AggregatedAllocation, AggregatedDecoder, AggregatedEncoder, AggregatedRecord,
    AggregatedSnapshot, Allocator, CodeFrame, CodeObject, CodePush, Error, FaultKind, FileFormat,
    FrameIndex, Header, NativeTrace, PythonAllocator, PythonNode, PythonVersion, Segment,
    SegmentHeader, SurvivingObject, Version,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const V11: &str = "\
    6d656d726179000b0000000001000000000000000002000000000000000068e5cf8b0100003268e5cf8b010000612e70\
    79004d000000010000000000000000000000000000000100010168e5cf8b01000000803e00000000002c010000000000\
    000c02000000000000000a54000400000000000000006d61696e00612e70790003000000010300000000000000000000\
    00000201000000000000000100000000000000000000000000000001000000000000000000000000000000030000000000\
    000001000000000000002c0100000000000064000000000000000f";

/// With Python 3.13.3; the offset of the micro version is [`V13_MICRO`].
const V13: &str = "\
    6d656d726179000d000000f0030d030101000000000000000000000000000000000068e5cf8b0100003268e5cf8b0100\
    00612e7079004d000000010000000000000000000000000000000100012f6c002f73000000010168e5cf8b0100000080\
    3e00000000002c01000000000000060e016d61696e00612e7079000603d0000005e8c880040004000100010300000d80\
    84808080fc03010201000000000000000600000000000000010000000000000001000000000000000100000000000000\
    030000000000000001000000000000002c0100000000000064000000000000000f";

const V13_MICRO: usize = 12;

/// How many bytes before the end the padding of the only row ends: the fields behind it, and the
/// trailer.
const PADDING_FROM_END: usize = 7 * 8 + 1;

const SNAPSHOT: R<'_> = R::Snapshot(AggregatedSnapshot {
    time_ms: 1_700_000_000_001,
    rss: 4_096_000,
    heap: 300,
});

const NODE: R<'_> = R::Node(PythonNode {
    frame_id: 0,
    parent: 0,
});

/// The row of [`V11`].
const ROW: AggregatedAllocation = AggregatedAllocation {
    thread_id: 1,
    allocator: Allocator::Malloc,
    native_id: 0,
    node: 1,
    generation: 0,
    peak_allocations: 3,
    leaked_allocations: 1,
    peak_bytes: 300,
    leaked_bytes: 100,
};

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| str::from_utf8(pair).expect("hex is ASCII"))
        .map(|pair| u8::from_str_radix(pair, 16).expect("two hex digits"))
        .collect()
}

fn header_11() -> Header {
    Header {
        version: Version::new(11).expect("a known version"),
        python_version: None,
        native_traces: false,
        file_format: FileFormat::Aggregated,
        n_allocations: 0,
        n_frames: 2,
        start_time_ms: 1_700_000_000_000,
        end_time_ms: 1_700_000_000_050,
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
            minor: 13,
        }),
        native_traces: true,
        n_frames: 0,
        track_object_lifetimes: true,
        libdest: b"/l".to_vec(),
        site_packages: vec![b"/s".to_vec()],
        ..header_11()
    }
}

/// The records of [`V11`].
fn records_11() -> Vec<R<'static>> {
    let frame = FrameIndex {
        id: 0,
        function: b"main",
        file: b"a.py",
        line: 3,
        is_entry: true,
    };
    vec![
        SNAPSHOT,
        R::ContextSwitch(2),
        R::ThreadName(b"T"),
        R::Frame(frame),
        NODE,
        R::Allocation(ROW),
        R::Trailer,
    ]
}

/// The records of [`V13`].
fn records_13() -> Vec<R<'static>> {
    let code = CodeObject {
        id: 1,
        function: b"main",
        file: b"a.py",
        first_line: 3,
        line_table: &[0xd0, 0x00, 0x00],
    };
    let native = NativeTrace {
        instruction_pointer: 0x40_1234,
        parent: 0,
    };
    let frame = CodeFrame {
        frame_id: 0,
        push: CodePush {
            code_id: 1,
            instruction_offset: 0,
            is_entry: true,
        },
    };
    let object = SurvivingObject {
        address: 0x7f00_0000_1000,
        native_id: 1,
    };
    let row = AggregatedAllocation {
        native_id: 1,
        generation: 1,
        ..ROW
    };
    vec![
        SNAPSHOT,
        R::MemoryMapStart,
        R::CodeObject(code),
        R::NativeTrace(native),
        R::CodeFrame(frame),
        NODE,
        R::SurvivingObject(object),
        R::Allocation(row),
        R::Trailer,
    ]
}

fn encoded(header: &Header, records: &[R<'_>]) -> Vec<u8> {
    let mut encoder = AggregatedEncoder::new(header);
    for record in records {
        assert!(encoder.push(record), "{record:?}");
    }
    encoder.finish()
}

/// A capture as far as it was decoded.
#[derive(Debug)]
struct Reading<'a> {
    header: Header,
    records: Vec<R<'a>>,
    n_bytes: usize,
}

/// Decodes `bytes` up to the trailer, or `None` if not even the header is whole.
fn read(bytes: &[u8]) -> Result<Option<Reading<'_>>, Error> {
    read_in_pieces(bytes, &[])
}

/// The same, showing only those bytes up to each of `ends`, in this order, until more are asked for.
/// Checks that every record takes some of them, and what the decoder says about itself.
fn read_in_pieces<'a>(bytes: &'a [u8], ends: &[usize]) -> Result<Option<Reading<'a>>, Error> {
    let Some((header, rest)) = Header::parse(bytes)? else {
        return Ok(None);
    };
    let mut n_bytes = bytes.len() - rest.len();
    let mut decoder = AggregatedDecoder::new(&header, n_bytes.try_into().expect("it fits"));
    let mut records = Vec::new();
    let mut thread_id = 0;
    for &end in ends.iter().chain([&bytes.len()]) {
        while n_bytes < end && records.last() != Some(&R::Trailer) {
            let input = &bytes[n_bytes..end];
            let Some((record, rest)) = decoder.decode(input)? else {
                break;
            };
            assert!(rest.len() < input.len(), "{record:?} took no bytes");
            n_bytes = end - rest.len();
            records.push(record);
            if let R::ContextSwitch(id) = record {
                thread_id = id;
            }
            let expected = (n_bytes, records.len(), thread_id);
            let counted = [decoder.offset(), decoder.n_records()];
            let [offset, n_records] = counted.map(|n| usize::try_from(n).expect("it fits"));
            assert_eq!((offset, n_records, decoder.thread_id()), expected);
        }
    }
    Ok(Some(Reading {
        header,
        records,
        n_bytes,
    }))
}

/// Checks what `capture` decodes to, with a tail of zeros as memray leaves it.
fn check_decoded(capture: &[u8], header: &Header, records: &[R<'_>]) {
    let padded = [capture, &[0; 16]].concat();
    let reading = read(&padded).expect("it is valid");
    let reading = reading.expect("the header is whole");
    assert_eq!(reading.header, *header);
    assert_eq!(reading.records, records);
    assert_eq!(reading.n_bytes, capture.len());
}

#[test]
fn version_11_decodes_to_what_memray_reads() {
    check_decoded(&bytes(V11), &header_11(), &records_11());
}

#[test]
fn version_11_is_written_as_memray_writes_it() {
    assert_eq!(encoded(&header_11(), &records_11()), bytes(V11));
}

#[test]
fn version_10_differs_from_11_in_the_header_only() {
    let header = Header {
        version: Version::new(10).unwrap(),
        trace_python_allocators: None,
        ..header_11()
    };
    let mut expected = bytes(V11);
    expected[7] = 10;
    // The flag for Python's allocators ends the header, before the snapshot's type and time.
    let snapshot = expected.windows(4).position(|w| w == b"\x01\x01\x68\xe5");
    expected.remove(snapshot.unwrap() - 1);
    check_decoded(&expected, &header, &records_11());
    assert_eq!(encoded(&header, &records_11()), expected);
}

#[test]
fn version_13_decodes_to_what_memray_reads() {
    check_decoded(&bytes(V13), &header_13(), &records_13());
}

#[test]
fn version_13_is_written_as_memray_writes_it_but_for_the_micro_version() {
    let mut expected = bytes(V13);
    assert_eq!(expected[V13_MICRO], 3);
    expected[V13_MICRO] = 0;
    assert_eq!(encoded(&header_13(), &records_13()), expected);
}

#[test]
fn version_12_differs_from_13_in_the_header_only() {
    let header = Header {
        version: Version::new(12).unwrap(),
        libdest: Vec::new(),
        site_packages: Vec::new(),
        ..header_13()
    };
    let mut expected = bytes(V13);
    expected[7] = 12;
    // Without the paths, "/l", a list of "/s" and an empty one.
    let paths = expected.windows(3).position(|w| w == b"/l\0").unwrap();
    expected.drain(paths..paths + 8);
    check_decoded(&expected, &header, &records_13());
    expected[V13_MICRO] = 0;
    assert_eq!(encoded(&header, &records_13()), expected);
}

#[test]
fn padding_is_never_looked_at() {
    for (hex, header, records) in [
        (V11, header_11(), records_11()),
        (V13, header_13(), records_13()),
    ] {
        let mut capture = bytes(hex);
        let end = capture.len() - PADDING_FROM_END;
        capture[end - 7..end].fill(0xaa);
        check_decoded(&capture, &header, &records);
    }
}

#[test]
fn cuts_decode_to_the_records_before_them() {
    for (hex, records) in [(V11, records_11()), (V13, records_13())] {
        let capture = bytes(hex);
        for end in 0..capture.len() {
            if let Some(cut) = read(&capture[..end]).expect("a cut is valid") {
                assert_eq!(cut.records, records[..cut.records.len()]);
                assert!(cut.records.len() < records.len());
                assert!(cut.n_bytes <= end);
            }
        }
    }
}

#[test]
fn names_are_those_of_the_specification() {
    let names = |records: &[R<'_>]| -> Vec<_> { records.iter().map(R::name).collect() };
    assert_eq!(
        names(&records_11()),
        [
            "MEMORY_SNAPSHOT",
            "CONTEXT_SWITCH",
            "THREAD_RECORD",
            "PYTHON_FRAME_INDEX",
            "PYTHON_TRACE_INDEX",
            "AGGREGATED_ALLOCATION",
            "AGGREGATED_TRAILER"
        ]
    );
    assert_eq!(
        names(&records_13()[1..7]),
        [
            "MEMORY_MAP_START",
            "CODE_OBJECT",
            "NATIVE_TRACE_INDEX",
            "PYTHON_FRAME_INDEX",
            "PYTHON_TRACE_INDEX",
            "SURVIVING_OBJECT"
        ]
    );
}

/// Every byte, twice. Strings and tables of random records are slices of it.
static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..=255).chain(0..=255).collect());

/// How many cases a property is tried with.
fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(n)
    }
}

/// A header of any version that has aggregated captures, and records to follow it.
fn capture() -> impl Strategy<Value = (Header, Vec<R<'static>>)> {
    (10..=13, any::<bool>()).prop_flat_map(|(number, native_traces)| {
        let version = Version::new(number).expect("a known version");
        let base = if version.has_code_objects() {
            header_13()
        } else {
            header_11()
        };
        let has_paths = number >= 13;
        let header = Header {
            version,
            native_traces,
            trace_python_allocators: (number >= 11).then_some(false),
            libdest: if has_paths { base.libdest } else { Vec::new() },
            site_packages: if has_paths {
                base.site_packages
            } else {
                Vec::new()
            },
            ..base
        };
        let groups = vec(group(version, native_traces), 0..40);
        let records = (groups, any::<bool>()).prop_map(|(groups, closed)| {
            let mut records = groups.concat();
            records.extend(closed.then_some(R::Trailer));
            records
        });
        (Just(header), records)
    })
}

/// Records that stand together.
fn group(version: Version, native_traces: bool) -> impl Strategy<Value = Vec<R<'static>>> + use<> {
    let of_version = if version.has_code_objects() {
        prop_oneof![
            code_frame(),
            code_object(),
            surviving_object(native_traces),
            node(u64::MAX)
        ]
        .boxed()
    } else {
        prop_oneof![frame(), node(u32::MAX.into())].boxed()
    };
    let alone = prop_oneof![
        3 => of_version,
        2 => row(),
        1 => snapshot(),
        1 => native_trace(),
        1 => Just(R::MemoryMapStart),
        1 => any::<u64>().prop_map(R::ContextSwitch),
    ];
    prop_oneof![8 => alone.prop_map(|record| vec![record]), 1 => image(), 1 => named_thread()]
}

fn snapshot() -> impl Strategy<Value = R<'static>> {
    any::<[u64; 3]>()
        .prop_map(|[time_ms, rss, heap]| R::Snapshot(AggregatedSnapshot { time_ms, rss, heap }))
}

fn row() -> impl Strategy<Value = R<'static>> {
    let fields = (select(&Allocator::ALL[..]), any::<[u64; 8]>());
    fields.prop_map(|(allocator, fields)| {
        let [thread_id, native_id, node, generation, ..] = fields;
        let [.., peak_allocations, leaked_allocations, peak, leaked] = fields;
        R::Allocation(AggregatedAllocation {
            thread_id,
            allocator,
            native_id,
            node,
            generation,
            peak_allocations,
            leaked_allocations,
            peak_bytes: peak >> 1,
            leaked_bytes: leaked >> 1,
        })
    })
}

fn node(parents: u64) -> impl Strategy<Value = R<'static>> {
    (number_u64(), number_u64()).prop_map(move |(frame_id, parent)| {
        R::Node(PythonNode {
            frame_id,
            parent: parent & parents,
        })
    })
}

fn frame() -> impl Strategy<Value = R<'static>> {
    let fields = (
        any::<u64>(),
        string(),
        string(),
        any::<i32>(),
        any::<bool>(),
    );
    fields.prop_map(|(id, function, file, line, is_entry)| {
        R::Frame(FrameIndex {
            id,
            function,
            file,
            line,
            is_entry,
        })
    })
}

fn code_frame() -> impl Strategy<Value = R<'static>> {
    let push = (number_u64(), any::<i64>(), any::<bool>());
    (number_u64(), push).prop_map(|(frame_id, (code_id, instruction_offset, is_entry))| {
        let push = CodePush {
            code_id,
            instruction_offset,
            is_entry,
        };
        R::CodeFrame(CodeFrame { frame_id, push })
    })
}

fn code_object() -> impl Strategy<Value = R<'static>> {
    // Up to 299 bytes of table, so that their number takes one byte or two.
    let table = slice(0..212, 0..300);
    let fields = (number_u64(), string(), string(), any::<i32>(), table);
    fields.prop_map(|(id, function, file, first_line, line_table)| {
        R::CodeObject(CodeObject {
            id,
            function,
            file,
            first_line,
            line_table,
        })
    })
}

fn surviving_object(native_traces: bool) -> impl Strategy<Value = R<'static>> {
    (number_u64(), number_u64()).prop_map(move |(address, native_id)| {
        R::SurvivingObject(SurvivingObject {
            address: address & !7,
            native_id: if native_traces { native_id } else { 0 },
        })
    })
}

fn native_trace() -> impl Strategy<Value = R<'static>> {
    (number_u64(), number_u64()).prop_map(|(instruction_pointer, parent)| {
        R::NativeTrace(NativeTrace {
            instruction_pointer,
            parent,
        })
    })
}

/// A segment header with its segments.
fn image() -> impl Strategy<Value = Vec<R<'static>>> {
    let segment = (any::<u64>(), number_u64()).prop_map(|(virtual_address, size)| {
        R::Segment(Segment {
            virtual_address,
            size,
        })
    });
    (string(), any::<u64>(), vec(segment, 0..4)).prop_map(|(file, address, segments)| {
        let header = R::SegmentHeader(SegmentHeader {
            file,
            address,
            n_segments: segments.len().try_into().expect("few segments"),
        });
        [vec![header], segments].concat()
    })
}

/// A context switch, then the thread's name.
fn named_thread() -> impl Strategy<Value = Vec<R<'static>>> {
    (1..=u64::MAX, string()).prop_map(|(id, name)| vec![R::ContextSwitch(id), R::ThreadName(name)])
}

/// Numbers of any length in bits, each as likely as another.
fn number_u64() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift)
}

/// Up to 39 bytes without a NUL among them.
fn string() -> impl Strategy<Value = &'static [u8]> {
    slice(1..216, 0..40)
}

fn slice(start: Range<usize>, len: Range<usize>) -> impl Strategy<Value = &'static [u8]> {
    (start, len).prop_map(|(start, len)| &BYTES[start..start + len])
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn records_are_read_as_they_were_written((header, records) in capture()) {
        let bytes = encoded(&header, &records);
        let reading = read(&bytes).unwrap().unwrap();
        prop_assert_eq!(reading.records, records);
        prop_assert_eq!(reading.header, header);
        prop_assert_eq!(reading.n_bytes, bytes.len());
    }

    #[test]
    fn any_splitting_of_the_input_gives_the_same_records(
        (header, records) in capture(),
        ends in vec(any::<Index>(), 0..20),
    ) {
        let bytes = encoded(&header, &records);
        let mut ends: Vec<_> = ends.iter().map(|end| end.index(bytes.len())).collect();
        ends.sort_unstable();
        let reading = read_in_pieces(&bytes, &ends).unwrap().unwrap();
        prop_assert_eq!(reading.records, records);
    }

    #[test]
    fn a_cut_capture_decodes_to_the_first_of_its_records(
        (header, records) in capture(),
        end in any::<Index>(),
    ) {
        let bytes = encoded(&header, &records);
        let end = end.index(bytes.len());
        if let Some(reading) = read(&bytes[..end]).unwrap() {
            let n_records = reading.records.len();
            prop_assert!(n_records < records.len());
            prop_assert_eq!(reading.records, &records[..n_records]);
        }
    }

    #[test]
    fn a_changed_byte_does_no_harm(
        (header, records) in capture(),
        changes in vec((any::<Index>(), any::<u8>()), 20),
    ) {
        let mut bytes = encoded(&header, &records);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            let intact = std::mem::replace(&mut bytes[at], value);
            // Read, or refused: both are an end.
            let _ = read(&bytes);
            bytes[at] = intact;
        }
    }

    #[test]
    fn any_bytes_behind_a_header_do_no_harm(
        (header, _) in capture(),
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let capture = [encoded(&header, &[]), bytes].concat();
        if let Ok(Some(reading)) = read(&capture) {
            prop_assert!(reading.n_bytes <= capture.len());
        }
    }

    #[test]
    fn no_row_has_a_size_that_no_address_space_holds(
        (header, _) in capture(),
        size in 1 << 63..=u64::MAX,
        is_peak in any::<bool>(),
    ) {
        let row = AggregatedAllocation {
            peak_bytes: if is_peak { size } else { 0 },
            leaked_bytes: if is_peak { 0 } else { size },
            ..ROW
        };
        let bytes = encoded(&header, &[R::Allocation(row)]);
        let error = read(&bytes).unwrap_err();
        let expected = FaultKind::ImpossibleSize(size);
        let is_refused = matches!(error, Error::Malformed { kind, .. } if kind == expected);
        prop_assert!(is_refused, "{}", error);
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn input_byte_by_byte_gives_the_same_records((header, records) in capture()) {
        let bytes = encoded(&header, &records);
        let ends: Vec<_> = (0..bytes.len()).collect();
        let reading = read_in_pieces(&bytes, &ends).unwrap().unwrap();
        prop_assert_eq!(reading.records, records);
    }
}
