//! Saved profiles: they give the reports of their captures, and what is damaged is never an answer.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::process::Output as Ran;

use assert_cmd::Command;
use flate2::read::DeflateDecoder;
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use memreport_aggregate::{
    Filter, Moment, Options, Origin, Profile, Question, Saved, SavedError, Selection,
};
use memreport_ingest::native::SymbolOptions;
use memreport_render::{
    Collapsed, Csv, Extent, FirstView, Form, FunctionOrder, Gprof2dot, Html, Json, Output, Pprof,
    Speedscope, StatsJson, StatsText, Summary, Table, TableFormat, Tree, Units, doubts, saved_json,
    saved_text,
};
use tempfile::TempDir;

use support::captures::Corpus;
use support::profiles::{profile_of, thinned};

fn without_symbols() -> Options {
    Options {
        symbols: SymbolOptions::default(),
        ..Options::default()
    }
}

fn saved(profile: &Profile, options: &Options) -> Vec<u8> {
    let mut bytes = Vec::new();
    Saved::write(&Origin::new(options), profile, &mut bytes).unwrap();
    bytes
}

/// All reports, or why there is none.
fn reports(profile: &Profile) -> Vec<(String, Result<Vec<u8>, String>)> {
    let mut reports = vec![("doubts".to_owned(), Ok(doubts(profile).join("\n").into()))];
    for (name, output) in outputs() {
        let mut bytes = Vec::new();
        let written = output.write(profile, &mut bytes);
        reports.push((
            name,
            written.map(|()| bytes).map_err(|error| error.to_string()),
        ));
    }
    reports
}

fn outputs() -> Vec<(String, Box<dyn Output>)> {
    let top = usize::MAX;
    let units = Units::Iec;
    let mut outputs: Vec<(String, Box<dyn Output>)> = vec![
        ("stats".into(), Box::new(StatsText { top, units })),
        ("stats --json".into(), Box::new(StatsJson { top })),
    ];
    for first_view in [FirstView::Peak, FirstView::Leaks, FirstView::Temporary] {
        outputs.push((
            format!("page {first_view:?}"),
            Box::new(Html {
                first_view,
                ..Html::default()
            }),
        ));
    }
    for (name, selection) in selections() {
        let mut add = |kind: &str, output: Box<dyn Output>| {
            outputs.push((format!("{kind} of {name}"), output));
        };
        let shown = || selection.clone();
        add(
            "json",
            Box::new(Json {
                temporal: true,
                selection: Some(shown()),
            }),
        );
        add("speedscope", Box::new(Speedscope { selection: shown() }));
        add("csv", Box::new(Csv { selection: shown() }));
        add("gprof2dot", Box::new(Gprof2dot { selection: shown() }));
        add("collapsed", Box::new(Collapsed { selection: shown() }));
        add("pprof", Box::new(Pprof { selection: shown() }));
        for format in [TableFormat::Html, TableFormat::Csv] {
            let selection = shown();
            add(
                "table",
                Box::new(Table {
                    selection,
                    format,
                    units,
                }),
            );
        }
        for form in [Form::Text { columns: 100 }, Form::Json { budget: None }] {
            let (selection, extent) = (shown(), Extent::All);
            let order = FunctionOrder::Own;
            add(
                "summary",
                Box::new(Summary {
                    selection,
                    order,
                    extent,
                    units,
                    form,
                }),
            );
            let selection = shown();
            add(
                "tree",
                Box::new(Tree {
                    selection,
                    extent,
                    units,
                    form,
                }),
            );
        }
    }
    outputs
}

fn selections() -> Vec<(&'static str, Selection)> {
    let whole = Selection::default();
    let mut filter = Filter::new(&["e".to_owned()], &["site-packages".to_owned()]).unwrap();
    filter.hide_import_system = true;
    vec![
        ("the peak", whole.clone()),
        ("leaks", whole.asking(Question::Leaks)),
        (
            "temporaries",
            whole.asking(Question::Temporary { threshold: 1 }),
        ),
        (
            "leaks of a range, filtered",
            Selection {
                question: Question::Leaks,
                from: Some(Moment::Peak),
                to: Some(Moment::End),
                filter,
                split_threads: true,
                inverted: true,
            },
        ),
    ]
}

#[track_caller]
fn same_reports(name: &str, profile: &Profile, options: &Options) {
    let bytes = saved(profile, options);
    let read = Saved::read(bytes.as_slice()).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(read.origin, Origin::new(options), "{name}");
    for ((report, from_capture), (_, from_saved)) in
        reports(profile).iter().zip(reports(&read.profile))
    {
        assert!(*from_capture == from_saved, "{name}: {report}");
    }
    assert!(
        saved(&read.profile, options) == bytes,
        "{name}: saved again"
    );
}

