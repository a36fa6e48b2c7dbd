//! What rules are on.

use std::fmt;

use memreport_ingest::Frame;

use crate::filter::Filter;
use crate::profile::Profile;

/// A figure of a run that can have a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Bytes that are live at the highest heap.
    Peak,
    /// Bytes that are left over at the end.
    Leaked,
    /// Bytes ever allocated, freed or not.
    Allocated,
    /// Allocations ever made.
    Allocations,
    /// Largest resident set in bytes. It is the whole process's: no part of a run has one.
    Rss,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Peak,
        Self::Leaked,
        Self::Allocated,
        Self::Allocations,
        Self::Rss,
    ];

    /// The word for it, as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Leaked => "leaked",
            Self::Allocated => "allocated",
            Self::Allocations => "allocations",
            Self::Rss => "rss",
        }
    }

    /// Whether it counts bytes, not allocations.
    #[must_use]
    pub fn is_bytes(self) -> bool {
        self != Self::Allocations
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A part of a run: what has a frame whose function, file or module matches a pattern.
#[derive(Debug, Clone)]
pub struct Part {
    pattern: String,
    filter: Filter,
}

impl Part {
    /// The part that a regular expression matches.
    ///
    /// # Errors
    /// What is wrong with one that is none.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let filter = Filter::new(&[pattern.to_owned()], &[]).map_err(|error| {
            // The last of its lines says what is wrong; those before draw the place.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            format!("this is no regular expression: {reason}")
        })?;
        Ok(Self {
            pattern: pattern.to_owned(),
            filter,
        })
    }

    /// The regular expression.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    pub(super) fn has(&self, profile: &Profile, frame: Frame) -> bool {
        self.filter.includes(profile, frame)
    }
}

/// What a rule is on: a measure of a run, or of a part of it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The measure.
    pub measure: Measure,
    /// The part; `None` for the whole run.
    pub part: Option<Part>,
}

impl Subject {
    /// The pattern of the part.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.part.as_ref().map(Part::pattern)
    }
}

/// As it is typed: `peak in mypkg`.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.measure)?;
        match &self.part {
            Some(part) => write!(f, " in {}", part.pattern),
            None => Ok(()),
        }
    }
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        self.measure == other.measure && self.pattern() == other.pattern()
    }
}
