//! Turns a profile into reports: the HTML page, speedscope, JSON.
//!
//! Each output is an [`Output`] and knows neither where its bytes go nor what was typed. All of them
//! are views of one [`Profile`], so no two can disagree.

mod ascii_json;
mod check;
mod collapsed;
mod csv;
mod diff;
mod doubts;
mod error;
mod form;
mod gprof2dot;
mod heading;
mod html;
mod inspection;
mod json;
mod markdown;
mod pprof;
mod prune;
mod records;
mod saved;
mod selection;
mod slim;
mod speedscope;
mod stacks;
mod stats;
mod summary;
mod table;
mod terminal;
mod text;
mod tree;
mod units;

pub use memreport_aggregate as aggregate;

pub use check::{CheckForm, CheckReport};
pub use collapsed::Collapsed;
pub use csv::Csv;
pub use diff::{DiffReport, cautions};
pub use doubts::doubts;
pub use error::Error;
pub use form::{Extent, Form};
pub use gprof2dot::Gprof2dot;
pub use html::{DiffPage, FirstView, Html, Page};
pub use inspection::{inspection_json, inspection_text};
pub use json::Json;
pub use pprof::Pprof;
pub use records::record_json;
pub use saved::{saved_json, saved_text};
pub use slim::Slim;
pub use speedscope::Speedscope;
pub use stats::{StatsJson, StatsMarkdown, StatsText};
pub use summary::{FunctionOrder, Summary};
pub use table::{Table, TableFormat};
pub use tree::Tree;
pub use units::{Units, format_bytes, format_count, format_duration};

use aggregate::Profile;
use std::io::Write;

/// A report format.
pub trait Output {
    /// Writes the report.
    ///
    /// # Errors
    /// [`Error`] if `out` cannot be written to, or the report cannot be made.
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error>;
}
