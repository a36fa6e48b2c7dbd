//! What is right where memray is wrong, and what holds in every capture.
//!
//! A test for each fault of memray that shows in the captures: the figures that follow from the
//! records themselves, beside memray's.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use memreport_aggregate::{Interval, NEVER, Options, Profile, View};
use memreport_ingest::{LocationId, Tally};
use serde_json::{Value, json};

use support::captures::Corpus;
use support::figures::{SECTIONS, index, integer, slice_peaks, threads_add_up};
use support::profiles::{
    aggregated_captures, assert_none, captures_of_events, json, profile, profile_in, report,
    speedscope, stack, stats, thinned,
};

fn oracle(name: &str) -> Value {
    Corpus::own().oracle(name)
}

fn memray_peaks(name: &str) -> Vec<u64> {
    let oracle = oracle(name);
    let peaks = slice_peaks(&oracle).iter();
    peaks.map(|peak| peak.as_u64().unwrap()).collect()
}

/// Bytes of a section's intervals in each slice, summed over its rows.
fn sums_by_slice(document: &Value, section: &str, n_slices: usize) -> Vec<i128> {
    let mut sums = vec![0; n_slices];
    for row in document[section]["by_thread"]["rows"].as_array().unwrap() {
        for interval in row[4].as_array().unwrap() {
            let end = interval[1]
                .as_u64()
                .map_or(n_slices, |_| index(&interval[1]));
            for sum in sums.iter_mut().take(end).skip(index(&interval[0])) {
                *sum += integer(&interval[3]);
            }
        }
    }
    sums
}

/// What a view has at stacks that satisfy `wanted`; they are functions with lines, innermost first.
fn tally(profile: &Profile, view: &View, wanted: impl Fn(&[(String, i32)]) -> bool) -> Tally {
    let mut sum = Tally::default();
    for row in view.rows() {
        let location = profile.locations[row.location.index()];
        if wanted(&stack(profile, location.node)) {
            sum.bytes += row.tally.bytes;
            sum.allocations += row.tally.allocations;
        }
    }
    sum
}

fn calls(function: &str) -> impl Fn(&[(String, i32)]) -> bool {
    move |stack| stack.iter().any(|(name, _)| name == function)
}

fn peak_view(profile: &Profile) -> View {
    View::peak(profile, profile.slices.whole_run())
}

fn leak_view(profile: &Profile) -> View {
    View::leaks(profile, profile.slices.whole_run())
}

fn bytes_and_allocations(bytes: u64, allocations: u64) -> Tally {
    Tally { bytes, allocations }
}

// Faults that are numbered in the captures' README come with their number there.

/// 1. memray's last slice peak is the last peak that the heap has fallen from.
#[test]
fn a_peak_at_the_end_is_the_last_slices_peak() {
    for (name, peak) in [
        ("v13-end-peak", 20_050_005),
        ("v13-synthetic-risingend", 1_100),
        ("v13-synthetic-paths", 1_500),
        ("v13-surrogate", 93_412),
        ("v11-fork-child2", 34_210),
        ("v13-fork-child2", 34_274),
    ] {
        let profile = profile(name);
        assert_eq!(profile.slices.peaks.last(), Some(&peak), "{name}");
        assert_eq!(profile.slices.peak(), peak, "{name}");
        assert_eq!(peak_view(&profile).total().bytes, peak, "{name}");
        let memrays = memray_peaks(name).into_iter().max().unwrap();
        assert!(memrays < peak, "{name}: memray is right about {peak}");
    }
}

#[test]
fn a_heap_that_only_rises_has_its_peak_and_its_leaks_alike() {
    let profile = profile("v13-end-peak");
    // 50 000 bytes, then four times 5 000 000; an array of n bytes takes n + 1.
    let kept = bytes_and_allocations(50_001 + 4 * 5_000_001, 5);
    assert_eq!(peak_view(&profile).total(), kept);
    assert_eq!(leak_view(&profile).total(), kept);
    assert_eq!(
        tally(&profile, &leak_view(&profile), calls("load")),
        bytes_and_allocations(4 * 5_000_001, 4)
    );
}

