//! Native stacks as memray itself shows them: a capture that is made and read on this machine.
//!
//! Runs where the environment variable `MEMREPORT_MEMRAY` names a Python with memray 1.20.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(clippy::print_stdout, reason = "the score is for who runs the test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use memreport_aggregate::Options;
use serde_json::Value;

use support::profiles::{json, profile_of};

/// What is traced: extension modules of the standard library, threads, and calls from C into Python.
const PROGRAM: &str = r#"
import json, re, sqlite3, threading, zlib

def squeeze(n):
    return [zlib.compress(bytes(range(256)) * n, 6) for _ in range(3)]

def database():
    db = sqlite3.connect(":memory:")
    db.create_function("twice", 1, lambda text: text * 2)
    db.execute("create table t(a, b)")
    db.executemany("insert into t values (?, ?)", ((i, "v" * (i % 90)) for i in range(300)))
    return db, db.execute("select twice(b), count(*) from t group by b").fetchall()

def nested(depth):
    return [bytearray(900)] if depth == 0 else nested(depth - 1) + [bytearray(800 + depth)]

def work(into):
    into.append(squeeze(30))
    into.append(nested(9))
    into.append(sorted(re.findall("[a-f]+", "abcdefghi" * 400), key=lambda s: (s[::-1], bytearray(600))))

kept = [squeeze(50), database(), nested(12), json.loads("[" + ",".join(['{"k": "%s"}' % ("z" * 600)] * 30) + "]")]
threads = [threading.Thread(target=work, args=(kept,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"#;

/// Prints a row a line: thread, bytes, allocations, and the frames, innermost first.
const READ: &str = r#"
import json, sys
from memray import FileReader
for record in FileReader(sys.argv[1]).get_high_watermark_allocation_records(merge_threads=False):
    print(json.dumps([record.tid, record.size, record.n_allocations, record.hybrid_stack_trace()]))
"#;

type Frame = (String, String, i64);
/// Bytes and allocations by thread and stack.
type Rows = BTreeMap<(u64, Vec<Frame>), (u64, u64)>;

fn run(python: &Path, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(python)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn frame(frame: &Value) -> Frame {
    let text = |index: usize| frame[index].as_str().unwrap().to_owned();
    (text(0), text(1), frame[2].as_i64().unwrap())
}

/// What has no symbol is `<unknown>` for memray.
fn as_memray_names_it(frame: Frame) -> Frame {
    if frame.0.contains("+0x") {
        return ("<unknown>".to_owned(), "<unknown>".to_owned(), 0);
    }
    frame
}

fn add(rows: &mut Rows, thread: u64, stack: Vec<Frame>, bytes: &Value, allocations: &Value) {
    let sums = rows.entry((thread, stack)).or_default();
    sums.0 += bytes.as_u64().unwrap();
    sums.1 += allocations.as_u64().unwrap();
}

fn memrays(printed: &str) -> Rows {
    let mut rows = Rows::new();
    for line in printed.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let stack = row[3].as_array().unwrap().iter().map(frame).collect();
        add(&mut rows, row[0].as_u64().unwrap(), stack, &row[1], &row[2]);
    }
    rows
}

fn ours(capture: &[u8]) -> Rows {
    let document = json(&profile_of(capture, &Options::default()).unwrap());
    println!("native: {}", document["damage"]["native"]);
    let index = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let mut rows = Rows::new();
    for row in document["high_water_mark"]["by_thread"]["rows"]
        .as_array()
        .unwrap()
    {
        let stack = document["stacks"][index(&row[2])]
            .as_array()
            .unwrap()
            .iter();
        let frames = stack.map(|number| frame(&document["frames"][index(number)]));
        let frames = frames.map(as_memray_names_it).collect();
        add(
            &mut rows,
            row[0].as_u64().unwrap(),
            frames,
            &row[4],
            &row[5],
        );
    }
    rows
}

/// How often each frame is in a stack.
fn frames(rows: &Rows) -> BTreeMap<&Frame, i64> {
    let mut frames = BTreeMap::new();
    for frame in rows.keys().flat_map(|(_, stack)| stack) {
        *frames.entry(frame).or_default() += 1;
    }
    frames
}

#[test]
fn native_frames_are_memrays() {
    let Some(python) = std::env::var_os("MEMREPORT_MEMRAY") else {
        println!("skipped: MEMREPORT_MEMRAY does not name a Python with memray");
        return;
    };
    let python = Path::new(&python);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.py"), PROGRAM).unwrap();
    run(
        python,
        folder.path(),
        &[
            "-m", "memray", "run", "-q", "--native", "-o", "out.bin", "app.py",
        ],
    );
    let memrays = memrays(&run(python, folder.path(), &["-c", READ, "out.bin"]));
    let ours = ours(&fs::read(folder.path().join("out.bin")).unwrap());

    let bytes = |rows: &Rows| rows.values().map(|(bytes, _)| bytes).sum::<u64>();
    assert_eq!(bytes(&memrays), bytes(&ours));
    let equal_rows = memrays
        .iter()
        .filter(|(key, sums)| ours.get(key) == Some(sums))
        .count();
    let (theirs, own) = (frames(&memrays), frames(&ours));
    let mut differing: Vec<(i64, &Frame)> = theirs
        .iter()
        .map(|(frame, n)| (n - own.get(frame).copied().unwrap_or(0), *frame))
        .filter(|(missing, _)| *missing > 0)
        .collect();
    differing.sort_by(|a, b| b.cmp(a));
    let n_frames: i64 = theirs.values().sum();
    let missing: i64 = differing.iter().map(|(missing, _)| missing).sum();
    println!(
        "{equal_rows} of {} rows and {} of {n_frames} frames equal memray's",
        memrays.len(),
        n_frames - missing
    );
    for (missing, (function, file, line)) in &differing {
        println!("not ours, {missing} times: {function} {file}:{line}");
    }
    assert!(n_frames > 1_000, "only {n_frames} frames");
    assert!(
        missing * 100 <= n_frames,
        "{missing} of {n_frames} frames differ"
    );
}
