//! Symbols of libraries that are compiled here, and of files that are none.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]
#![allow(
    clippy::print_stdout,
    reason = "who runs a test is told what it left out"
)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use memreport_ingest::native::{
    MemoryMapsBuilder, ModuleFaultKind, NativeFrame, NativeSymbols, SymbolOptions, Symbolizer,
    UNKNOWN_FILE,
};
use object::{Object, ObjectSegment, ObjectSymbol};
use tempfile::TempDir;

const BIAS: u64 = 0x7f00_0000_0000;

const SOURCE: &str = r#"
#include <cstdlib>
#define KEEP __attribute__((noinline, used))
#define FLAT inline __attribute__((always_inline))
namespace work {
FLAT void* innermost(size_t n) {
    void* p = malloc(n);
    asm volatile("" : "+r"(p));
    return p;
}
FLAT void* middle(size_t n) {
    return innermost(n + 8);
}
KEEP void* outer(size_t n) {
    void* p = middle(n * 2);
    asm volatile("" : "+r"(p));
    return p;
}
template <typename T> struct Grower {
    KEEP void* grow(size_t n) { void* p = malloc(n * sizeof(T)); asm volatile("" : "+r"(p)); return p; }
};
template struct Grower<double>;
}
static KEEP void* hidden(size_t n) {
    void* p = malloc(n + 1);
    asm volatile("" : "+r"(p));
    return p;
}
extern "C" void* visible(size_t n) {
    void* p = hidden(n);
    asm volatile("" : "+r"(p));
    return p;
}
"#;

/// A C++ library in a folder of its own.
struct Library {
    folder: TempDir,
    path: PathBuf,
    /// Name and address of each function, of the library before anything was taken away.
    functions: Vec<(String, std::ops::Range<u64>)>,
    segments: Vec<(u64, u64)>,
}

impl Library {
    /// Compiles the library, or says on the terminal that there is no compiler.
    fn compile(options: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("work.cpp"), SOURCE).unwrap();
        let mut arguments = vec![
            "-O2",
            "-shared",
            "-fPIC",
            "-Wl,--build-id",
            "-o",
            "libwork.so",
        ];
        arguments.extend(options);
        arguments.push("work.cpp");
        if !["c++", "g++", "clang++"]
            .iter()
            .any(|compiler| run(folder.path(), compiler, &arguments))
        {
            println!("skipped: no C++ compiler that takes {options:?}");
            return None;
        }
        let path = folder.path().join("libwork.so");
        let data = fs::read(&path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let functions = file
            .symbols()
            .filter(|symbol| symbol.size() > 0)
            .map(|symbol| {
                let range = symbol.address()..symbol.address() + symbol.size();
                (symbol.name().unwrap().to_owned(), range)
            });
        Some(Self {
            path,
            functions: functions.collect(),
            segments: segments(&data),
            folder,
        })
    }

    fn tool(&self, tool: &str, arguments: &[&str]) -> bool {
        let ran = run(self.folder.path(), tool, arguments);
        if !ran {
            println!("skipped: no {tool} that takes {arguments:?}");
        }
        ran
    }

