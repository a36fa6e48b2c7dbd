//! Why a capture cannot be read at all.

use std::io;

use thiserror::Error;

/// Why there is nothing to report on. Damage after the header is no error but an
/// [`Ending`](crate::Ending).
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open {name}")]
    Open {
        /// Path, as given.
        name: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// Reading failed before the header was complete.
    #[error("cannot read {name}")]
    Read {
        /// Path, as given.
        name: String,
        /// The system's or the decompressor's answer.
        #[source]
        source: io::Error,
    },
    /// There is not a single byte.
    #[error("{name} is empty")]
    Empty {
        /// Path, as given.
        name: String,
    },
    /// The bytes are not a capture that can be read.
    #[error("cannot read {name}")]
    Capture {
        /// Path, as given.
        name: String,
        /// What is wrong with them.
        #[source]
        source: memreport_capture::Error,
    },
    /// The file ends within the header.
    #[error("{name} ends after {len} bytes, within its header")]
    TruncatedHeader {
        /// Path, as given.
        name: String,
        /// Bytes there are, decompressed.
        len: u64,
    },
    /// The file is compressed and ends before the capture's header could be unpacked.
    #[error("{name} is a compressed file that is cut off within the header of its capture")]
    TruncatedContainer {
        /// Path, as given.
        name: String,
    },
    /// The file is compressed, and cannot be unpacked up to the end of the capture's header.
    #[error("{name} is a compressed file that is damaged where the header of its capture is")]
    DamagedContainer {
        /// Path, as given.
        name: String,
        /// The decompressor's answer.
        #[source]
        source: io::Error,
    },
    /// Whoever looks at the records did not want more.
    #[error("cannot pass records on")]
    Visit(#[source] io::Error),
    /// A table outgrew its four-byte numbers.
    #[error("the capture has more than four thousand million {what}")]
    TooMany {
        /// Rows of the table.
        what: &'static str,
    },
}
