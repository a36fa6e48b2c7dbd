//! What was odd in a capture without making it unreadable.

/// A kind of oddity, how often it was met, and where first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// What was odd.
    pub kind: WarningKind,
    /// How often, at least 1.
    pub count: u64,
    /// Offset of the first such record in the (decompressed) capture.
    pub first_offset: u64,
}

/// What can be odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WarningKind {
    /// A thread left more frames than it was in.
    PopFromEmptyStack,
    /// A frame was entered that was never defined.
    UndefinedFrame,
    /// A frame or code object was defined twice; the first stands.
    DuplicateDefinition,
    /// Bytes that are not zero follow the end record.
    DataAfterTrailer,
    /// The header counts other records than there are.
    WrongRecordCount,
}

impl WarningKind {
    /// Whether only damage explains it, so that figures are doubtful. memray itself writes pops without
    /// pushes (of code whose file name it cannot encode), and may define a frame again.
    #[must_use]
    pub fn casts_doubt(self) -> bool {
        matches!(
            self,
            Self::UndefinedFrame | Self::DataAfterTrailer | Self::WrongRecordCount
        )
    }
}

impl std::fmt::Display for WarningKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::PopFromEmptyStack => "a thread left more frames than it had entered",
            Self::UndefinedFrame => "a frame was entered that was never defined",
            Self::DuplicateDefinition => "a frame was defined twice, the first definition stands",
            Self::DataAfterTrailer => "data follows the end of the capture and was ignored",
            Self::WrongRecordCount => "the header counts other records than the capture holds",
        })
    }
}

/// Warnings as they come up: one entry a kind.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, kind: WarningKind, offset: u64) {
        match self.0.iter_mut().find(|w| w.kind == kind) {
            Some(warning) => warning.count += 1,
            None => self.0.push(Warning {
                kind,
                count: 1,
                first_offset: offset,
            }),
        }
    }

    pub(crate) fn finish(self) -> Vec<Warning> {
        self.0
    }
}
