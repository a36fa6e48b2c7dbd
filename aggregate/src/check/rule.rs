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
        let share = u128::from(base) * share;
        let share = comparison.most(share, of * 1_000_000);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn most(text: &str) -> u64 {
        match Rule::on_value(text, Severity::Limit).unwrap().bound {
            Bound::Value(most) => most,
            Bound::Growth(_) => unreachable!("it is on a value"),
        }
    }

    fn grown(text: &str, base: u64) -> u64 {
        match Rule::on_growth(text, Severity::Limit).unwrap().bound {
            Bound::Growth(bound) => bound.most(base) - base,
            Bound::Value(_) => unreachable!("it is on growth"),
        }
    }

    fn fault(text: &str) -> String {
        let fault = Rule::on_value(text, Severity::Limit).unwrap_err();
        fault.to_string()
    }

    #[test]
    fn a_bound_is_the_largest_value_that_keeps_it() {
        assert_eq!(most("peak<512MiB"), (512 << 20) - 1);
        assert_eq!(most("peak <= 512 MiB"), 512 << 20);
        assert_eq!(most(" leaked<1MB in mypkg "), 999_999);
        assert_eq!(most("rss<=1.5kb"), 1500);
        assert_eq!(most("allocated<=1_000"), 1000);
        assert_eq!(most("allocated<=1.0000000001k"), 1000);
        assert_eq!(most("allocated<1.0000000001k"), 1000);
        assert_eq!(most("allocations<=2.5M in x"), 2_500_000);
        assert_eq!(most("peak<=0"), 0);
        assert_eq!(most("peak<=16777215TiB"), 16_777_215 << 40);
    }

    #[test]
    fn growth_is_broken_beyond_share_and_amount() {
        let default = |base| grown("peak", base);
        assert_eq!([default(0), default(1 << 20)], [256 << 10, 256 << 10]);
        assert_eq!(default(100 << 20), 5 << 20);
        assert_eq!(grown("allocations", 100), 1000);
        assert_eq!(grown("peak<=10% or 1kB", 5000), 1000);
        assert_eq!(grown("peak<=10% or 1kB in pkg", 50_000), 5000);
        assert_eq!(grown("peak<10% or 1kB", 50_000), 4999);
        assert_eq!(grown("peak<10% or 1kB", 50_001), 5000);
        assert_eq!(grown("peak<=1MiB", u64::MAX >> 8), 1 << 20);
        assert_eq!(grown("peak<=0.5%", 1 << 30), (1 << 30) / 200);
        assert_eq!(grown("peak<0% or 0B", 7), 0);
        assert_eq!(grown("peak<=100.000001%", 100_000_000), 100_000_001);
        assert_eq!(grown("peak<=100000000000000%", 1 << 63), (1 << 63) - 1);
    }

    #[test]
    fn rules_read_as_they_are_typed() {
        let read = |text: &str| Rule::on_value(text, Severity::Limit).unwrap().to_string();
        assert_eq!(read("peak< 512 MiB  in a b "), "peak<512 MiB in a b");
        let read = |text: &str| Rule::on_growth(text, Severity::Limit).unwrap().to_string();
        assert_eq!(read("leaked"), "growth of leaked<=5% or 256KiB");
        assert_eq!(read("peak<5% or 1k in x"), "growth of peak<5% or 1k in x");
        assert_eq!(read("peak in x"), "growth of peak<=5% or 256KiB in x");
    }

    #[test]
    fn faults_show_where_they_are() {
        assert_eq!(
            fault("peek<5MB"),
            "a measure is expected: peak, leaked, allocated, allocations or rss\n  peek<5MB\n  ^^^^"
        );
        for (text, what, at, len) in [
            ("", "a measure", 0, 1),
            ("peak=5", "< or <= is", 4, 1),
            ("peak<", "a number is", 5, 1),
            ("peak<.", "a number is", 5, 1),
            ("peak<5MX", "no unit of bytes", 6, 2),
            ("peak<5%", "only `in PATTERN`", 6, 1),
            ("allocations<5MB", "allocations are counted", 13, 2),
            ("peak<0", "nothing is below 0", 5, 1),
            ("peak<5MB on x", "only `in PATTERN`", 9, 2),
            ("peak<5MB in ", "a pattern is expected", 12, 1),
            (
                "peak<5MB in é(",
                "no regular expression: unclosed group",
                12,
                2,
            ),
            (
                "rss<5MB in x",
                "the resident set is the whole process's",
                11,
                1,
            ),
            ("peak<99999999TiB", "the number is too large", 5, 11),
        ] {
            let fault = fault(text);
            let lines: Vec<&str> = fault.split('\n').collect();
            assert!(lines[0].contains(what), "{fault}");
            assert_eq!(lines[1], format!("  {text}"));
            assert_eq!(lines[2], format!("  {}{}", " ".repeat(at), "^".repeat(len)));
        }
        for share in ["1000000000000000%", "5.0000000%", "99999999999999999999%"] {
            let fault = Rule::on_growth(&format!("peak<{share}"), Severity::Limit);
            let fault = fault.unwrap_err().to_string();
            assert!(fault.contains("too large"), "{fault}");
        }
        let long = format!("peak<{}", "9".repeat(21));
        assert!(fault(&long).starts_with("the number is too long"));
        assert!(fault("peak<5\u{1b}[31m").contains("\u{fffd}[31m"));
    }
}
