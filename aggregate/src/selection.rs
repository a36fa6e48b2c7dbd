//! What of a profile a report shows: which view, over which range, of which stacks.
//!
//! A [`Selection`] is the question, as it is typed; [`Selection::of`] answers it with [`Selected`]
//! rows, which add up, with what was left out, to the view's total.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use memreport_ingest::capture::Allocator;
use memreport_ingest::{CallTree, FrameId, NodeId, StackId, Tally, ThreadId};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::filter::Filter;
use crate::profile::Profile;
use crate::slices::SliceRange;
use crate::view::View;

/// A question that a profile answers with rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Question {
    /// What is live at the highest heap.
    #[default]
    Peak,
    /// What is allocated, and not freed by the end.
    Leaks,
    /// What is freed by its own thread after at most so many other allocations of that thread.
    Temporary {
        /// How many may lie in between.
        threshold: usize,
    },
}

/// A moment of the run, as it is typed: seconds since the start, `peak`, `rss-peak` or `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// So long after the start.
    AfterStart(Duration),
    /// When the heap is highest.
    Peak,
    /// The memory snapshot with the largest resident set.
    RssPeak,
    /// The end of the run.
    End,
}

impl FromStr for Moment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let seconds = || Duration::try_from_secs_f64(text.parse().ok()?).ok();
        match text {
            "peak" => Ok(Self::Peak),
            "rss-peak" => Ok(Self::RssPeak),
            "end" => Ok(Self::End),
            _ => seconds()
                .map(Self::AfterStart)
                .ok_or_else(|| Error::NotAMoment(text.to_owned())),
        }
    }
}

/// What is asked of a profile. The default is the whole run's peak, whole.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The question.
    pub question: Question,
    /// Where the range starts, if not with the run.
    pub from: Option<Moment>,
    /// Where the range ends, if not with the run.
    pub to: Option<Moment>,
    /// Which rows and frames are shown.
    pub filter: Filter,
    /// Whether rows of different threads stay apart.
    pub split_threads: bool,
    /// Whether stacks are shown from the allocating function outwards.
    pub inverted: bool,
}

/// What a selection has of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The stack as it is shown: a node of [`Selected::call_tree`].
    pub node: NodeId,
    /// The stack as the capture distinguishes it.
    pub stack: StackId,
    /// The allocating thread.
    pub thread: ThreadId,
    /// The allocation function.
    pub allocator: Allocator,
    /// Allocations and bytes. Not both are 0.
    pub tally: Tally,
    /// Sequence number of the first of the allocations.
    pub first_sequence: u64,
}

/// The rows that a selection has of a profile.
///
/// * Shape: a row a location, in the order of their first allocations; [`Selected::by_stack`] and
///   [`Selected::by_recorded_stack`] add them up to fewer
#[derive(Debug, Clone)]
pub struct Selected<'p> {
    profile: &'p Profile,
    question: Question,
    range: SliceRange,
    is_whole_run: bool,
    split_threads: bool,
    inverted: bool,
    call_tree: Cow<'p, CallTree<FrameId>>,
    rows: Vec<Row>,
    total: Tally,
    left_out: Tally,
}

impl Selection {
    /// The same with another question.
    #[must_use]
    pub fn asking(&self, question: Question) -> Self {
        Self {
            question,
            ..self.clone()
        }
    }

    /// Whether it is about the whole run.
    #[must_use]
    pub fn is_whole_run(&self) -> bool {
        self.from.is_none() && matches!(self.to, None | Some(Moment::End))
    }

