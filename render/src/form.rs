//! In what form, and how much of it, a report of many rows is written.

use crate::Error;
use crate::text::{elided, printable};

/// Lines that fit a screen without asking.
pub(crate) const SCREEN_LINES: usize = 40;

/// Lines around the rows of a Markdown table.
pub(crate) const MARKDOWN_LINES: usize = 8;

/// Columns of a name in a report that has a budget or is Markdown; longer ones lose their middle.
pub(crate) const NAME_COLUMNS: usize = 160;

/// Columns of a remark in such a report.
const REMARK_COLUMNS: usize = 240;

/// Remarks that are written one by one in such a report.
const MAX_REMARKS: usize = 3;

/// The form of a report that is read by people, or by programs that read for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines for a terminal.
    Text {
        /// Its width; no line is longer.
        columns: usize,
    },
    /// Markdown, for a chat or an agent.
    Markdown {
        /// Bytes that are written at most.
        budget: Option<usize>,
    },
    /// JSON; `SCHEMA.md` documents its keys.
    Json {
        /// Bytes that are written at most.
        budget: Option<usize>,
    },
}

/// How many rows a report has at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// As many as make 40 lines with what is around them.
    #[default]
    Screen,
    /// So many.
    Rows(usize),
    /// All there are.
    All,
}

impl Extent {
    /// The number of rows, where so many other lines stand around them.
    pub(crate) fn rows(self, n_other_lines: usize) -> usize {
        match self {
            Self::Screen => SCREEN_LINES.saturating_sub(n_other_lines).max(1),
            Self::Rows(n) => n,
            Self::All => usize::MAX,
        }
    }
}

/// The longest of the texts that `make` gives that is within the budget.
///
/// A text gets longer with the number that it is made for; that of 0 holds what must not be missing, that
/// of `most` everything that is asked for.
pub(crate) fn within(
    budget: Option<usize>,
    most: usize,
    mut make: impl FnMut(usize) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    let Some(budget) = budget else {
        return make(most);
    };
    // Every step takes a byte at least.
    let most = most.min(budget);
    let whole = make(most)?;
    if whole.len() <= budget {
        return Ok(whole);
    }
    let mut best = make(0)?;
    if best.len() > budget {
        let needed = best.len();
        return Err(Error::Budget { budget, needed });
    }
    let (mut fits, mut too_many) = (0, most);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        let text = make(middle)?;
        if text.len() <= budget {
            (best, fits) = (text, middle);
        } else {
            too_many = middle;
        }
    }
    Ok(best)
}

/// A name that can be shown, and is of a length that one row may take.
pub(crate) fn short_name(name: &str) -> String {
    elided(&printable(name), NAME_COLUMNS)
}

/// Remarks, the first of them one by one, each of a length that can be paid for.
pub(crate) fn short_remarks(remarks: &[String]) -> Vec<String> {
    let n_more = remarks.len().saturating_sub(MAX_REMARKS);
    let first = remarks.iter().take(MAX_REMARKS);
    let first = first.map(|remark| elided(&printable(remark), REMARK_COLUMNS));
    first
        .chain((n_more > 0).then(|| format!("{n_more} more")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(n: usize) -> Result<Vec<u8>, Error> {
        Ok("total\n"
            .bytes()
            .chain("row\n".repeat(n).into_bytes())
            .collect())
    }

    #[test]
    fn a_budget_takes_as_much_as_it_can_and_never_more() {
        let taken = |budget| within(budget, 100, lines).unwrap().len();
        assert_eq!(taken(None), 406);
        for budget in 6..500 {
            let expected = (6 + (budget - 6) / 4 * 4).min(406);
            assert_eq!(taken(Some(budget)), expected, "{budget}");
        }
        let error = within(Some(5), 100, lines).unwrap_err();
        assert_eq!(
            error.to_string(),
            "6 bytes are needed for the totals alone, and 5 are allowed"
        );
    }
}
