//! Captures in which bytes were changed: what shows the damage, what cannot, and what reading them costs.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(clippy::print_stdout, reason = "the score is for who runs the test")]

mod support;

use std::io::Cursor;
use std::sync::Arc;

use memreport_aggregate::{Options, Profile};
use memreport_ingest::capture::{Allocation, Allocator, Encoder, Header, NativeTrace, Record};
use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{AnyRecord, Counters, Source, WarningKind, for_each_record};

use support::captures::{Corpus, is_lz4, unpacked, without_zero_fill};
use support::profiles::{assert_none, profile_of};

/// Figures that a report shows: events, allocations, bytes ever allocated, peak, what was left over.
type Totals = [u64; 5];

fn totals(profile: &Profile) -> Totals {
    [
        profile.counts.events,
        profile.counts.allocations,
        profile.counts.allocated_bytes,
        profile.slices.peak(),
        profile.slices.heap.last().copied().unwrap_or(0),
    ]
}

fn is_doubtful(profile: &Profile) -> bool {
    !profile.ending.is_complete() || profile.warnings.iter().any(|w| w.kind.casts_doubt())
}

fn read(capture: &[u8]) -> Option<Profile> {
    let options = Options {
        symbols: SymbolOptions::default(),
        ..Options::default()
    };
    profile_of(capture, &options).ok()
}

/// What happened to the figures of a capture in which a byte was changed.
#[derive(Debug, Default)]
struct Score {
    changed: u32,
    /// Of those, how many nothing was said of.
    unseen: u32,
}

fn change_bytes(capture: &[u8], changes: impl Iterator<Item = (usize, u8)>) -> Score {
    let whole = read(capture).unwrap();
    assert!(!is_doubtful(&whole));
    let mut score = Score::default();
    for (at, change) in changes {
        let mut broken = capture.to_vec();
        broken[at] ^= change;
        let profile = read(&broken);
        let same = |profile: &Profile| totals(profile) == totals(&whole);
        if profile.as_ref().is_some_and(same) {
            continue;
        }
        score.changed += 1;
        if let Some(profile) = profile.filter(|profile| !is_doubtful(profile)) {
            score.unseen += 1;
            // The header's count would show it.
            assert_eq!(profile.counts.events, header_of(&broken).n_allocations);
        }
    }
    score
}

fn header_of(capture: &[u8]) -> Header {
    let unpacked = unpacked(capture);
    let (header, _) = Header::parse(&unpacked).unwrap().unwrap();
    header
}

/// Places and changes that look random and are the same each time.
fn scattered(len: usize, n: usize) -> impl Iterator<Item = (usize, u8)> {
    let mut state = 12_345_u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(state >> 8).unwrap()
    };
    (0..n).map(move |_| (random() % len, u8::try_from(random() % 255 + 1).unwrap()))
}

/// What cannot be seen is a size that is another size, and an address that is as good as the right one. Of
/// 200 changes in each capture, so many at most.
#[test]
fn most_changed_bytes_that_change_figures_are_seen() {
    for (name, at_most) in [
        ("v13-etl", 10),
        ("v12-etl", 25),
        ("v13-webapp", 15),
        ("v11-etl", 18),
        ("v08-etl", 18),
        ("v06-threads", 16),
        ("v13-pyalloc", 28),
        ("v13-threads", 14),
        ("v13-native-cpp", 7),
    ] {
        let capture = Corpus::own().bytes(name);
        let mut forms = vec![("plain", unpacked(&capture))];
        if is_lz4(&capture) {
            forms.push(("LZ4", capture));
        }
        for (form, bytes) in forms {
            let score = change_bytes(&bytes, scattered(bytes.len(), 200));
            println!("{name}, {form}: {score:?}");
            assert!(score.unseen <= at_most, "{name}, {form}: {score:?}");
            assert!(score.changed > 20, "{name}, {form}: {score:?}");
        }
    }
}

#[test]
fn each_byte_of_a_small_capture_may_be_any_other() {
    for name in ["v13-end-peak", "v10-end-peak", "v11-spike"] {
        let capture = Corpus::own().bytes(name);
        for bytes in [without_zero_fill(&unpacked(&capture)).to_vec(), capture] {
            let bits = (0..8).map(|bit| 1 << bit).chain([0xff, 0x55]);
            let all = (0..bytes.len()).flat_map(|at| bits.clone().map(move |change| (at, change)));
            let score = change_bytes(&bytes, all);
            println!("{name}: {score:?}");
            assert!(score.changed > 0);
        }
    }
}

