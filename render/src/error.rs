//! Why a report cannot be written.

use std::io;

use memreport_aggregate::Error as AggregateError;
use thiserror::Error;

/// Why a report cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The output cannot be written to.
    #[error("cannot write the report")]
    Write(#[from] io::Error),
    /// The profile has no answer to what is asked.
    #[error(transparent)]
    NoAnswer(#[from] AggregateError),
    /// The report would be longer than it may be.
    #[error("{needed} bytes are needed for the totals alone, and {budget} are allowed")]
    Budget {
        /// Bytes that are allowed.
        budget: usize,
        /// Bytes that the shortest form takes.
        needed: usize,
    },
    /// The page would be larger than it may be.
    #[error("the page takes at least {needed} bytes, and {allowed} are allowed")]
    PageSize {
        /// Bytes that are allowed.
        allowed: u64,
        /// Bytes that the smallest page takes.
        needed: u64,
    },
    /// The format holds no number as large.
    #[error("{value} is too large a number for this format")]
    TooLarge {
        /// The number.
        value: u64,
    },
    /// The viewer compiled into this program cannot be put together.
    #[error("the viewer cannot be linked: {file}:{line}: {what}")]
    Link {
        /// Module, below `web-assets/`.
        file: String,
        /// Line in it, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The page's template cannot be filled in.
    #[error("the page's template cannot be rendered")]
    Template(#[from] Box<handlebars::RenderError>),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.into())
    }
}

impl From<csv::Error> for Error {
    fn from(error: csv::Error) -> Self {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => Self::Write(error),
            kind => Self::Write(io::Error::other(format!("{kind:?}"))),
        }
    }
}
