//! What is known of a capture as a whole.

use std::borrow::Cow;
use std::time::Duration;

use memreport_capture::{Header, PythonVersion};

use crate::modules::SearchPaths;

/// Facts of the header, as text where they are for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Format version.
    pub format: i32,
    /// memray releases that write it.
    pub memray: Cow<'static, str>,
    /// Python that memray was compiled for, if the header says.
    pub python: Option<PythonVersion>,
    /// Arguments of the traced program, joined by spaces.
    pub command_line: String,
    /// Process id.
    pub pid: i32,
    /// Milliseconds since the epoch; when tracking started.
    pub start_time_ms: i64,
    /// Milliseconds since the epoch; when tracking ended. If the capture was not closed, the last
    /// memory snapshot's time.
    pub end_time_ms: i64,
    /// Thread that started tracking, from format 9 on.
    pub main_thread_id: Option<u64>,
    /// Python's own allocator.
    pub python_allocator: Cow<'static, str>,
    /// Whether Python's own allocators were traced; `None` if neither header nor records say.
    pub trace_python_allocators: Option<bool>,
    /// Whether allocations carry native stacks.
    pub has_native_traces: bool,
    /// Frames in the header: 0 from format 12 on, and if the capture was not closed.
    pub total_frames: u64,
    /// Where Python looked for modules.
    pub search_paths: SearchPaths,
}

impl Metadata {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            format: header.version.number(),
            memray: header.version.memray_releases().into(),
            python: header.python_version,
            command_line: String::from_utf8_lossy(&header.command_line).into_owned(),
            pid: header.pid,
            start_time_ms: header.start_time_ms,
            end_time_ms: header.end_time_ms,
            main_thread_id: header.main_thread_id,
            python_allocator: header.python_allocator.name().into(),
            trace_python_allocators: header.trace_python_allocators,
            has_native_traces: header.native_traces,
            total_frames: header.n_frames,
            search_paths: SearchPaths::new(header),
        }
    }

    /// How long after the start of tracking a time is; nothing for one before it.
    #[must_use]
    pub fn since_start(&self, time_ms: u64) -> Duration {
        let ms = i128::from(time_ms) - i128::from(self.start_time_ms);
        Duration::from_millis(u64::try_from(ms.max(0)).unwrap_or(u64::MAX))
    }

    /// How long tracking lasted.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.since_start(self.end_time_ms.max(0).cast_unsigned())
    }
}

/// How a capture ends. Offsets are of the decompressed capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// In good order: all records are there.
    Complete,
    /// Without end record, at a record's end: the process was killed, or is still running.
    Interrupted {
        /// Where the data ends.
        offset: u64,
    },
    /// Within a record: the file was cut.
    Truncated {
        /// Where the record that is cut starts.
        offset: u64,
        /// Its index.
        record: u64,
    },
    /// At bytes that are no record, or cannot be decompressed.
    Corrupt {
        /// Where the last good record ends.
        offset: u64,
        /// Index of the record that is damaged.
        record: u64,
        /// What is wrong, as text.
        reason: String,
    },
}

impl Ending {
    /// The ending of a capture with `n_events` allocations and deallocations. Formats without a trailer
    /// are complete if they hold as many as the header counts.
    pub(crate) fn of_capture(self, header: &Header, n_events: u64) -> Self {
        let counted = header.n_allocations;
        let is_whole = !header.version.has_trailer() && counted != 0 && counted == n_events;
        match self {
            Self::Interrupted { .. } if is_whole => Self::Complete,
            ending => ending,
        }
    }

    /// As numbers and text, for files: kind, offset, record, reason. Kinds never change.
    #[must_use]
    pub fn to_parts(&self) -> (u8, u64, u64, &str) {
        match self {
            Self::Complete => (0, 0, 0, ""),
            Self::Interrupted { offset } => (1, *offset, 0, ""),
            Self::Truncated { offset, record } => (2, *offset, *record, ""),
            Self::Corrupt {
                offset,
                record,
                reason,
            } => (3, *offset, *record, reason),
        }
    }

    /// The reverse of [`Ending::to_parts`]; `None` for a kind that there is not.
    #[must_use]
    pub fn from_parts(kind: u8, offset: u64, record: u64, reason: String) -> Option<Self> {
        Some(match kind {
            0 => Self::Complete,
            1 => Self::Interrupted { offset },
            2 => Self::Truncated { offset, record },
            3 => Self::Corrupt {
                offset,
                record,
                reason,
            },
            _ => return None,
        })
    }

    /// Whether every record that was written was read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        *self == Self::Complete
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete => f.write_str("the capture is complete"),
            Self::Interrupted { offset } => write!(
                f,
                "the capture has no end record (was the process killed?); all data up to byte {offset} was read"
            ),
            Self::Truncated { offset, record } => write!(
                f,
                "the capture is cut off within record {record}, at byte {offset}; what comes before was read"
            ),
            Self::Corrupt {
                offset,
                record,
                reason,
            } => write!(
                f,
                "the capture is damaged: {reason}; only the {record} records before byte {offset} were read"
            ),
        }
    }
}