    /// The slices of the range.
    ///
    /// * A range starts with the slice that ends at or after its first moment, and ends with the slice
    ///   that its last moment is in. The peak is in a slice; the largest resident set is seen at the end
    ///   of one, and is taken to be in that
    /// * Source: `semantics.md`, section 7.4
    ///
    /// # Errors
    /// [`Error::EmptyRange`] if it ends before it starts; [`Error::NoSnapshots`] for the largest resident
    /// set of a capture that has no memory snapshots; [`Error::NotInAggregated`] for a part of the run of
    /// an aggregated capture.
    pub fn range(&self, profile: &Profile) -> Result<SliceRange, Error> {
        let whole = profile.slices.whole_run();
        if self.is_whole_run() {
            return Ok(whole);
        }
        if profile.is_aggregated {
            return Err(Error::NotInAggregated("ranges of time"));
        }
        let special = |moment| -> Result<usize, Error> {
            match moment {
                Moment::Peak => Ok(profile.slices.peak_slice(whole)),
                Moment::RssPeak => {
                    let peak = profile.rss_peak.ok_or(Error::NoSnapshots)?;
                    Ok(peak.slice)
                }
                Moment::AfterStart(_) | Moment::End => Ok(whole.last),
            }
        };
        let snapshot = |is_it: &dyn Fn(Duration) -> bool| {
            let times = profile.slices.times_ms.iter();
            let mut since_start = times.map(|&time| profile.metadata.since_start(time));
            since_start.position(is_it).unwrap_or(whole.last)
        };
        let first = match self.from {
            None => whole.first,
            Some(Moment::AfterStart(from)) => snapshot(&|time| time >= from),
            Some(moment) => special(moment)?,
        };
        let last = match self.to {
            None => whole.last,
            Some(Moment::AfterStart(to)) => snapshot(&|time| time > to),
            Some(moment) => special(moment)?,
        };
        if first > last {
            return Err(Error::EmptyRange);
        }
        Ok(SliceRange { first, last })
    }

    /// The rows that this selects.
    ///
    /// # Errors
    /// As [`Selection::range`]; [`Error::TemporaryInRange`], [`Error::ThresholdTooLarge`] and
    /// [`Error::NotInAggregated`] for temporary allocations that the profile has no answer for.
    pub fn of<'p>(&self, profile: &'p Profile) -> Result<Selected<'p>, Error> {
        let range = self.range(profile)?;
        let view = match self.question {
            Question::Peak => View::peak(profile, range),
            Question::Leaks => View::leaks(profile, range),
            Question::Temporary { threshold } => {
                self.check_temporary(profile, threshold)?;
                View::temporary(profile, threshold)
            }
        };
        self.rows_of(profile, range, &view)
    }

    /// All allocations of the whole run, freed or not, filtered and shaped as the rows that this selects,
    /// whose nodes are the same.
    ///
    /// # Errors
    /// [`Error::NotInAggregated`] for an aggregated capture: it holds no freed allocations.
    pub fn made<'p>(&self, profile: &'p Profile) -> Result<Selected<'p>, Error> {
        if profile.is_aggregated {
            return Err(Error::NotInAggregated("freed allocations"));
        }
        self.rows_of(profile, profile.slices.whole_run(), &View::made(profile))
    }

    fn rows_of<'p>(
        &self,
        profile: &'p Profile,
        range: SliceRange,
        view: &View,
    ) -> Result<Selected<'p>, Error> {
        let places = self.filter.places(profile)?;
        let mut selected = Selected {
            profile,
            question: self.question,
            range,
            is_whole_run: self.is_whole_run(),
            split_threads: self.split_threads,
            inverted: self.inverted,
            call_tree: Cow::Borrowed(&profile.call_tree),
            rows: Vec::with_capacity(view.rows().len()),
            total: Tally::default(),
            left_out: Tally::default(),
        };
        for row in view.rows() {
            let Some(location) = profile.locations.get(row.location.index()) else {
                continue;
            };
            let Some(node) = places.node(row.location) else {
                selected.left_out.add_all(row.tally);
                continue;
            };
            selected.total.add_all(row.tally);
            selected.rows.push(Row {
                node,
                stack: location.stack,
                thread: location.thread,
                allocator: location.allocator,
                tally: row.tally,
                first_sequence: row.first_sequence,
            });
        }
        selected.call_tree = places.into_call_tree();
        Ok(selected)
    }

    fn check_temporary(&self, profile: &Profile, threshold: usize) -> Result<(), Error> {
        let known = profile.temporaries.threshold();
        if profile.is_aggregated {
            Err(Error::NotInAggregated("temporary allocations"))
        } else if !self.is_whole_run() {
            Err(Error::TemporaryInRange)
        } else if threshold > known {
            Err(Error::ThresholdTooLarge { threshold, known })
        } else {
            Ok(())
        }
    }
}

