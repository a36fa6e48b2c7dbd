//! Compares our exports with what memray says of the same capture, figure by figure.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// How a figure of ours differs from memray's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Not at all.
    None,
    /// The same but for the lines of frames.
    Lines,
    /// Other bytes, the same numbers of allocations.
    Bytes,
    /// Other numbers of allocations, the same bytes.
    Allocations,
    /// The same but for numbers of threads, which have a sign in one.
    Threads,
    /// In more than one of these, or in something else.
    Other,
}

/// A figure by its name, and how ours differs.
pub(crate) type Compared = (String, Difference);

/// Sections with sums by location; those of the last two are over time.
pub(crate) const SECTIONS: [&str; 6] = [
    "high_water_mark",
    "leaks",
    "temporary_0",
    "temporary_1",
    "temporal_high_water_mark",
    "temporal_leaks",
];
/// Facts of the header that are kept as they are.
const METADATA: [&str; 8] = [
    "command_line",
    "pid",
    "main_thread_id",
    "python_allocator",
    "has_native_traces",
    "trace_python_allocators",
    "start_time_ms",
    "total_allocations",
];
const STATS: [&str; 5] = [
    "total_num_allocations",
    "total_memory_allocated",
    "peak_memory_allocated",
    "allocation_count_by_size",
    "allocation_count_by_allocator",
];

/// Compares all figures that memray has with those of our JSON export.
pub(crate) fn compare(memray: &Value, ours: &Value) -> Vec<Compared> {
    let mut compared = Vec::new();
    let mut plain = |name: String, memray: &Value, ours: &Value| {
        if !memray.is_null() {
            compared.push((name, difference(memray == ours)));
        }
    };
    let peak = |document: &Value| document["metadata"]["peak_memory"].clone();
    plain("peak".to_owned(), &peak(memray), &peak(ours));
    plain(
        "snapshots".to_owned(),
        &memray["snapshots"],
        &without_unknown_heap(&memray["snapshots"], &ours["snapshots"]),
    );
    for (section, keys) in [("metadata", &METADATA[..]), ("stats", &STATS[..])] {
        for key in keys {
            // memray gives the number of rows; records are not counted in such a file.
            if *key == "total_allocations" && is_aggregated(ours) {
                continue;
            }
            let name = format!("{section}.{key}");
            plain(name, &memray[section][key], &ours[section][key]);
        }
    }
    // memray's last entry is often wrong, and entries after the last allocation are missing.
    let peaks = slice_peaks(memray);
    if let Some((_, peaks)) = peaks.split_last() {
        let ours = slice_peaks(ours);
        let equal = ours.get(..peaks.len()) == Some(peaks);
        compared.push(("slice_peaks".to_owned(), difference(equal)));
    }
    for section in SECTIONS {
        if memray[section]["by_thread"].is_null() {
            continue;
        }
        for part in ["merged", "by_thread"] {
            let figure = Section { section, part };
            compared.push((format!("{section}.{part}"), figure.compare(memray, ours)));
        }
    }
    compared
}

fn is_aggregated(document: &Value) -> bool {
    document["metadata"]["file_format"] == "AGGREGATED_ALLOCATIONS"
}

/// Whether a section's rows by thread, added up, are its merged rows.
pub(crate) fn threads_add_up(document: &Value, section: &str) -> bool {
    let part = "merged";
    Section { section, part }.compare(document, document) == Difference::None
}

/// Peaks of all slices.
/// Our snapshots without the heap, where memray's have none (before 1.2).
fn without_unknown_heap(memray: &Value, ours: &Value) -> Value {
    let mut ours = ours.clone();
    let pairs = ours
        .as_array_mut()
        .into_iter()
        .flatten()
        .zip(memray.as_array().into_iter().flatten());
    for (ours, _) in pairs.filter(|(_, memray)| memray[2].is_null()) {
        ours[2] = Value::Null;
    }
    ours
}

pub(crate) fn slice_peaks(document: &Value) -> &[Value] {
    let part = &document["temporal_high_water_mark"]["by_thread"];
    let peaks = part["high_water_mark_by_snapshot"].as_array();
    peaks.map_or(&[], Vec::as_slice)
}

fn difference(equal: bool) -> Difference {
    if equal {
        Difference::None
    } else {
        Difference::Other
    }
}

/// A part of a section of both documents.
struct Section<'a> {
    section: &'a str,
    part: &'a str,
}