/// 2. Bytes that change without the count, then silent snapshots: memray keeps the old bytes.
#[test]
fn rows_add_up_to_the_slice_peaks_when_only_bytes_change() {
    // See `stale`: 100 + 40960 + 500; then 50 + 32768; 90000 on top; 1 + 4096 on top; less 1.
    let peaks = [41_560, 32_818, 32_818, 122_818, 36_915, 36_914];
    let profile = profile("v13-synthetic-stale");
    assert_eq!(profile.slices.peaks, peaks);
    assert_eq!(profile.slices.peaks, memray_peaks("v13-synthetic-stale"));
    let sums = sums_by_slice(&json(&profile), "temporal_high_water_mark", peaks.len());
    assert_eq!(sums, peaks.map(i128::from));
    let memrays = sums_by_slice(
        &oracle("v13-synthetic-stale"),
        "temporal_high_water_mark",
        peaks.len(),
    );
    assert_ne!(memrays, peaks.map(i128::from), "memray is right");
}

#[test]
fn rows_add_up_to_the_slice_peaks_where_memrays_do_not() {
    for name in [
        "v13-webapp",
        "v12-threads",
        "v13-threads",
        "v13-threads-py313",
    ] {
        let profile = profile(name);
        let peaks: Vec<i128> = profile
            .slices
            .peaks
            .iter()
            .map(|&peak| peak.into())
            .collect();
        let sums =
            |document: &Value| sums_by_slice(document, "temporal_high_water_mark", peaks.len());
        assert_eq!(sums(&json(&profile)), peaks, "{name}");
        assert_ne!(sums(&oracle(name)), peaks, "{name}: memray is right");
    }
}

/// 3. memray stops at the last allocation.
#[test]
fn snapshots_after_the_last_allocation_end_slices_too() {
    for (name, n_snapshots, memrays) in [
        ("v13-killed", 11, 9),
        ("v13-killed-buffered", 9, 7),
        ("v13-allocators", 8, 7),
        ("v13-manysnaps", 8_969, 8_967),
    ] {
        let profile = profile(name);
        assert_eq!(profile.slices.n_snapshots(), n_snapshots, "{name}");
        assert_eq!(profile.slices.len(), n_snapshots + 1, "{name}");
        assert_eq!(memray_peaks(name).len(), memrays, "{name}");
    }
}

/// 4, 5. Unseen frees, a mapping over a mapping, and deallocations of what is not there.
#[test]
fn an_allocation_at_a_live_address_replaces_what_was_there() {
    let profile = profile("v13-synthetic-unbalanced");
    // 300 in place of 100; freed. 16384 mapped, 4096 of them again; 8192 of both go. 64, which a
    // munmap does not free; 4097 mapped, 4096 of them go.
    assert_eq!(
        profile.slices.peaks,
        [300, 300, 16_384, 16_384, 8_192 + 64 + 4_097, 8_257, 8_257]
    );
    assert_eq!(
        profile.slices.heap,
        [300, 0, 16_384, 8_192 + 64, 8_257, 8_257, 8_257]
    );
    assert_eq!(
        (
            profile.counts.implicit_frees,
            profile.counts.implicit_unmaps
        ),
        (1, 1)
    );
    assert_eq!(profile.counts.allocations, 7);
    assert_eq!(
        peak_view(&profile).total(),
        bytes_and_allocations(16_384, 2)
    );
    // Of the mapping that was cut twice both ends are left; its inner mapping has gone.
    assert_eq!(leak_view(&profile).total(), bytes_and_allocations(8_257, 3));
    assert_eq!(
        oracle("v13-synthetic-unbalanced")["metadata"]["peak_memory"],
        20_580
    );
}

/// 5. A mapping that munmap splits counts once, not once a piece.
#[test]
fn a_split_mapping_counts_once() {
    let profile = profile("v13-mmap");
    let page = 4096;
    let split = tally(&profile, &leak_view(&profile), calls("front_middle_back"));
    assert_eq!(split, bytes_and_allocations(8 * page, 1));
    let two = tally(&profile, &leak_view(&profile), calls("across_two"));
    assert_eq!(two, bytes_and_allocations(4 * page, 2));
    for gone in ["over_a_hole", "replace"] {
        assert_eq!(
            tally(&profile, &leak_view(&profile), calls(gone)),
            Tally::default(),
            "{gone}"
        );
    }
    let ours = leak_view(&profile).total();
    let memrays = &oracle("v13-mmap")["leaks"]["by_thread"];
    assert_eq!(integer(&memrays["bytes"]), ours.bytes.into());
    assert_eq!(
        integer(&memrays["allocations"]),
        i128::from(ours.allocations) + 1
    );
}

