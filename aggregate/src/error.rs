//! Why there is no profile, or no answer from one.

use thiserror::Error;

/// Why a capture gives no profile, or a profile no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error(transparent)]
    Ingest(#[from] memreport_ingest::Error),
    /// It is a saved profile that cannot be read.
    #[error(transparent)]
    Saved(#[from] crate::saved::SavedError),
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
    /// Sums hold no such thing.
    #[error("the capture holds only sums (memray run --aggregate): {0} are not in it")]
    NotInAggregated(&'static str),
    /// The text names no moment of a run.
    #[error("{0} is no moment: it must be seconds since the start, peak, rss-peak or end")]
    NotAMoment(String),
    /// The range ends before it starts.
    #[error("the range is empty: it ends before it starts")]
    EmptyRange,
    /// Without memory snapshots the resident set is not known.
    #[error("the capture has no memory snapshots: its largest resident set is not known")]
    NoSnapshots,
    /// When temporary allocations happened is not kept.
    #[error("temporary allocations are known of the whole run only, not of a range")]
    TemporaryInRange,
    /// The capture was read with a lower threshold.
    #[error("temporary allocations were counted up to a threshold of {known}, not {threshold}")]
    ThresholdTooLarge {
        /// Threshold that is asked for.
        threshold: usize,
        /// Largest threshold that has an answer.
        known: usize,
    },
    /// The pattern is no regular expression.
    #[error(transparent)]
    NotAPattern(#[from] regex::Error),
}
