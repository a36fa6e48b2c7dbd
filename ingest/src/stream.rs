//! Runs a decoder over a capture's bytes, and finds out where and how the data ends.

use std::io::ErrorKind;
use std::sync::atomic::Ordering;

use memreport_capture::{
    AggregatedDecoder, AggregatedRecord, Decoder, Error as CaptureError, FaultKind, Header, Record,
};

use crate::blocks::{Blocks, Counters};
use crate::error::Error;
use crate::metadata::Ending;

/// A record and the rest of the input, or `None` for more input.
type Decoded<'a, R> = Result<Option<(R, &'a [u8])>, CaptureError>;

/// What the decoders of all kinds of captures have in common.
pub(crate) trait Decoding {
    type Record<'a>;

    fn decode<'a>(&mut self, input: &'a [u8]) -> Decoded<'a, Self::Record<'a>>;
    fn is_trailer(record: &Self::Record<'_>) -> bool;
    fn thread_id(&self) -> u64;
    fn offset(&self) -> u64;
    fn n_records(&self) -> u64;
    fn hole(&self) -> CaptureError;
}

/// Both decoders have these as methods of their own.
macro_rules! decoding {
    ($decoder:ty, $record:ident) => {
        impl Decoding for $decoder {
            type Record<'a> = $record<'a>;

            #[inline]
            fn decode<'a>(&mut self, input: &'a [u8]) -> Decoded<'a, $record<'a>> {
                self.decode(input)
            }

            #[inline]
            fn is_trailer(record: &$record<'_>) -> bool {
                matches!(record, $record::Trailer)
            }

            #[inline]
            fn thread_id(&self) -> u64 {
                self.thread_id()
            }

            #[inline]
            fn offset(&self) -> u64 {
                self.offset()
            }

            fn n_records(&self) -> u64 {
                self.n_records()
            }

            fn hole(&self) -> CaptureError {
                self.hole()
            }
        }
    };
}

decoding!(Decoder, Record);
decoding!(AggregatedDecoder, AggregatedRecord);

/// Takes records in their order.
pub(crate) trait Visitor<D: Decoding> {
    /// A record, where it starts in the (decompressed) capture, and the thread that it belongs to.
    fn record(&mut self, record: D::Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error>;

    /// Takes records from the start of `input` that need no such care, as long as there are any, and
    /// returns how many bytes they have.
    fn frequent(&mut self, _decoder: &mut D, _input: &[u8]) -> Result<usize, Error> {
        Ok(0)
    }
}

/// A decoder, and what it decodes.
pub(crate) struct Stream<'a, D> {
    decoder: D,
    /// Whether a capture of this version that was closed has a trailer.
    has_trailer: bool,
    blocks: &'a mut Blocks,
    counters: &'a Counters,
    /// Records that were decoded and may not be whole: none or one.
    n_dropped: u64,
}

/// How the data ended.
pub(crate) struct End {
    pub(crate) ending: Ending,
    pub(crate) n_records: u64,
    /// Offset where the trailer ends, if something other than zeros follows it.
    pub(crate) data_after_trailer: Option<u64>,
}

/// Whether decoding goes on after the bytes at hand.
enum Step {
    /// So many bytes were used up; more are needed.
    More(usize),
    /// Nothing further can be, or need be, decoded.
    End(Ending),
}

impl<'a, D: Decoding> Stream<'a, D> {
    /// A stream of the records after `header`.
    pub(crate) fn new(
        decoder: D,
        header: &Header,
        blocks: &'a mut Blocks,
        counters: &'a Counters,
    ) -> Self {
        let has_trailer = header.version.has_trailer();
        Self {
            decoder,
            has_trailer,
            blocks,
            counters,
            n_dropped: 0,
        }
    }

    /// Decodes all records; `input` are the first bytes after the header.
    pub(crate) fn run(
        mut self,
        mut input: Vec<u8>,
        visitor: &mut impl Visitor<D>,
    ) -> Result<End, Error> {
        let mut at_end = false;
        let mut data_after_trailer = None;
        let ending = loop {
            match self.decode(&input, at_end, visitor, &mut data_after_trailer)? {
                Step::End(ending) => break ending,
                Step::More(used) => {
                    input.drain(..used);
                    self.counters
                        .records
                        .store(self.decoder.n_records(), Ordering::Relaxed);
                    at_end = !self.blocks.read_more(&mut input);
                }
            }
        };
        Ok(End {
            ending,
            n_records: self.decoder.n_records().saturating_sub(self.n_dropped),
            data_after_trailer,
        })
    }

