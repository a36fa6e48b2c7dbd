//! Hands the records of a capture on as they are, for looking into a capture.

use std::io;
use std::sync::Arc;
use std::thread;

use memreport_capture::{AggregatedDecoder, AggregatedRecord, Decoder, FileFormat, Header, Record};

use crate::blocks::{Blocks, Counters};
use crate::error::Error;
use crate::metadata::Ending;
use crate::reader::read_header;
use crate::source::Source;
use crate::stream::{Stream, Visitor};

/// The header, or a record of either kind of capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnyRecord<'a> {
    /// What every capture starts with.
    Header(&'a Header),
    /// Of a capture of every allocation.
    Event(Record<'a>),
    /// Of an aggregated one.
    Aggregated(AggregatedRecord<'a>),
}

/// A record, where it is, and whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordAt<'a> {
    /// Offset of its first byte in the (decompressed) capture.
    pub offset: u64,
    /// The thread named last, or 0.
    pub thread_id: u64,
    /// The record.
    pub record: AnyRecord<'a>,
}

/// Calls `visit` with the header, then with every record but the trailer. Returns how the capture ends.
///
/// # Errors
/// [`Error`] if the capture has no header that can be read, or `visit` fails.
pub fn for_each_record(
    source: Source,
    counters: &Arc<Counters>,
    mut visit: impl FnMut(RecordAt<'_>) -> io::Result<()>,
) -> Result<Ending, Error> {
    let name = source.name.clone();
    let (mut blocks, send_blocks) = Blocks::new(source, Arc::clone(counters));
    thread::scope(move |scope| {
        // `blocks` is dropped at the end of this closure, which ends the reading thread.
        scope.spawn(send_blocks);
        let (header, input, offset) = read_header(&name, &mut blocks)?;
        let record = AnyRecord::Header(&header);
        visit(RecordAt {
            offset: 0,
            thread_id: 0,
            record,
        })
        .map_err(Error::Visit)?;
        let end = read_records(&header, input, offset, &mut blocks, counters, visit)?;
        Ok(end.ending)
    })
}

/// How the records of a capture end, and how many there were.
pub(crate) struct RecordsEnd {
    pub(crate) ending: Ending,
    pub(crate) n_records: u64,
    /// Allocations and deallocations.
    pub(crate) n_events: u64,
}

/// Calls `visit` with every record but the trailer; `input` are the first bytes after the header.
pub(crate) fn read_records(
    header: &Header,
    input: Vec<u8>,
    offset: u64,
    blocks: &mut Blocks,
    counters: &Counters,
    visit: impl FnMut(RecordAt<'_>) -> io::Result<()>,
) -> Result<RecordsEnd, Error> {
    let mut visit = Visit { visit, n_events: 0 };
    let end = match header.file_format {
        FileFormat::AllAllocations => {
            let decoder = Decoder::new(header, offset);
            Stream::new(decoder, header, blocks, counters).run(input, &mut visit)?
        }
        FileFormat::Aggregated => {
            let decoder = AggregatedDecoder::new(header, offset);
            Stream::new(decoder, header, blocks, counters).run(input, &mut visit)?
        }
    };
    Ok(RecordsEnd {
        ending: end.ending.of_capture(header, visit.n_events),
        n_records: end.n_records,
        n_events: visit.n_events,
    })
}

struct Visit<F> {
    visit: F,
    n_events: u64,
}

impl<F: FnMut(RecordAt<'_>) -> io::Result<()>> Visitor<Decoder> for Visit<F> {
    fn record(&mut self, record: Record<'_>, offset: u64, thread_id: u64) -> Result<(), Error> {
        self.n_events += u64::from(matches!(record, Record::Allocation(_)));
        (self.visit)(RecordAt {
            offset,
            thread_id,
            record: AnyRecord::Event(record),
        })
        .map_err(Error::Visit)
    }
}

impl<F: FnMut(RecordAt<'_>) -> io::Result<()>> Visitor<AggregatedDecoder> for Visit<F> {
    fn record(
        &mut self,
        record: AggregatedRecord<'_>,
        offset: u64,
        thread_id: u64,
    ) -> Result<(), Error> {
        (self.visit)(RecordAt {
            offset,
            thread_id,
            record: AnyRecord::Aggregated(record),
        })
        .map_err(Error::Visit)
    }
}
