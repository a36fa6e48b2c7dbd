//! Reads what is typed for rules, and says where it is wrong.

use thiserror::Error;

use super::measure::Measure;

/// A text that is not what it should be, with the place where it stops being so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}\n  {text}\n  {}{}", " ".repeat(*.at), "^".repeat(*.len))]
pub struct FaultyText {
    what: String,
    text: String,
    /// Characters before the place.
    at: usize,
    /// Characters of the place, at least 1.
    len: usize,
}

/// Units of bytes, without regard to case.
const BYTE_UNITS: [(&[&str], u64); 9] = [
    (&["", "b"], 1),
    (&["k", "kb"], 1000),
    (&["m", "mb"], 1_000_000),
    (&["g", "gb"], 1_000_000_000),
    (&["t", "tb"], 1_000_000_000_000),
    (&["kib"], 1 << 10),
    (&["mib"], 1 << 20),
    (&["gib"], 1 << 30),
    (&["tib"], 1 << 40),
];

/// Multiples of allocations, the same.
const COUNT_UNITS: [(&[&str], u64); 4] = [
    (&[""], 1),
    (&["k"], 1000),
    (&["m"], 1_000_000),
    (&["g"], 1_000_000_000),
];

/// Digits that a number has at most.
const MAX_DIGITS: usize = 20;

/// Decimals that a percentage has at most.
const MAX_DECIMALS: u32 = 6;

/// Largest numerator of a share: that of any size times it has 128 bits.
const MAX_SHARE: u128 = 1 << 60;

/// What a comparison allows: `<` only less, `<=` as much too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
}

impl Comparison {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
        }
    }

    /// The largest whole number that this allows below `numerator / denominator`; `None` if it is negative.
    pub(super) fn most(self, numerator: u128, denominator: u128) -> Option<u64> {
        let (whole, rest) = (numerator / denominator, numerator % denominator);
        let most = match self {
            Self::Less if rest == 0 => whole.checked_sub(1)?,
            _ => whole,
        };
        Some(u64::try_from(most).unwrap_or(u64::MAX))
    }
}

/// A number as it is written: digits, and how many of them are decimals.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u128,
    n_decimals: u32,
}

/// An amount, exact: of bytes or allocations, or of millionths of a whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amount {
    pub(super) numerator: u128,
    pub(super) denominator: u128,
}

/// A bound of growth: a share of what was there, or an amount.
#[derive(Debug, Clone, Copy)]
pub(super) enum Growth {
    Share(Amount),
    Size(Amount),
}