    /// Decodes what is at hand. Until the input's end one byte is kept back, so that whether a record
    /// is followed by the zero fill can be seen.
    fn decode(
        &mut self,
        input: &[u8],
        at_end: bool,
        visitor: &mut impl Visitor<D>,
        data_after_trailer: &mut Option<u64>,
    ) -> Result<Step, Error> {
        let visible = input.len().saturating_sub(usize::from(!at_end));
        let mut window = input.get(..visible).unwrap_or_default();
        loop {
            let taken = visitor.frequent(&mut self.decoder, window)?;
            window = window.get(taken..).unwrap_or_default();
            let used = visible - window.len();
            let offset = self.decoder.offset();
            let (record, rest) = match self.decoder.decode(window) {
                Ok(Some(decoded)) => decoded,
                Ok(None) if !at_end => return Ok(Step::More(used)),
                Ok(None) => return Ok(Step::End(self.input_ended(window))),
                Err(error) => {
                    let rest = input.get(used..).unwrap_or_default();
                    return Ok(Step::End(self.not_a_record(&error, rest)));
                }
            };
            let after = visible - rest.len();
            let behind = || input.get(after..).unwrap_or_default();
            if D::is_trailer(&record) {
                if !self.blocks.only_zeros_follow(behind()) {
                    *data_after_trailer = Some(self.decoder.offset());
                }
                return Ok(Step::End(self.at_trailer()));
            }
            if self.has_trailer
                && input.get(after - 1) == Some(&0)
                && behind().first().is_none_or(|&byte| byte == 0)
                && self.blocks.only_zeros_follow(behind())
            {
                // The record may be half written, its other half still zero.
                self.n_dropped = 1;
                let record = self.decoder.n_records().saturating_sub(1);
                return Ok(Step::End(self.ended_without_trailer(offset, record)));
            }
            visitor.record(record, offset, self.decoder.thread_id())?;
            window = rest;
        }
    }

    /// The end record was read, and what follows it, which may be where the checksum of all that came
    /// before proves damage.
    fn at_trailer(&mut self) -> Ending {
        match self.blocks.error.take() {
            Some(error) if error.kind() != ErrorKind::UnexpectedEof => Ending::Corrupt {
                offset: self.decoder.offset(),
                record: self.decoder.n_records(),
                reason: error.to_string(),
            },
            // A file that is cut behind the end record has lost nothing.
            _ => Ending::Complete,
        }
    }

    /// The input is over, with `rest` not a whole record.
    fn input_ended(&mut self, rest: &[u8]) -> Ending {
        // Less of the zero fill than a record's type takes is no record that was cut.
        let is_cut = rest.iter().any(|&byte| byte != 0);
        if is_cut && self.blocks.error.is_none() {
            return Ending::Truncated {
                offset: self.decoder.offset(),
                record: self.decoder.n_records(),
            };
        }
        self.ended_at_record()
    }

    /// The data is over at the end of a record.
    fn ended_at_record(&mut self) -> Ending {
        self.ended_without_trailer(self.decoder.offset(), self.decoder.n_records())
    }

    /// The next byte starts no record: the zero fill at the end, or damage.
    fn not_a_record(&mut self, error: &CaptureError, rest: &[u8]) -> Ending {
        let is_zero = matches!(
            error,
            CaptureError::Malformed {
                kind: FaultKind::UnknownRecord(0),
                ..
            }
        );
        if is_zero && self.blocks.only_zeros_follow(rest) {
            return self.ended_at_record();
        }
        let reason = if is_zero {
            self.decoder.hole().to_string()
        } else {
            error.to_string()
        };
        Ending::Corrupt {
            offset: self.decoder.offset(),
            record: self.decoder.n_records(),
            reason,
        }
    }

    /// The ending at `offset`, where record `record` would start, of data that has no end record.
    fn ended_without_trailer(&mut self, offset: u64, record: u64) -> Ending {
        match self.blocks.error.take() {
            None => Ending::Interrupted { offset },
            Some(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Ending::Truncated { offset, record }
            }
            Some(error) => Ending::Corrupt {
                offset,
                record,
                reason: error.to_string(),
            },
        }
    }
}
