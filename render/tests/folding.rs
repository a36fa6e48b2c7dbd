//! A page that must be small shows less, and all that it shows is exact.

mod support;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use memreport_render::aggregate::Profile;
use memreport_render::{Error, Html};

use support::capture::{profile_of_file, small_captures};
use support::page::Page;
use support::written;

/// What is the same for equal stacks only: stacks can be too deep to be compared frame by frame.
type Stack = u64;

/// Bytes of each stack with all that is below it at the run's peak, and of each thread and allocator.
#[derive(Debug, PartialEq)]
struct AtPeak {
    stacks: BTreeMap<Stack, u64>,
    parts: BTreeMap<(usize, usize), u64>,
}

fn at_peak(page: &Page) -> AtPeak {
    let slice = page.meta["peak_slice"].as_u64().expect("a number");
    let live = page
        .rows
        .iter()
        .filter(|row| row.start <= 2 * slice && 2 * slice < row.end);
    let mut bytes = vec![0; page.nodes.len()];
    let mut parts = BTreeMap::new();
    for row in live {
        let location = &page.locations[row.location];
        bytes[location.node] += row.bytes;
        *parts
            .entry((location.thread, location.allocator))
            .or_default() += row.bytes;
    }
    for node in (1..page.nodes.len()).rev() {
        bytes[page.nodes[node].parent] += bytes[node];
    }
    let mut stacks: Vec<Stack> = Vec::new();
    let mut kept = BTreeMap::new();
    for (node, bytes) in page.nodes.iter().zip(bytes) {
        let frame = page.frame_text(node.frame);
        let mut hasher = DefaultHasher::new();
        (stacks.get(node.parent), frame).hash(&mut hasher);
        stacks.push(hasher.finish());
        if !is_other(frame) {
            kept.insert(hasher.finish(), bytes);
        }
    }
    AtPeak {
        stacks: kept,
        parts,
    }
}

fn is_other((function, file, line): (&str, &str, u64)) -> bool {
    function.starts_with("other: ") && file.is_empty() && line == 0
}

fn sums(page: &Page) -> [(u64, u64); 2] {
    let add = |sum: (u64, u64), of: &(u64, u64)| (sum.0 + of.0, sum.1 + of.1);
    let never = page
        .rows
        .iter()
        .filter(|row| row.end == support::page::NEVER);
    let leaks = never.fold((0, 0), |sum, row| add(sum, &(row.allocations, row.bytes)));
    let temporaries = page.temporaries.iter().flatten();
    [leaks, temporaries.fold((0, 0), add)]
}

fn check(folded: &Page, full: &Page, profile: &Profile) {
    assert_eq!(sums(folded), sums(full));
    let (of_folded, of_full) = (at_peak(folded), at_peak(full));
    assert_eq!(of_folded.parts, of_full.parts, "threads and allocators");
    for (stack, bytes) in &of_folded.stacks {
        assert_eq!(Some(bytes), of_full.stacks.get(stack));
    }
    let peak = |page: &Page| page.slices.iter().map(|slice| slice.0).max();
    assert_eq!(peak(folded), Some(profile.slices.peak()));
    if folded.meta["snapshot_stride"] == profile.snapshot_stride {
        assert_eq!(folded.slices, full.slices);
    } else {
        assert!(folded.slices.len() < full.slices.len());
    }
    let frames = 0..folded.frames.len();
    let others = frames.filter(|&frame| is_other(folded.frame_text(frame)));
    assert_eq!(folded.meta.get("folded").is_some(), others.count() > 0);
}

#[test]
fn what_a_smaller_page_shows_is_exact() {
    let (mut n_folded, mut n_merged) = (0, 0);
    for path in small_captures() {
        let profile = profile_of_file(&path).unwrap();
        let full = written(&Html::default(), &profile);
        let smallest = match (Html {
            max_len: 0,
            ..Html::default()
        })
        .page(&profile)
        {
            Err(Error::PageSize { allowed: 0, needed }) => needed,
            other => panic!("{other:?}"),
        };
        let full_page = Page::new(&full);
        let room = full.len() as u64 - smallest;
        for part in [2, 6] {
            let max_len = smallest + room * part / 10;
            let html = Html {
                max_len,
                ..Html::default()
            };
            let made = html.page(&profile).expect("a page");
            let mut bytes = Vec::new();
            made.write(&mut bytes).expect("memory takes it");
            let text = String::from_utf8(bytes).expect("UTF-8");
            assert!(text.len() as u64 <= max_len);
            let page = Page::new(&text);
            check(&page, &full_page, &profile);
            let is_less = text.len() < full.len();
            assert_eq!(made.folded.is_some(), is_less, "{:?}", made.folded);
            n_folded += usize::from(page.meta.get("folded").is_some());
            n_merged += usize::from(page.slices.len() < full_page.slices.len());
        }
        let whole = Html {
            max_len: full.len() as u64,
            ..Html::default()
        };
        assert!(
            written(&whole, &profile) == full,
            "what fits is not changed"
        );
    }
    assert!(n_folded > 20 && n_merged > 20, "{n_folded} {n_merged}");
}
