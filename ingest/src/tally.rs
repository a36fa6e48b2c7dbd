//! Numbers of allocations.

/// Allocations and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Number of allocations.
    pub allocations: u64,
    /// Sum of their sizes.
    pub bytes: u64,
}

impl Tally {
    /// Adds one allocation of `bytes`.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.allocations = self.allocations.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }

    /// Adds others to these.
    #[inline]
    pub fn add_all(&mut self, others: Self) {
        self.allocations = self.allocations.wrapping_add(others.allocations);
        self.bytes = self.bytes.wrapping_add(others.bytes);
    }
}