    fn build_id(&self) -> String {
        let data = fs::read(&self.path).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let id = file.build_id().unwrap().unwrap();
        id.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Moves a file to where its build id has it looked for, below the library's folder.
    fn file_by_build_id(&self, file: &str) -> PathBuf {
        let id = self.build_id();
        let folder = self.folder.path().join("symbols/.build-id").join(&id[..2]);
        fs::create_dir_all(&folder).unwrap();
        let to = folder.join(format!("{}.debug", &id[2..]));
        fs::rename(self.folder.path().join(file), &to).unwrap();
        to
    }

    /// The different lists of frames at addresses of a function, as text.
    fn frames(&self, function: &str, options: SymbolOptions) -> BTreeSet<String> {
        let (_, range) = self
            .functions
            .iter()
            .find(|(name, _)| name == function)
            .unwrap();
        let ips: Vec<_> = range.clone().map(|at| at + BIAS + 1).collect();
        let symbols = symbols(&[(&self.path, &self.segments)], &ips, options);
        ips.iter().map(|&ip| text(symbols.frames(1, ip))).collect()
    }

    fn symbols_folder(&self) -> SymbolOptions {
        SymbolOptions {
            symbol_paths: vec![self.folder.path().join("symbols")],
            ..enabled()
        }
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn segments(elf: &[u8]) -> Vec<(u64, u64)> {
    let file = object::File::parse(elf).unwrap();
    file.segments().map(|s| (s.address(), s.size())).collect()
}

fn enabled() -> SymbolOptions {
    SymbolOptions {
        enabled: true,
        ..SymbolOptions::default()
    }
}

/// Resolves addresses of a process that has loaded these files.
fn symbols(files: &[(&Path, &[(u64, u64)])], ips: &[u64], options: SymbolOptions) -> NativeSymbols {
    let mut maps = MemoryMapsBuilder::default();
    maps.start_map();
    for (path, segments) in files {
        maps.add_image(path.as_os_str().as_bytes(), BIAS);
        for &(virtual_address, size) in *segments {
            maps.add_segment(virtual_address, size);
        }
    }
    let ips: Vec<_> = ips.iter().map(|&ip| (1, ip)).collect();
    Symbolizer::new(maps.finish(), options).resolve_all(&ips)
}

/// Function, file name and line of each frame.
fn text(frames: &[NativeFrame]) -> String {
    let frames = frames.iter().map(|frame| {
        let file = frame.file.rsplit('/').next().unwrap();
        format!("{} {file}:{}", frame.function, frame.line)
    });
    frames.collect::<Vec<_>>().join(", ")
}

/// What is wrong with the only file that was looked at.
fn fault(symbols: &NativeSymbols) -> ModuleFaultKind {
    match &symbols.summary().faults[..] {
        [fault] => fault.kind.clone(),
        faults => panic!("{faults:?}"),
    }
}

const INLINED: &str = "work::innermost(unsigned long) work.cpp:7, \
                       work::middle(unsigned long) work.cpp:12, \
                       work::outer(unsigned long) work.cpp:15";
const OUTER: &str = "_ZN4work5outerEm";
const GROW: &str = "_ZN4work6GrowerIdE4growEm";
const HIDDEN: &str = "_ZL6hiddenm";

/// That debug information was found, wherever it is.
fn assert_debugged(library: &Library, options: &SymbolOptions) {
    let inlined = library.frames(OUTER, options.clone());
    assert!(inlined.contains(INLINED), "{inlined:?}");
    let grow = library.frames(GROW, options.clone());
    let expected = "work::Grower<double>::grow(unsigned long) work.cpp:20";
    assert!(grow.contains(expected), "{grow:?}");
    let hidden = library.frames(HIDDEN, options.clone());
    // Of functions that no other file can call, not all compilers write the parameters down.
    let is_line = |frame: &String| frame.starts_with("hidden") && frame.ends_with(" work.cpp:25");
    assert!(hidden.iter().any(is_line), "{hidden:?}");
}

#[test]
fn inlined_functions_are_frames_of_their_own() {
    for options in [
        &["-g"][..],
        &["-gdwarf-4"],
        &["-gdwarf-5"],
        &["-g", "-gz=zlib"],
    ] {
        if let Some(library) = Library::compile(options) {
            assert_debugged(&library, &enabled());
        }
    }
}

#[test]
fn sections_may_be_packed_with_zstandard() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    if library.tool("objcopy", &["--compress-debug-sections=zstd", "libwork.so"]) {
        assert_debugged(&library, &enabled());
    }
}

#[test]
fn without_debug_information_the_symbol_table_names_functions() {
    let Some(library) = Library::compile(&["-g0"]) else {
        return;
    };
    let frames = |function| library.frames(function, enabled());
    let only = |text: String| BTreeSet::from([text]);
    assert_eq!(
        frames(OUTER),
        only(format!("work::outer(unsigned long) {UNKNOWN_FILE}:0"))
    );
    assert_eq!(
        frames(HIDDEN),
        only(format!("hidden(unsigned long) {UNKNOWN_FILE}:0"))
    );
}

#[test]
fn of_a_stripped_library_only_exported_functions_have_names() {
    let Some(stripped) = Library::compile(&["-s", "-g"]) else {
        return;
    };
    assert!(stripped.functions.is_empty());
    let Some(full) = Library::compile(&[]) else {
        return;
    };
    let library = Library {
        functions: full.functions.clone(),
        ..stripped
    };
    let outer = library.frames(OUTER, enabled());
    let expected = format!("work::outer(unsigned long) {UNKNOWN_FILE}:0");
    assert_eq!(outer, BTreeSet::from([expected]));

    let (_, hidden) = &full.functions.iter().find(|f| f.0 == HIDDEN).unwrap();
    let ip = hidden.start + BIAS + 1;
    let symbols = symbols(&[(&library.path, &library.segments)], &[ip], enabled());
    let [frame] = symbols.frames(1, ip) else {
        panic!("{symbols:?}");
    };
    assert_eq!(&*frame.function, format!("libwork.so+{:#x}", hidden.start));
    assert_eq!(Path::new(&*frame.file), library.path);
    assert_eq!(frame.line, 0);
    assert_eq!(fault(&symbols), ModuleFaultKind::NoSymbols);
    assert_eq!(symbols.summary().n_unresolved, 1);
}

#[test]
fn debug_information_is_found_by_build_id() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    if !library.tool(
        "objcopy",
        &["--only-keep-debug", "libwork.so", "work.debug"],
    ) || !library.tool("strip", &["libwork.so"])
    {
        return;
    }
    let debug = library.file_by_build_id("work.debug");
    assert_debugged(&library, &library.symbols_folder());
    assert!(!library.frames(OUTER, enabled()).contains(INLINED));

    // Below a system root, the same at the place of distributions.
    let root = tempfile::tempdir().unwrap();
    let system = root.path().join("usr/lib/debug");
    fs::create_dir_all(&system).unwrap();
    let id_folder = library.folder.path().join("symbols/.build-id");
    fs::rename(&id_folder, system.join(".build-id")).unwrap();
    let image = root.path().join(library.path.strip_prefix("/").unwrap());
    fs::create_dir_all(image.parent().unwrap()).unwrap();
    fs::rename(&library.path, image).unwrap();
    let options = SymbolOptions {
        sysroot: Some(root.path().into()),
        ..enabled()
    };
    assert_debugged(&library, &options);
    assert!(!debug.exists());
}

#[test]
fn debug_information_of_another_build_is_not_used() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    let Some(other) = Library::compile(&["-g", "-DOTHER", "-Wl,--build-id=0x12345678"]) else {
        return;
    };
    if !library.tool("strip", &["-g", "libwork.so"]) {
        return;
    }
    fs::rename(&other.path, library.folder.path().join("other.debug")).unwrap();
    library.file_by_build_id("other.debug");
    let frames = library.frames(OUTER, library.symbols_folder());
    let expected = format!("work::outer(unsigned long) {UNKNOWN_FILE}:0");
    assert_eq!(frames, BTreeSet::from([expected]));
}

