//! What each version of the capture format differs in.

use crate::Error;

/// Oldest format version (memray 1.0).
pub const OLDEST: i32 = 6;
/// Newest format version that is known (memray 1.20).
pub const NEWEST: i32 = 13;

/// A known format version. Its methods are the differences between versions, all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(i32);

/// How records are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Four bytes of type, then a C struct, padding and thread included; frames by id, with lines.
    Structs,
    /// Type in the low nibble of the first byte, flags in the high one; frames by id, with lines.
    Nibbles,
    /// Type as a prefix of the first byte; frames by code object and instruction.
    Prefixes,
}

impl Version {
    /// The version of this number, if some released memray wrote it.
    #[must_use]
    pub fn new(number: i32) -> Option<Self> {
        (OLDEST..=NEWEST).contains(&number).then_some(Self(number))
    }

    /// The same, or why it is not known.
    pub(crate) fn readable(number: i32) -> Result<Self, Error> {
        match number {
            OLDEST..=NEWEST => Ok(Self(number)),
            n if Self::new(n.swap_bytes()).is_some() => Err(Error::BigEndian {
                version: n.swap_bytes(),
            }),
            n if n > NEWEST => Err(Error::TooNew { version: n }),
            n => Err(Error::TooOld { version: n }),
        }
    }

    /// The number in the header.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }

    /// The memray releases that write this version.
    #[must_use]
    pub fn memray_releases(self) -> &'static str {
        match self.0 {
            ..=6 => "1.0",
            7 => "1.1",
            8 => "1.2 to 1.3",
            9 => "1.4 to 1.6",
            10 => "1.7 to 1.10",
            11 => "1.11 to 1.18",
            12 => "1.19",
            _ => "1.20",
        }
    }

    pub(crate) fn stream(self) -> Stream {
        match self.0 {
            ..=6 => Stream::Structs,
            7..=11 => Stream::Nibbles,
            _ => Stream::Prefixes,
        }
    }

    /// Whether an orderly end leaves a trailer record.
    #[must_use]
    pub fn has_trailer(self) -> bool {
        self.0 >= 8
    }

    /// Whether the header names the thread that started tracking, and how many of its outermost
    /// frames to hide.
    #[must_use]
    pub fn has_main_thread(self) -> bool {
        self.0 >= 9
    }

    pub(crate) fn has_file_format(self) -> bool {
        self.0 >= 10
    }

    pub(crate) fn has_trace_python_allocators(self) -> bool {
        self.0 >= 11
    }

    /// Whether lines are computed from tables of Python's, which needs Python's version, and whether
    /// the header says if object lifetimes are tracked. If so, an aggregated capture too has its
    /// frames by code object and in variable-length numbers, and may list surviving objects.
    #[must_use]
    pub fn has_code_objects(self) -> bool {
        self.0 >= 12
    }

    /// Whether the header has the folders in which Python looked for modules.
    #[must_use]
    pub fn has_search_paths(self) -> bool {
        self.0 >= 13
    }

    /// Whether `python_allocator` takes four bytes in the header, not one.
    pub(crate) fn has_wide_python_allocator(self) -> bool {
        self.0 <= 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_which_way_the_version_is_off() {
        assert_eq!(Version::readable(14), Err(Error::TooNew { version: 14 }));
        assert_eq!(Version::readable(5), Err(Error::TooOld { version: 5 }));
        assert_eq!(
            Version::readable(0x0d00_0000),
            Err(Error::BigEndian { version: 13 })
        );
        for number in [6, 13] {
            assert_eq!(Version::readable(number).map(Version::number), Ok(number));
        }
    }
}