impl<'p> Selected<'p> {
    /// The profile that they are of.
    #[must_use]
    pub fn profile(&self) -> &'p Profile {
        self.profile
    }

    /// The question that they answer.
    #[must_use]
    pub fn question(&self) -> Question {
        self.question
    }

    /// The slices that they are of.
    #[must_use]
    pub fn range(&self) -> SliceRange {
        self.range
    }

    /// Whether they are of the whole run.
    #[must_use]
    pub fn is_whole_run(&self) -> bool {
        self.is_whole_run
    }

    /// Whether rows of different threads stay apart.
    #[must_use]
    pub fn split_threads(&self) -> bool {
        self.split_threads
    }

    /// Whether stacks are shown from the allocating function outwards.
    #[must_use]
    pub fn inverted(&self) -> bool {
        self.inverted
    }

    /// The slice whose peak they are live at, if that is the question.
    #[must_use]
    pub fn peak_slice(&self) -> Option<usize> {
        (self.question == Question::Peak).then(|| self.profile.slices.peak_slice(self.range))
    }

    /// The stacks that rows refer to, without hidden frames.
    #[must_use]
    pub fn call_tree(&self) -> &CallTree<FrameId> {
        &self.call_tree
    }

    /// Whether frames are hidden, so that the stacks are not the profile's.
    #[must_use]
    pub fn hides_frames(&self) -> bool {
        matches!(self.call_tree, Cow::Owned(_))
    }

    /// The frames of a row's stack, innermost first, whichever way stacks are shown.
    pub fn stack(&self, node: NodeId) -> impl Iterator<Item = FrameId> + '_ {
        self.call_tree.stack(node)
    }

    /// Puts the frames of a row's stack into `frames`, as they are shown from the root of a tree on:
    /// outermost first, or, if inverted, innermost first.
    pub fn root_first(&self, node: NodeId, frames: &mut Vec<FrameId>) {
        frames.clear();
        frames.extend(self.stack(node));
        if !self.inverted {
            frames.reverse();
        }
    }

    /// The rows, one a location, in the order of their first allocations.
    #[must_use]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows added up that show the same stack and, if threads are split, thread. Each is at the place
    /// of, and has allocator and thread of, the first of them.
    #[must_use]
    pub fn by_stack(&self) -> Vec<Row> {
        self.added_up(|row| row.node.0)
    }

    /// The same, with stacks apart that the capture distinguishes, as memray's own rows are.
    #[must_use]
    pub fn by_recorded_stack(&self) -> Vec<Row> {
        self.added_up(|row| row.stack.0)
    }

    fn added_up(&self, stack: impl Fn(&Row) -> u32) -> Vec<Row> {
        let mut places = FxHashMap::<_, usize>::default();
        let mut sums: Vec<Row> = Vec::new();
        for row in &self.rows {
            let key = (stack(row), self.split_threads.then_some(row.thread));
            let place = *places.entry(key).or_insert(sums.len());
            match sums.get_mut(place) {
                Some(sum) => sum.tally.add_all(row.tally),
                None => sums.push(*row),
            }
        }
        sums
    }

    /// The sum of the rows.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.total
    }

    /// What the view has besides, which the filter left out.
    #[must_use]
    pub fn left_out(&self) -> Tally {
        self.left_out
    }
}