#[test]
fn debug_information_is_found_by_link() {
    let Some(library) = Library::compile(&["-g", "-Wl,--build-id=none"]) else {
        return;
    };
    let link = [
        "--strip-all",
        "--add-gnu-debuglink=work.debug",
        "libwork.so",
    ];
    if !library.tool(
        "objcopy",
        &["--only-keep-debug", "libwork.so", "work.debug"],
    ) || !library.tool("objcopy", &link)
    {
        return;
    }
    let folder = library.folder.path();
    assert_debugged(&library, &enabled());
    for place in [".debug", "symbols"] {
        let place = folder.join(place);
        fs::create_dir(&place).unwrap();
        fs::copy(folder.join("work.debug"), place.join("work.debug")).unwrap();
    }
    let debug = folder.join("work.debug");
    fs::remove_file(&debug).unwrap();
    assert_debugged(&library, &enabled());
    fs::remove_dir_all(folder.join(".debug")).unwrap();
    assert!(!library.frames(OUTER, enabled()).contains(INLINED));
    assert_debugged(&library, &library.symbols_folder());

    // The checksum tells another file.
    let linked = folder.join("symbols/work.debug");
    let mut other = fs::read(&linked).unwrap();
    other.push(0);
    fs::write(&linked, other).unwrap();
    let frames = library.frames(OUTER, library.symbols_folder());
    assert!(!frames.contains(INLINED), "{frames:?}");
}