/// 6. Not a fault that a reader could mend: lengths are kept as the program gave them.
#[test]
fn mappings_have_the_length_that_was_asked_for() {
    let profile = profile("v13-mmap");
    let page = 4096;
    let odd = tally(&profile, &leak_view(&profile), calls("unaligned_length"));
    assert_eq!(
        odd,
        bytes_and_allocations((2 * page - 1) + (5_000 - page), 2)
    );
}

/// 7. Where memray wrote no push, callers are missing; what was allocated is not.
#[test]
fn frames_that_were_never_pushed_lose_no_bytes() {
    let profile = profile("v13-surrogate");
    let plain = tally(&profile, &peak_view(&profile), calls("plain"));
    assert_eq!(plain, bytes_and_allocations(6 * 7_001, 6));
    let called = tally(&profile, &peak_view(&profile), |stack| {
        stack[0].0 == "outer"
    });
    assert_eq!(
        called,
        bytes_and_allocations(2 * 5_001, 2),
        "stands for the frame that it called"
    );
}

/// 8. `memray stats` fails where nothing was allocated.
#[test]
fn a_capture_without_allocations_has_statistics() {
    let profile = profile("v13-synthetic-empty");
    let expected = json!({
        "total_num_allocations": 0,
        "total_memory_allocated": 0,
        "peak_memory_allocated": 0,
        "allocation_count_by_size": [],
        "allocation_count_by_allocator": {},
    });
    assert_eq!(json(&profile)["stats"], expected);
    let stats = stats(&profile);
    assert_eq!(stats["total_num_allocations"], 0);
    assert_eq!(stats["allocation_size_histogram"], json!([]));
    assert_eq!(stats["top_allocations_by_size"], json!([]));
    assert_eq!(
        (profile.slices.peaks, profile.slices.heap),
        (vec![0], vec![0])
    );
}

/// 9. memray's reports fail.
#[test]
fn names_that_are_not_utf8_are_shown_with_replacement_characters() {
    let profile = profile("v13-synthetic-badutf8");
    let document = json(&profile);
    assert_eq!(
        document["frames"],
        json!([["NAME-\u{fffd}\u{fffd}-NAME", "FILE-\u{fffd}(-FILE.py", 1]])
    );
    assert!(
        document["threads"]["1"]
            .as_str()
            .unwrap()
            .starts_with("THREAD-\u{fffd}")
    );
    assert_eq!(document["leaks"]["merged"]["bytes"], 100);
}

/// 10. memray's merged rows over time keep the frames of memray itself.
#[test]
fn no_view_shows_memrays_own_outermost_frames() {
    for entry in Corpus::own().entries() {
        // Before format 9 captures do not say how many frames are memray's own.
        if entry.version < 9 || !entry.mode.starts_with("run") {
            continue;
        }
        let document = json(&profile(&entry.name));
        let frames = document["frames"].as_array().unwrap();
        let runner = frames
            .iter()
            .find(|frame| frame[0] == "_run_module_as_main");
        assert_eq!(runner, None, "{}", entry.name);
    }
}

/// 13. The heap at the snapshots says nothing of a spike between them; the slices do.
#[test]
fn spikes_between_snapshots_are_peaks_of_their_slices() {
    let profile = profile("v13-spike");
    let (base, spike) = (64 * 1024 + 1, 3000 * 1024 + 1);
    let with_spike: Vec<usize> = (0..profile.slices.len())
        .filter(|&slice| profile.slices.peaks[slice] == base + spike)
        .collect();
    assert_eq!(with_spike.len(), 3);
    for slice in with_spike {
        assert_eq!(profile.slices.heap[slice - 1], base);
        assert_eq!(profile.slices.heap[slice], base);
    }
    for (name, spike) in [
        ("v13-spike-late", 5000 * 1024 + 1),
        ("v13-spike-early", 5000 * 1024 + 1),
    ] {
        assert_eq!(
            self::profile(name).slices.peaks.last(),
            Some(&(base + spike)),
            "{name}"
        );
    }
}

