//! What must hold: bounds on what is measured, and on how much more it is than a baseline's.

use std::fmt;

use super::measure::{Measure, Part, Subject};
use super::scan::{self, Amount, Comparison, FaultyText, Scanner};

/// What it means that a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The check fails.
    Limit,
    /// There is an alert, and the check goes on.
    Alert,
}

/// Something that must hold of a run.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What is measured.
    pub subject: Subject,
    /// What it may be.
    pub bound: Bound,
    /// What it means that it is more.
    pub severity: Severity,
    /// The comparison with its right side, as it is typed.
    written: String,
}

/// What a measure may be at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// So many bytes or allocations.
    Value(u64),
    /// So much more than the baseline's.
    Growth(GrowthBound),
}

/// How much more than a baseline's a measure may be: it is too much where it is beyond the share *and* beyond the
/// amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GrowthBound {
    is_strict: bool,
    /// Of what the baseline has, in millionths.
    share: (u128, u128),
    /// Bytes or allocations.
    most: u64,
}

impl GrowthBound {
    /// The largest value that has not grown too much. What has not grown at all never has.
    #[must_use]
    pub fn most(&self, base: u64) -> u64 {
        let comparison = match self.is_strict {
            true => Comparison::Less,
            false => Comparison::AtMost,
        };
        let (share, of) = self.share;
        let share = u128::from(base).saturating_mul(share);
        let share = comparison.most(share, of.saturating_mul(1_000_000));
        base.saturating_add(share.unwrap_or(0).max(self.most))
    }
}

impl Rule {
    /// What growth is allowed where nothing is said: 5 %, and 256 KiB or, as about so many allocations make that
    /// of blocks that go past Python's own allocator, 1,000 allocations.
    const DEFAULT_GROWTH: [&str; 2] = ["<=5% or 256KiB", "<=5% or 1000"];

    /// Why there is no rule on the resident set of a part.
    const RSS_HAS_NO_PARTS: &str =
        "the resident set is the whole process's: no part of it belongs to a function";

    /// A bound on a value: `MEASURE<SIZE` or `MEASURE<=SIZE`, then `in PATTERN` for a part of the run.
    ///
    /// # Errors
    /// [`FaultyText`] for what is none; it says where.
    pub fn on_value(text: &str, severity: Severity) -> Result<Self, FaultyText> {
        let mut scanner = Scanner::new(text);
        let measure = scanner.measure()?;
        let comparison = scanner.comparison()?;
        let start = scanner.at();
        let size = scanner.size(measure)?;
        let most = most(comparison, size)
            .ok_or_else(|| scanner.fault(start, "nothing is below 0: <=0 means none"))?;
        let written = format!("{}{}", comparison.sign(), scanner.read_since(start));
        Ok(Self {
            subject: subject(measure, &mut scanner)?,
            bound: Bound::Value(most),
            severity,
            written,
        })
    }

    /// A bound on growth: `MEASURE`, then `<` or `<=` with `SHARE%`, `SIZE` or `SHARE% or SIZE` if it is not the
    /// default, then `in PATTERN` for a part of the run. Without a share, the size alone counts; without a
    /// size, that of the default counts too.
    ///
    /// # Errors
    /// As [`Rule::on_value`].
    pub fn on_growth(text: &str, severity: Severity) -> Result<Self, FaultyText> {
        let mut scanner = Scanner::new(text);
        let measure = scanner.measure()?;
        let (bound, written) = match scanner.is_at_comparison() {
            true => growth(measure, &mut scanner)?,
            false => Self::default_growth(measure)?,
        };
        Ok(Self {
            subject: subject(measure, &mut scanner)?,
            bound: Bound::Growth(bound),
            severity,
            written,
        })
    }

    fn default_growth(measure: Measure) -> Result<(GrowthBound, String), FaultyText> {
        let [bytes, allocations] = Self::DEFAULT_GROWTH;
        let text = if measure.is_bytes() {
            bytes
        } else {
            allocations
        };
        growth(measure, &mut Scanner::new(text))
    }

    /// The rules on growth where none are given. What a program needs at once, and what it keeps, differ little
    /// between two runs. How often it allocates, and so how much in all, depends on the order that threads run
    /// in; the resident set depends on the machine.
    ///
    /// # Errors
    /// None: they are written as they must be.
    pub fn default_growths() -> Result<Vec<Self>, FaultyText> {
        let measures = [Measure::Peak, Measure::Leaked].into_iter();
        let rule = |measure: Measure| Self::on_growth(measure.name(), Severity::Limit);
        measures.map(rule).collect()
    }

    /// Whether the check fails where it is broken.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.severity == Severity::Limit
    }

    /// Whether it compares with a baseline.
    #[must_use]
    pub fn is_on_growth(&self) -> bool {
        matches!(self.bound, Bound::Growth(_))
    }
}

/// As it is typed, but for spaces: `peak<512MiB in mypkg`. On growth: `growth of peak<=5% or 256KiB`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.is_on_growth() {
            "growth of "
        } else {
            ""
        };
        write!(f, "{prefix}{}{}", self.subject.measure, self.written)?;
        match self.subject.pattern() {
            Some(pattern) => write!(f, " in {pattern}"),
            None => Ok(()),
        }
    }
}

fn most(comparison: Comparison, size: Amount) -> Option<u64> {
    comparison.most(size.numerator, size.denominator)
}

fn subject(measure: Measure, scanner: &mut Scanner<'_>) -> Result<Subject, FaultyText> {
    let part = match scanner.pattern()? {
        None => None,
        Some((at, _)) if measure == Measure::Rss => {
            return Err(scanner.fault(at, Rule::RSS_HAS_NO_PARTS));
        }
        Some((at, pattern)) => Some(Part::new(pattern).map_err(|what| scanner.fault(at, what))?),
    };
    Ok(Subject { measure, part })
}

fn growth(
    measure: Measure,
    scanner: &mut Scanner<'_>,
) -> Result<(GrowthBound, String), FaultyText> {
    let comparison = scanner.comparison()?;
    let start = scanner.at();
    let nothing = Amount {
        numerator: 0,
        denominator: 1,
    };
    let (share, size) = match scanner.growth(measure)? {
        scan::Growth::Size(size) => (nothing, Some(size)),
        scan::Growth::Share(share) => match scanner.word("or") {
            true => (share, Some(scanner.size(measure)?)),
            false => (share, None),
        },
    };
    let written = format!("{}{}", comparison.sign(), scanner.read_since(start));
    let most = match size {
        Some(size) => most(comparison, size).unwrap_or(0),
        None => Rule::default_growth(measure)?.0.most,
    };
    let bound = GrowthBound {
        is_strict: comparison == Comparison::Less,
        share: (share.numerator, share.denominator),
        most,
    };
    Ok((bound, written))
}
