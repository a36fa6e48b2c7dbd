//! Views: what was live at a moment, or is left over from a range, by location.

use memreport_ingest::{LocationId, Tally};

use crate::interval_table::Interval;
use crate::profile::Profile;
use crate::slices::SliceRange;

/// Bytes and allocations by location.
///
/// * Shape: rows ordered by the first of their allocations, each location at most once
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    rows: Vec<ViewRow>,
}

/// What a view has of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewRow {
    /// The location.
    pub location: LocationId,
    /// Allocations and bytes. Not both are 0.
    pub tally: Tally,
    /// Sequence number of the first of these allocations.
    pub first_sequence: u64,
}

impl View {
    /// Adds up rows of the interval table.
    fn of<'a>(profile: &Profile, intervals: impl Iterator<Item = &'a Interval>) -> Self {
        let none = (Tally::default(), u64::MAX);
        let mut sums = vec![none; profile.locations.len()];
        for interval in intervals {
            if let Some((tally, first)) = sums.get_mut(interval.location.index()) {
                tally.allocations += u64::from(interval.allocations);
                tally.bytes += interval.bytes;
                *first = interval.first_sequence.min(*first);
            }
        }
        Self::ordered(
            (0..)
                .zip(sums)
                .map(|(location, (tally, first_sequence))| ViewRow {
                    location: LocationId(location),
                    tally,
                    first_sequence,
                }),
        )
    }

    fn ordered(rows: impl Iterator<Item = ViewRow>) -> Self {
        let mut rows: Vec<ViewRow> = rows.filter(|row| row.tally != Tally::default()).collect();
        rows.sort_unstable_by_key(|row| row.first_sequence);
        Self { rows }
    }

    /// The moment of highest heap in `range`: what is live when the heap is at its peak there.
    #[must_use]
    pub fn peak(profile: &Profile, range: SliceRange) -> Self {
        let tick = even_tick(profile.slices.peak_slice(range));
        let started = profile.intervals.iter().take_while(|row| row.start <= tick);
        Self::of(profile, started.filter(|row| row.end > tick))
    }

    /// What was allocated in `range` and not freed by its end.
    #[must_use]
    pub fn leaks(profile: &Profile, range: SliceRange) -> Self {
        let (first, last) = (
            even_tick(range.first),
            even_tick(range.last).saturating_add(1),
        );
        let within = profile
            .intervals
            .iter()
            .filter(|row| (first..=last).contains(&row.start));
        Self::of(profile, within.filter(|row| row.end > last))
    }

    /// What was freed by its own thread with at most `threshold` allocations in between, in the order
    /// of the locations' first allocations.
    #[must_use]
    pub fn temporary(profile: &Profile, threshold: usize) -> Self {
        Self::ordered((0..).zip(&profile.locations).map(|(location, of)| ViewRow {
            location: LocationId(location),
            tally: profile.temporaries.of(LocationId(location), threshold),
            first_sequence: of.first_sequence,
        }))
    }

    /// All that was ever allocated, freed or not.
    #[must_use]
    pub fn made(profile: &Profile) -> Self {
        let locations = profile.locations.iter().zip(&profile.made);
        Self::ordered(
            (0..)
                .zip(locations)
                .map(|(location, (of, &tally))| ViewRow {
                    location: LocationId(location),
                    tally,
                    first_sequence: of.first_sequence,
                }),
        )
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[ViewRow] {
        &self.rows
    }

    /// The whole view.
    #[must_use]
    pub fn total(&self) -> Tally {
        self.rows.iter().fold(Tally::default(), |sum, row| Tally {
            allocations: sum.allocations + row.tally.allocations,
            bytes: sum.bytes + row.tally.bytes,
        })
    }
}

fn even_tick(slice: usize) -> u32 {
    u32::try_from(slice)
        .unwrap_or(u32::MAX / 2)
        .saturating_mul(2)
}