/// What rows are told apart by: thread, allocator, stack, and the two slices of an interval.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    thread: Option<i128>,
    allocator: Option<String>,
    stack: usize,
    from: Option<u64>,
    to: Option<u64>,
}

/// Bytes and allocations by key; no key has neither.
type Sums = BTreeMap<Key, (i128, i128)>;

impl Section<'_> {
    fn compare(&self, memray: &Value, ours: &Value) -> Difference {
        let mut stacks = Stacks::new(true);
        let theirs = self.sums(memray, &mut stacks, true);
        let own = self.sums(ours, &mut stacks, false);
        let kept = |sums: &Sums, what: fn(&(i128, i128)) -> i128| -> BTreeMap<Key, i128> {
            let kept = sums.iter().map(|(key, value)| (key.clone(), what(value)));
            kept.filter(|(_, value)| *value != 0).collect()
        };
        let equal = |what| kept(&theirs, what) == kept(&own, what);
        match (equal(|sum| sum.0), equal(|sum| sum.1)) {
            (true, true) => Difference::None,
            (true, false) => Difference::Allocations,
            (false, true) => Difference::Bytes,
            (false, false) => {
                let mut stacks = Stacks::new(false);
                let lineless = self.sums(memray, &mut stacks, true);
                if lineless == self.sums(ours, &mut stacks, false) {
                    Difference::Lines
                } else if with_signed_threads(theirs) == with_signed_threads(own) {
                    Difference::Threads
                } else {
                    Difference::Other
                }
            }
        }
    }

    /// The rows added up by key. memray's merged part is derived from its rows by thread: its own
    /// merging is faulty.
    fn sums(&self, document: &Value, stacks: &mut Stacks, derive: bool) -> Sums {
        let numbers = stacks.numbers(document);
        let n_snapshots = document["snapshots"].as_array().unwrap().len() as u64;
        let part = if derive { "by_thread" } else { self.part };
        let mut sums = Sums::new();
        for row in document[self.section][part]["rows"].as_array().unwrap() {
            let merged = self.part == "merged";
            let mut key = Key {
                thread: (!merged).then(|| integer(&row[0])),
                allocator: None,
                stack: numbers[index(&row[2])],
                from: None,
                to: None,
            };
            let Some(intervals) = row[4].as_array() else {
                add(&mut sums, key, integer(&row[4]), integer(&row[5]));
                continue;
            };
            key.allocator = Some(row[1].as_str().unwrap().to_owned());
            for interval in intervals {
                let (from, to) = (interval[0].as_u64(), interval[1].as_u64());
                let (allocations, bytes) = (integer(&interval[2]), integer(&interval[3]));
                if self.section == "temporal_leaks" {
                    let key = Key {
                        from,
                        to,
                        ..key.clone()
                    };
                    add(&mut sums, key, bytes, allocations);
                    continue;
                }
                // Intervals are cut differently: what counts is the change with each slice. memray
                // has one step after the last slice.
                for (at, sign) in [(from, 1), (to, -1)] {
                    if at.is_some_and(|at| at <= n_snapshots) {
                        let key = Key {
                            from: at,
                            ..key.clone()
                        };
                        add(&mut sums, key, sign * bytes, sign * allocations);
                    }
                }
            }
        }
        sums.retain(|_, sum| *sum != (0, 0));
        sums
    }
}

fn add(sums: &mut Sums, key: Key, bytes: i128, allocations: i128) {
    let sum = sums.entry(key).or_default();
    sum.0 += bytes;
    sum.1 += allocations;
}

/// The same with threads numbered as memray does in places: as if the 64 bits had a sign.
fn with_signed_threads(sums: Sums) -> Sums {
    let signed = |thread| u64::try_from(thread).map_or(thread, |id| id.cast_signed().into());
    sums.into_iter()
        .map(|(key, sum)| {
            let thread = key.thread.map(signed);
            (Key { thread, ..key }, sum)
        })
        .collect()
}

/// A number of any sign, up to 64 bits.
pub(crate) fn integer(value: &Value) -> i128 {
    let signed = value.as_i64().map(i128::from);
    signed.or_else(|| value.as_u64().map(i128::from)).unwrap()
}

