//! Takes records from bytes, one at a time.

use nom::number::streaming::{le_u8, le_u32};

use crate::allocator::{Allocator, AllocatorTable};
use crate::delta::Deltas;
use crate::error::{Error, FaultKind, PResult, fail};
use crate::header::Header;
use crate::progress::{Common, Progress};
use crate::record::{Record, allocation, code_object, frame, memory, native, object, thread};
use crate::version::{Stream, Version};

/// Decodes the records after a header, whatever pieces they come in.
///
/// After an error, or after [`Record::Trailer`], nothing more can be decoded.
#[derive(Debug, Clone)]
pub struct Decoder {
    version: Version,
    pub(crate) stream: Stream,
    pub(crate) allocators: &'static AllocatorTable,
    pub(crate) native_traces: bool,
    start_time_ms: i64,
    pub(crate) deltas: Deltas,
    pub(crate) progress: Progress,
}

impl Decoder {
    /// A decoder for what follows `header`, which ended at byte `offset` of the capture.
    #[must_use]
    pub fn new(header: &Header, offset: u64) -> Self {
        Self {
            version: header.version,
            stream: header.version.stream(),
            allocators: Allocator::table(header.version),
            native_traces: header.native_traces,
            start_time_ms: header.start_time_ms,
            deltas: Deltas::default(),
            progress: Progress::new(offset),
        }
    }

    /// The thread that the last record belongs to, or 0 before the first context switch.
    #[inline]
    #[must_use]
    pub fn thread_id(&self) -> u64 {
        self.progress.thread_id
    }

