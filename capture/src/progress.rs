//! What the decoders of all streams share: how far they are, and the records that are the same in
//! every stream but that of format 6.

use crate::delta::Deltas;
use crate::error::{Error, Fault, FaultKind, PResult};
use crate::record::{NativeTrace, Segment, SegmentHeader, native, thread};

/// How far a capture was decoded, and what that says about the next record.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    /// The thread named last, or 0.
    pub(crate) thread_id: u64,
    segments_left: u64,
    offset: u64,
    n_records: u64,
}

/// A record with one layout and one number in all streams from format 7 on, aggregated ones too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Common<'a> {
    NativeTrace(NativeTrace),
    MemoryMapStart,
    SegmentHeader(SegmentHeader<'a>),
    Segment(Segment),
    ThreadName(&'a [u8]),
    ContextSwitch(u64),
}

impl Progress {
    /// Nothing is decoded yet; the first record is at byte `offset` of the capture.
    pub(crate) fn new(offset: u64) -> Self {
        Self {
            thread_id: 0,
            segments_left: 0,
            offset,
            n_records: 0,
        }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn n_records(&self) -> u64 {
        self.n_records
    }

    /// Whether what follows belongs to a thread and no segment must come first.
    pub(crate) fn is_in_thread(&self) -> bool {
        self.thread_id != 0 && self.segments_left == 0
    }

    /// Counts records that were decoded together.
    pub(crate) fn advance(&mut self, n_bytes: usize, n_records: u64) {
        self.offset = self.offset.wrapping_add(n_bytes as u64);
        self.n_records = self.n_records.wrapping_add(n_records);
    }

    /// Counts the record that `input` was parsed to, and lifts the parsers' results to those of a
    /// decoder: a record, or `None` for more input.
    #[inline]
    pub(crate) fn counted<'a, R>(
        &mut self,
        input: &'a [u8],
        parsed: PResult<'a, R>,
    ) -> Result<Option<(R, &'a [u8])>, Error> {
        match parsed {
            Ok((rest, record)) => {
                self.offset = self.offset.wrapping_add(distance(input, rest));
                self.n_records = self.n_records.wrapping_add(1);
                Ok(Some((record, rest)))
            }
            Err(nom::Err::Incomplete(_)) => Ok(None),
            Err(nom::Err::Error(fault) | nom::Err::Failure(fault)) => {
                Err(self.malformed(input, fault))
            }
        }
    }

    /// The error for a zero byte where the next record should start, with data behind it.
    pub(crate) fn hole(&self) -> Error {
        self.malformed(
            &[],
            Fault {
                at: &[],
                kind: FaultKind::Hole,
            },
        )
    }

    fn malformed(&self, input: &[u8], fault: Fault<'_>) -> Error {
        Error::Malformed {
            record: self.n_records,
            record_offset: self.offset,
            offset: self.offset.wrapping_add(distance(input, fault.at)),
            kind: fault.kind,
        }
    }

    /// Reads a record of type 5 to 8, 10 or 12, which starts at `input` and goes on at `rest`.
    pub(crate) fn common<'a>(
        &mut self,
        input: &'a [u8],
        rest: &'a [u8],
        kind: u8,
        deltas: &mut Deltas,
    ) -> PResult<'a, Common<'a>> {
        Ok(match kind {
            5 => {
                let (rest, trace) = native::native_trace(rest, deltas)?;
                (rest, Common::NativeTrace(trace))
            }
            6 => (rest, Common::MemoryMapStart),
            7 => {
                let (rest, header) = native::segment_header(rest)?;
                self.announce_segments(&header);
                (rest, Common::SegmentHeader(header))
            }
            8 => {
                let (rest, segment) = native::segment(rest)?;
                (self.segment(input, rest)?, Common::Segment(segment))
            }
            10 => {
                self.check_thread(input)?;
                let (rest, name) = thread::thread_name(rest)?;
                (rest, Common::ThreadName(name))
            }
            _ => {
                let (rest, id) = thread::context_switch(rest)?;
                self.thread_id = id;
                (rest, Common::ContextSwitch(id))
            }
        })
    }

    /// Expects the segments of an image.
    pub(crate) fn announce_segments(&mut self, header: &SegmentHeader<'_>) {
        self.segments_left = header.n_segments;
    }

    /// Counts a segment off those that were announced, and returns `rest`.
    pub(crate) fn segment<'a>(
        &mut self,
        input: &'a [u8],
        rest: &'a [u8],
    ) -> Result<&'a [u8], nom::Err<Fault<'a>>> {
        let Some(left) = self.segments_left.checked_sub(1) else {
            let kind = FaultKind::StraySegment;
            return Err(nom::Err::Failure(Fault { at: input, kind }));
        };
        self.segments_left = left;
        Ok(rest)
    }

    /// Refuses a record that is no segment while one must follow.
    #[inline]
    pub(crate) fn check_segments<'a>(
        &self,
        input: &'a [u8],
        is_segment: bool,
    ) -> Result<(), nom::Err<Fault<'a>>> {
        if self.segments_left == 0 || is_segment {
            return Ok(());
        }
        Err(nom::Err::Failure(Fault {
            at: input,
            kind: FaultKind::SegmentMissing,
        }))
    }

    /// Refuses a record that belongs to a thread before one was named.
    #[inline]
    pub(crate) fn check_thread<'a>(&self, input: &'a [u8]) -> Result<(), nom::Err<Fault<'a>>> {
        if self.thread_id != 0 {
            return Ok(());
        }
        Err(nom::Err::Failure(Fault {
            at: input,
            kind: FaultKind::NoThread,
        }))
    }
}

/// How many bytes further `rest`, a suffix of `input`, starts.
#[inline]
fn distance(input: &[u8], rest: &[u8]) -> u64 {
    u64::try_from(input.len().saturating_sub(rest.len())).unwrap_or(u64::MAX)
}