pub(crate) fn index(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Numbers of stacks that are the same in all documents.
struct Stacks {
    with_lines: bool,
    frames: HashMap<(String, String, i64), usize>,
    stacks: HashMap<Vec<usize>, usize>,
}

impl Stacks {
    fn new(with_lines: bool) -> Self {
        Self {
            with_lines,
            frames: HashMap::new(),
            stacks: HashMap::new(),
        }
    }

    fn frame(&mut self, function: &str, file: &str, line: i64) -> usize {
        let line = if self.with_lines { line } else { 0 };
        let number = self.frames.len();
        let frame = (function.to_owned(), file.to_owned(), line);
        *self.frames.entry(frame).or_insert(number)
    }

    fn stack(&mut self, frames: Vec<usize>) -> usize {
        let number = self.stacks.len();
        *self.stacks.entry(frames).or_insert(number)
    }

    /// The number of each stack of a document, in its order.
    fn numbers(&mut self, document: &Value) -> Vec<usize> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        // Native frames without symbols are not in memray's Python stacks.
        let frames: Vec<Option<usize>> = document["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|frame| {
                let (function, file) = (text(&frame[0]), text(&frame[1]));
                let is_python = !function.contains("+0x");
                is_python.then(|| self.frame(&function, &file, frame[2].as_i64().unwrap()))
            })
            .collect();
        let stacks = document["stacks"].as_array().unwrap().iter();
        stacks
            .map(|stack| {
                let stack = stack.as_array().unwrap().iter();
                self.stack(stack.filter_map(|frame| frames[index(frame)]).collect())
            })
            .collect()
    }

    /// Stack and weight of each sample of a speedscope profile, in its order.
    fn samples(&mut self, document: &Value, profile: &str) -> Vec<(usize, u64)> {
        let frames: Vec<usize> = document["shared"]["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|frame| {
                let file = frame["file"].as_str().unwrap_or_default();
                let line = frame["line"].as_i64().unwrap_or_default();
                self.frame(frame["name"].as_str().unwrap(), file, line)
            })
            .collect();
        let profiles = document["profiles"].as_array().unwrap();
        // A name of ours says, after what the profile is of, what is not in it.
        let named = |name: &str| {
            let rest = name.strip_prefix(profile);
            rest.is_some_and(|rest| matches!(rest.chars().next(), None | Some(')' | ';')))
        };
        let profile = profiles.iter().find(|p| named(p["name"].as_str().unwrap()));
        let profile = profile.unwrap();
        let samples = profile["samples"].as_array().unwrap();
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        samples
            .iter()
            .zip(weights)
            .map(|(sample, weight)| {
                let sample = sample.as_array().unwrap().iter();
                let stack = self.stack(sample.map(|frame| frames[index(frame)]).collect());
                (stack, weight.as_u64().unwrap())
            })
            .collect()
    }
}

/// Compares the fields of memray's statistics with ours, which list all locations and modules.
pub(crate) fn compare_stats(memray: &Value, ours: &Value) -> Vec<Compared> {
    let mut compared = Vec::new();
    for (key, value) in memray.as_object().unwrap() {
        let equal = match key.as_str() {
            "top_allocations_by_size" | "top_allocations_by_count" => {
                value.as_array().unwrap()[..] == first(&ours[key], value)[..]
            }
            "top_modules_by_allocation_size" => same_top(value, &ours[key], "total_bytes"),
            "top_modules_by_allocation_count" => same_top(value, &ours[key], "num_allocations"),
            "metadata" => continue,
            _ => *value == ours[key],
        };
        compared.push((format!("stats --json.{key}"), difference(equal)));
    }
    let metadata = memray["metadata"].as_object().unwrap();
    // memray does not count frames.
    let fields = metadata.iter().filter(|(key, _)| *key != "total_frames");
    compared.extend(fields.map(|(key, value)| {
        let equal = *value == ours["metadata"][key];
        (format!("stats --json.metadata.{key}"), difference(equal))
    }));
    compared
}

/// The first of a list of ours, as many as memray has.
fn first(ours: &Value, memray: &Value) -> Vec<Value> {
    let n = memray.as_array().unwrap().len();
    ours.as_array().unwrap().iter().take(n).cloned().collect()
}

/// Whether memray's list is the top of ours, where the order of equals, and which of them are in it, is
/// left to chance.
fn same_top(memray: &Value, ours: &Value, by: &str) -> bool {
    let numbers =
        |list: &[Value]| -> Vec<Value> { list.iter().map(|row| row[by].clone()).collect() };
    let (rows, all) = (memray.as_array().unwrap(), ours.as_array().unwrap());
    numbers(rows) == numbers(&first(ours, memray)) && rows.iter().all(|row| all.contains(row))
}