/// Reads a text from its start to its end.
pub(super) struct Scanner<'t> {
    text: &'t str,
    /// Bytes that are read.
    at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut scanner = Self { text, at: 0 };
        scanner.skip_spaces();
        scanner
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.take(char::is_whitespace);
    }

    /// The next characters that are so.
    fn take(&mut self, is_so: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let len = rest.find(|c| !is_so(c)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn take_if(&mut self, prefix: &str) -> bool {
        let is_there = self.rest().starts_with(prefix);
        if is_there {
            self.at += prefix.len();
        }
        is_there
    }

    /// A fault from `start` to where reading is, or of the next character.
    pub(super) fn fault(&self, start: usize, what: impl Into<String>) -> FaultyText {
        let n_chars = |part: Option<&str>| part.unwrap_or_default().chars().count();
        FaultyText {
            what: what.into(),
            // It is shown on one line.
            text: self.text.replace(|c: char| c.is_control(), "\u{fffd}"),
            at: n_chars(self.text.get(..start)),
            len: n_chars(self.text.get(start..self.at)).max(1),
        }
    }

    pub(super) fn measure(&mut self) -> Result<Measure, FaultyText> {
        let start = self.at;
        let word = self.take(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        let mut all = Measure::ALL.into_iter();
        let measure = all.find(|measure| measure.name() == word);
        let measure = measure.ok_or_else(|| {
            let what = "a measure is expected: peak, leaked, allocated, allocations or rss";
            self.fault(start, what)
        });
        self.skip_spaces();
        measure
    }

    /// Whether a comparison stands here.
    pub(super) fn is_at_comparison(&self) -> bool {
        self.rest().starts_with('<')
    }

    pub(super) fn comparison(&mut self) -> Result<Comparison, FaultyText> {
        let comparison = if self.take_if("<=") {
            Comparison::AtMost
        } else if self.take_if("<") {
            Comparison::Less
        } else {
            return Err(self.fault(self.at, "< or <= is expected"));
        };
        self.skip_spaces();
        Ok(comparison)
    }

    fn number(&mut self) -> Result<Decimal, FaultyText> {
        let start = self.at;
        let is_digit = |c: char| c.is_ascii_digit() || c == '_';
        let whole = self.take(is_digit).replace('_', "");
        let decimals = match self.take_if(".") {
            true => self.take(is_digit).replace('_', ""),
            false => String::new(),
        };
        let digits = whole + &decimals;
        if digits.is_empty() {
            return Err(self.fault(start, "a number is expected"));
        }
        let too_long = || self.fault(start, "the number is too long");
        if digits.len() > MAX_DIGITS {
            return Err(too_long());
        }
        Ok(Decimal {
            digits: digits.parse().map_err(|_| too_long())?,
            n_decimals: u32::try_from(decimals.len()).map_err(|_| too_long())?,
        })
    }

    /// The unit after a number, as a factor.
    fn unit(&mut self, measure: Measure) -> Result<u64, FaultyText> {
        let end_of_number = self.at;
        self.skip_spaces();
        let start = self.at;
        let mut unit = self.take(char::is_alphanumeric);
        if matches!(unit, "in" | "or") {
            // It is what follows the number.
            (self.at, unit) = (end_of_number, "");
        }
        let unit = unit.to_ascii_lowercase();
        let find = |units: &[(&[&str], u64)]| {
            let mut units = units.iter();
            let found = units.find(|(names, _)| names.contains(&unit.as_str()));
            found.map(|(_, factor)| *factor)
        };
        let (factor, what) = if measure.is_bytes() {
            let what = "this is no unit of bytes: B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB or TiB (of 1024)";
            (find(&BYTE_UNITS), what)
        } else {
            let what = "allocations are counted: without a unit, or with k, M or G";
            (find(&COUNT_UNITS), what)
        };
        factor.ok_or_else(|| self.fault(start, what))
    }

    /// A number and its unit.
    pub(super) fn size(&mut self, measure: Measure) -> Result<Amount, FaultyText> {
        let start = self.at;
        let number = self.number()?;
        let factor = self.unit(measure)?;
        let size = self.amount(start, number, factor)?;
        self.skip_spaces();
        Ok(size)
    }

    /// A percentage, in millionths of the whole, or a size.
    pub(super) fn growth(&mut self, measure: Measure) -> Result<Growth, FaultyText> {
        let start = self.at;
        let number = self.number()?;
        let end_of_number = self.at;
        self.skip_spaces();
        if self.take_if("%") {
            let share = self.amount(start, number, 10_000)?;
            if number.n_decimals > MAX_DECIMALS || share.numerator > MAX_SHARE {
                return Err(self.fault(start, "the share is too large, or has too many decimals"));
            }
            self.skip_spaces();
            return Ok(Growth::Share(share));
        }
        self.at = end_of_number;
        let factor = self.unit(measure)?;
        let size = self.amount(start, number, factor)?;
        self.skip_spaces();
        Ok(Growth::Size(size))
    }

    fn amount(&self, start: usize, number: Decimal, factor: u64) -> Result<Amount, FaultyText> {
        let amount = Amount {
            numerator: number.digits.saturating_mul(u128::from(factor)),
            denominator: 10_u128.saturating_pow(number.n_decimals),
        };
        if amount.numerator / amount.denominator > u128::from(u64::MAX) {
            return Err(self.fault(start, "the number is too large"));
        }
        Ok(amount)
    }

    /// Whether this word, and a space, stand here; if so they are read.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let start = self.at;
        if self.take_if(word) && self.rest().starts_with(char::is_whitespace) {
            self.skip_spaces();
            return true;
        }
        self.at = start;
        false
    }

    /// What stands after `in`, if anything, with its place.
    pub(super) fn pattern(&mut self) -> Result<Option<(usize, &'t str)>, FaultyText> {
        let start = self.at;
        if self.rest().is_empty() {
            return Ok(None);
        }
        let word = self.take(|c| !c.is_whitespace());
        if word != "in" {
            return Err(self.fault(start, "only `in PATTERN` can follow here"));
        }
        self.skip_spaces();
        let at = self.at;
        let pattern = self.rest().trim_end();
        if pattern.is_empty() {
            return Err(self.fault(at, "a pattern is expected after `in`"));
        }
        self.at += pattern.len();
        Ok(Some((at, pattern)))
    }

    /// Where reading is, and what was read since a place.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn read_since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default().trim_end()
    }
}
