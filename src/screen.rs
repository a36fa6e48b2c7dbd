//! How wide what is written may be.

use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;

use terminal_size::{Width, terminal_size_of};

/// Columns where nothing says how many there are.
const COLUMNS: usize = 80;

/// Columns for what is written to `output`: those that `COLUMNS` says, those of the terminal that it is, or
/// 80.
pub(crate) fn columns(output: &Path) -> usize {
    let asked = env::var("COLUMNS").ok();
    let asked = asked.and_then(|columns| columns.parse().ok());
    let asked = asked.filter(|&columns: &usize| columns > 0);
    let stdout = io::stdout();
    let terminal = || {
        let is_it = output == Path::new("-") && stdout.is_terminal();
        let (Width(columns), _) = is_it.then(|| terminal_size_of(&stdout)).flatten()?;
        Some(usize::from(columns)).filter(|&columns| columns > 0)
    };
    asked.or_else(terminal).unwrap_or(COLUMNS)
}