/// No capture that memray wrote passes for damaged: not those of programs that free what others
/// allocated, of threads that race, of mimalloc, of trackers that started late.
#[test]
fn whole_captures_are_not_doubted() {
    let doubted: Vec<String> = Corpus::own()
        .entries()
        .into_iter()
        .filter(|entry| {
            let profile = read(&Corpus::own().bytes(&entry.name)).unwrap();
            profile.warnings.iter().any(|w| w.kind.casts_doubt())
        })
        .map(|entry| entry.name)
        .collect();
    assert_none(&doubted, "doubted");
}

/// A capture of format 13 or 11 with these events, and what is doubtful in it.
fn doubts(version_of: &str, native_traces: bool, records: &[Record<'_>]) -> Vec<WarningKind> {
    let mut header = header_of(&Corpus::own().bytes(version_of));
    let is_event = |record: &&Record<'_>| matches!(record, Record::Allocation(_));
    header.n_allocations = records.iter().filter(is_event).count() as u64;
    header.native_traces = native_traces;
    let mut encoder = Encoder::new(&header);
    encoder.push(&Record::ContextSwitch(1));
    for record in records {
        assert!(encoder.push(record));
    }
    encoder.push(&Record::Trailer);
    let profile = read(&encoder.finish()).unwrap();
    assert!(profile.ending.is_complete());
    let kinds = profile.warnings.iter().map(|warning| warning.kind);
    kinds.filter(|kind| kind.casts_doubt()).collect()
}

fn event(allocator: Allocator, address: u64, size: u64, native_id: u64) -> Record<'static> {
    Record::Allocation(Allocation {
        address,
        size,
        allocator,
        native_id,
    })
}

fn malloc(address: u64, size: u64) -> Record<'static> {
    event(Allocator::Malloc, address, size, 0)
}

fn free(address: u64) -> Record<'static> {
    event(Allocator::Free, address, 0, 0)
}

