//! Arenas of Python's allocator, in captures that do not trace it.
//!
//! Small objects live in arenas, which are mapped as a whole and unmapped when no object is left in them. How many
//! there are at a moment depends on where objects came to lie, so that two runs of one program differ by some.

use memreport_ingest::capture::Allocator;

use crate::selection::Selected;

/// Sizes of an arena: from Python 3.10 on, and before.
const SIZES: [u64; 2] = [1 << 20, 256 << 10];

/// Arenas by which two runs differ by chance. Of runs of one program with threads, the same number of arenas was
/// seen in most, and up to two more in some.
const BY_CHANCE: u64 = 2;

/// The arenas in what is measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arenas {
    bytes: u64,
    /// Bytes of one.
    size: u64,
}

impl Arenas {
    /// Those of a selection; none if Python's allocator is traced, for its blocks are counted then, or is another.
    pub(super) fn of(selected: &Selected<'_>) -> Self {
        let metadata = &selected.profile().metadata;
        let is_traced = metadata.trace_python_allocators == Some(true);
        let mut arenas = Self::default();
        if is_traced || !metadata.python_allocator.starts_with("pymalloc") {
            return arenas;
        }
        for row in selected.rows() {
            let is_size =
                |size: &u64| size.checked_mul(row.tally.allocations) == Some(row.tally.bytes);
            let size = SIZES.into_iter().find(is_size);
            if let (Allocator::Mmap, Some(size)) = (row.allocator, size) {
                arenas.bytes = arenas.bytes.saturating_add(row.tally.bytes);
                arenas.size = arenas.size.max(size);
            }
        }
        arenas
    }

    /// Bytes that these are more than a baseline's, as far as that can be chance.
    pub(super) fn by_chance(self, base: Self) -> u64 {
        let size = self.size.max(base.size);
        let more = self.bytes.saturating_sub(base.bytes);
        more.min(size.saturating_mul(BY_CHANCE))
    }
}