#[test]
fn every_report_is_that_of_the_capture() {
    let corpus = Corpus::own();
    let mut n_read = 0;
    for entry in corpus.entries() {
        let capture = corpus.bytes(&entry.name);
        if let Ok(profile) = profile_of(&capture, &without_symbols()) {
            same_reports(&entry.name, &profile, &without_symbols());
            n_read += 1;
        }
    }
    assert!(n_read > 100, "{n_read} captures can be read");
}

#[test]
fn what_options_decided_is_saved() {
    let corpus = Corpus::own();
    let several = [
        ("v13-manysnaps", thinned(7)),
        ("v13-native-cpp", Options::default()),
        (
            "v13-etl",
            Options {
                memray_frames: true,
                temporary_threshold: 20,
                ..without_symbols()
            },
        ),
    ];
    for (name, options) in several {
        let profile = profile_of(&corpus.bytes(name), &options).unwrap();
        same_reports(name, &profile, &options);
    }
}

#[test]
fn lines_of_source_are_saved() {
    use memreport_ingest::SourceFiles;
    let desk = Desk::new();
    // The capture's paths are those of the machine that it was made on.
    let profile = profile_of(&Corpus::own().bytes("v13-etl"), &without_symbols()).unwrap();
    let frames = profile.frames.as_slice();
    for file in frames.iter().map(|frame| profile.strings.text(frame.file)) {
        let below = file.trim_start_matches('/');
        if below.ends_with("etl.py") {
            let path = desk.folder.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "    line = of(source)\n".repeat(300)).unwrap();
        }
    }
    let mut options = without_symbols();
    options.source_lines.files = SourceFiles::Python;
    options.source_lines.sysroot = Some(desk.folder.path().to_owned());
    let profile = profile_of(&Corpus::own().bytes("v13-etl"), &options).unwrap();
    assert!(!profile.source_lines.as_ref().unwrap().lines.is_empty());
    same_reports("v13-etl with lines", &profile, &options);
}

fn small() -> Vec<u8> {
    let options = without_symbols();
    let profile = profile_of(&Corpus::own().bytes("v13-quick"), &options).unwrap();
    saved(&profile, &options)
}

#[test]
fn a_file_that_is_cut_anywhere_is_an_error() {
    let whole = small();
    for len in 0..whole.len() {
        let error = Saved::read(&whole[..len]).unwrap_err();
        let expected = match len {
            0..6 => matches!(error, SavedError::NotSaved),
            _ => matches!(error, SavedError::Cut { offset, .. } if offset == len as u64),
        };
        assert!(expected, "{len}: {error}");
    }
    let longer = [whole.as_slice(), b"\0"].concat();
    let error = Saved::read(longer.as_slice()).unwrap_err();
    assert!(matches!(error, SavedError::DataAfterEnd { offset } if offset == whole.len() as u64));
}

#[test]
fn a_byte_that_is_changed_anywhere_is_an_error() {
    let whole = small();
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut broken = whole.clone();
            broken[at] ^= change;
            assert!(
                Saved::read(broken.as_slice()).is_err(),
                "byte {at} ^ {change}"
            );
        }
    }
}

/// The sections of a file, unpacked, with their names.
fn sections(file: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let n_sections = usize::from(file[8]);
    let mut start = 12 + 24 * n_sections + 4;
    let entries = (0..n_sections).map(|index| 12 + 24 * index);
    let unpack = entries.map(|entry| {
        let end = start + usize::try_from(number(entry + 8)).unwrap();
        let mut bytes = Vec::new();
        DeflateDecoder::new(&file[start..end])
            .read_to_end(&mut bytes)
            .unwrap();
        assert_eq!(bytes.len() as u64, number(entry + 16));
        start = end;
        (file[entry..entry + 4].try_into().unwrap(), bytes)
    });
    unpack.collect()
}

/// The file of these sections, with the checksums that they have now.
fn file_of(sections: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let checksum = |bytes: &[u8]| {
        let mut crc = Crc::new();
        crc.update(bytes);
        crc.sum().to_le_bytes()
    };
    let mut file = [
        b"MRPROF\x01\0".as_slice(),
        &[u8::try_from(sections.len()).unwrap(), 0, 0, 0],
    ]
    .concat();
    let mut body = Vec::new();
    for (name, bytes) in sections {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        let packed = encoder.finish().unwrap();
        file.extend(name);
        file.extend(checksum(&packed));
        file.extend((packed.len() as u64).to_le_bytes());
        file.extend((bytes.len() as u64).to_le_bytes());
        body.extend(packed);
    }
    let of_directory = checksum(&file);
    file.extend(of_directory);
    [file, body].concat()
}

