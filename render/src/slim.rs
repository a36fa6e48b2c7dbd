//! The profile itself, to be read in place of its capture.

use std::io::Write;

use memreport_aggregate::{Origin, Profile, Saved};

use crate::{Error, Output};

/// The saved profile; `docs/mrp-format.md` documents it.
#[derive(Debug, Clone)]
pub struct Slim {
    /// What decided what is in the profile.
    pub origin: Origin,
}

impl Output for Slim {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        Ok(Saved::write(&self.origin, profile, out)?)
    }
}
