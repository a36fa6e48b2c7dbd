//! Turns the events of a capture into one [`Profile`], which every report is a view of.
//!
//! [`read_profile`] is the whole stage. Batches of events come from `ingest` in order; each is
//!
//! 1. *sifted*: blocks that begin and end within the batch are settled, the others divided into lanes;
//! 2. *matched*: lanes of addresses in parallel, each with its own live map, give what every event
//!    does to the heap, and which blocks end;
//! 3. *scanned*: a prefix sum over the batch gives the heap, and each slice's peak;
//! 4. *finalised*: lanes in parallel, each turns the blocks that ended into rows of the interval
//!    table, now that the peak says which tick an event belongs to.
//!
//! [`Matching`] and [`profile_of`] are its two halves, for who has batches already.
//!
//! Memory holds the live blocks, the table, and a batch; not the capture, nor a slice of it.

mod check;
pub mod columns;
mod diff;
mod error;
mod filter;
pub mod frame_class;
mod functions;
mod histogram;
mod interval_table;
mod lanes;
mod lately_used;
mod ledger;
mod live;
mod matching;
mod profile;
mod ranges;
mod saved;
mod selection;
mod sift;
mod sizes;
mod slices;
mod stats;
mod sums;
mod tally_tree;
mod temporaries;
mod thin;
mod unknown_frees;
mod view;

pub use memreport_ingest as ingest;

pub use check::{
    Bound, Check, Checked, CodePlace, ConfigError, Explanation, FaultyText, Figure, GrowthBound,
    Level, Measure, Part, Rule, Severity, Stack, Subject, Verdict,
};
pub use diff::{
    Change, CodeOrigin, CommonTree, Diff, DiffOptions, FunctionChange, Side, StackChange, Status,
};
pub use error::Error;
pub use filter::{Filter, Places};
pub use functions::FunctionRow;
pub use histogram::Bin;
pub use interval_table::{Interval, NEVER};
pub use matching::Matching;
pub use profile::{Counts, Options, Profile, RssPeak, profile_of, read_profile};
pub use saved::{Origin, Saved, SavedError};
pub use selection::{Moment, Question, Row, Selected, Selection};
pub use slices::{SliceRange, Slices};
pub use stats::{OrderBy, Stats};
pub use tally_tree::{Step, TallyNode, TallyTree};
pub use temporaries::Temporaries;
pub use view::{View, ViewRow};