#[test]
fn a_block_that_is_not_aligned_is_doubted() {
    let doubts = |records: &[Record<'_>]| doubts("v13-tick", false, records);
    let misaligned = [WarningKind::MisalignedBlock];
    assert_eq!(doubts(&[malloc(0x5000_0010, 16)]), []);
    assert_eq!(doubts(&[malloc(0x5000_0008, 16)]), misaligned);
    // Small blocks may lie closer together.
    assert_eq!(doubts(&[malloc(0x5000_0008, 8)]), []);
    let mmap = |address| event(Allocator::Mmap, address, 4_096, 0);
    assert_eq!(doubts(&[mmap(0x7f00_0000_1000)]), []);
    assert_eq!(doubts(&[mmap(0x7f00_0000_1010)]), misaligned);
}

/// Python up to 3.7 aligned its own blocks to 8 bytes, and format 11 does not name the Python.
#[test]
fn blocks_of_old_pythons_may_lie_closer_together() {
    let pymalloc = [event(Allocator::PymallocMalloc, 0x5000_0008, 24, 0)];
    assert_eq!(doubts("v11-etl", false, &pymalloc), []);
    assert_eq!(
        doubts("v13-tick", false, &pymalloc),
        [WarningKind::MisalignedBlock]
    );
    let failed = [event(Allocator::Mmap, u64::MAX, 4_096, 0)];
    assert_eq!(doubts("v11-etl", false, &failed), []);
    let odd = [event(Allocator::PymallocMalloc, 0x5000_0004, 24, 0)];
    assert_eq!(
        doubts("v11-etl", false, &odd),
        [WarningKind::MisalignedBlock]
    );
}

#[test]
fn native_stacks_that_were_never_defined_are_doubted() {
    let trace = |parent| {
        Record::NativeTrace(NativeTrace {
            instruction_pointer: 0x40_1000,
            parent,
        })
    };
    let allocation = |native_id| event(Allocator::Malloc, 0x5000_0010, 16, native_id);
    let doubts = |records: &[Record<'_>]| doubts("v13-tick", true, records);
    assert_eq!(doubts(&[trace(0), trace(1), allocation(2)]), []);
    let undefined = [WarningKind::UndefinedNativeStack];
    assert_eq!(doubts(&[trace(0), allocation(2)]), undefined);
    assert_eq!(doubts(&[trace(1), allocation(1)]), undefined);
}

#[test]
fn what_is_freed_within_a_live_block_is_doubted() {
    let doubts = |records: &[Record<'_>]| doubts("v13-tick", false, records);
    let block = malloc(0x5000_0000, 64);
    let within = [WarningKind::FreeWithinBlock];
    assert_eq!(doubts(&[block, free(0x5000_0020)]), within);
    assert_eq!(doubts(&[block, free(0x5000_0040)]), []);
    // What was there before it, and blocks that go, prove nothing.
    assert_eq!(doubts(&[free(0x5000_0020), block]), []);
    assert_eq!(doubts(&[block, free(0x5000_0020), free(0x5000_0000)]), []);
    // Frees of what was allocated before tracking are as many as they like.
    let older: Vec<_> = (0..10_000).map(|i| free(0x6000_0000 + 16 * i)).collect();
    assert_eq!(doubts(&[&[block][..], &older].concat()), []);
}

// What damage costs.

/// Captures whose lengths and counts are as large as can be written.
fn with_huge_lengths() -> Vec<(&'static str, Vec<u8>)> {
    const HUGE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let start = |name: &str| {
        let unpacked = unpacked(&Corpus::own().bytes(name));
        let (_, rest) = Header::parse(&unpacked).unwrap().unwrap();
        unpacked[..unpacked.len() - rest.len()].to_vec()
    };
    let after = |name: &str, records: &[&[u8]]| [&start(name)[..], &records.concat()].concat();
    vec![
        // A code object's line table; an image's segments; a block's size; a mapping's.
        (
            "line table",
            after("v13-tick", &[b"\x0e\x01f\0f.py\0\x02", &HUGE, b"rest"]),
        ),
        (
            "segments",
            after(
                "v13-native-cpp",
                &[b"\x06\x07/x\0", &HUGE, &[0; 8], b"\x08"],
            ),
        ),
        (
            "size",
            after(
                "v13-tick",
                &[b"\x0c\x01\0\0\0\0\0\0\0\xfe\x10", &HUGE, b"\x01"],
            ),
        ),
        (
            "mapping",
            after(
                "v13-tick",
                &[b"\x0c\x01\0\0\0\0\0\0\0\xf8\x10\x0e", &HUGE, b"\x01"],
            ),
        ),
        (
            "native id",
            after(
                "v11-native-cpp",
                &[b"\x0c\x01\0\0\0\0\0\0\0\x12\x10\x10", &HUGE, b"\x10"],
            ),
        ),
        (
            "snapshot",
            after("v13-tick", &[b"\x02", &HUGE, &HUGE, b"\x01"]),
        ),
        (
            "segments of format 6",
            after("v06-tick", &[b"\x06\0\0\0/x\0", &[0xff; 16]]),
        ),
    ]
}

/// The library reads them; the command does in little memory, for the system gives it no more.
#[test]
fn lengths_in_a_capture_are_not_believed() {
    for (name, capture) in with_huge_lengths() {
        let profile = read(&capture);
        assert!(
            profile.is_none_or(|profile| is_doubtful(&profile)),
            "{name}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn damaged_captures_are_read_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut captures = with_huge_lengths();
    for name in ["v13-etl", "v08-etl", "v13-native-cpp"] {
        let capture = Corpus::own().bytes(name);
        for (at, change) in scattered(capture.len(), 6) {
            let mut broken = capture.clone();
            broken[at] ^= change;
            captures.push((name, broken));
        }
    }
    for (name, capture) in captures {
        let path = folder.path().join("out.bin");
        std::fs::write(&path, &capture).unwrap();
        // Address space, in KiB; threads reserve most of it.
        let script = "ulimit -v 400000; exec \"$0\" export --format json --no-symbols -q \"$1\"";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .arg(assert_cmd::cargo::cargo_bin("memreport"))
            .arg(&path)
            .env("RAYON_NUM_THREADS", "2")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 2 | 3)), "{name}: {code:?} {said}");
        assert!(
            !said.contains("panicked") && !said.contains("memory allocation"),
            "{name}: {said}"
        );
    }
}

/// What is read of a damaged capture is read the same way by all who read it.
#[test]
fn records_of_a_changed_capture_are_those_of_its_report() {
    let capture = unpacked(&Corpus::own().bytes("v11-etl"));
    for (at, change) in scattered(capture.len(), 60) {
        let mut broken = capture.clone();
        broken[at] ^= change;
        let Some(profile) = read(&broken) else {
            continue;
        };
        let mut n_events = 0;
        let source = Source::from_reader("a capture", Cursor::new(broken));
        let ending = for_each_record(source, &Arc::new(Counters::default()), |at| {
            n_events += u64::from(matches!(at.record, AnyRecord::Event(Record::Allocation(_))));
            Ok(())
        });
        assert_eq!(n_events, profile.counts.events, "byte {at}");
        assert_eq!(ending.unwrap(), profile.ending, "byte {at}");
    }
}
