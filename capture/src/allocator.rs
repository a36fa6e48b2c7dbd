//! The allocation functions that memray hooks, under one numbering for every format version.

use crate::Version;

/// A hooked allocation function. Discriminants are those of format 12 and later, the order in which
/// reports sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(
    missing_docs,
    reason = "the variants are the C functions of the same names"
)]
pub enum Allocator {
    PymallocFree = 1,
    PymallocMalloc = 2,
    PymallocCalloc = 3,
    PymallocRealloc = 4,
    Free = 5,
    Malloc = 6,
    Realloc = 7,
    Calloc = 8,
    PosixMemalign = 9,
    AlignedAlloc = 10,
    Memalign = 11,
    Valloc = 12,
    Pvalloc = 13,
    Mmap = 14,
    Munmap = 15,
}

/// How a record of an allocator changes the set of live blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocatorKind {
    /// A block begins at the address.
    Allocation,
    /// The block at the address ends.
    Deallocation,
    /// A range of addresses begins (`mmap`).
    RangedAllocation,
    /// A range of addresses ends, whichever mappings it cuts through (`munmap`).
    RangedDeallocation,
}

use Allocator as A;

/// Allocators by number; a record has four bits for it.
pub(crate) type AllocatorTable = [Option<A>; 16];

/// Formats 12 and later.
static BY_NUMBER_12: AllocatorTable = table(&A::ALL);

/// Formats 7 to 11.
static BY_NUMBER_7: AllocatorTable = table(&[
    A::Malloc,
    A::Free,
    A::Calloc,
    A::Realloc,
    A::PosixMemalign,
    A::AlignedAlloc,
    A::Memalign,
    A::Valloc,
    A::Pvalloc,
    A::Mmap,
    A::Munmap,
    A::PymallocMalloc,
    A::PymallocCalloc,
    A::PymallocRealloc,
    A::PymallocFree,
]);

/// Format 6, which knew neither `aligned_alloc` nor Python's allocators.
static BY_NUMBER_6: AllocatorTable = table(&[
    A::Malloc,
    A::Free,
    A::Calloc,
    A::Realloc,
    A::PosixMemalign,
    A::Memalign,
    A::Valloc,
    A::Pvalloc,
    A::Mmap,
    A::Munmap,
]);

/// Numbers count from 1.
#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated when compiling"
)]
const fn table(allocators: &[A]) -> AllocatorTable {
    let mut table = [None; 16];
    let mut index = 0;
    while index < allocators.len() {
        table[index + 1] = Some(allocators[index]);
        index += 1;
    }
    table
}

impl Allocator {
    /// Every allocator, in the order of its number.
    pub const ALL: [Self; 15] = [
        A::PymallocFree,
        A::PymallocMalloc,
        A::PymallocCalloc,
        A::PymallocRealloc,
        A::Free,
        A::Malloc,
        A::Realloc,
        A::Calloc,
        A::PosixMemalign,
        A::AlignedAlloc,
        A::Memalign,
        A::Valloc,
        A::Pvalloc,
        A::Mmap,
        A::Munmap,
    ];

    /// What the numbers in captures of `version` stand for.
    pub(crate) fn table(version: Version) -> &'static AllocatorTable {
        match version.number() {
            ..=6 => &BY_NUMBER_6,
            7..=11 => &BY_NUMBER_7,
            _ => &BY_NUMBER_12,
        }
    }

    /// The number that captures of `version` have for this allocator, if that version knew it.
    #[must_use]
    pub fn number(self, version: Version) -> Option<u8> {
        let index = Self::table(version).iter().position(|&a| a == Some(self))?;
        u8::try_from(index).ok()
    }

    /// What a record of this allocator does.
    #[inline]
    #[must_use]
    pub fn kind(self) -> AllocatorKind {
        match self {
            A::PymallocFree | A::Free => AllocatorKind::Deallocation,
            A::Mmap => AllocatorKind::RangedAllocation,
            A::Munmap => AllocatorKind::RangedDeallocation,
            _ => AllocatorKind::Allocation,
        }
    }

    /// Whether its records carry a size: all but the simple deallocations.
    #[inline]
    pub(crate) fn has_size(self) -> bool {
        self.kind() != AllocatorKind::Deallocation
    }

    /// The name that memray gives it, in capitals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            A::PymallocFree => "PYMALLOC_FREE",
            A::PymallocMalloc => "PYMALLOC_MALLOC",
            A::PymallocCalloc => "PYMALLOC_CALLOC",
            A::PymallocRealloc => "PYMALLOC_REALLOC",
            A::Free => "FREE",
            A::Malloc => "MALLOC",
            A::Realloc => "REALLOC",
            A::Calloc => "CALLOC",
            A::PosixMemalign => "POSIX_MEMALIGN",
            A::AlignedAlloc => "ALIGNED_ALLOC",
            A::Memalign => "MEMALIGN",
            A::Valloc => "VALLOC",
            A::Pvalloc => "PVALLOC",
            A::Mmap => "MMAP",
            A::Munmap => "MUNMAP",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_each_version() {
        let number = |a: Allocator| {
            [6, 7, 11, 12, 13].map(|v| a.number(Version::new(v).unwrap()).unwrap_or(0))
        };
        assert_eq!(number(A::Malloc), [1, 1, 1, 6, 6]);
        assert_eq!(number(A::Free), [2, 2, 2, 5, 5]);
        assert_eq!(number(A::AlignedAlloc), [0, 6, 6, 10, 10]);
        assert_eq!(number(A::Mmap), [9, 10, 10, 14, 14]);
        assert_eq!(number(A::PymallocFree), [0, 15, 15, 1, 1]);
    }

    #[test]
    fn numbers_and_allocators_are_inverse() {
        for version in (6..=13).map(|v| Version::new(v).unwrap()) {
            for (number, allocator) in (0..).zip(Allocator::table(version)) {
                assert!(allocator.is_none_or(|a| a.number(version) == Some(number)));
            }
        }
        assert!(A::ALL.iter().zip(1..).all(|(&a, n)| a as u8 == n));
    }
}
