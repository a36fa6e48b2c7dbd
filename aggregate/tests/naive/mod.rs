//! What a capture means, by the rules and without regard to time: every state of the heap is kept
//! whole, mappings are bytes, and all figures are read off the states.

use std::collections::BTreeMap;

use memreport_aggregate::ingest::capture::{Allocator, AllocatorKind};
use memreport_aggregate::ingest::{LocationId, Tally};
use memreport_aggregate::{Interval, NEVER, SliceRange, Slices, ViewRow};

use crate::script::{MAIN_THREAD, Op, Script};

/// What identifies a location in the capture.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    thread: u64,
    frames: Vec<usize>,
    native_id: u64,
    generation: u32,
    allocator: Allocator,
}

/// A location as reports show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NaiveLocation {
    pub(crate) thread: u64,
    /// Frames by number, outermost first, without hidden ones.
    pub(crate) frames: Vec<usize>,
    /// Number of its stack, counted by native stack and memory map too.
    pub(crate) stack: usize,
    pub(crate) allocator: Allocator,
    pub(crate) first_sequence: u64,
}

/// What is left of a block or mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    location: usize,
    bytes: u64,
}

/// What is live, by the sequence number of its allocation.
type State = BTreeMap<u64, Held>;

/// A run replayed.
#[derive(Debug)]
pub(crate) struct Naive {
    pub(crate) locations: Vec<NaiveLocation>,
    /// Threads by their first appearance, each with its last name.
    pub(crate) threads: Vec<(u64, &'static str)>,
    pub(crate) made: Vec<Tally>,
    pub(crate) sizes: BTreeMap<u64, u64>,
    /// By threshold, 0 and 1, then by location.
    pub(crate) temporaries: [Vec<Tally>; 2],
    pub(crate) implicit_frees: u64,
    pub(crate) implicit_unmaps: u64,
    pub(crate) unknown_deallocations: u64,
    /// State i is that after i events.
    states: Vec<State>,
    /// Time, RSS, and number of events before it.
    snapshots: Vec<(u64, u64, usize)>,
}

/// A recent allocation of a thread: address, size, location.
type Recent = (u64, u64, usize);

/// The replay under way.
struct Replay<'a> {
    script: &'a Script,
    naive: Naive,
    keys: Vec<Key>,
    stacks: Vec<(Vec<usize>, u64, u32)>,
    current: u64,
    frames: BTreeMap<u64, Vec<usize>>,
    generation: u32,
    /// Newest first, by thread.
    recent: BTreeMap<u64, Vec<Recent>>,
    /// Sequence numbers of live blocks by address, and of mappings by the address of each byte.
    blocks: BTreeMap<u64, u64>,
    bytes: BTreeMap<u64, u64>,
    state: State,
}

impl Naive {
    pub(crate) fn new(script: &Script) -> Self {
        let mut replay = Replay {
            script,
            naive: Self {
                locations: Vec::new(),
                threads: Vec::new(),
                made: Vec::new(),
                sizes: BTreeMap::new(),
                temporaries: [Vec::new(), Vec::new()],
                implicit_frees: 0,
                implicit_unmaps: 0,
                unknown_deallocations: 0,
                states: vec![State::new()],
                snapshots: Vec::new(),
            },
            keys: Vec::new(),
            stacks: Vec::new(),
            current: 0,
            frames: BTreeMap::new(),
            generation: 0,
            recent: BTreeMap::new(),
            blocks: BTreeMap::new(),
            bytes: BTreeMap::new(),
            state: State::new(),
        };
        for op in &script.ops {
            replay.step(op);
        }
        replay.naive
    }

    /// The same run with every so-many-th snapshot, the first among them.
    pub(crate) fn thinned(mut self, stride: usize) -> Self {
        self.snapshots = self.snapshots.into_iter().step_by(stride).collect();
        self
    }

    pub(crate) fn n_snapshots(&self) -> usize {
        self.snapshots.len()
    }

    pub(crate) fn n_events(&self) -> usize {
        self.states.len() - 1
    }

    fn n_slices(&self) -> usize {
        self.snapshots.len() + 1
    }

    /// Number of events before the slice, and before its end.
    fn bounds(&self, slice: usize) -> (usize, usize) {
        let at = |snapshot: usize| self.snapshots.get(snapshot).map(|&(_, _, at)| at);
        let start = slice.checked_sub(1).and_then(at).unwrap_or(0);
        (start, at(slice).unwrap_or(self.n_events()))
    }

    fn heap(&self, moment: usize) -> u64 {
        self.states[moment].values().map(|held| held.bytes).sum()
    }

    /// The latest of the moments in the slice at which the heap is highest.
    fn moment(&self, slice: usize) -> usize {
        let (start, end) = self.bounds(slice);
        (start..=end)
            .max_by_key(|&moment| (self.heap(moment), moment))
            .expect("a slice has a first state")
    }

