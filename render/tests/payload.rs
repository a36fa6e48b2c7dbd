//! The page says what the profile says, and no name breaks it.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use memreport_render::aggregate::ingest::capture::{Allocator, Record};
use memreport_render::aggregate::ingest::{SourceFiles, SourceLineOptions, SourceLines, Tally};
use memreport_render::aggregate::{self, Profile, View};
use memreport_render::{FirstView, Html};

use support::capture::{
    HOSTILE, START_MS, call, code, hostile_calls, profile_of_file, profile_of_records, push,
    small_captures, snapshot,
};
use support::html::unescape;
use support::page::{NEVER, Page, scripts};
use support::written;

const IRRELEVANT: u8 = 1;
const IMPORT_SYSTEM: u8 = 2;
const NATIVE: u8 = 4;
/// Stands where bytes are not UTF-8, so that names that differ may look the same.
const REPLACED: char = '\u{fffd}';

/// Where a row is, as text: frames from the outside in, thread, allocator.
type Place = Rc<str>;
/// Start, end, place.
type RowKey = (u64, u64, Place);

fn place(stack: &[(&str, &str, u64)], thread: &str, allocator: &str) -> Place {
    let frames: String = stack
        .iter()
        .map(|(function, file, line)| format!("{function}\0{file}\0{line}\0"))
        .collect();
    format!("{frames}{thread}\0{allocator}").into()
}

/// Allocations and bytes by what they are about; equal ones added up.
fn sums<Key: Ord>(rows: impl Iterator<Item = (Key, (u64, u64))>) -> BTreeMap<Key, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for (key, (allocations, bytes)) in rows {
        let sum: &mut (u64, u64) = sums.entry(key).or_default();
        *sum = (sum.0 + allocations, sum.1 + bytes);
    }
    sums
}

/// Places of the page's locations.
fn places_of_page(page: &Page) -> Vec<Place> {
    let places = page.locations.iter().map(|location| {
        place(
            &page.stack(location.node),
            page.name("threads", location.thread),
            page.name("allocators", location.allocator),
        )
    });
    places.collect()
}

fn rows_of_page(page: &Page) -> BTreeMap<RowKey, (u64, u64)> {
    let places = places_of_page(page);
    sums(page.rows.iter().map(|row| {
        let key = (row.start, row.end, Rc::clone(&places[row.location]));
        (key, (row.allocations, row.bytes))
    }))
}

fn thread_labels(profile: &Profile) -> Vec<String> {
    let label = |thread: &aggregate::ingest::Thread| {
        let number = format!("0x{:x}", thread.id);
        match &*profile.strings.text(thread.name) {
            "" => number,
            name => format!("{number} ({name})"),
        }
    };
    profile.threads.iter().map(label).collect()
}

/// Places of the profile's locations.
fn places_of_profile(profile: &Profile) -> Vec<Place> {
    let threads = thread_labels(profile);
    let places = profile.locations.iter().map(|location| {
        let frames = profile.call_tree.stack(location.node);
        let mut stack: Vec<_> = frames
            .map(|id| {
                let frame = profile.frames.get(id);
                let text = |id| profile.strings.text(id);
                let line = u64::try_from(frame.line).unwrap_or(0);
                (text(frame.function), text(frame.file), line)
            })
            .collect();
        stack.reverse();
        let stack: Vec<_> = stack
            .iter()
            .map(|(a, b, line)| (&**a, &**b, *line))
            .collect();
        let thread = &threads[location.thread.index()];
        place(&stack, thread, location.allocator.name())
    });
    places.collect()
}

fn rows_of_profile(profile: &Profile) -> BTreeMap<RowKey, (u64, u64)> {
    let places = places_of_profile(profile);
    sums(profile.intervals.iter().map(|row| {
        let end = match row.end {
            aggregate::NEVER => NEVER,
            end => end.into(),
        };
        let place = Rc::clone(&places[row.location.index()]);
        let key = (row.start.into(), end, place);
        (key, (row.allocations.into(), row.bytes))
    }))
}