#[test]
fn all_addresses_at_once_are_as_each_on_its_own() {
    let Some(library) = Library::compile(&["-g", "-O0"]) else {
        return;
    };
    let end = library.segments.iter().map(|s| s.0 + s.1).max().unwrap();
    let ips: Vec<_> = (0..end + 3).map(|at| BIAS + at).collect();
    let files: [(&Path, &[_]); 1] = [(&library.path, &library.segments)];
    let mut twice = ips.clone();
    twice.extend(ips.iter().rev());
    let all = symbols(&files, &twice, enabled());
    let summary = all.summary();
    assert_eq!(
        summary.n_addresses + summary.n_unmapped,
        ips.len() as u64,
        "{summary:?}"
    );
    assert_eq!(summary.n_modules, 1);
    for ip in ips.iter().step_by(97) {
        let one = symbols(&files, &[*ip], enabled());
        assert_eq!(all.frames(1, *ip), one.frames(1, *ip));
    }
    assert!(all.frames(1, BIAS).is_empty() && all.frames(2, BIAS + 1).is_empty());
}

#[test]
fn a_file_with_other_segments_is_not_used() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    let mut segments = library.segments.clone();
    segments[0].1 += 16;
    let ip = library.functions[0].1.start + BIAS + 1;
    let symbols = symbols(&[(&library.path, &segments)], &[ip], enabled());
    assert_eq!(fault(&symbols), ModuleFaultKind::Different);
    let warning = symbols.summary().faults[0].to_string();
    assert_eq!(
        warning,
        format!(
            "{}: the file is not the one that was mapped, and is not used (1 address is not resolved)",
            library.path.display()
        )
    );

    // A folder of symbols may have the right one, under its name.
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(&library.path, elsewhere.path().join("libwork.so")).unwrap();
    let mut other = fs::read(elsewhere.path().join("libwork.so")).unwrap();
    other.truncate(100);
    fs::write(&library.path, other).unwrap();
    let options = SymbolOptions {
        symbol_paths: vec![elsewhere.path().into()],
        ..enabled()
    };
    assert_debugged(&library, &options);
}

/// A build with other code can have the same segments: then only its time tells.
#[test]
fn a_file_that_was_modified_after_the_capture_is_used_and_named() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let below = root.path().join(library.path.strip_prefix("/").unwrap());
    fs::create_dir_all(below.parent().unwrap()).unwrap();
    fs::copy(&library.path, &below).unwrap();
    fs::remove_file(&library.path).unwrap();
    let captured = 1_700_000_000_000;
    let (_, outer) = library
        .functions
        .iter()
        .find(|(name, _)| name == OUTER)
        .unwrap();
    let ips: Vec<_> = outer.clone().map(|at| at + BIAS + 1).collect();
    let modified = |seconds: u64, captured_until_ms| {
        let time = UNIX_EPOCH + Duration::from_secs(seconds);
        let file = fs::File::options().write(true).open(&below).unwrap();
        file.set_modified(time).unwrap();
        let options = SymbolOptions {
            sysroot: Some(root.path().into()),
            captured_until_ms,
            ..enabled()
        };
        let symbols = symbols(&[(&library.path, &library.segments)], &ips, options);
        let summary = symbols.summary();
        assert_eq!((summary.n_unresolved, &summary.faults[..]), (0, &[][..]));
        summary.modified.clone()
    };
    let path = library.path.display().to_string();
    assert_eq!(modified(1_700_000_001, Some(captured)), [path]);
    assert!(modified(1_700_000_000, Some(captured)).is_empty());
    assert!(modified(1_600_000_000, Some(captured)).is_empty());
    assert!(
        modified(1_700_000_001, None).is_empty(),
        "it is not known when"
    );
}

