//! Opens memray captures and decodes them into an ordered stream of events.
//!
//! [`read`] is the whole stage: it reads a [`Source`] on one thread, decodes it on another, and hands
//! [`Batch`]es of events to the caller's closure in the order of the capture. What outlives the
//! events, the names, stacks and threads that they refer to, is in the [`Recording`] returned.
//!
//! Nothing is held that grows with the capture: a compressed capture is never inflated whole, a
//! plain one is read in blocks (not memory-mapped, so that a file cut while it is read is an error,
//! not a signal, and resident memory does not count it).

mod blocks;
mod call_tree;
mod error;
mod event;
mod events;
mod frames;
mod hybrid;
mod id;
mod inspect;
mod line_table;
mod locations;
mod lz4;
mod metadata;
mod modules;
pub mod native;
mod reader;
mod recorded;
mod records;
mod resolve;
mod source;
mod source_lines;
mod stream;
mod strings;
mod sums;
mod tables;
mod tally;
mod thread;
mod warning;

pub use memreport_capture as capture;

pub use blocks::Counters;
pub use call_tree::CallTree;
pub use error::Error;
pub use event::{Batch, Batches, Event, RangedEvent, Snapshot};
pub use frames::{Frame, FrameTable};
pub use id::{FrameId, LocationId, NodeId, StackId, StringId, ThreadId};
pub use inspect::{Inspection, Outlook, inspect};
pub use locations::Location;
pub use metadata::{Ending, Metadata};
pub use modules::{FilePath, Module, ModuleOrigin, SearchPaths};
pub use reader::{Options, Recording, read};
pub use records::{AnyRecord, RecordAt, for_each_record};
pub use resolve::{NativeResult, UnmergedStacks};
pub use source::{Container, Source};
pub use source_lines::{SourceFiles, SourceLineOptions, SourceLines};
pub use strings::StringTable;
pub use sums::{SumSnapshot, Sums};
pub use tally::Tally;
pub use thread::Thread;
pub use warning::{Warning, WarningKind};