    /// Offset of the next record in the (decompressed) capture.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.progress.offset()
    }

    /// Number of records decoded.
    #[must_use]
    pub fn n_records(&self) -> u64 {
        self.progress.n_records()
    }

    /// Decodes the record at the start of `input`. Returns it with the rest, or `None` if it goes on
    /// past the end of `input`; then nothing has changed, and the same record can be decoded once
    /// more bytes are there.
    ///
    /// # Errors
    /// [`Error::Malformed`] if no record can start so.
    #[inline]
    pub fn decode<'a>(&mut self, input: &'a [u8]) -> Result<Option<(Record<'a>, &'a [u8])>, Error> {
        let parsed = match self.stream {
            Stream::Prefixes => self.prefixes(input),
            Stream::Nibbles => self.nibbles(input),
            Stream::Structs => self.structs(input),
        };
        self.progress.counted(input, parsed)
    }

    /// The error for a zero byte where the next record should start, with data behind it.
    #[must_use]
    pub fn hole(&self) -> Error {
        self.progress.hole()
    }

    /// Formats 12 and later: the position of the first byte's highest bit is the type.
    #[inline]
    fn prefixes<'a>(&mut self, input: &'a [u8]) -> PResult<'a, Record<'a>> {
        let (rest, first) = le_u8(input)?;
        self.progress.check_segments(input, first == 8)?;
        if first < 0x10 {
            return self.plain(input, rest, first);
        }
        self.progress.check_thread(input)?;
        let deltas = &mut self.deltas;
        if first & 0x80 != 0 {
            let (rest, allocation) =
                allocation::prefixes(rest, self.allocators, first, self.native_traces, deltas)?;
            Ok((rest, Record::Allocation(allocation)))
        } else if first & 0x40 != 0 {
            let (rest, push) = frame::code_push(rest, first)?;
            Ok((rest, Record::CodePush(push)))
        } else if first & 0x20 != 0 {
            let (rest, event) = object::object(rest, first, self.native_traces, deltas)?;
            Ok((rest, Record::Object(event)))
        } else {
            Ok((
                rest,
                Record::FramePop(u32::from(first & 15).wrapping_add(1)),
            ))
        }
    }

    /// Formats 12 and later, records without flags.
    fn plain<'a>(&mut self, input: &'a [u8], rest: &'a [u8], first: u8) -> PResult<'a, Record<'a>> {
        Ok(match first {
            1 => (rest, Record::Trailer),
            2 => {
                let (rest, record) = memory::memory_record(rest, self.start_time_ms)?;
                (rest, Record::Memory(record))
            }
            14 => {
                let (rest, code) = code_object::code_object(rest, &mut self.deltas)?;
                (rest, Record::CodeObject(code))
            }
            5..=8 | 10 | 12 => return self.common(input, rest, first),
            _ => return fail(input, FaultKind::UnknownRecord(first.into())),
        })
    }

    /// Formats 7 to 11: type in the low nibble, flags in the high one.
    #[inline]
    fn nibbles<'a>(&mut self, input: &'a [u8]) -> PResult<'a, Record<'a>> {
        let (rest, first) = le_u8(input)?;
        self.progress.check_segments(input, first == 8)?;
        let (kind, flags) = (first & 15, first >> 4);
        match kind {
            1 | 2 => {
                self.progress.check_thread(input)?;
                let (rest, allocation) =
                    allocation::nibbles(rest, self.allocators, flags, kind == 2, &mut self.deltas)?;
                Ok((rest, Record::Allocation(allocation)))
            }
            3 => {
                let (rest, frame) = frame::frame_index(rest, flags, &mut self.deltas)?;
                Ok((rest, Record::FrameIndex(frame)))
            }
            4 => {
                self.progress.check_thread(input)?;
                let (rest, id) = frame::frame_push(rest, &mut self.deltas)?;
                Ok((rest, Record::FramePush(id)))
            }
            9 => {
                self.progress.check_thread(input)?;
                Ok((rest, Record::FramePop(u32::from(flags).wrapping_add(1))))
            }
            11 => {
                let (rest, record) = memory::memory_record(rest, self.start_time_ms)?;
                Ok((rest, Record::Memory(record)))
            }
            5..=8 | 10 | 12 => self.common(input, rest, kind),
            0 if flags == 1 && self.version.has_trailer() => Ok((rest, Record::Trailer)),
            _ => fail(input, FaultKind::UnknownRecord(first.into())),
        }
    }

    /// Format 6: four bytes of type, then a struct with the thread in it.
    fn structs<'a>(&mut self, input: &'a [u8]) -> PResult<'a, Record<'a>> {
        let (rest, kind) = le_u32(input)?;
        self.progress.check_segments(input, kind == 7)?;
        Ok(match kind {
            1 => {
                let (rest, (id, allocation)) = allocation::structs(rest, self.allocators)?;
                self.progress.thread_id = id;
                (rest, Record::Allocation(allocation))
            }
            2 => {
                let (rest, frame) = frame::frame_index_struct(rest)?;
                (rest, Record::FrameIndex(frame))
            }
            3 => {
                let (rest, (frame, id)) = frame::frame_push_struct(rest)?;
                self.progress.thread_id = id;
                (rest, Record::FramePush(frame))
            }
            4 => {
                let (rest, trace) = native::native_trace_struct(rest)?;
                (rest, Record::NativeTrace(trace))
            }
            5 => (rest, Record::MemoryMapStart),
            6 => {
                let (rest, header) = native::segment_header_struct(rest)?;
                self.progress.announce_segments(&header);
                (rest, Record::SegmentHeader(header))
            }
            7 => {
                let (rest, segment) = native::segment_struct(rest)?;
                (
                    self.progress.segment(input, rest)?,
                    Record::Segment(segment),
                )
            }
            8 => {
                let (rest, (id, count)) = frame::frame_pop_struct(rest)?;
                self.progress.thread_id = id;
                (rest, Record::FramePop(count.into()))
            }
            9 => {
                let (rest, (id, name)) = thread::thread_name_struct(rest)?;
                self.progress.thread_id = id;
                (rest, Record::ThreadName(name))
            }
            10 => {
                let (rest, record) = memory::memory_record_struct(rest)?;
                (rest, Record::Memory(record))
            }
            _ => return fail(input, FaultKind::UnknownRecord(kind)),
        })
    }

    /// Records that formats 7 and later share.
    fn common<'a>(&mut self, input: &'a [u8], rest: &'a [u8], kind: u8) -> PResult<'a, Record<'a>> {
        let (rest, record) = self.progress.common(input, rest, kind, &mut self.deltas)?;
        Ok((rest, record.into()))
    }
}