    pub(crate) fn slices(&self) -> Slices {
        let all = || 0..self.n_slices();
        let moments = all().map(|slice| self.moment(slice));
        Slices {
            times_ms: self.snapshots.iter().map(|&(time, _, _)| time).collect(),
            rss: self.snapshots.iter().map(|&(_, rss, _)| rss).collect(),
            heap: all().map(|slice| self.heap(self.bounds(slice).1)).collect(),
            peaks: moments.clone().map(|moment| self.heap(moment)).collect(),
            moments: moments.map(|moment| moment as u64).collect(),
            ends: all().map(|slice| self.bounds(slice).1 as u64).collect(),
        }
    }

    /// What is live at the moment, of what was allocated from event `since` on, by location.
    fn rows(&self, moment: usize, since: usize) -> Vec<ViewRow> {
        let mut rows: BTreeMap<usize, ViewRow> = BTreeMap::new();
        for (&sequence, held) in self.states[moment].range(since as u64..) {
            let row = rows.entry(held.location).or_insert(ViewRow {
                location: location_id(held.location),
                tally: Tally::default(),
                first_sequence: sequence,
            });
            row.tally.add(held.bytes);
        }
        let mut rows: Vec<ViewRow> = rows.into_values().collect();
        rows.sort_by_key(|row| row.first_sequence);
        rows
    }

    /// The slice in the range with the highest peak; of several the one with the latest moment; of
    /// those the first.
    pub(crate) fn peak_slice(&self, range: SliceRange) -> usize {
        let rank = |&slice: &usize| {
            let moment = self.moment(slice);
            (self.heap(moment), moment, std::cmp::Reverse(slice))
        };
        let slice = (range.first..=range.last).max_by_key(rank);
        slice.expect("a range has a slice")
    }

    /// What is live when the heap is highest in the range.
    pub(crate) fn peak(&self, range: SliceRange) -> Vec<ViewRow> {
        self.rows(self.moment(self.peak_slice(range)), 0)
    }

    /// What is allocated in the range and live at its end.
    pub(crate) fn leaks(&self, range: SliceRange) -> Vec<ViewRow> {
        self.rows(self.bounds(range.last).1, self.bounds(range.first).0)
    }

    pub(crate) fn temporary(&self, threshold: usize) -> Vec<ViewRow> {
        let tallies = self.temporaries[threshold].iter();
        tallies
            .zip(&self.locations)
            .enumerate()
            .filter(|(_, (tally, _))| **tally != Tally::default())
            .map(|(location, (&tally, of))| ViewRow {
                location: location_id(location),
                tally,
                first_sequence: of.first_sequence,
            })
            .collect()
    }

    /// The interval table: what each event takes from the state before it ends there.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let mut rows: BTreeMap<(u32, usize, u32), (Tally, u64)> = BTreeMap::new();
        let mut add = |birth: u64, location: usize, end: u32, bytes: u64, gone: bool| {
            let start = self.tick(birth);
            if start == end {
                return;
            }
            let (tally, first) = rows.entry((start, location, end)).or_default();
            *first = if *tally == Tally::default() {
                birth
            } else {
                birth.min(*first)
            };
            tally.bytes += bytes;
            tally.allocations += u64::from(gone);
        };
        for (event, pair) in (0..).zip(self.states.windows(2)) {
            for (&birth, held) in &pair[0] {
                let left = pair[1].get(&birth);
                if left != Some(held) {
                    let bytes = held.bytes - left.map_or(0, |left| left.bytes);
                    add(
                        birth,
                        held.location,
                        self.tick(event),
                        bytes,
                        left.is_none(),
                    );
                }
            }
        }
        for (&birth, held) in self.states.last().expect("there is a first state") {
            add(birth, held.location, NEVER, held.bytes, true);
        }
        rows.into_iter()
            .map(
                |((start, location, end), (tally, first_sequence))| Interval {
                    start,
                    location: location_id(location),
                    end,
                    allocations: u32::try_from(tally.allocations).expect("few allocations"),
                    bytes: tally.bytes,
                    first_sequence,
                },
            )
            .collect()
    }

    /// Twice the event's slice, and one more after the slice's peak.
    fn tick(&self, event: u64) -> u32 {
        let event = usize::try_from(event).expect("few events");
        let slice = (0..self.n_slices())
            .find(|&slice| event < self.bounds(slice).1)
            .expect("every event is in a slice");
        let tick = 2 * slice + usize::from(event >= self.moment(slice));
        u32::try_from(tick).expect("few slices")
    }
}

