//! The viewer: its own tests under Node.js, and the page in a real browser.
//!
//! They need Node.js, the packages of `web-assets/` (`npm ci`) and Chromium. Where something is missing
//! they say so and pass, unless `MEMREPORT_BROWSER` is `required`.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::path::{Path, PathBuf};

use memreport_capture::{
    Allocation, Allocator, CodeObject, CodePush, Encoder, FileFormat, Header, MemoryRecord,
    PythonAllocator, PythonVersion, Record, Version,
};

use support::node::{Needs, node_test, root};

#[test]
fn the_modules_that_know_no_page() {
    let core = root().join("web-assets/core");
    let files = std::fs::read_dir(core)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let tests: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    assert!(!tests.is_empty());
    node_test(Needs::default(), &tests, &[]);
}

#[test]
fn the_page_in_a_browser() {
    let files = std::fs::read_dir(root().join("tests/browser")).unwrap();
    let mut tests: Vec<PathBuf> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    tests.sort();
    assert!(!tests.is_empty());
    let needs = Needs {
        package: Some("playwright-core"),
        browser: true,
    };
    node_test(needs, &tests, &[("LONG_CAPTURE", &long_capture())]);
}

/// A capture with a stack of 20,000 frames, and with names of 4,000 characters.
fn long_capture() -> PathBuf {
    const DEPTH: u64 = 20_000;
    let long = "long_".repeat(800);
    let mut encoder = Encoder::new(&Header {
        version: Version::new(13).unwrap(),
        // With it, an empty line table means the first line.
        python_version: Some(PythonVersion { major: 3, minor: 9 }),
        native_traces: false,
        file_format: FileFormat::AllAllocations,
        n_allocations: 2,
        n_frames: 2,
        start_time_ms: 1_700_000_000_000,
        end_time_ms: 1_700_000_000_100,
        command_line: long.clone().into_bytes(),
        pid: 7,
        main_thread_id: Some(1),
        skipped_frames_on_main_thread: 0,
        python_allocator: PythonAllocator::Pymalloc,
        trace_python_allocators: Some(false),
        track_object_lifetimes: false,
        libdest: Vec::new(),
        site_packages: Vec::new(),
        sys_path: Vec::new(),
    });
    let code = |id, function, file| {
        Record::CodeObject(CodeObject {
            id,
            function,
            file,
            first_line: 1,
            line_table: b"",
        })
    };
    let push = |code_id, instruction_offset| {
        Record::CodePush(CodePush {
            code_id,
            instruction_offset,
            is_entry: true,
        })
    };
    let malloc = |address, size| {
        Record::Allocation(Allocation {
            address,
            size,
            allocator: Allocator::Malloc,
            native_id: 0,
        })
    };
    encoder.push(&Record::ContextSwitch(1));
    encoder.push(&code(1, b"down", b"deep.py"));
    encoder.push(&code(2, long.as_bytes(), long.as_bytes()));
    encoder.push(&push(2, 0));
    encoder.push(&malloc(0x1000, 1 << 20));
    for _ in 0..DEPTH {
        encoder.push(&push(1, 0));
    }
    encoder.push(&malloc(0x20_0000, 1 << 20));
    encoder.push(&Record::Memory(MemoryRecord {
        time_ms: 1_700_000_000_050,
        rss: 1 << 24,
    }));
    encoder.push(&Record::Trailer);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long.bin");
    std::fs::write(&path, encoder.finish()).unwrap();
    path
}
