//! What could not be resolved, and why.

use std::fmt;

/// Figures of a symbolication, and the modules that symbols are missing of.
///
/// * Units: distinct addresses, counted once however many generations and stacks have them
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolSummary {
    /// Addresses in some module.
    pub n_addresses: u64,
    /// Those that became `module+0xoffset`.
    pub n_unresolved: u64,
    /// Return addresses in no segment of their generation. They have no frame.
    pub n_unmapped: u64,
    /// Modules that addresses are in.
    pub n_modules: u64,
    /// Modules without symbols, by path. Empty if symbolication is off.
    pub faults: Vec<ModuleFault>,
    /// Paths of modules whose files have the segments that were mapped, but were modified after the
    /// capture was made: it does not name their builds, so their symbols may be those of others.
    pub modified: Vec<String>,
}

/// A module that symbols are missing of. Its text is a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFault {
    /// The module's path in the capture.
    pub path: String,
    /// Why.
    pub kind: ModuleFaultKind,
    /// Its addresses that are not resolved.
    pub n_unresolved: u64,
}

/// Why a module has no symbols.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleFaultKind {
    /// There is no such file.
    Missing,
    /// It is a folder, a pipe, a device.
    NotRegular,
    /// Its segments are not those that were mapped: it was replaced since.
    Different,
    /// It cannot be read, or is no ELF file.
    Unreadable(String),
    /// It is larger than what is read.
    TooLarge,
    /// It is read, and names none of the module's addresses.
    NoSymbols,
    /// Its debug information is left out, and only the symbol table counts.
    NoDebugInformation(String),
}

impl ModuleFaultKind {
    /// As a number and text, for files. Numbers never change.
    #[must_use]
    pub fn to_parts(&self) -> (u8, &str) {
        match self {
            Self::Missing => (0, ""),
            Self::NotRegular => (1, ""),
            Self::Different => (2, ""),
            Self::Unreadable(why) => (3, why),
            Self::TooLarge => (4, ""),
            Self::NoSymbols => (5, ""),
            Self::NoDebugInformation(why) => (6, why),
        }
    }

    /// The reverse of [`ModuleFaultKind::to_parts`]; `None` for a number that there is not.
    #[must_use]
    pub fn from_parts(number: u8, why: String) -> Option<Self> {
        Some(match number {
            0 => Self::Missing,
            1 => Self::NotRegular,
            2 => Self::Different,
            3 => Self::Unreadable(why),
            4 => Self::TooLarge,
            5 => Self::NoSymbols,
            6 => Self::NoDebugInformation(why),
            _ => return None,
        })
    }
}

impl fmt::Display for ModuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        match &self.kind {
            ModuleFaultKind::Missing => f.write_str("there is no such file"),
            ModuleFaultKind::NotRegular => f.write_str("it is not a regular file"),
            ModuleFaultKind::Different => {
                f.write_str("the file is not the one that was mapped, and is not used")
            }
            ModuleFaultKind::Unreadable(why) => write!(f, "the file cannot be read: {why}"),
            ModuleFaultKind::TooLarge => f.write_str("the file is too large to be read"),
            ModuleFaultKind::NoSymbols => f.write_str("the file names none of its functions here"),
            ModuleFaultKind::NoDebugInformation(why) => {
                write!(f, "the debug information cannot be read: {why}")
            }
        }?;
        match self.n_unresolved {
            0 => Ok(()),
            1 => f.write_str(" (1 address is not resolved)"),
            n => write!(f, " ({n} addresses are not resolved)"),
        }
    }
}
