//! The values that records are coded against. They start at 0, live as long as the capture, and
//! are never reset. A parser changes them only once its whole record was there.

/// Recently written addresses that an allocation or object record may name by slot.
///
/// A first-in first-out list of 15; naming a slot does not move it.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressCache {
    slots: [u64; Self::LEN],
    /// Where slot 0 is; the slots after it follow, wrapping around.
    newest: usize,
}

impl AddressCache {
    /// Number of slots. One more stands for "not cached" in a record's four bits; a ring of the
    /// next power of two makes wrapping a mask.
    pub(crate) const SLOTS: u8 = 15;
    const LEN: usize = 16;
    const MASK: usize = Self::LEN - 1;

    #[inline]
    pub(crate) fn get(&self, slot: u8) -> u64 {
        let at = self.newest.wrapping_add(slot.into()) & Self::MASK;
        self.slots.get(at).copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn insert(&mut self, address: u64) {
        self.newest = self.newest.wrapping_sub(1) & Self::MASK;
        if let Some(slot) = self.slots.get_mut(self.newest) {
            *slot = address;
        }
    }

    /// The slot that holds `address`.
    pub(crate) fn find(&self, address: u64) -> Option<u8> {
        (0..Self::SLOTS).find(|&slot| self.get(slot) == address)
    }
}

/// Values of the last record that had each field. All wrap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deltas {
    /// Data pointer; divided by 8 in formats 12 and later.
    pub(crate) pointer: u64,
    pub(crate) instruction_pointer: u64,
    pub(crate) native_id: u64,
    /// Frame id, formats up to 11.
    pub(crate) frame_id: u64,
    /// Line of a frame (up to 11) or first line of a code object (from 12), wrapping in 32 bits.
    pub(crate) line: i32,
    /// Addresses, from format 12 on.
    pub(crate) addresses: AddressCache,
}

#[cfg(test)]
mod tests {
    use super::AddressCache;

    #[test]
    fn the_cache_is_a_queue_of_fifteen() {
        let mut cache = AddressCache::default();
        assert_eq!(cache.get(0), 0);
        (1..=20).for_each(|address| cache.insert(address));
        assert_eq!((cache.get(0), cache.get(14)), (20, 6));
        assert_eq!((cache.find(6), cache.find(5)), (Some(14), None));
        assert_eq!(cache.get(0), 20, "a hit moves nothing");
    }
}