/// Temporary allocations are those of the view, place by place; an aggregated capture has none.
fn check_temporaries(page: &Page, profile: &Profile) {
    let meta = &page.meta;
    assert_eq!(meta["temporary"], !profile.is_aggregated);
    assert_eq!(page.temporaries.is_some(), !profile.is_aggregated);
    let threshold = (!profile.is_aggregated).then_some(1);
    assert_eq!(
        meta.get("temporary_threshold").map(|t| t.as_u64()),
        threshold.map(Some)
    );
    let view = View::temporary(profile, 1);
    let tallies = page.temporaries.iter().flatten();
    let (allocations, bytes) = tallies
        .clone()
        .fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    assert_eq!(Tally { allocations, bytes }, view.total());
    let places = places_of_page(page).into_iter().zip(tallies.copied());
    let of_page = sums(places.filter(|(_, tally)| *tally != (0, 0)));
    let places = places_of_profile(profile);
    let of_view = sums(view.rows().iter().map(|row| {
        let place = Rc::clone(&places[row.location.index()]);
        (place, (row.tally.allocations, row.tally.bytes))
    }));
    assert_eq!(of_page, of_view);
}

fn check_meta(page: &Page, profile: &Profile) {
    let meta = &page.meta;
    let metadata = &profile.metadata;
    assert_eq!(meta["schema"], 1);
    assert_eq!(meta["command"], metadata.command_line);
    assert_eq!(meta["pid"], metadata.pid);
    assert_eq!(meta["format"], metadata.format);
    assert_eq!(meta["start_ms"], metadata.start_time_ms);
    assert_eq!(meta["end_ms"], metadata.end_time_ms);
    assert_eq!(meta["peak_bytes"], profile.slices.peak());
    assert_eq!(
        meta["leaked_bytes"].as_u64(),
        profile.slices.heap.last().copied()
    );
    assert_eq!(meta["aggregated"], profile.is_aggregated);
    let known = |count: u64| (!profile.is_aggregated).then_some(count);
    let counts = &profile.counts;
    assert_eq!(meta["allocations"].as_u64(), known(counts.allocations));
    assert_eq!(
        meta["allocated_bytes"].as_u64(),
        known(counts.allocated_bytes)
    );
    assert_eq!(meta["records"].as_u64(), known(counts.events));
    assert_eq!(meta["threads"], serde_json::json!(thread_labels(profile)));
    assert_eq!(meta["snapshot_stride"], profile.snapshot_stride);
    assert_eq!(meta["counts"]["rows"], page.rows.len());
    let lengths = meta["sections"].as_object().expect("lengths by section");
    let lengths: Vec<_> = lengths
        .iter()
        .map(|(name, length)| (&**name, length.as_u64().expect("a length")))
        .collect();
    let expected: Vec<_> = page
        .lengths
        .iter()
        .map(|&(name, n)| (name, n as u64))
        .collect();
    assert_eq!(lengths, expected);
    let warnings = meta["warnings"].as_array().expect("a list");
    let warned = !memreport_render::doubts(profile).is_empty();
    assert_eq!(!warnings.is_empty(), warned);
}

fn check_slices(page: &Page, profile: &Profile) {
    let slices = &profile.slices;
    let start = profile.metadata.start_time_ms;
    let snapshots: Vec<_> = (0..slices.n_snapshots())
        .map(|s| {
            let since_start = slices.times_ms[s].cast_signed() - start;
            (since_start, slices.rss[s], slices.heap[s])
        })
        .collect();
    assert_eq!(page.snapshots, snapshots);
    let peaks = slices.peaks.iter().copied();
    let expected: Vec<_> = peaks.zip(slices.moments.iter().copied()).collect();
    assert_eq!(page.slices, expected);
}

