//! Takes records of an aggregated capture from bytes, one at a time.

use nom::number::streaming::le_u8;

use super::{AggregatedRecord, allocation, frame, object, snapshot};
use crate::allocator::{Allocator, AllocatorTable};
use crate::delta::Deltas;
use crate::error::{Error, FaultKind, PResult, fail};
use crate::header::Header;
use crate::progress::{Common, Progress};
use crate::record::code_object;

/// Decodes the records after the header of an aggregated capture, whatever pieces they come in. It
/// is to [`FileFormat::Aggregated`](crate::FileFormat::Aggregated) what
/// [`Decoder`](crate::Decoder) is to the other format.
///
/// After an error, or after [`AggregatedRecord::Trailer`], nothing more can be decoded.
#[derive(Debug, Clone)]
pub struct AggregatedDecoder {
    by_code: bool,
    allocators: &'static AllocatorTable,
    native_traces: bool,
    deltas: Deltas,
    progress: Progress,
}

impl AggregatedDecoder {
    /// A decoder for what follows `header`, which ended at byte `offset` of the capture.
    #[must_use]
    pub fn new(header: &Header, offset: u64) -> Self {
        Self {
            by_code: header.version.has_code_objects(),
            allocators: Allocator::table(header.version),
            native_traces: header.native_traces,
            deltas: Deltas::default(),
            progress: Progress::new(offset),
        }
    }

    /// The thread of the last context switch, or 0 before the first. Only names belong to it.
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
    pub fn decode<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<Option<(AggregatedRecord<'a>, &'a [u8])>, Error> {
        let parsed = self.record(input);
        self.progress.counted(input, parsed)
    }

    /// The error for a zero byte where the next record should start, with data behind it.
    #[must_use]
    pub fn hole(&self) -> Error {
        self.progress.hole()
    }

    fn record<'a>(&mut self, input: &'a [u8]) -> PResult<'a, AggregatedRecord<'a>> {
        let (rest, kind) = le_u8(input)?;
        self.progress.check_segments(input, kind == 8)?;
        Ok(match kind {
            1 => {
                let (rest, snapshot) = snapshot::snapshot(rest)?;
                (rest, AggregatedRecord::Snapshot(snapshot))
            }
            2 => {
                let (rest, allocation) = allocation::allocation(rest, self.allocators)?;
                (rest, AggregatedRecord::Allocation(allocation))
            }
            3 => {
                let (rest, node) = if self.by_code {
                    frame::node(rest)?
                } else {
                    frame::node_struct(rest)?
                };
                (rest, AggregatedRecord::Node(node))
            }
            4 if self.by_code => {
                let (rest, frame) = frame::code_frame(rest)?;
                (rest, AggregatedRecord::CodeFrame(frame))
            }
            4 => {
                let (rest, frame) = frame::frame_struct(rest)?;
                (rest, AggregatedRecord::Frame(frame))
            }
            5..=8 | 10 | 12 => {
                let progress = &mut self.progress;
                let (rest, record) = progress.common(input, rest, kind, &mut self.deltas)?;
                (rest, record.into())
            }
            13 if self.by_code => {
                let (rest, object) = object::surviving_object(rest, self.native_traces)?;
                (rest, AggregatedRecord::SurvivingObject(object))
            }
            14 if self.by_code => {
                let (rest, code) = code_object::code_object(rest, &mut self.deltas)?;
                (rest, AggregatedRecord::CodeObject(code))
            }
            15 => (rest, AggregatedRecord::Trailer),
            _ => return fail(input, FaultKind::UnknownRecord(kind.into())),
        })
    }
}

