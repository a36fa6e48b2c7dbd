//! Temporary allocations: freed by their own thread before it allocated much else.

use memreport_ingest::{LocationId, Tally, ThreadId};

/// Temporary allocations by location.
///
/// * Shape: a column for each number of allocations that the same thread made between the
///   allocation and its deallocation, 0 up to a threshold; columns end with the last location that
///   has any
/// * Source: `semantics.md`, section 4
#[derive(Debug, Clone, Default)]
pub struct Temporaries {
    /// The columns: by number of allocations in between, then by location.
    pub by_distance: Vec<Vec<Tally>>,
}

impl Temporaries {
    pub(crate) fn new(threshold: usize) -> Self {
        Self {
            by_distance: vec![Vec::new(); threshold.saturating_add(1)],
        }
    }

    #[inline]
    fn add(&mut self, found: Found) {
        let Some(column) = self.by_distance.get_mut(found.distance) else {
            return;
        };
        let index = found.location.index();
        if column.len() <= index {
            column.resize(index + 1, Tally::default());
        }
        if let Some(tally) = column.get_mut(index) {
            tally.add(found.size);
        }
    }

    /// The largest number of allocations in between that was looked at.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.by_distance.len().saturating_sub(1)
    }

    /// What `location` allocated and freed with at most `threshold` allocations in between.
    #[must_use]
    pub fn of(&self, location: LocationId, threshold: usize) -> Tally {
        let columns = self.by_distance.iter().take(threshold.saturating_add(1));
        let mut sum = Tally::default();
        for tally in columns.filter_map(|column| column.get(location.index())) {
            sum.add_all(*tally);
        }
        sum
    }
}

/// A temporary allocation, at the moment when it is freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    distance: usize,
    location: LocationId,
    size: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    address: u64,
    size: u64,
    location: LocationId,
}

/// Finds temporary allocations among the last ones of each thread.
#[derive(Debug)]
pub(crate) struct RecentTemporaries {
    pub(crate) found: Temporaries,
    /// By thread.
    recent: Vec<Recent>,
}

impl RecentTemporaries {
    pub(crate) fn new(threshold: usize) -> Self {
        Self {
            found: Temporaries::new(threshold),
            recent: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn allocated(
        &mut self,
        thread: ThreadId,
        address: u64,
        size: u64,
        location: LocationId,
    ) {
        if self.recent.len() <= thread.index() {
            self.add_thread(thread);
        }
        if let Some(recent) = self.recent.get_mut(thread.index()) {
            recent.push(address, size, location);
        }
    }

    /// `length` is that of a `munmap`.
    #[inline(always)]
    pub(crate) fn freed(&mut self, thread: ThreadId, address: u64, length: Option<u64>) {
        let recent = self.recent.get(thread.index());
        if let Some(found) = recent.and_then(|recent| recent.find(address, length)) {
            self.found.add(found);
        }
    }

    #[cold]
    fn add_thread(&mut self, thread: ThreadId) {
        let none = Recent::new(self.found.threshold());
        self.recent.resize_with(thread.index() + 1, || none.clone());
    }
}

/// The last allocations of a thread.
#[derive(Debug, Clone)]
struct Recent {
    /// A ring whose length is a power of two; an entry without location was never written.
    ring: Vec<Entry>,
    newest: usize,
    /// Entries that count, from the newest on.
    len: usize,
}

impl Recent {
    fn new(threshold: usize) -> Self {
        let len = threshold.saturating_add(1);
        let none = Entry {
            address: 0,
            size: 0,
            location: LocationId::NONE,
        };
        Self {
            ring: vec![none; len.next_power_of_two()],
            newest: 0,
            len,
        }
    }

    #[inline]
    fn push(&mut self, address: u64, size: u64, location: LocationId) {
        self.newest = self.place(usize::MAX);
        if let Some(entry) = self.ring.get_mut(self.newest) {
            *entry = Entry {
                address,
                size,
                location,
            };
        }
    }

    /// The newest of the last allocations at `address`; for a `munmap`, with the same length. It stays
    /// in the list, as memray leaves it: a second free of the same address finds it again.
    #[inline]
    fn find(&self, address: u64, length: Option<u64>) -> Option<Found> {
        for distance in 0..self.len {
            let entry = self.ring.get(self.place(distance))?;
            let same = entry.address == address && length.is_none_or(|length| length == entry.size);
            if same && entry.location != LocationId::NONE {
                return Some(Found {
                    distance,
                    location: entry.location,
                    size: entry.size,
                });
            }
        }
        None
    }

    /// Where the entry `distance` steps older than the newest is.
    #[inline]
    fn place(&self, distance: usize) -> usize {
        self.newest.wrapping_add(distance) & self.ring.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_match_counts_and_stays() {
        let mut recent = Recent::new(1);
        assert_eq!(recent.find(0, None), None, "nothing was allocated yet");
        recent.push(8, 100, LocationId(0));
        recent.push(16, 200, LocationId(1));
        let older = Found {
            distance: 1,
            location: LocationId(0),
            size: 100,
        };
        assert_eq!(recent.find(8, None), Some(older));
        assert_eq!(recent.find(8, None), Some(older));
        recent.push(8, 300, LocationId(2));
        assert_eq!(
            recent.find(8, None).map(|f| (f.distance, f.size)),
            Some((0, 300))
        );
        assert_eq!(recent.find(16, None).map(|f| f.distance), Some(1));
        assert_eq!(recent.find(8, Some(299)), None);
    }

    #[test]
    fn thresholds_add_up_from_zero() {
        let mut all = Temporaries::new(1);
        all.add(Found {
            distance: 0,
            location: LocationId(3),
            size: 5,
        });
        all.add(Found {
            distance: 1,
            location: LocationId(3),
            size: 7,
        });
        assert_eq!(
            all.of(LocationId(3), 0),
            Tally {
                allocations: 1,
                bytes: 5
            }
        );
        assert_eq!(
            all.of(LocationId(3), 1),
            Tally {
                allocations: 2,
                bytes: 12
            }
        );
        assert_eq!(all.of(LocationId(9), 1), Tally::default());
    }
}
