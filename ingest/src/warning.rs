//! What was odd in a capture without making it unreadable.

/// A kind of oddity, how often it was met, and where first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warning {
    /// What was odd.
    pub kind: WarningKind,
    /// How often, at least 1.
    pub count: u64,
    /// Offset of the first such record in the (decompressed) capture; `None` where no one record
    /// shows it.
    pub first_offset: Option<u64>,
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
    /// A block of 16 bytes or more does not lie at a multiple of 16, which C promises on every
    /// 64-bit system, or a mapping does not start at a page.
    MisalignedBlock,
    /// A native stack, or its caller, was never defined.
    UndefinedNativeStack,
    /// Something was freed that lies within a block that is never freed.
    FreeWithinBlock,
}

impl WarningKind {
    /// As a number, for files: it never changes.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::PopFromEmptyStack => 0,
            Self::UndefinedFrame => 1,
            Self::DuplicateDefinition => 2,
            Self::DataAfterTrailer => 3,
            Self::WrongRecordCount => 4,
            Self::MisalignedBlock => 5,
            Self::UndefinedNativeStack => 6,
            Self::FreeWithinBlock => 7,
        }
    }

    /// The reverse of [`WarningKind::number`]; `None` for a number that there is not.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::PopFromEmptyStack,
            1 => Self::UndefinedFrame,
            2 => Self::DuplicateDefinition,
            3 => Self::DataAfterTrailer,
            4 => Self::WrongRecordCount,
            5 => Self::MisalignedBlock,
            6 => Self::UndefinedNativeStack,
            7 => Self::FreeWithinBlock,
            _ => return None,
        })
    }

    /// Whether only damage explains it, so that figures are doubtful. memray itself writes pops without
    /// pushes (of code whose file name it cannot encode), and may define a frame again.
    #[must_use]
    pub fn casts_doubt(self) -> bool {
        matches!(
            self,
            Self::UndefinedFrame
                | Self::DataAfterTrailer
                | Self::WrongRecordCount
                | Self::MisalignedBlock
                | Self::UndefinedNativeStack
                | Self::FreeWithinBlock
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
            Self::MisalignedBlock => {
                "a block lies at an address where no allocator puts it: the capture is damaged at this record or before"
            }
            Self::UndefinedNativeStack => "a native stack was never defined",
            Self::FreeWithinBlock => {
                "a block holds something else that was freed while it was live: the capture is damaged"
            }
        })
    }
}

/// Warnings as they come up: one entry a kind.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    pub(crate) fn add(&mut self, kind: WarningKind, offset: impl Into<Option<u64>>) {
        match self.0.iter_mut().find(|w| w.kind == kind) {
            Some(warning) => warning.count += 1,
            None => self.0.push(Warning {
                kind,
                count: 1,
                first_offset: offset.into(),
            }),
        }
    }

    pub(crate) fn finish(self) -> Vec<Warning> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_for_one_kind_each() {
        let kinds: Vec<_> = (0..=u8::MAX).filter_map(WarningKind::from_number).collect();
        assert_eq!(kinds.len(), 8);
        assert!(
            (0..)
                .zip(kinds)
                .all(|(number, kind)| kind.number() == number)
        );
    }
}
