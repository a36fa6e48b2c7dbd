//! The HTML report.

use std::io::Write;

use memreport_aggregate::Profile;

use crate::{Error, Output};

/// Which question the report answers first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstView {
    /// What is live at the highest heap.
    #[default]
    Peak,
    /// What is left over.
    Leaks,
}

/// The self-contained page.
#[derive(Debug, Clone, Copy, Default)]
pub struct Html {
    /// Which question it answers first.
    pub first_view: FirstView,
}

impl Output for Html {
    fn write(&self, _profile: &Profile, _out: &mut dyn Write) -> Result<(), Error> {
        Ok(())
    }
}