impl Replay<'_> {
    fn step(&mut self, op: &Op) {
        match *op {
            Op::Switch(thread) => {
                self.current = thread;
                if self.naive.threads.iter().all(|&(id, _)| id != thread) {
                    self.naive.threads.push((thread, ""));
                }
            }
            Op::Name(name) => {
                let current = self.current;
                let mut threads = self.naive.threads.iter_mut();
                if let Some((_, of)) = threads.find(|(id, _)| *id == current) {
                    *of = name;
                }
            }
            Op::Push(frame) => self.frames.entry(self.current).or_default().push(frame),
            Op::Pop(count) => {
                let frames = self.frames.entry(self.current).or_default();
                (0..count).for_each(|_| {
                    frames.pop();
                });
            }
            Op::MapImages => self.generation += u32::from(self.script.native_traces),
            Op::Snapshot { time_ms, rss } => {
                self.naive
                    .snapshots
                    .push((time_ms, rss, self.naive.n_events()));
            }
            Op::Call {
                allocator,
                address,
                size,
                native_id,
            } => {
                self.call(allocator, address, size, native_id);
                self.naive.states.push(self.state.clone());
            }
        }
    }

    fn call(&mut self, allocator: Allocator, address: u64, size: u64, native_id: u64) {
        let sequence = self.naive.n_events() as u64;
        match allocator.kind() {
            AllocatorKind::Allocation if address == 0 => {}
            AllocatorKind::Allocation => {
                let location = self.allocated(allocator, address, size, native_id);
                self.naive.implicit_frees += u64::from(self.free(address));
                self.blocks.insert(address, sequence);
                let bytes = size;
                self.state.insert(sequence, Held { location, bytes });
            }
            AllocatorKind::Deallocation => {
                self.deallocated(address, None);
                let known = self.free(address) || address == 0;
                self.naive.unknown_deallocations += u64::from(!known);
            }
            AllocatorKind::RangedAllocation if address == u64::MAX => {}
            AllocatorKind::RangedAllocation => {
                let location = self.allocated(allocator, address, size, native_id);
                self.naive.implicit_unmaps += u64::from(self.unmap(address, size));
                self.bytes
                    .extend((address..address + size).map(|byte| (byte, sequence)));
                if size > 0 {
                    let bytes = size;
                    self.state.insert(sequence, Held { location, bytes });
                }
            }
            AllocatorKind::RangedDeallocation => {
                self.deallocated(address, Some(size));
                let known = self.unmap(address, size) || size == 0;
                self.naive.unknown_deallocations += u64::from(!known);
            }
        }
    }

    /// Notes an allocation that did not fail, and returns its location.
    fn allocated(
        &mut self,
        allocator: Allocator,
        address: u64,
        size: u64,
        native_id: u64,
    ) -> usize {
        let location = self.location(allocator, native_id);
        self.naive.made[location].add(size);
        *self.naive.sizes.entry(size).or_default() += 1;
        let recent = self.recent.entry(self.current).or_default();
        recent.insert(0, (address, size, location));
        location
    }

    fn location(&mut self, allocator: Allocator, native_id: u64) -> usize {
        let key = Key {
            thread: self.current,
            frames: self.frames.get(&self.current).cloned().unwrap_or_default(),
            native_id,
            generation: self.generation,
            allocator,
        };
        if let Some(known) = self.keys.iter().position(|other| *other == key) {
            return known;
        }
        let hidden = if key.thread == MAIN_THREAD {
            usize::try_from(self.script.hidden_frames).expect("few frames")
        } else {
            0
        };
        let stack = (key.frames.clone(), key.native_id, key.generation);
        let known_stack = self.stacks.iter().position(|other| *other == stack);
        self.naive.locations.push(NaiveLocation {
            thread: key.thread,
            frames: key.frames.iter().skip(hidden).copied().collect(),
            stack: known_stack.unwrap_or(self.stacks.len()),
            allocator,
            first_sequence: self.naive.n_events() as u64,
        });
        if known_stack.is_none() {
            self.stacks.push(stack);
        }
        self.keys.push(key);
        self.naive.made.push(Tally::default());
        for tallies in &mut self.naive.temporaries {
            tallies.push(Tally::default());
        }
        self.keys.len() - 1
    }

    /// Looks for a temporary allocation that ends here.
    fn deallocated(&mut self, address: u64, length: Option<u64>) {
        let recent = self.recent.entry(self.current).or_default();
        for (threshold, tallies) in self.naive.temporaries.iter_mut().enumerate() {
            let found = recent.iter().take(threshold + 1).find(|&&(at, size, _)| {
                at == address && length.is_none_or(|length| length == size)
            });
            if let Some(&(_, size, location)) = found {
                tallies[location].add(size);
            }
        }
    }

    /// Removes the block at the address, if there is one.
    fn free(&mut self, address: u64) -> bool {
        let block = self.blocks.remove(&address);
        block.is_some_and(|sequence| self.state.remove(&sequence).is_some())
    }

    /// Removes what is mapped in the range, byte by byte, and says whether that was anything.
    fn unmap(&mut self, address: u64, length: u64) -> bool {
        let mut any = false;
        for byte in address..address + length {
            let Some(sequence) = self.bytes.remove(&byte) else {
                continue;
            };
            any = true;
            let held = self.state.get_mut(&sequence).expect("a byte has an owner");
            held.bytes -= 1;
            if held.bytes == 0 {
                self.state.remove(&sequence);
            }
        }
        any
    }
}

fn location_id(location: usize) -> LocationId {
    LocationId::new(location).expect("few locations")
}