impl<'a> From<Common<'a>> for Record<'a> {
    fn from(record: Common<'a>) -> Self {
        match record {
            Common::NativeTrace(trace) => Self::NativeTrace(trace),
            Common::MemoryMapStart => Self::MemoryMapStart,
            Common::SegmentHeader(header) => Self::SegmentHeader(header),
            Common::Segment(segment) => Self::Segment(segment),
            Common::ThreadName(name) => Self::ThreadName(name),
            Common::ContextSwitch(id) => Self::ContextSwitch(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{FileFormat, PythonAllocator};

    /// Switches to thread 1.
    const SWITCH: &[u8] = b"\x0c\x01\0\0\0\0\0\0\0";
    /// Image `x` at 0, of which two segments follow.
    const TWO_SEGMENTS: &[u8] = b"\x07x\0\x02\0\0\0\0\0\0\0\0";
    const SEGMENT: &[u8] = b"\x08\0\x10\0\0\0\0\0\0\x20";

    /// The same of format 6.
    const TWO_SEGMENTS_6: &[u8] = b"\x06\0\0\0x\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    const SEGMENT_6: &[u8] = b"\x07\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\0\0\0";

    /// Format 6: thread 7 enters frame 1, thread 8 leaves two.
    const PUSH_6: &[u8] = b"\x03\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0";
    const POP_6: &[u8] = b"\x08\0\0\0\x08\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0";
    /// Format 6: thread 9 frees the block at 16.
    const FREE_6: &[u8] = b"\x01\0\0\0\x09\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /// Format 6: thread 10 is named `T`.
    const NAME_6: &[u8] = b"\x09\0\0\0\x0a\0\0\0\0\0\0\0T\0";

    /// Where the records start, in these tests.
    const START: u64 = 100;

    fn decoder(version: i32) -> Decoder {
        let header = Header {
            version: Version::new(version).unwrap(),
            python_version: None,
            native_traces: false,
            file_format: FileFormat::AllAllocations,
            n_allocations: 0,
            n_frames: 0,
            start_time_ms: 1_700_000_000_000,
            end_time_ms: 1_700_000_000_000,
            command_line: Vec::new(),
            pid: 0,
            main_thread_id: None,
            skipped_frames_on_main_thread: 0,
            python_allocator: PythonAllocator::Pymalloc,
            trace_python_allocators: None,
            track_object_lifetimes: false,
            libdest: Vec::new(),
            site_packages: Vec::new(),
            sys_path: Vec::new(),
        };
        Decoder::new(&header, START)
    }

    /// The error that ends `input`, or `None` if it only asks for more.
    fn error(version: i32, mut input: &[u8]) -> Option<Error> {
        let mut decoder = decoder(version);
        loop {
            match decoder.decode(input) {
                Ok(Some((_, rest))) => input = rest,
                Ok(None) => return None,
                Err(error) => return Some(error),
            }
        }
    }

    fn malformed(record: u64, record_offset: u64, offset: u64, kind: FaultKind) -> Option<Error> {
        Some(Error::Malformed {
            record,
            record_offset,
            offset,
            kind,
        })
    }

    #[test]
    fn the_decoder_keeps_thread_offset_and_count() {
        let mut decoder = decoder(13);
        let input = [b"\x06", SWITCH, b"\x13rest"].concat();
        let state = |d: &Decoder| (d.thread_id(), d.offset(), d.n_records());
        assert_eq!(state(&decoder), (0, 100, 0));
        let (record, rest) = decoder.decode(&input).unwrap().unwrap();
        assert_eq!(record, Record::MemoryMapStart);
        assert_eq!(state(&decoder), (0, 101, 1));
        let (record, rest) = decoder.decode(rest).unwrap().unwrap();
        assert_eq!(record, Record::ContextSwitch(1));
        assert_eq!(state(&decoder), (1, 110, 2));
        let decoded = decoder.decode(rest);
        assert_eq!(decoded, Ok(Some((Record::FramePop(4), &b"rest"[..]))));
        assert_eq!(state(&decoder), (1, 111, 3));
    }

    #[test]
    fn a_cut_record_changes_nothing() {
        let later = [SWITCH, TWO_SEGMENTS];
        let structs = [PUSH_6, POP_6, FREE_6, NAME_6, TWO_SEGMENTS_6];
        for (version, records) in [(6, &structs[..]), (7, &later), (12, &later)] {
            for record in records {
                let mut decoder = decoder(version);
                let before = format!("{decoder:?}");
                for len in 0..record.len() {
                    assert_eq!(decoder.decode(&record[..len]), Ok(None));
                    assert_eq!(format!("{decoder:?}"), before);
                }
            }
        }
    }

    #[test]
    fn first_bytes_that_start_no_record_are_refused() {
        let unknown = |first: u8| malformed(0, 100, 100, FaultKind::UnknownRecord(first.into()));
        for first in [0, 3, 4, 9, 11, 13, 15] {
            assert_eq!(error(13, &[first, 1]), unknown(first));
        }
        for first in [0x00, 0x20, 0xf0, 0x0d, 0x0e, 0x0f, 0x1d] {
            assert_eq!(error(11, &[first, 1]), unknown(first));
        }
    }

    #[test]
    fn types_of_structs_take_all_four_bytes() {
        for kind in [0, 11, 12, 0x10, 0x105, 0x0500_0000, u32::MAX] {
            let unknown = malformed(0, 100, 100, FaultKind::UnknownRecord(kind));
            assert_eq!(error(6, &kind.to_le_bytes()), unknown);
        }
    }

    #[test]
    fn structs_name_their_thread_and_other_records_keep_it() {
        let mut decoder = decoder(6);
        let map = &b"\x05\0\0\0"[..];
        let records = [map, PUSH_6, POP_6, map, FREE_6, NAME_6, map];
        let input = records.concat();
        let mut rest = &input[..];
        let mut offset = START;
        for (record, thread_id) in records.iter().zip([0, 7, 8, 8, 9, 10, 10]) {
            (_, rest) = decoder.decode(rest).unwrap().unwrap();
            offset += u64::try_from(record.len()).unwrap();
            assert_eq!((decoder.thread_id(), decoder.offset()), (thread_id, offset));
        }
        assert_eq!((decoder.n_records(), rest), (7, &[][..]));
    }

    #[test]
    fn formats_6_and_7_have_no_trailer() {
        let is_trailer = |version, first| {
            let input = [first, 0, 0, 0];
            let decoded = decoder(version).decode(&input);
            matches!(decoded, Ok(Some((Record::Trailer, &[0, 0, 0]))))
        };
        assert!((6..=7).all(|version| !is_trailer(version, 0x10)));
        assert!((8..=11).all(|version| is_trailer(version, 0x10)));
        assert!((12..=13).all(|version| is_trailer(version, 0x01)));
    }

    #[test]
    fn records_of_a_thread_need_one() {
        let no_thread = malformed(0, 100, 100, FaultKind::NoThread);
        for first in [0x80, 0xff, 0x40, 0x20, 0x10, 0x1f, 0x0a] {
            assert_eq!(error(13, &[first]), no_thread);
        }
        for first in [0x11, 0x12, 0x04, 0x09, 0xf9, 0x0a] {
            assert_eq!(error(11, &[first]), no_thread);
        }
    }

    #[test]
    fn definitions_need_no_thread() {
        let bodies = b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
        for (version, firsts) in [(11, [5, 6, 3, 11]), (13, [5, 6, 14, 2])] {
            for first in firsts {
                let input = [&[first][..], bodies].concat();
                let decoded = decoder(version).decode(&input);
                assert!(matches!(decoded, Ok(Some(_))), "{first}: {decoded:?}");
            }
        }
    }

    #[test]
    fn pops_count_from_one_to_sixteen() {
        for (version, one, sixteen) in [(11, 0x09, 0xf9), (13, 0x10, 0x1f)] {
            let mut decoder = decoder(version);
            decoder.decode(SWITCH).unwrap().unwrap();
            let input = [one, sixteen];
            let (pop, rest) = decoder.decode(&input).unwrap().unwrap();
            assert_eq!(pop, Record::FramePop(1));
            let pop = decoder.decode(rest);
            assert_eq!(pop, Ok(Some((Record::FramePop(16), &[][..]))));
        }
    }

    #[test]
    fn all_announced_segments_must_follow() {
        let missing = malformed(2, 122, 122, FaultKind::SegmentMissing);
        for version in [7, 11, 12, 13] {
            for other in [b"\x06", b"\x07", b"\x18", b"\x0c", b"\x80", b"\x00"] {
                let input = [TWO_SEGMENTS, SEGMENT, other].concat();
                assert_eq!(error(version, &input), missing);
            }
            let input = [TWO_SEGMENTS, SEGMENT, SEGMENT, b"\x06"].concat();
            assert_eq!(error(version, &input), None);
        }
    }

    #[test]
    fn structs_have_the_announced_segments_too() {
        let two = [TWO_SEGMENTS_6, SEGMENT_6, SEGMENT_6].concat();
        for other in [
            PUSH_6,
            TWO_SEGMENTS_6,
            b"\x05\0\0\0",
            &[8, 0, 0, 0],
            &[0; 4],
        ] {
            let missing = malformed(2, 142, 142, FaultKind::SegmentMissing);
            let input = [TWO_SEGMENTS_6, SEGMENT_6, other].concat();
            assert_eq!(error(6, &input), missing);
        }
        assert_eq!(error(6, &[&two, PUSH_6].concat()), None);
        let stray = malformed(3, 162, 162, FaultKind::StraySegment);
        assert_eq!(error(6, &[&two, SEGMENT_6].concat()), stray);
    }

    #[test]
    fn no_more_segments_than_announced_may_follow() {
        let stray = malformed(3, 132, 132, FaultKind::StraySegment);
        let input = [TWO_SEGMENTS, SEGMENT, SEGMENT, SEGMENT].concat();
        assert_eq!(error(7, &input), stray);
        assert_eq!(error(13, &input), stray);
        let first = malformed(0, 100, 100, FaultKind::StraySegment);
        assert_eq!(error(13, SEGMENT), first);
    }

    #[test]
    fn an_absurd_number_of_segments_takes_no_memory() {
        let header = b"\x07x\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0\0";
        assert_eq!(error(13, &[&header[..], SEGMENT].concat()), None);
    }

    #[test]
    fn faults_say_at_which_byte() {
        let endless = [&[0x02, 0x00][..], &[0xff; 11]].concat();
        let expected = malformed(0, 100, 102, FaultKind::VarintTooLong);
        assert_eq!(error(13, &endless), expected);
        let allocator = [SWITCH, &[0xf8, 0x80, 0x01, 0x10]].concat();
        let expected = malformed(1, 109, 112, FaultKind::UnknownAllocator(16));
        assert_eq!(error(12, &allocator), expected);
        let mut allocator = [PUSH_6, FREE_6].concat();
        allocator[48] = 11;
        let expected = malformed(1, 120, 148, FaultKind::UnknownAllocator(11));
        assert_eq!(error(6, &allocator), expected);
    }

    #[test]
    fn a_hole_is_where_the_next_record_should_be() {
        let mut decoder = decoder(8);
        decoder.decode(SWITCH).unwrap().unwrap();
        let hole = malformed(1, 109, 109, FaultKind::Hole);
        assert_eq!(Some(decoder.hole()), hole);
    }
}