/// Strings, frames and locations are distinct, in their order, and there is nothing that no row and
/// no temporary allocation needs.
fn check_tables(page: &Page) {
    // The root's name is the last; a function may have it too.
    let names = &page.strings[..page.strings.len() - 1];
    let whole = || names.iter().filter(|name| !name.contains(REPLACED));
    assert_eq!(whole().collect::<BTreeSet<_>>().len(), whole().count());
    assert_eq!(names[0], "");
    assert_eq!(page.frame_text(0), ("<root>", "", 0));
    assert_eq!(page.frames[0].function, names.len());
    assert_eq!(page.nodes[0].frame, 0, "the root has its own frame");

    let mut next_frame = 1;
    for node in &page.nodes[1..] {
        assert!(
            (1..=next_frame).contains(&node.frame),
            "frames by first use"
        );
        next_frame = next_frame.max(node.frame + 1);
    }
    assert_eq!(next_frame, page.frames.len(), "every frame is used");
    let frames: BTreeSet<_> = page
        .frames
        .iter()
        .map(|f| (f.function, f.file, f.line))
        .collect();
    assert_eq!(frames.len(), page.frames.len(), "frames are distinct");
    assert!(page.frames.iter().all(|frame| frame.source == 0));

    assert!(page.locations.windows(2).all(|pair| pair[0] < pair[1]));
    let mut used: BTreeSet<_> = page.rows.iter().map(|row| row.location).collect();
    let temporaries = page.temporaries.iter().flatten().enumerate();
    used.extend(temporaries.filter_map(|(i, tally)| (*tally != (0, 0)).then_some(i)));
    assert!(used.into_iter().eq(0..page.locations.len()));
    let parents = page.nodes[1..].iter().map(|node| node.parent);
    let owners = page.locations.iter().map(|location| location.node);
    let mut needed: BTreeSet<usize> = parents.chain(owners).collect();
    needed.insert(0);
    assert!(needed.into_iter().eq(0..page.nodes.len()), "an empty leaf");

    let keys: Vec<_> = page
        .rows
        .iter()
        .map(|r| (r.start, r.location, r.end))
        .collect();
    assert!(
        keys.windows(2).all(|pair| pair[0] < pair[1]),
        "rows in order"
    );
    let ticks = 2 * page.slices.len() as u64;
    let ends = page.rows.iter().map(|row| row.end);
    assert!(ends.clone().all(|end| end < ticks || end == NEVER));
}

/// Bytes of each node's subtree at the highest peak, the latest of several.
fn bytes_at_peak(page: &Page) -> Vec<u64> {
    let slices = (0..).zip(&page.slices);
    let (slice, &(peak, _)) = slices
        .max_by_key(|&(slice, peak)| (peak, std::cmp::Reverse(slice)))
        .expect("there is a slice");
    let tick = 2_u64 * slice;
    let mut bytes = vec![0; page.nodes.len()];
    let live = page
        .rows
        .iter()
        .filter(|row| row.start <= tick && tick < row.end);
    for row in live {
        bytes[page.locations[row.location].node] += row.bytes;
    }
    for node in (1..page.nodes.len()).rev() {
        bytes[page.nodes[node].parent] += bytes[node];
    }
    assert_eq!(bytes[0], peak, "the root has the peak");
    bytes
}

/// Siblings have distinct frames; the largest come first, then names decide.
fn check_siblings(page: &Page) {
    let bytes = bytes_at_peak(page);
    let mut last_child = BTreeMap::new();
    let mut children = BTreeSet::new();
    for (i, node) in page.nodes.iter().enumerate().skip(1) {
        assert!(children.insert((node.parent, node.frame)), "equal siblings");
        let Some(before) = last_child.insert(node.parent, i) else {
            continue;
        };
        let (one, two) = (page.nodes[before].frame, node.frame);
        let (one, two) = (page.frame_text(one), page.frame_text(two));
        assert!(bytes[before] >= bytes[i], "{one:?} before {two:?}");
        let names = [one.0, one.1, two.0, two.1];
        if bytes[before] == bytes[i] && names.iter().all(|name| !name.contains(REPLACED)) {
            assert!(one < two, "{one:?} before {two:?}");
        }
    }
}

/// Native stacks are not resolved here, so no frame is in a C file.
fn check_flags(page: &Page) {
    for frame in 1..page.frames.len() {
        let (function, file, _) = page.frame_text(frame);
        let native = function.contains("+0x");
        let runpy = file.ends_with("runpy.py") || file == "<frozen runpy>";
        let import = file.contains("frozen importlib");
        let expected = u8::from(runpy) * IRRELEVANT
            + u8::from(import) * IMPORT_SYSTEM
            + u8::from(native) * NATIVE;
        assert_eq!(page.frames[frame].flags, expected, "{file}");
    }
}