#[test]
fn nothing_is_opened_unless_asked_for_and_only_below_the_system_root() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    let placeholders = |options| {
        let frames = library.frames(OUTER, options);
        frames
            .iter()
            .all(|frame| frame.starts_with("libwork.so+0x"))
    };
    assert!(placeholders(SymbolOptions::default()));
    let empty = tempfile::tempdir().unwrap();
    assert!(placeholders(SymbolOptions {
        sysroot: Some(empty.path().into()),
        ..enabled()
    }));
    let ip = [BIAS + library.functions[0].1.start + 1];
    let files: [(&Path, &[_]); 1] = [(&library.path, &library.segments)];
    let disabled = symbols(&files, &ip, SymbolOptions::default());
    assert!(disabled.summary().faults.is_empty());
    assert_eq!(disabled.summary().n_unresolved, 1);
}

/// What is said of a file with one segment, at one of its addresses.
fn fault_at(path: &Path) -> ModuleFaultKind {
    let symbols = symbols(&[(path, &[(0, 0x1000)])], &[BIAS + 0x10], enabled());
    let [frame] = symbols.frames(1, BIAS + 0x10) else {
        panic!("{symbols:?}");
    };
    assert!(frame.function.ends_with("+0xf"), "{frame:?}");
    fault(&symbols)
}

#[test]
fn what_is_no_library_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert_eq!(fault_at(&path("missing")), ModuleFaultKind::Missing);
    assert_eq!(fault_at(Path::new("")), ModuleFaultKind::Missing);
    assert_eq!(fault_at(folder.path()), ModuleFaultKind::NotRegular);
    assert_eq!(
        fault_at(Path::new("/dev/zero")),
        ModuleFaultKind::NotRegular
    );
    if run(folder.path(), "mkfifo", &["pipe"]) {
        assert_eq!(fault_at(&path("pipe")), ModuleFaultKind::NotRegular);
        std::os::unix::fs::symlink(path("pipe"), path("link")).unwrap();
        assert_eq!(fault_at(&path("link")), ModuleFaultKind::NotRegular);
    }
    fs::write(path("file"), "text").unwrap();
    assert_eq!(fault_at(&path("file/below")), ModuleFaultKind::Missing);
    for text in [&b""[..], b"\x7fELF", b"#!/bin/sh\n", &[0; 4096]] {
        fs::write(path("file"), text).unwrap();
        let fault = fault_at(&path("file"));
        assert!(matches!(fault, ModuleFaultKind::Unreadable(_)), "{fault:?}");
    }
}

#[test]
fn holes_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge");
    let file = File::create(&path).unwrap();
    if file.set_len(1 << 42).is_ok() {
        assert_eq!(fault_at(&path), ModuleFaultKind::TooLarge);
    }
    // An ELF header, and sections that claim gigabytes of nothing.
    let mut elf = fs::read(std::env::current_exe().unwrap()).unwrap();
    let Ok(parsed) = object::File::parse(&*elf) else {
        return;
    };
    let loaded: Vec<_> = parsed.segments().map(|s| (s.address(), s.size())).collect();
    let headers = usize::try_from(u64::from_le_bytes(elf[40..48].try_into().unwrap())).unwrap();
    for header in elf[headers..].chunks_exact_mut(64).skip(1) {
        header[24..32].copy_from_slice(&0_u64.to_le_bytes());
        header[32..40].copy_from_slice(&(30_u64 << 30).to_le_bytes());
    }
    let mut file = File::create(&path).unwrap();
    file.write_all(&elf).unwrap();
    if file.set_len(1 << 35).is_err() {
        return;
    }
    file.seek(SeekFrom::Start(0)).unwrap();
    let (at, _) = loaded[0];
    let symbols = symbols(&[(&path, &loaded)], &[BIAS + at + 1], enabled());
    assert_eq!(symbols.summary().n_unresolved, 1, "{:?}", symbols.summary());
    assert_ne!(fault(&symbols), ModuleFaultKind::Different);
}

