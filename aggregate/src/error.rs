//! Why there is no profile.

use thiserror::Error;

/// Why a capture gives no profile.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Ingest(#[from] memreport_ingest::Error),
    /// More was allocated at once than 63 bits can count: the capture is damaged.
    #[error("the capture is damaged: with event {sequence} more than 8 EiB are allocated at once")]
    HeapOverflow {
        /// Sequence number of the event.
        sequence: u64,
    },
    /// More was allocated in all than 64 bits can count: the capture is damaged.
    #[error("the capture is damaged: more than 16 EiB are allocated in all")]
    TotalOverflow,
    /// There are more slices than the interval table can number.
    #[error("the capture has more than two thousand million memory snapshots")]
    TooManySnapshots,
}