/// The module that unpacks, META and the sections are all the scripts there are, and nothing ends them early.
fn check_structure(text: &str, page: &Page, profile: &Profile) {
    let n_sections = scripts(&page.elements)
        .filter(|script| script.attribute("data-section").is_some())
        .count();
    let types: Vec<_> = scripts(&page.elements)
        .map(|script| script.attribute("type").expect("a type"))
        .collect();
    let binary = "application/octet-stream";
    let expected: Vec<_> = ["module", binary, "application/json"]
        .into_iter()
        .chain(std::iter::repeat_n(binary, n_sections - 1))
        .collect();
    assert_eq!(types, expected);
    let lower = text.to_ascii_lowercase();
    assert_eq!(lower.matches("<script").count(), types.len());
    assert_eq!(lower.matches("</script").count(), types.len());
    let commented = scripts(&page.elements).any(|script| script.text.contains("<!--"));
    assert!(!commented, "a comment in a script changes where it ends");
    assert!(text.ends_with("</html>\n"));

    let titles: Vec<_> = page.elements.iter().filter(|e| e.name == "title").collect();
    let command = &profile.metadata.command_line;
    assert_eq!(titles.len(), 1);
    assert_eq!(unescape(&titles[0].text), format!("memreport · {command}"));
}

/// Makes the page and checks all that can be checked of any page.
fn checked_page(profile: &Profile) -> Page {
    let text = written(&Html::default(), profile);
    assert!(text == written(&Html::default(), profile), "made twice");
    assert!(Html::is_report(text.as_bytes()));
    let page = Page::new(&text);
    check_structure(&text, &page, profile);
    page.check_policy();
    check_meta(&page, profile);
    check_slices(&page, profile);
    check_tables(&page);
    check_siblings(&page);
    check_flags(&page);
    check_temporaries(&page, profile);
    assert_eq!(rows_of_page(&page), rows_of_profile(profile));
    page
}

#[test]
fn pages_of_real_captures_say_what_their_profiles_say() {
    let captures = small_captures();
    assert!(captures.len() > 50, "captures are missing");
    for path in captures {
        // Shown when a check fails.
        println!("{}", path.display());
        let profile = profile_of_file(&path).unwrap();
        let page = checked_page(&profile);
        let again = profile_of_file(&path).unwrap();
        assert!(written(&Html::default(), &again) == written(&Html::default(), &profile));
        assert_eq!(page.meta["mode"], "peak");
    }
}

#[test]
fn the_first_view_is_all_that_the_two_modes_differ_in() {
    let profile = hostile_profile(b"app.py");
    let page = |first_view| {
        written(
            &Html {
                first_view,
                ..Html::default()
            },
            &profile,
        )
    };
    let (peak, leaks) = (page(FirstView::Peak), page(FirstView::Leaks));
    assert_eq!(Page::new(&leaks).meta["mode"], "leaks");
    let swapped = peak.replace("\"mode\":\"peak\"", "\"mode\":\"leaks\"");
    assert!(peak != leaks && swapped == leaks);
}

/// Each frame calls the next; each allocates, and so does a thread with a name as bad.
fn hostile_profile(command_line: &[u8]) -> Profile {
    let mut records = vec![
        Record::ContextSwitch(1),
        Record::ThreadName(b"</script><b>\xff{{csp}}<!--payload-->"),
    ];
    records.extend(hostile_calls(10));
    records.push(snapshot(10, 1 << 20));
    profile_of_records(command_line, &records)
}

#[test]
fn no_name_breaks_the_page_or_is_changed_by_it() {
    let command = "</title><!--payload-->{{csp}}</script>\u{2028}'\"`=&lt;";
    let profile = hostile_profile(command.as_bytes());
    let page = checked_page(&profile);
    assert_eq!(page.meta["command"], command);
    assert_eq!(
        page.name("threads", 0),
        "0x1 (</script><b>\u{fffd}{{csp}}<!--payload-->)"
    );
    let deepest = page.nodes.len() - 1;
    let shown: Vec<_> = page
        .stack(deepest)
        .iter()
        .map(|&(a, b, _)| (a, b))
        .collect();
    let texts = HOSTILE.map(|(a, b)| (String::from_utf8_lossy(a), String::from_utf8_lossy(b)));
    let expected: Vec<_> = texts.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(shown, expected);

    let text = written(&Html::default(), &profile);
    for markup in ["<script>", "<b>", "alert(1)", "{{csp}}</", "<!--payload-->"] {
        assert!(!text.contains(markup), "{markup} stands in the page");
    }
}