#[test]
fn damaged_libraries_never_panic() {
    let Some(library) = Library::compile(&["-g"]) else {
        return;
    };
    let whole = fs::read(&library.path).unwrap();
    let ips: Vec<_> = library
        .functions
        .iter()
        .map(|f| f.1.start + BIAS + 1)
        .collect();
    let files: [(&Path, &[_]); 1] = [(&library.path, &library.segments)];
    let check = |bytes: &[u8]| {
        fs::write(&library.path, bytes).unwrap();
        let symbols = symbols(&files, &ips, enabled());
        for fault in &symbols.summary().faults {
            let text = fault.to_string();
            assert!(!text.contains("not understood"), "{text}");
        }
        assert!(ips.iter().all(|&ip| !symbols.frames(1, ip).is_empty()));
    };
    for at in (0..whole.len()).step_by(whole.len() / 150) {
        check(&whole[..at]);
    }
    // A generator of its own: the same damage every time.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..300 {
        let mut damaged = whole.clone();
        // The segments stay, so that the file is read on.
        for _ in 0..40 {
            let at = 0x400 + random(whole.len() - 0x400);
            damaged[at] = u8::try_from(random(256)).unwrap();
        }
        check(&damaged);
    }
}

/// A library whose debug information is written by hand, after `.section` lines.
fn assembled(debug: &str) -> Option<(TempDir, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        ".text\n.globl work\n.type work, @function\nwork: .fill 64, 1, 0x90\n.size work, . - work\n\
         .section .note.GNU-stack,\"\",@progbits\n{debug}\n"
    );
    fs::write(folder.path().join("work.s"), source).unwrap();
    let arguments = ["-shared", "-nostdlib", "-o", "libwork.so", "work.s"];
    if !cfg!(target_arch = "x86_64") || !run(folder.path(), "cc", &arguments) {
        println!("skipped: no assembler");
        return None;
    }
    let path = folder.path().join("libwork.so");
    Some((folder, path))
}

/// Whether `work` of such a library is named by the symbol table alone, and why.
fn refused(path: &Path) -> String {
    let data = fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let work = file.symbols().find(|s| s.name() == Ok("work")).unwrap();
    let ip = work.address() + BIAS + 9;
    let symbols = symbols(&[(path, &segments(&data))], &[ip], enabled());
    assert_eq!(
        text(symbols.frames(1, ip)),
        format!("work {UNKNOWN_FILE}:0")
    );
    assert_eq!(symbols.summary().n_unresolved, 0);
    symbols.summary().faults[0].to_string()
}

#[test]
fn entries_that_nest_without_end_do_not_overflow_the_stack() {
    // A unit with a function with inlined functions, each in the one before it.
    let debug = "
        .section .debug_abbrev
        .uleb128 1, 0x11
        .byte 1
        .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 2, 0x2e
        .byte 1
        .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 3, 0x1d
        .byte 1
        .uleb128 0, 0
        .byte 0
        .section .debug_info
        .long 2f - 1f
    1:  .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad work, 64
        .uleb128 2
        .quad work, 64
        .fill 1000000, 1, 3
        .fill 1000002, 1, 0
    2:";
    let Some((_folder, path)) = assembled(debug) else {
        return;
    };
    let warning = refused(&path);
    assert!(
        warning.ends_with("its entries nest too deeply"),
        "{warning}"
    );
}

#[test]
fn paths_that_few_bytes_stand_for_are_not_written_out() {
    // A hundred thousand files in one folder with a name of a million letters.
    let debug = "
        .section .debug_abbrev
        .uleb128 1, 0x11
        .byte 1
        .uleb128 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0, 0
        .byte 0
        .section .debug_info
        .long 2f - 1f
    1:  .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad work, 64
        .long 0
        .byte 0
    2:
        .section .debug_line
        .long 6f - 3f
    3:  .short 4
        .long 5f - 4f
    4:  .byte 1, 1, 1, -5, 14, 1
        .fill 1000000, 1, 0x61
        .byte 0, 0
        .rept 100000
        .byte 0x66, 0, 1, 0, 0
        .endr
        .byte 0
    5:
        .byte 0, 9, 2
        .quad work
        .byte 2, 64, 0, 1, 1
    6:";
    let Some((_folder, path)) = assembled(debug) else {
        return;
    };
    let warning = refused(&path);
    assert!(
        warning.ends_with("its line tables are too long"),
        "{warning}"
    );
}