#[test]
fn documented_bytes_are_those_of_the_file() {
    let whole = small();
    assert_eq!(whole[..12], *b"MRPROF\x01\0\x10\0\0\0");
    let sections = sections(&whole);
    let names: Vec<&str> = sections
        .iter()
        .map(|(name, _)| str::from_utf8(name).unwrap())
        .collect();
    let documented = [
        "FACT", "STRS", "FRAM", "NODE", "LOCS", "SLIC", "KEYS", "ENDS", "ALLO", "BYTE", "SEQN",
        "MADE", "TEMP", "SIZE", "NATV", "SRCL",
    ];
    assert_eq!(names, documented);
    let document = fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mrp-format.md"),
    );
    let document = document.unwrap();
    for name in documented {
        assert!(
            document.contains(&format!("`{name}`")),
            "{name} is documented"
        );
    }
    let again = Saved::read(file_of(&sections).as_slice()).unwrap();
    assert_eq!(again.origin, Origin::new(&without_symbols()));
}

/// Files with right checksums and any contents: errors, or profiles that every report can be made from.
#[test]
fn hostile_contents_neither_panic_nor_overflow() {
    let whole = sections(&small());
    let values = [0, 1, 0x7f, 0x80, 0xff];
    let (mut n_read, mut n_refused) = (0_u32, 0_u32);
    let mut check =
        |sections: &[([u8; 4], Vec<u8>)]| match Saved::read(file_of(sections).as_slice()) {
            Ok(saved) => {
                n_read += 1;
                let _ = (saved_json(&saved), saved_text(&saved));
                // All reports of all would take minutes.
                if n_read % 8 == 0 {
                    reports(&saved.profile);
                }
            }
            Err(error) => {
                n_refused += 1;
                assert!(!error.to_string().is_empty());
            }
        };
    for section in 0..whole.len() {
        let len = whole[section].1.len();
        // Places that are spread over it, its start above all.
        let places = (0..len.min(24)).chain((24..len).step_by(len / 24 + 1));
        for (at, value) in places.flat_map(|at| values.map(|value| (at, value))) {
            let mut broken = whole.clone();
            broken[section].1[at] = value;
            check(&broken);
        }
        for long in [0xff; 10].iter().scan(Vec::new(), |long, &byte| {
            long.push(byte);
            Some(long.clone())
        }) {
            let mut broken = whole.clone();
            let at = broken[section].1.len() / 2;
            broken[section].1.splice(at..at, long);
            check(&broken);
        }
        let mut cut = whole.clone();
        cut[section].1.truncate(len / 2);
        check(&cut);
        cut[section].1.clear();
        check(&cut);
    }
    assert!(
        n_read > 100 && n_refused > 100,
        "{n_read} read, {n_refused} refused"
    );
}

#[test]
fn lengths_are_not_believed() {
    let whole = small();
    let with_crc = |mut file: Vec<u8>| {
        let end = 12 + 24 * usize::from(file[8]);
        let mut crc = Crc::new();
        crc.update(&file[..end]);
        let sum = crc.sum().to_le_bytes();
        file[end..end + 4].copy_from_slice(&sum);
        file
    };
    let claim = |at: usize, value: u64| {
        let mut file = whole.clone();
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        Saved::read(with_crc(file).as_slice()).unwrap_err()
    };
    assert!(matches!(claim(12 + 8, u64::MAX), SavedError::Cut { .. }));
    assert!(matches!(
        claim(12 + 16, u64::MAX),
        SavedError::Directory { offset: 12, .. }
    ));
    assert!(matches!(
        claim(12 + 16, 1),
        SavedError::Unpack {
            section: "FACT",
            ..
        }
    ));
    let mut newer = whole.clone();
    newer[6] = 2;
    let error = Saved::read(newer.as_slice()).unwrap_err();
    assert!(matches!(error, SavedError::TooNew { found: 2, known: 1 }));
}

/// A folder to work in, which goes with the test.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn with(capture: &str) -> Self {
        let desk = Self::new();
        desk.put("out.bin", &Corpus::own().bytes(capture));
        desk
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap()
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::cargo_bin("memreport").unwrap();
        command
            .current_dir(self.folder.path())
            .args(arguments.split_whitespace());
        command
    }

    #[track_caller]
    fn run(&self, arguments: &str, code: i32) -> Ran {
        let ran = self.command(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(code), "{arguments}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        ran
    }

    /// Ends with 2 and says this.
    #[track_caller]
    fn refuses(&self, arguments: &str, part: &str) {
        let ran = self.run(arguments, 2);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(said.contains(part), "{arguments}: {said}");
        assert!(said.contains("hint: "), "{arguments}: {said}");
    }
}