impl<'a> From<Common<'a>> for AggregatedRecord<'a> {
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
    use crate::aggregated::testing::header;
    use crate::record::{CodeObject, NativeTrace};

    /// Thread 7 comes next.
    const SWITCH: &[u8] = b"\x0c\x07\0\0\0\0\0\0\0";
    /// Image `x` at 0, of which two segments follow.
    const TWO_SEGMENTS: &[u8] = b"\x07x\0\x02\0\0\0\0\0\0\0\0";
    const SEGMENT: &[u8] = b"\x08\0\x10\0\0\0\0\0\0\x20";

    fn decoder(version: i32) -> AggregatedDecoder {
        AggregatedDecoder::new(&header(version, false), 100)
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
        let mut decoder = decoder(11);
        let input = [b"\x06", SWITCH, b"\x0aT\0rest"].concat();
        let state = |d: &AggregatedDecoder| (d.thread_id(), d.offset(), d.n_records());
        assert_eq!(state(&decoder), (0, 100, 0));
        let (record, rest) = decoder.decode(&input).unwrap().unwrap();
        assert_eq!(record, AggregatedRecord::MemoryMapStart);
        assert_eq!(state(&decoder), (0, 101, 1));
        let (record, rest) = decoder.decode(rest).unwrap().unwrap();
        assert_eq!(record, AggregatedRecord::ContextSwitch(7));
        assert_eq!(state(&decoder), (7, 110, 2));
        let name = AggregatedRecord::ThreadName(b"T");
        assert_eq!(decoder.decode(rest), Ok(Some((name, &b"rest"[..]))));
        assert_eq!(state(&decoder), (7, 113, 3));
        assert_eq!(
            Some(decoder.hole()),
            malformed(3, 113, 113, FaultKind::Hole)
        );
    }

    #[test]
    fn types_are_whole_bytes_and_some_are_of_later_versions() {
        let refused = |version, kind: u8| {
            let unknown = malformed(0, 100, 100, FaultKind::UnknownRecord(kind.into()));
            error(version, &[kind]) == unknown
        };
        for version in [10, 11] {
            let types: Vec<_> = (0..=255).filter(|&kind| !refused(version, kind)).collect();
            assert_eq!(types, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15]);
        }
        for version in [12, 13] {
            let types: Vec<_> = (0..=255).filter(|&kind| !refused(version, kind)).collect();
            assert_eq!(types, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15]);
        }
    }

    #[test]
    fn a_cut_record_changes_nothing() {
        let native = &b"\x05\xe8\xc8\x80\x04\x02"[..];
        let code = b"\x0e\x01main\0a.py\0\x06\x02\xd0\0";
        let cases = [
            (10, TWO_SEGMENTS),
            (11, SWITCH),
            (12, native),
            (13, code),
            (13, TWO_SEGMENTS),
        ];
        for (version, record) in cases {
            let mut decoder = decoder(version);
            let before = format!("{decoder:?}");
            for len in 0..record.len() {
                assert_eq!(decoder.decode(&record[..len]), Ok(None));
                assert_eq!(format!("{decoder:?}"), before);
            }
            assert!(matches!(decoder.decode(record), Ok(Some((_, [])))));
        }
    }

    #[test]
    fn only_names_need_a_thread() {
        let no_thread = malformed(0, 100, 100, FaultKind::NoThread);
        let zeros = [0; 72];
        for version in 10..=13 {
            assert_eq!(error(version, b"\x0aT\0"), no_thread);
            for kind in [1, 3, 4, 5, 6, 7, 12, 15] {
                let input = [&[kind][..], &zeros].concat();
                let decoded = decoder(version).decode(&input);
                assert!(matches!(decoded, Ok(Some(_))), "{kind}: {decoded:?}");
            }
        }
    }

    #[test]
    fn exactly_the_announced_segments_must_follow() {
        for version in 10..=13 {
            let missing = malformed(2, 122, 122, FaultKind::SegmentMissing);
            for other in [&b"\x06"[..], TWO_SEGMENTS, b"\x18", SWITCH, b"\x02", b"\0"] {
                let input = [TWO_SEGMENTS, SEGMENT, other].concat();
                assert_eq!(error(version, &input), missing);
            }
            let input = [TWO_SEGMENTS, SEGMENT, SEGMENT, b"\x06"].concat();
            assert_eq!(error(version, &input), None);
            let stray = malformed(3, 132, 132, FaultKind::StraySegment);
            let input = [TWO_SEGMENTS, SEGMENT, SEGMENT, SEGMENT].concat();
            assert_eq!(error(version, &input), stray);
        }
    }

    #[test]
    fn an_absurd_length_takes_no_memory() {
        let endless = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        let table = [b"\x0e\x01f\0a\0\0", &endless[..], b"abc"].concat();
        assert_eq!(error(13, &table), None);
        let segments = [b"\x07x\0", &endless[..], &[0; 8], SEGMENT].concat();
        assert_eq!(error(11, &segments), None);
    }

    #[test]
    fn faults_say_at_which_byte() {
        let endless = [&[0x03, 0x00][..], &[0xff; 11]].concat();
        let too_long = malformed(0, 100, 102, FaultKind::VarintTooLong);
        assert_eq!(error(13, &endless), too_long);
        let mut row = [&b"\x06\x02"[..], &[0; 72]].concat();
        row[10] = 99;
        let allocator = malformed(1, 101, 110, FaultKind::UnknownAllocator(99));
        assert_eq!(error(11, &row), allocator);
        row[10] = 1;
        row[65] = 0x80;
        let size = malformed(1, 101, 158, FaultKind::ImpossibleSize(1 << 63));
        assert_eq!(error(11, &row), size);
    }

    #[test]
    fn native_traces_and_code_objects_step_from_the_last_of_their_kind() {
        let native = |instruction_pointer, parent| {
            AggregatedRecord::NativeTrace(NativeTrace {
                instruction_pointer,
                parent,
            })
        };
        let code = |id, first_line| {
            AggregatedRecord::CodeObject(CodeObject {
                id,
                function: b"f",
                file: b"a",
                first_line,
                line_table: b"",
            })
        };
        let input = b"\x05\x20\x00\x0e\x01f\0a\0\x06\0\x05\x02\x02\x0e\x02f\0a\0\x03\0";
        let mut decoder = decoder(12);
        let mut rest = &input[..];
        for expected in [native(16, 0), code(1, 3), native(17, 1), code(2, 1)] {
            let (record, after) = decoder.decode(rest).unwrap().unwrap();
            assert_eq!(record, expected);
            rest = after;
        }
        assert_eq!(rest, []);
    }
}
