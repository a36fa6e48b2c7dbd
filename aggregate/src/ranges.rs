//! Mapped ranges of addresses: mapped, unmapped in part, mapped over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};

use memreport_ingest::{LocationId, RangedEvent};

use crate::ledger::{Death, Ledger};

/// A mapping, of which some bytes are left.
#[derive(Debug, Clone, Copy)]
struct Mapping {
    sequence: u64,
    location: LocationId,
    /// Bytes left, in however many pieces.
    left: u64,
}

/// A stretch of addresses, from the key that it is found by up to `end`.
#[derive(Debug, Clone, Copy)]
struct Piece {
    end: u64,
    mapping: usize,
}

/// Live mapped ranges.
///
/// * Shape: disjoint pieces ordered by address, each of one mapping; an operation costs the logarithm
///   of their number, and a step for each piece that it removes
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    pieces: BTreeMap<u64, Piece>,
    mappings: Vec<Mapping>,
    /// Rows of `mappings` that are free.
    free: Vec<usize>,
    pub(crate) ledger: Ledger,
    /// Mappings over bytes that were still mapped.
    pub(crate) implicit_unmaps: u64,
    /// Unmappings that removed nothing.
    pub(crate) unknown: u64,
}

impl Ranges {
    /// Applies a batch's events, and stores each one's change of the heap at its index.
    pub(crate) fn apply(
        &mut self,
        events: &[RangedEvent],
        first_sequence: u64,
        deltas: &[AtomicI64],
    ) {
        for event in events {
            let removed = self.unmap(event);
            let mut change = removed.cast_signed().wrapping_neg();
            if event.location == LocationId::NONE {
                self.unknown += u64::from(removed == 0 && event.length > 0);
            } else {
                self.implicit_unmaps += u64::from(removed > 0);
                self.map(event, first_sequence + u64::from(event.index));
                change = change.wrapping_add(event.length.cast_signed());
            }
            if let Some(delta) = deltas.get(event.index as usize) {
                delta.store(change, Ordering::Relaxed);
            }
        }
    }

    fn map(&mut self, event: &RangedEvent, sequence: u64) {
        self.ledger.made(event.location, event.length);
        if event.length == 0 {
            return;
        }
        let mapping = Mapping {
            sequence,
            location: event.location,
            left: event.length,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.mappings[number] = mapping;
                number
            }
            None => {
                self.mappings.push(mapping);
                self.mappings.len() - 1
            }
        };
        let end = event.address + event.length;
        self.pieces.insert(
            event.address,
            Piece {
                end,
                mapping: number,
            },
        );
    }

    /// Removes a range of addresses, and returns how many bytes of it were mapped.
    fn unmap(&mut self, event: &RangedEvent) -> u64 {
        let (start, end) = (event.address, event.address + event.length);
        if start == end {
            return 0;
        }
        let mut removed = 0;
        if let Some((&at, &piece)) = self.pieces.range(..start).next_back()
            && piece.end > start
        {
            self.pieces.insert(
                at,
                Piece {
                    end: start,
                    ..piece
                },
            );
            self.pieces.insert(start, piece);
        }
        while let Some((&at, &piece)) = self.pieces.range(start..end).next() {
            self.pieces.remove(&at);
            if piece.end > end {
                self.pieces.insert(end, piece);
            }
            let bytes = piece.end.min(end) - at;
            removed += bytes;
            self.end_bytes(piece.mapping, bytes, event.index);
        }
        removed
    }

    fn end_bytes(&mut self, number: usize, bytes: u64, index: u32) {
        let mapping = &mut self.mappings[number];
        mapping.left -= bytes;
        let allocations = u32::from(mapping.left == 0);
        let death = Death {
            birth: mapping.sequence,
            bytes,
            location: mapping.location,
            index,
            allocations,
        };
        if mapping.left == 0 {
            self.free.push(number);
        }
        self.ledger.deaths.push(death);
    }

    /// What is left of each mapping: sequence number, location, bytes.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u64, LocationId, u64)> {
        self.mappings
            .iter()
            .filter(|m| m.left > 0)
            .map(|m| (m.sequence, m.location, m.left))
    }
}

#[cfg(test)]
mod tests {
    use memreport_ingest::ThreadId;

    use super::*;

    const UNMAP: LocationId = LocationId::NONE;

    /// Applies (address, length, location) triples; returns the changes of the heap.
    fn apply(ranges: &mut Ranges, events: &[(u64, u64, LocationId)]) -> Vec<i64> {
        let deltas: Vec<AtomicI64> = events.iter().map(|_| AtomicI64::new(0)).collect();
        let events: Vec<RangedEvent> = (0..)
            .zip(events)
            .map(|(index, &(address, length, location))| RangedEvent {
                address,
                length,
                location,
                thread: ThreadId::default(),
                index,
            })
            .collect();
        ranges.apply(&events, 0, &deltas);
        deltas.into_iter().map(AtomicI64::into_inner).collect()
    }

    #[test]
    fn an_unmapping_cuts_splits_and_spans() {
        let mut ranges = Ranges::default();
        let (a, b) = (LocationId(0), LocationId(1));
        let changes = apply(
            &mut ranges,
            &[
                (100, 100, a),
                (200, 50, b),
                (120, 10, UNMAP), // splits
                (190, 20, UNMAP), // across two mappings
                (0, 100, UNMAP),  // touches nothing
                (0, 1000, UNMAP), // all that is left, in three pieces
            ],
        );
        assert_eq!(changes, [100, 50, -10, -20, 0, -120]);
        let counted: u32 = ranges
            .ledger
            .deaths
            .iter()
            .map(|death| death.allocations)
            .sum();
        assert_eq!(counted, 2, "each mapping counts once, with its last byte");
        assert_eq!((ranges.live().count(), ranges.unknown), (0, 1));
    }

    #[test]
    fn mapping_over_a_mapping_replaces_those_bytes() {
        let mut ranges = Ranges::default();
        let changes = apply(
            &mut ranges,
            &[
                (0, 100, LocationId(0)),
                (50, 100, LocationId(1)),
                (10, 0, LocationId(2)),
            ],
        );
        assert_eq!(changes, [100, 50, 0]);
        assert_eq!(ranges.implicit_unmaps, 1);
        assert_eq!(ranges.live().map(|(_, _, left)| left).sum::<u64>(), 150);
        assert_eq!(
            ranges.ledger.made[2].allocations, 1,
            "a mapping of no bytes was made all the same"
        );
    }
}
