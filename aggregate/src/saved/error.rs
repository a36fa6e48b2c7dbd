//! Why a saved profile cannot be read.

use std::io;

use thiserror::Error;

/// Why a saved profile cannot be read. Offsets are of the file, unpacked if it was compressed whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SavedError {
    /// The system's answer.
    #[error("cannot read the saved profile")]
    Read(#[source] io::Error),
    /// It is something else.
    #[error("this is no saved profile: it does not start with MRPROF")]
    NotSaved,
    /// A newer memreport wrote it.
    #[error(
        "the saved profile has version {found} of the format, and the newest known here is {known}"
    )]
    TooNew {
        /// Its version.
        found: u16,
        /// The newest version that is read.
        known: u16,
    },
    /// No memreport wrote it.
    #[error("the saved profile has version {found} of the format, which there is not")]
    NoVersion {
        /// Its version.
        found: u16,
    },
    /// It ends too early.
    #[error("the saved profile is cut off: it ends at byte {offset}, within {within}")]
    Cut {
        /// Where it ends.
        offset: u64,
        /// What is not whole.
        within: &'static str,
    },
    /// It goes on behind its end.
    #[error("the saved profile is damaged: data follows its end, at byte {offset}")]
    DataAfterEnd {
        /// Where its end is.
        offset: u64,
    },
    /// Bytes are not those that were written.
    #[error(
        "the saved profile is damaged: the checksum of {what}, at byte {offset}, is not that of its bytes"
    )]
    Checksum {
        /// What the checksum is of.
        what: &'static str,
        /// Where that starts.
        offset: u64,
    },
    /// The directory is not that of its version.
    #[error("the saved profile is damaged: its directory, at byte {offset}, {reason}")]
    Directory {
        /// Where the entry starts.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A section cannot be unpacked to what its length says.
    #[error(
        "the saved profile is damaged: section {section}, at byte {offset}, does not unpack to its length"
    )]
    Unpack {
        /// Name of the section.
        section: &'static str,
        /// Where it starts.
        offset: u64,
    },
    /// A section does not hold what it is to hold.
    #[error(
        "the saved profile is damaged: section {section}, at byte {offset}, byte {at} of it unpacked: {reason}"
    )]
    Malformed {
        /// Name of the section.
        section: &'static str,
        /// Where it starts.
        offset: u64,
        /// Where in it, unpacked.
        at: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// Sections do not fit each other.
    #[error("the saved profile is damaged: {0}")]
    Contradiction(&'static str),
}