#[test]
fn a_capture_of_nothing_makes_a_page() {
    let page = checked_page(&profile_of_records(b"", &[]));
    assert_eq!((page.slices, page.nodes.len()), (vec![(0, 0)], 1));
    assert_eq!(page.meta["start_ms"], START_MS);
}

/// After the slice's peak, memory that is freed before the slice ends is in no row.
#[test]
fn what_only_ever_had_temporary_allocations_is_in_the_page() {
    let malloc = |address, size| call(Allocator::Malloc, address, size);
    let free = |address| call(Allocator::Free, address, 0);
    let records = [
        Record::ContextSwitch(1),
        code(1, b"main", b"app.py", 1),
        code(2, b"scratch", b"scratch.py", 2),
        push(1),
        malloc(0x10, 1000),
        push(2),
        free(0x10),
        malloc(0x20, 30),
        malloc(0x30, 40),
        free(0x20),
        free(0x30),
    ];
    let page = checked_page(&profile_of_records(b"", &records));
    let tallies = page.temporaries.as_ref().expect("they are known");
    let shown: Vec<_> = page.locations.iter().zip(tallies).collect();
    let [(main, main_tally), (scratch, tally)] = shown[..] else {
        panic!("two locations: {shown:?}");
    };
    assert_eq!((page.stack(main.node).len(), *main_tally), (1, (1, 1000)));
    assert_eq!(page.stack(scratch.node)[1], ("scratch", "scratch.py", 2));
    assert_eq!(*tally, (2, 70));
    let rows: Vec<_> = page.rows.iter().map(|row| row.location).collect();
    assert_eq!(rows, [0]);
}

/// The whole page but META and the tables: markup, style, and the two scripts, of which one is packed.
#[test]
fn everything_but_data_is_small() {
    let text = written(&Html::default(), &profile_of_records(b"app.py", &[]));
    let page = Page::new(&text);
    let size = page.everything_but_data(&text);
    println!("everything but data: {size} bytes");
    assert!(page.code.len() > 10_000, "the viewer is in the page");
    assert!(size <= 100_000, "{size} bytes");
}

#[test]
fn lines_of_source_stand_in_the_page_if_asked_for() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(
        root.path().join("app.py"),
        "def main():\n    </script> = [0]\n",
    )
    .unwrap();
    let records = [
        Record::ContextSwitch(1),
        code(1, b"main", b"/app.py", 2),
        code(2, b"other", b"/app.py", 9),
        push(1),
        call(Allocator::Malloc, 0x10, 7),
        push(2),
        call(Allocator::Malloc, 0x20, 7),
    ];
    let mut profile = profile_of_records(b"app.py", &records);
    let sources = |profile: &Profile| -> Vec<String> {
        let text = written(&Html::default(), profile);
        assert!(!text.contains("</script> = ["));
        let page = Page::new(&text);
        let frames = page.frames.iter();
        frames
            .map(|frame| page.strings[frame.source].clone())
            .collect()
    };
    assert_eq!(sources(&profile), ["", "", ""]);
    let options = SourceLineOptions {
        files: SourceFiles::Python,
        sysroot: Some(root.path().to_owned()),
    };
    let lines = SourceLines::read(&profile.frames, &profile.strings, 0, &options);
    profile.source_lines = Some(lines);
    assert_eq!(sources(&profile), ["", "</script> = [0]", ""]);
    let page = Page::new(&written(&Html::default(), &profile));
    let warnings = page.meta["warnings"].to_string();
    assert!(
        warnings.contains("changed after the capture ended") && warnings.contains("/app.py"),
        "{warnings}"
    );
}
