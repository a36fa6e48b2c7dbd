//! A check of a run: what is measured is compared with limits, and with what a baseline has.
//!
//! [`Check::of`] is the whole of it. Each [`Rule`] gives a [`Verdict`], with the stacks that explain what is too
//! much.

mod arenas;
mod config;
mod explain;
mod measure;
mod rule;
mod scan;

use memreport_ingest::Frame;

use self::arenas::Arenas;
pub use self::config::ConfigError;
pub use self::explain::{CodePlace, Explanation, Stack};
pub use self::measure::{Measure, Part, Subject};
pub use self::rule::{Bound, GrowthBound, Rule, Severity};
pub use self::scan::FaultyText;
use crate::diff::DiffOptions;
use crate::error::Error;
use crate::profile::Profile;
use crate::selection::{Question, Selected, Selection};

/// What must hold of a run.
#[derive(Debug, Clone)]
pub struct Check {
    /// The rules, each on its own.
    pub rules: Vec<Rule>,
    /// Stacks that explain a verdict, at most.
    pub n_stacks: usize,
    /// When stacks of run and baseline are the same; it changes no verdict.
    pub options: DiffOptions,
}

/// How a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Kept.
    Passed,
    /// Broken, and it is an alert.
    Alert,
    /// Broken, and it is a limit.
    Failed,
}

/// What came of a rule.
///
/// * Units: bytes or allocations, as the measure counts
#[derive(Debug, Clone)]
pub struct Verdict {
    /// The rule.
    pub rule: Rule,
    /// How it is kept.
    pub level: Level,
    /// The value.
    pub measured: u64,
    /// The baseline's, if the rule is on growth.
    pub base: Option<u64>,
    /// The largest value that keeps the rule.
    pub most: u64,
    /// Growth that does not count, and that `most` has room for: arenas of Python's allocator. Whether one or two
    /// more are live is chance.
    pub aside: u64,
    /// Whether the rule is on a part that no frame belongs to, so that the value is 0.
    pub is_of_nothing: bool,
    /// Where the value, or what is more of it, comes from; empty if the rule is kept, if it is an alert on what
    /// is beyond its limit too, and of the resident set, which no stack has.
    pub explanation: Explanation,
}

impl Verdict {
    /// How much the value is more than it may be.
    #[must_use]
    pub fn excess(&self) -> u64 {
        self.measured.saturating_sub(self.most)
    }

    /// The first are worse than others: limits before alerts, and those before what is kept; then by the excess as
    /// a share of what is allowed.
    fn cmp_badness(&self, other: &Self) -> std::cmp::Ordering {
        let cross = |excess: u64, most: u64| u128::from(excess) * u128::from(most.max(1));
        let shares = || {
            let this = cross(self.excess(), other.most);
            cross(other.excess(), self.most).cmp(&this)
        };
        other.level.cmp(&self.level).then_with(shares)
    }

    fn is_same_question(&self, other: &Self) -> bool {
        self.rule.subject == other.rule.subject
            && self.rule.is_on_growth() == other.rule.is_on_growth()
    }
}

/// A measure of the whole run, beside the baseline's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// What is measured.
    pub measure: Measure,
    /// The value.
    pub value: u64,
    /// The baseline's, if there is one that knows it.
    pub base: Option<u64>,
}

/// What came of a check.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Every measure that the capture knows, whether a rule is on it or not.
    pub figures: Vec<Figure>,
    /// A verdict for each rule, worst first; else in the order of the rules.
    pub verdicts: Vec<Verdict>,
}

impl Checked {
    /// Whether no limit is broken. Alerts do not matter.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.n(Level::Failed) == 0
    }

    /// Number of verdicts of a level.
    #[must_use]
    pub fn n(&self, level: Level) -> usize {
        let of_it = self.verdicts.iter().filter(|of| of.level == level);
        of_it.count()
    }

    /// The verdicts on rules that are broken, worst first.
    pub fn broken(&self) -> impl Iterator<Item = &Verdict> {
        let verdicts = self.verdicts.iter();
        verdicts.filter(|of| of.level != Level::Passed)
    }
}