/// Compares memray's two speedscope profiles with ours of the peak.
pub(crate) fn compare_speedscope(memray: &Value, ours: &Value) -> Vec<Compared> {
    let pairs = [
        ("Memory", "Memory (peak"),
        ("Allocations", "Allocations (peak"),
    ];
    let compared = pairs.map(|(theirs, own)| {
        let differs = |with_lines| {
            let mut stacks = Stacks::new(with_lines);
            stacks.samples(memray, theirs) != stacks.samples(ours, own)
        };
        let difference = match (differs(true), theirs) {
            (false, _) => Difference::None,
            (true, _) if !differs(false) => Difference::Lines,
            _ => {
                let mut stacks = Stacks::new(true);
                let stack = |(stack, _): (usize, u64)| stack;
                let of =
                    |samples: Vec<(usize, u64)>| samples.into_iter().map(stack).collect::<Vec<_>>();
                let theirs_only = of(stacks.samples(memray, theirs));
                let same_stacks = theirs_only == of(stacks.samples(ours, own));
                match (same_stacks, theirs) {
                    (true, "Memory") => Difference::Bytes,
                    (true, _) => Difference::Allocations,
                    (false, _) => Difference::Other,
                }
            }
        };
        (format!("speedscope.{theirs}"), difference)
    });
    compared.into()
}

/// Compares memray's table of the peak with ours: stacks, bytes and allocations, in order. The allocator and
/// thread of a row that has several are left to chance in memray's.
pub(crate) fn compare_csv(memray: &str, ours: &str) -> Compared {
    let table = |text: &str| -> Vec<CsvRow> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        assert_eq!(
            reader.headers().unwrap(),
            &[
                "allocator",
                "num_allocations",
                "size",
                "tid",
                "thread_name",
                "stack_trace"
            ][..]
        );
        let rows = reader.records().map(|row| {
            let row = row.unwrap();
            let number = |i: usize| row[i].parse().unwrap();
            (row[5].to_owned(), number(2), number(1))
        });
        rows.collect()
    };
    let (memray, ours) = (table(memray), table(ours));
    let equal = |shown: fn(&CsvRow) -> CsvRow| {
        let shown = |rows: &[CsvRow]| rows.iter().map(shown).collect::<Vec<_>>();
        shown(&memray) == shown(&ours)
    };
    let difference = if memray == ours {
        Difference::None
    } else if equal(|(stack, bytes, _)| (stack.clone(), *bytes, 0)) {
        Difference::Allocations
    } else if equal(|(stack, _, allocations)| (stack.clone(), 0, *allocations)) {
        Difference::Bytes
    } else if equal(|(stack, bytes, allocations)| (without_lines(stack), *bytes, *allocations)) {
        Difference::Lines
    } else {
        Difference::Other
    };
    ("csv".to_owned(), difference)
}

/// Stack, bytes, allocations.
type CsvRow = (String, u64, u64);

fn without_lines(stack: &str) -> String {
    let frames = stack.split('|');
    let frames = frames.map(|frame| frame.rsplit_once(';').map_or(frame, |(name, _)| name));
    frames.collect::<Vec<_>>().join("|")
}

/// Compares memray's call chains of the peak with ours, in order.
pub(crate) fn compare_gprof2dot(memray: &Value, ours: &Value) -> Compared {
    for key in ["version", "costs"] {
        assert_eq!(memray[key], ours[key]);
    }
    let (chains, costs) = chains(memray);
    let (own_chains, own_costs) = self::chains(ours);
    let difference = match (chains == own_chains, costs == own_costs) {
        (true, true) => Difference::None,
        (true, false) => Difference::Bytes,
        (false, _) => Difference::Other,
    };
    ("gprof2dot".to_owned(), difference)
}

/// The functions of each event of a gprof2dot file, by name and module, and each event's cost.
pub(crate) fn chains(document: &Value) -> (Vec<Vec<[&str; 2]>>, Vec<u64>) {
    let function = |number: &Value| {
        let function = &document["functions"][index(number)];
        ["name", "module"].map(|key| function[key].as_str().unwrap())
    };
    let events = document["events"].as_array().unwrap().iter();
    let events = events.map(|event| {
        let chain = event["callchain"].as_array().unwrap().iter();
        let cost = event["cost"].as_array().unwrap();
        assert_eq!(cost.len(), 1);
        (chain.map(function).collect(), cost[0].as_u64().unwrap())
    });
    events.unzip()
}
