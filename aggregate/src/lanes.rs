//! Lanes: events divided by address, so that each part can be matched on its own.

use memreport_ingest::LocationId;

/// An allocation or deallocation of a single block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneEvent {
    pub(crate) address: u64,
    /// Bytes; 0 for deallocations.
    pub(crate) size: u64,
    /// Where it is allocated, or [`LocationId::NONE`]: a deallocation.
    pub(crate) location: LocationId,
    /// Index in the batch.
    pub(crate) index: u32,
}

/// A batch's events by lane.
///
/// * Order: of the capture for the events of one address. An allocation may come behind later events of
///   other addresses
#[derive(Debug)]
pub(crate) struct Lanes(pub(crate) Vec<Vec<LaneEvent>>);

impl Lanes {
    /// So many empty ones: a power of two.
    pub(crate) fn new(n: usize) -> Self {
        Self(vec![Vec::new(); n])
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, event: LaneEvent) {
        let lane = self.lane_of(event.address);
        if let Some(lane) = self.0.get_mut(lane) {
            lane.push(event);
        }
    }

    #[inline(always)]
    fn lane_of(&self, address: u64) -> usize {
        // Bits that are neither constant by alignment nor those that a table indexed by the top bits of
        // the same product would use.
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        usize::try_from(mixed & 0xffff).unwrap_or(0) & self.0.len().wrapping_sub(1)
    }

    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }
}
