//! Profiles of captures on disk, and of captures made record by record.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memreport_render::aggregate::ingest::Source;
use memreport_render::aggregate::ingest::capture::{
    Allocation, Allocator, CodeObject, CodePush, Encoder, FileFormat, Header, MemoryRecord,
    PythonAllocator, PythonVersion, Record, Version,
};
use memreport_render::aggregate::ingest::native::SymbolOptions;
use memreport_render::aggregate::{Error, Options, Profile, read_profile};

/// When captures made here start, in milliseconds since the epoch.
pub(crate) const START_MS: u64 = 1_700_000_000_000;

fn profile(source: Source) -> Result<Profile, Error> {
    // No symbols: they differ from machine to machine.
    let options = Options {
        symbols: SymbolOptions::default(),
        ..Options::default()
    };
    read_profile(source, &options, &Arc::default())
}

/// The small captures, in the order of their names.
pub(crate) fn small_captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let files = std::fs::read_dir(folder).expect("the captures are there");
    let paths = files.map(|file| file.expect("the folder can be listed").path());
    let mut captures: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|end| end == "bin"))
        .collect();
    captures.sort();
    captures
}

/// The profile of a capture on disk.
pub(crate) fn profile_of_file(path: &Path) -> Result<Profile, Error> {
    profile(Source::open(path).expect("the capture can be opened"))
}

/// The profile of these records, in the newest format.
pub(crate) fn profile_of_records(command_line: &[u8], records: &[Record<'_>]) -> Profile {
    let calls = records
        .iter()
        .filter(|r| matches!(r, Record::Allocation(_)));
    let mut encoder = Encoder::new(&Header {
        version: Version::new(13).expect("the format exists"),
        // With it, an empty line table means the first line.
        python_version: Some(PythonVersion { major: 3, minor: 9 }),
        native_traces: false,
        file_format: FileFormat::AllAllocations,
        n_allocations: calls.count() as u64,
        n_frames: 0,
        start_time_ms: START_MS.cast_signed(),
        end_time_ms: START_MS.cast_signed() + 25,
        command_line: command_line.to_vec(),
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
    for record in records.iter().chain([&Record::Trailer]) {
        assert!(encoder.push(record), "no {} in a capture", record.name());
    }
    let capture = Cursor::new(encoder.finish());
    profile(Source::from_reader("records", capture)).expect("the capture is readable")
}

/// Code all on one line.
pub(crate) fn code<'a>(id: u64, function: &'a [u8], file: &'a [u8], line: i32) -> Record<'a> {
    Record::CodeObject(CodeObject {
        id,
        function,
        file,
        first_line: line,
        line_table: b"",
    })
}

pub(crate) fn push(code_id: u64) -> Record<'static> {
    Record::CodePush(CodePush {
        code_id,
        instruction_offset: 0,
        is_entry: true,
    })
}

/// A call by this function; frees have no size.
pub(crate) fn call(allocator: Allocator, address: u64, size: u64) -> Record<'static> {
    Record::Allocation(Allocation {
        address,
        size,
        allocator,
        native_id: 0,
    })
}

pub(crate) fn snapshot(after_ms: u64, rss: u64) -> Record<'static> {
    let time_ms = START_MS + after_ms;
    Record::Memory(MemoryRecord { time_ms, rss })
}

const LONG: &[u8] = &[b'x'; 4000];

/// Names that would be markup, template or line ends elsewhere: function, file.
pub(crate) const HOSTILE: [(&[u8], &[u8]); 7] = [
    (b"</script><script>alert(1)</script>", b"{{x}} {{{y}}}"),
    (b"<!--<script>", b"-->"),
    ("\u{2028}\u{2029}\u{feff}\u{202e}".as_bytes(), b"a\nb\r\tc"),
    (b"\xff\xfe", b"\xc3("),
    (LONG, b"'\"`=&amp;</title>"),
    (b"", b""),
    (b"<root>", b"C:\\new\\u003c"),
];

/// Functions with such names, each called by the one before; each allocates `size` bytes times its number.
pub(crate) fn hostile_calls(size: u64) -> impl Iterator<Item = Record<'static>> {
    (1..).zip(HOSTILE).flat_map(move |(id, (function, file))| {
        [
            code(id, function, file, 1),
            push(id),
            call(Allocator::Malloc, 16 * id, size * id),
        ]
    })
}
