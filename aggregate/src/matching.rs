//! Matches deallocations to allocations: lanes of addresses in parallel.

use std::sync::atomic::{AtomicI64, Ordering};

use memreport_ingest::{Batch, LocationId};
use rayon::prelude::*;

use crate::error::Error;
use crate::interval_table::{Interval, NEVER};
use crate::lanes::LaneEvent;
use crate::ledger::{Death, Ledger};
use crate::live::{Block, LiveMap};
use crate::ranges::Ranges;
use crate::sift::Sift;
use crate::slices::{Scan, Slices};
use crate::unknown_frees::{FreedWithin, UnknownFrees};

/// One lane: the live blocks whose addresses belong to it, and the rows of those that ended.
#[derive(Debug)]
pub(crate) struct Lane {
    live: LiveMap,
    ledger: Ledger,
    /// Allocations at an address that was still live.
    pub(crate) implicit_frees: u64,
    /// Deallocations of what was not live.
    pub(crate) unknown: u64,
    unknown_frees: UnknownFrees,
}

impl Lane {
    fn new() -> Self {
        Self {
            live: LiveMap::new(),
            ledger: Ledger::default(),
            implicit_frees: 0,
            unknown: 0,
            unknown_frees: UnknownFrees::default(),
        }
    }

    /// Applies a batch's events, and stores each one's change of the heap at its index.
    fn apply(&mut self, events: &[LaneEvent], first_sequence: u64, deltas: &[AtomicI64]) {
        let implicit_frees = self.implicit_frees;
        for event in events {
            let ended = if event.location == LocationId::NONE {
                let ended = self.live.remove(event.address);
                if ended.is_none() {
                    self.unknown += 1;
                    let sequence = first_sequence + u64::from(event.index);
                    self.unknown_frees.add(event.address, sequence);
                }
                ended
            } else {
                let sequence = first_sequence + u64::from(event.index);
                let block = Block {
                    size: event.size,
                    sequence,
                    location: event.location,
                };
                let ended = self.live.insert(event.address, block);
                self.implicit_frees += u64::from(ended.is_some());
                ended
            };
            let mut change = event.size.cast_signed();
            if let Some(block) = ended {
                change -= block.size.cast_signed();
                self.ledger.deaths.push(Death {
                    birth: block.sequence,
                    bytes: block.size,
                    location: block.location,
                    index: event.index,
                    allocations: 1,
                });
            }
            if let Some(delta) = deltas.get(event.index as usize) {
                delta.store(change, Ordering::Relaxed);
            }
        }
        if self.implicit_frees > implicit_frees {
            // Allocations may come behind later events of other addresses.
            self.ledger.deaths.sort_unstable_by_key(|death| death.index);
        }
    }
}

/// Matching as far as it has come: what is live, and what has ended.
#[derive(Debug)]
pub struct Matching {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) sift: Sift,
    pub(crate) ranges: Ranges,
    scan: Scan,
    /// Each event's change of the heap. Lanes write it in parallel, each its own events.
    deltas: Vec<AtomicI64>,
}

impl Matching {
    /// Nothing is live yet.
    ///
    /// * `n_lanes`: how many parts can be matched at once, a power of two
    /// * `temporary_threshold`: how many allocations of its thread may lie between a temporary allocation
    ///   and its end
    #[must_use]
    pub fn new(n_lanes: usize, temporary_threshold: usize) -> Self {
        let lanes = (0..n_lanes).map(|_| Lane::new()).collect();
        Self {
            lanes,
            sift: Sift::new(n_lanes, temporary_threshold),
            ranges: Ranges::default(),
            scan: Scan::default(),
            deltas: Vec::new(),
        }
    }

    /// Takes the next batch in, and finalises what it ends.
    ///
    /// # Errors
    /// [`Error`] if the heap would overflow.
    pub fn add(&mut self, batch: &Batch) -> Result<(), Error> {
        self.sift.add(batch, &mut self.deltas);
        let deltas = &self.deltas;
        let first = batch.first_sequence;
        self.lanes
            .par_iter_mut()
            .zip(self.sift.lanes.0.par_iter())
            .for_each(|(lane, events)| lane.apply(events, first, deltas));
        self.ranges.apply(&batch.ranged, first, deltas);

        let segments = self.scan.add(batch, deltas)?;
        let slices = &self.scan.slices;
        self.lanes
            .par_iter_mut()
            .for_each(|lane| lane.ledger.finalise(&segments, first, slices));
        self.sift.finalise(&segments, first, slices);
        self.ranges.ledger.finalise(&segments, first, slices);
        Ok(())
    }

    /// How many blocks are live to the end, though something within them was freed: none, unless
    /// addresses were damaged.
    pub(crate) fn freed_within(&self) -> u64 {
        let within = FreedWithin::new(self.lanes.iter().map(|lane| &lane.unknown_frees));
        if within.is_empty() {
            return 0;
        }
        let counts = self.lanes.par_iter().map(|lane| {
            let blocks = lane.live.blocks();
            let freed = blocks.filter(|(address, block)| within.is_within(*address, block));
            freed.count() as u64
        });
        counts.sum()
    }

    /// Ends the last slice. Returns the slices and all rows, what is live to the end among them; rows
    /// are not yet merged across lanes.
    pub(crate) fn finish(&mut self, n_events: u64) -> (Slices, Vec<Interval>) {
        let last = self.scan.finish(n_events);
        let slices = std::mem::take(&mut self.scan.slices);
        let mut rows = Vec::new();
        let never = |first_sequence, location, bytes| Interval {
            start: slices.tick_of(first_sequence),
            location,
            end: NEVER,
            allocations: 1,
            bytes,
            first_sequence,
        };
        for lane in &mut self.lanes {
            lane.ledger.finish(&last);
            rows.append(&mut lane.ledger.take_rows());
            rows.extend(
                lane.live
                    .blocks()
                    .map(|(_, b)| never(b.sequence, b.location, b.size)),
            );
        }
        for ledger in [&mut self.sift.ledger, &mut self.ranges.ledger] {
            ledger.finish(&last);
            rows.append(&mut ledger.take_rows());
        }
        rows.extend(
            self.ranges
                .live()
                .map(|(sequence, location, left)| never(sequence, location, left)),
        );
        (slices, rows)
    }
}
