//! What a capture's header says, without reading the rest.

use std::sync::Arc;
use std::thread;

use memreport_capture::FileFormat;

use crate::blocks::{Blocks, Counters};
use crate::error::Error;
use crate::metadata::Metadata;
use crate::reader::read_header;
use crate::source::{Container, Source};

/// What is known of a capture from its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Facts of the header.
    pub metadata: Metadata,
    /// What the capture is wrapped in, from the outside in.
    pub containers: Vec<Container>,
    /// Whether it holds every record or sums.
    pub file_format: FileFormat,
    /// Allocations and deallocations that the header counts: 0 if the capture was not closed, and
    /// always in aggregated ones.
    pub n_allocations: u64,
    /// Size of the file in bytes, as it is stored, if that is known.
    pub size: Option<u64>,
}

impl Inspection {
    /// Whether tracking ended in good order, as far as the start of the file tells: the header is
    /// written again, with counts and the end time, when a capture is closed, and an aggregated one is
    /// only written then.
    #[must_use]
    pub fn was_closed(&self) -> bool {
        self.file_format == FileFormat::Aggregated
            || self.n_allocations > 0
            || self.metadata.end_time_ms > self.metadata.start_time_ms
    }
}

/// Reads a capture's header. Takes the same time for any size of capture.
///
/// # Errors
/// [`Error`] if there is no capture, or none that can be read.
pub fn inspect(source: Source) -> Result<Inspection, Error> {
    let (name, size) = (source.name.clone(), source.size());
    let (mut blocks, send_blocks) = Blocks::new(source, Arc::new(Counters::default()));
    thread::scope(move |scope| {
        // `blocks` is dropped at the end of this closure, which ends the reading thread.
        scope.spawn(send_blocks);
        let (header, _, _) = read_header(&name, &mut blocks)?;
        Ok(Inspection {
            metadata: Metadata::new(&header),
            containers: std::mem::take(&mut blocks.containers),
            file_format: header.file_format,
            n_allocations: header.n_allocations,
            size,
        })
    })
}