/// semantics 16.9. memray has line 0 for code on one line, with Python up to 3.9.
#[test]
fn code_on_one_line_has_that_line_in_old_pythons() {
    let lines = |document: &Value, function: &str| -> BTreeSet<i64> {
        let frames = document["frames"].as_array().unwrap().iter();
        let of =
            frames.filter(|f| f[0] == function && f[1].as_str().unwrap().ends_with("ünï_数据.py"));
        of.map(|f| f[2].as_i64().unwrap()).collect()
    };
    for name in ["v12-lines-py39", "v13-lines-py39"] {
        let (ours, memrays) = (json(&profile(name)), oracle(name));
        for (function, right) in [
            ("<lambda>", &[16, 36, 45][..]),
            ("<dictcomp>", &[46]),
            ("<genexpr>", &[47]),
            ("<listcomp>", &[11, 45]),
        ] {
            assert_eq!(
                lines(&ours, function),
                right.iter().copied().collect(),
                "{name} {function}"
            );
            assert!(
                lines(&memrays, function).contains(&0),
                "{name} {function}: memray is right"
            );
        }
    }
    let ours = json(&profile("v12-lines-py38"));
    assert_eq!(lines(&ours, "<lambda>"), BTreeSet::from([16, 36, 45]));
}

/// semantics 16.13. memray counts the bytes of overlapping mappings twice.
#[test]
fn overlapping_mappings_count_once() {
    let profile = profile("v13-threads-py314");
    let memrays = oracle("v13-threads-py314");
    assert_eq!(
        (
            profile.counts.implicit_frees,
            profile.counts.implicit_unmaps
        ),
        (0, 1)
    );
    assert_eq!(profile.slices.peak(), 373_376);
    assert_eq!(memrays["metadata"]["peak_memory"], 373_376 + 4_096);
    let heap = memrays["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s[2].as_u64().unwrap());
    let more: Vec<u64> = heap
        .zip(&profile.slices.heap)
        .map(|(theirs, ours)| theirs - ours)
        .collect();
    assert_eq!(more, [0, 0, 4_096, 4_096, 4_096, 4_096]);
}

/// memray gives threads above 2^63 a sign, but not in the sections over time.
#[test]
fn large_numbers_of_threads_have_no_sign() {
    let thread = u64::MAX - 7;
    let document = json(&profile("v13-synthetic-huge"));
    for section in [
        "high_water_mark",
        "leaks",
        "temporal_high_water_mark",
        "temporal_leaks",
    ] {
        for row in document[section]["by_thread"]["rows"].as_array().unwrap() {
            assert_eq!(row[0], thread, "{section}");
        }
    }
    let memrays = oracle("v13-synthetic-huge");
    assert_eq!(memrays["leaks"]["by_thread"]["rows"][0][0], -8);
    assert_eq!(memrays["temporal_leaks"]["by_thread"]["rows"][0][0], thread);
}

#[test]
fn the_largest_blocks_that_memray_records_are_exact() {
    let profile = profile("v13-synthetic-huge");
    let both = (1 << 62) + (1 << 61) + 1;
    assert_eq!(profile.slices.peaks, [both, both + 3, both + 3]);
    assert_eq!(profile.slices.heap, [both, both + 3, (1 << 61) + 1 + 3 + 5]);
    let deepest = profile
        .locations
        .iter()
        .map(|l| stack(&profile, l.node).len())
        .max();
    assert_eq!(deepest, Some(30_001));
}

/// semantics 2, 7.4. Of equal peaks the latest; memray's page takes the first.
#[test]
fn of_equal_peaks_the_latest_is_shown() {
    let profile = profile("v13-synthetic-equalpeaks");
    assert_eq!(profile.slices.peaks, [1_000; 7]);
    assert_eq!(profile.slices.peak_slice(profile.slices.whole_run()), 6);
    let last = tally(&profile, &peak_view(&profile), |stack| stack[0].0 == "a");
    assert_eq!(last, bytes_and_allocations(1_000, 1));
    assert_eq!(peak_view(&profile).total(), last);
}

/// known faults A05, C8. A killed process leaves zero bytes, and an end time that is its start's.
#[test]
fn a_killed_process_is_reported_up_to_its_last_snapshot() {
    // `fill(n)` makes arrays of 3000 + i bytes; every third of the first n goes; then n / 2 more.
    let size = |i: u64| 3_000 + i + 1;
    for (name, n) in [("v13-killed", 150), ("v12-killed", 60)] {
        let profile = profile(name);
        assert!(!profile.ending.is_complete(), "{name}");
        let kept: Vec<u64> = (0..n)
            .filter(|i| i % 3 != 0)
            .chain(0..n / 2)
            .map(size)
            .collect();
        let filled = tally(&profile, &leak_view(&profile), calls("fill"));
        assert_eq!(
            filled,
            bytes_and_allocations(kept.iter().sum(), kept.len() as u64),
            "{name}"
        );
        let last = profile.slices.times_ms.last().unwrap().cast_signed();
        assert_eq!(profile.metadata.end_time_ms, last, "{name}");
        assert_eq!(
            oracle(name)["metadata"]["end_time_ms"],
            profile.metadata.start_time_ms,
            "{name}"
        );
    }
}

/// known faults A02. memray's page hangs when there are no snapshots.
#[test]
fn a_capture_without_snapshots_is_one_slice() {
    let profile = profile("v13-synthetic-nosnapshots");
    assert_eq!(profile.slices.n_snapshots(), 0);
    assert_eq!(
        (profile.slices.peaks, profile.slices.heap),
        (vec![300], vec![200])
    );
}

/// known faults C4, C5. Deallocations are no allocations, and frames are counted, not copied.
#[test]
fn counts_say_what_they_count() {
    let profile = profile("v13-synthetic-nosnapshots");
    assert_eq!((profile.counts.allocations, profile.counts.events), (2, 3));
    let stats = stats(&profile);
    assert_eq!(stats["total_num_allocations"], 2);
    assert_eq!(stats["allocator_type_distribution"], json!({ "MALLOC": 2 }));
    assert_eq!(
        stats["metadata"]["total_allocations"], 3,
        "records, as memray calls them"
    );
    assert_eq!(stats["metadata"]["total_frames"], 1);
    let counted = |name: &str| json(&self::profile(name))["metadata"]["total_frames"].clone();
    assert_eq!(counted("v13-synthetic-nosnapshots"), 1);
    assert_eq!(
        oracle("v13-synthetic-nosnapshots")["metadata"]["total_frames"],
        0
    );
}

/// Every allocation is in one bin, of one allocator, at one location and of one module; the peak, and what
/// is left over, are those of the other reports.
#[test]
fn statistics_add_up_in_every_capture() {
    for_every_capture(|name, profile, wrong| {
        let document = json(profile);
        let stats = stats(profile);
        let sum = |list: &str, key: &str| -> i128 {
            let rows = stats[list].as_array().unwrap().iter();
            rows.map(|row| integer(&row[key])).sum()
        };
        let [count, bytes] = ["total_num_allocations", "total_bytes_allocated"];
        let by_allocator = stats["allocator_type_distribution"].as_object().unwrap();
        let peak = &document["metadata"]["peak_memory"];
        let has_modules = stats["top_modules_by_allocation_size"] != json!([]);
        let figures = [
            (
                sum("allocation_size_histogram", "count"),
                integer(&stats[count]),
            ),
            (
                by_allocator.values().map(integer).sum(),
                integer(&stats[count]),
            ),
            (
                sum("top_allocations_by_count", "count"),
                integer(&stats[count]),
            ),
            (
                sum("top_allocations_by_size", "size"),
                integer(&stats[bytes]),
            ),
            (integer(&stats["metadata"]["peak_memory"]), integer(peak)),
            (
                integer(&stats["leaked_bytes"]),
                integer(&document["leaks"]["merged"]["bytes"]),
            ),
            (
                integer(&stats["leaked_allocations"]),
                integer(&document["leaks"]["merged"]["allocations"]),
            ),
        ];
        let of_modules = [
            (
                sum("top_modules_by_allocation_size", "total_bytes"),
                integer(&stats[bytes]),
            ),
            (
                sum("top_modules_by_allocation_count", "num_allocations"),
                integer(&stats[count]),
            ),
        ];
        let of_modules = of_modules.into_iter().filter(|_| has_modules);
        for (index, (ours, expected)) in figures.into_iter().chain(of_modules).enumerate() {
            if ours != expected {
                wrong.push(format!("{name}: figure {index}: {ours}, not {expected}"));
            }
        }
        let largest = document["snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| integer(&s[1]))
            .max();
        if profile.snapshot_stride == 1 && stats["rss_peak"].as_i64().map(i128::from) != largest {
            wrong.push(format!(
                "{name}: RSS peak: {}, not {largest:?}",
                stats["rss_peak"]
            ));
        }
    });
}

/// semantics 6.3, 16.6. Merged means merged: a stack has one row an allocator.
#[test]
fn merged_rows_are_one_a_stack_and_allocator() {
    for name in ["v13-threads", "v13-synthetic-hiddenthreads"] {
        let document = json(&profile(name));
        for section in SECTIONS {
            let rows = document[section]["merged"]["rows"].as_array().unwrap();
            assert!(rows.iter().all(|row| row[0] == -1), "{name} {section}");
            let keys: BTreeSet<_> = rows
                .iter()
                .map(|row| (index(&row[2]), row[1].as_str()))
                .collect();
            assert_eq!(keys.len(), rows.len(), "{name} {section}");
        }
    }
}

/// Runs a check of every capture: thinned not at all, a little, and as far as it goes.
fn for_every_capture(check: impl Fn(&str, &Profile, &mut Vec<String>)) {
    let mut wrong = Vec::new();
    for name in captures_of_events() {
        for max in [10_000, 3, 1] {
            let profile = profile_in(&Corpus::own(), &name, &thinned(max));
            check(&format!("{name} thinned to {max}"), &profile, &mut wrong);
        }
    }
    assert_none(&wrong, "does not hold");
}

/// Bytes and allocations that are live in each tick.
fn live_by_tick<'a>(
    n_slices: usize,
    intervals: impl IntoIterator<Item = &'a Interval>,
) -> Vec<(i128, i128)> {
    let mut changes = vec![(0, 0); 2 * n_slices + 1];
    for interval in intervals {
        let (bytes, allocations) = (i128::from(interval.bytes), i128::from(interval.allocations));
        let start = &mut changes[interval.start as usize];
        *start = (start.0 + bytes, start.1 + allocations);
        if interval.end != NEVER {
            let end = &mut changes[interval.end as usize];
            *end = (end.0 - bytes, end.1 - allocations);
        }
    }
    let mut live = (0, 0);
    changes.truncate(2 * n_slices);
    for tick in &mut changes {
        live = (live.0 + tick.0, live.1 + tick.1);
        *tick = live;
    }
    changes
}

#[test]
fn rows_alive_add_up_to_each_slices_peak_and_to_the_heap_at_its_end() {
    for_every_capture(|name, profile, wrong| {
        let slices = &profile.slices;
        let live = live_by_tick(slices.len(), &profile.intervals);
        for slice in 0..slices.len() {
            let (peak, heap) = (live[2 * slice].0, live[2 * slice + 1].0);
            if (peak, heap) != (slices.peaks[slice].into(), slices.heap[slice].into()) {
                wrong.push(format!(
                    "{name}: slice {slice}: rows have {peak}, then {heap}"
                ));
            }
        }
    });
}

#[test]
fn no_slice_peaks_below_the_heap_at_its_ends() {
    for_every_capture(|name, profile, wrong| {
        let mut before = 0;
        for (slice, (&peak, &heap)) in profile
            .slices
            .peaks
            .iter()
            .zip(&profile.slices.heap)
            .enumerate()
        {
            if peak < before.max(heap) {
                wrong.push(format!(
                    "{name}: slice {slice}: {before} to {heap}, peak {peak}"
                ));
            }
            before = heap;
        }
    });
}

#[test]
fn views_of_the_whole_run_are_the_peak_and_the_last_heap() {
    for_every_capture(|name, profile, wrong| {
        let (peak, leaks) = (
            peak_view(profile).total().bytes,
            leak_view(profile).total().bytes,
        );
        if peak != profile.slices.peak() || Some(&leaks) != profile.slices.heap.last() {
            wrong.push(format!("{name}: peak {peak}, leaks {leaks}"));
        }
    });
}

#[test]
fn thinning_changes_neither_the_peak_nor_what_is_live_at_it() {
    for_every_capture(|name, profile, wrong| {
        let capture = name.split_whitespace().next().unwrap();
        let whole = self::profile(capture);
        if peak_view(&whole) != peak_view(profile) || leak_view(&whole) != leak_view(profile) {
            wrong.push(name.to_owned());
        }
    });
}

/// semantics 1: no location has bytes without an allocation, nor less than nothing.
#[test]
fn at_every_location_live_bytes_belong_to_live_allocations() {
    for_every_capture(|name, profile, wrong| {
        let mut by_location = BTreeMap::<LocationId, Vec<&Interval>>::new();
        for interval in &profile.intervals {
            by_location
                .entry(interval.location)
                .or_default()
                .push(interval);
        }
        // With very many slices each location's ticks are too many to look at one by one.
        if by_location.len() * profile.slices.len() > 1_000_000 {
            return;
        }
        for (location, intervals) in by_location {
            let live = live_by_tick(profile.slices.len(), intervals);
            let odd = live.iter().any(|&(bytes, allocations)| {
                bytes < 0 || allocations < 0 || (bytes > 0 && allocations == 0)
            });
            if odd {
                wrong.push(format!("{name}: {location:?}"));
            }
        }
    });
}

#[test]
fn threads_add_up_to_the_whole() {
    for name in captures_of_events() {
        let document = json(&profile(&name));
        for section in SECTIONS {
            assert!(threads_add_up(&document, section), "{name} {section}");
            for part in ["merged", "by_thread"] {
                let part = &document[section][part];
                let rows = part["rows"].as_array().unwrap();
                for (column, total) in [(4, "bytes"), (5, "allocations")] {
                    let sum = || rows.iter().map(|row| integer(&row[column])).sum::<i128>();
                    assert!(
                        part[total].is_null() || integer(&part[total]) == sum(),
                        "{name} {section} {total}"
                    );
                }
            }
        }
    }
}

#[test]
fn speedscope_profiles_hold_all_that_has_a_stack() {
    for name in captures_of_events() {
        let profile = profile(&name);
        let document = speedscope(&profile);
        for (view_name, view) in [
            ("peak", peak_view(&profile)),
            ("leaks", leak_view(&profile)),
        ] {
            let with_stack = tally(&profile, &view, |stack| !stack.is_empty());
            for (what, total) in [
                ("Memory", with_stack.bytes),
                ("Allocations", with_stack.allocations),
            ] {
                let profiles = document["profiles"].as_array().unwrap().iter();
                let title = format!("{what} ({view_name}");
                let mut titled = profiles
                    .filter(|profile| profile["name"].as_str().unwrap().starts_with(&title));
                let sampled = titled.next().unwrap();
                let weights = sampled["weights"].as_array().unwrap().iter();
                let sum: u64 = weights.map(|weight| weight.as_u64().unwrap()).sum();
                assert_eq!(sum, total, "{name} {title}");
                assert_eq!(sampled["endValue"], total, "{name} {title}");
                assert_eq!(titled.next(), None, "{name} {title} is there twice");
            }
        }
    }
}

#[test]
fn reports_do_not_depend_on_how_many_events_are_worked_on_at_a_time() {
    let output = memreport_render::Json {
        temporal: true,
        selection: None,
    };
    for name in [
        "v13-mmap",
        "v13-synthetic-stale",
        "v13-synthetic-unbalanced",
        "v13-tick",
        "v13-threads-py314",
    ] {
        let with = |events_per_batch| {
            let options = Options {
                events_per_batch,
                ..Options::default()
            };
            report(&profile_in(&Corpus::own(), name, &options), &output)
        };
        let whole = with(1 << 16);
        for events_per_batch in [1, 7, 100] {
            assert!(
                with(events_per_batch) == whole,
                "{name} by {events_per_batch}"
            );
        }
    }
}

/// An aggregated capture holds the peak and the leaks, and nothing about time.
#[test]
fn aggregated_captures_have_both_views_and_nothing_that_is_not_in_the_file() {
    for name in aggregated_captures() {
        let profile = profile(&name);
        let document = json(&profile);
        let of = |section: &str, key: &str| document[section]["merged"][key].clone();
        assert_eq!(
            of("high_water_mark", "bytes"),
            document["metadata"]["peak_memory"],
            "{name}"
        );
        assert_eq!(
            of("leaks", "bytes"),
            profile.slices.heap.last().copied().unwrap(),
            "{name}"
        );
        for section in [
            "slices",
            "stats",
            "temporary_0",
            "temporary_1",
            "temporal_high_water_mark",
            "temporal_leaks",
        ] {
            assert!(document[section].is_null(), "{name}: {section}");
        }
    }
}