impl Check {
    /// Compares what is measured of a run with what must hold of it. Rules on growth need a baseline, and are left
    /// out without one.
    ///
    /// # Errors
    /// [`Error::NotInAggregated`] and [`Error::NoSnapshots`] if a rule is on what a capture does not hold: a rule
    /// that cannot be checked is not kept. [`Error`] as [`Diff::of`](crate::Diff::of).
    pub fn of(&self, profile: &Profile, base: Option<&Profile>) -> Result<Checked, Error> {
        let mut verdicts = Vec::new();
        for rule in &self.rules {
            if base.is_some() || !rule.is_on_growth() {
                verdicts.push(verdict(rule, profile, base)?);
            }
        }
        verdicts.sort_by(Verdict::cmp_badness);
        for i in 0..verdicts.len() {
            let (worse, rest) = verdicts.split_at_mut(i);
            if let Some(verdict) = rest.first_mut()
                && verdict.level != Level::Passed
                && !worse.iter().any(|other| other.is_same_question(verdict))
            {
                verdict.explanation = self.explanation(verdict, profile, base)?;
            }
        }
        Ok(Checked {
            figures: figures(profile, base),
            verdicts,
        })
    }

    fn explanation(
        &self,
        verdict: &Verdict,
        profile: &Profile,
        base: Option<&Profile>,
    ) -> Result<Explanation, Error> {
        let subject = &verdict.rule.subject;
        let Some(new) = selected(subject, profile)? else {
            return Ok(Explanation::default());
        };
        let base = match (verdict.rule.bound, base) {
            (Bound::Growth(_), Some(base)) => selected(subject, base)?,
            _ => None,
        };
        match base {
            Some(base) => {
                Explanation::of_growth(subject, [&base, &new], &self.options, self.n_stacks)
            }
            None => Ok(Explanation::of_value(subject, &new, self.n_stacks)),
        }
    }
}

/// The verdict on a rule, without what explains it.
fn verdict(rule: &Rule, profile: &Profile, base: Option<&Profile>) -> Result<Verdict, Error> {
    let (measured, arenas) = measured(&rule.subject, profile)?;
    let (base, most, aside) = match (rule.bound, base) {
        (Bound::Value(most), _) => (None, most, 0),
        (Bound::Growth(bound), base) => {
            let base = base.map(|base| self::measured(&rule.subject, base));
            let (base, base_arenas) = base.transpose()?.unwrap_or_default();
            let aside = arenas.by_chance(base_arenas);
            (Some(base), bound.most(base).saturating_add(aside), aside)
        }
    };
    let level = match rule.severity {
        _ if measured <= most => Level::Passed,
        Severity::Alert => Level::Alert,
        Severity::Limit => Level::Failed,
    };
    let is_of = |part: &Part| {
        let has = |frame: &Frame| part.has(profile, *frame);
        profile.frames.as_slice().iter().any(has)
    };
    let part = rule.subject.part.as_ref();
    Ok(Verdict {
        rule: rule.clone(),
        level,
        measured,
        base,
        most,
        aside,
        is_of_nothing: measured == 0 && part.is_some_and(|part| !is_of(part)),
        explanation: Explanation::default(),
    })
}

fn figures(profile: &Profile, base: Option<&Profile>) -> Vec<Figure> {
    let known = |measure| {
        let whole = Subject {
            measure,
            part: None,
        };
        Some(Figure {
            measure,
            value: measured(&whole, profile).ok()?.0,
            base: base.and_then(|base| Some(measured(&whole, base).ok()?.0)),
        })
    };
    Measure::ALL.into_iter().filter_map(known).collect()
}

/// The value of a measure, and how much of it is arenas.
fn measured(subject: &Subject, profile: &Profile) -> Result<(u64, Arenas), Error> {
    let Some(selected) = selected(subject, profile)? else {
        let rss = profile.rss_peak.ok_or(Error::NoSnapshots)?.rss;
        return Ok((rss, Arenas::default()));
    };
    let total = selected.total();
    Ok(match subject.measure {
        Measure::Allocations => (total.allocations, Arenas::default()),
        _ => (total.bytes, Arenas::of(&selected)),
    })
}

/// The rows that a measure adds up; the resident set has none.
fn selected<'p>(subject: &Subject, profile: &'p Profile) -> Result<Option<Selected<'p>>, Error> {
    let part = subject.part.as_ref();
    let filter = part.map(|part| part.filter().clone()).unwrap_or_default();
    let selection = Selection {
        filter,
        ..Selection::default()
    };
    Ok(match subject.measure {
        Measure::Peak => Some(selection.of(profile)?),
        Measure::Leaked => Some(selection.asking(Question::Leaks).of(profile)?),
        Measure::Allocated | Measure::Allocations => Some(selection.made(profile)?),
        Measure::Rss => None,
    })
}