const COMMANDS: [&str; 8] = [
    "export FILE --format json --temporal",
    "export FILE --format pprof --leaks",
    "stats FILE --json",
    "summary FILE --leaks --all",
    "tree FILE --include e",
    "table FILE -o -",
    "stats FILE -n 3",
    "build FILE -o -",
];

#[test]
fn commands_take_it_in_place_of_the_capture() {
    for (capture, code) in [("v13-webapp", 0), ("v13-cut", 3), ("v12-aggregate", 0)] {
        let desk = Desk::with(capture);
        let ran = desk.run("slim out.bin -o base.mrp", code);
        assert!(ran.stdout.is_empty());
        let saved = desk.read("base.mrp");
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(&saved).unwrap();
        desk.put("zipped", &gz.finish().unwrap());
        assert!(
            saved.len() < desk.read("out.bin").len() / 4,
            "{}",
            saved.len()
        );
        for command in COMMANDS {
            let run = |file: &str| {
                let ran = desk
                    .command(&command.replace("FILE", file))
                    .output()
                    .unwrap();
                (ran.status.code(), ran.stdout, ran.stderr)
            };
            let from_capture = run("out.bin");
            assert!(from_capture == run("base.mrp"), "{capture}: {command}");
            assert!(from_capture == run("zipped"), "{capture}: {command}");
            let piped = desk
                .command(&command.replace("FILE", "-"))
                .write_stdin(saved.clone())
                .output()
                .unwrap();
            assert!(from_capture == (piped.status.code(), piped.stdout, piped.stderr));
        }
        desk.run("slim base.mrp -o again.mrp", code);
        assert!(desk.read("again.mrp") == saved);
    }
}

#[test]
fn info_says_what_it_was_made_from() {
    let desk = Desk::with("v13-etl");
    desk.run(
        "slim out.bin --temporary-allocation-threshold 9 -o base.mrp",
        0,
    );
    let text = String::from_utf8(desk.run("info base.mrp", 0).stdout).unwrap();
    for part in [
        "version 1, by memreport",
        "a capture of format 13",
        "LZ4",
        "threshold of 9",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let info: serde_json::Value =
        serde_json::from_slice(&desk.run("info --json base.mrp", 0).stdout).unwrap();
    assert_eq!(info["saved_profile"]["version"], 1);
    assert_eq!(info["format"], 13);
    assert_eq!(info["ending"]["ending"], "complete");
    desk.refuses("records base.mrp", "this is a saved profile");
}

#[test]
fn what_it_does_not_have_is_said() {
    let desk = Desk::with("v13-native-cpp");
    desk.run("slim out.bin -q -o base.mrp", 0);
    desk.refuses(
        "summary base.mrp --temporary-allocation-threshold 5",
        "not 5",
    );
    desk.refuses("stats base.mrp --show-memray-frames", "memray's own frames");
    desk.refuses("stats base.mrp --no-symbols", "--no-symbols");
    desk.refuses("stats base.mrp --sysroot .", "--sysroot");
    desk.refuses(
        "stats base.mrp --max-memory-records 1",
        "--max-memory-records 1",
    );
    desk.refuses("build base.mrp --source py -o a.html", "--source");
    desk.run("stats -q base.mrp --max-memory-records 10000", 0);
    desk.run("stats -q base.mrp --max-memory-records 20000", 0);
    desk.run("slim out.bin -q --no-symbols --show-memray-frames --temporary-allocation-threshold 5 -o all.mrp", 0);
    desk.run("stats -q all.mrp --no-symbols --show-memray-frames", 0);
    desk.run("summary -q all.mrp --temporary-allocation-threshold 5", 0);
    let ran = desk.run("summary all.mrp", 0);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(
        said.contains("note: memray's own frames are shown"),
        "{said}"
    );
    assert!(said.contains("note: native frames have no names"), "{said}");
    desk.refuses(
        "slim base.mrp --temporary-allocation-threshold 5 -o x.mrp",
        "not 5",
    );
    desk.run("slim base.mrp -o base.mrp", 2);
}

#[test]
fn damage_and_reports_are_errors_with_advice() {
    let desk = Desk::with("v13-quick");
    desk.run("slim out.bin -o base.mrp", 0);
    let mut saved = desk.read("base.mrp");
    desk.put("cut.mrp", &saved[..saved.len() / 2]);
    desk.refuses("stats cut.mrp", "cut off");
    *saved.last_mut().unwrap() ^= 1;
    desk.put("broken.mrp", &saved);
    desk.refuses("build broken.mrp", "checksum");
    desk.refuses("info broken.mrp", "checksum");
    desk.run("build out.bin -o out.html", 0);
    for command in ["build -o a.html", "summary", "info", "records"] {
        desk.refuses(&format!("{command} out.html"), "report of memreport's");
    }
    desk.refuses("slim out.html -o x.mrp", "report of memreport's");
}
