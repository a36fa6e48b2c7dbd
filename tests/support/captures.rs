//! Folders of captures: which there are, their bytes, and what memray says of each.

use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use lz4_flex::frame::FrameDecoder;
use serde_json::Value;

/// A folder with a manifest, captures, and `expected/`; its `README.md` describes it.
#[derive(Debug, Clone)]
pub(crate) struct Corpus {
    folder: PathBuf,
}

/// A capture, as the manifest has it.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its file's name without `.bin`.
    pub(crate) name: String,
    /// Version of the format.
    pub(crate) version: u64,
    /// Major and minor version of the Python that was traced.
    pub(crate) python: (u32, u32),
    /// How it was made: `run`, `kill`, `cut` ... and options of `memray run`.
    pub(crate) mode: String,
    /// Names of its files in `expected/`.
    pub(crate) expected: Vec<String>,
}

impl Corpus {
    /// The captures in the repository.
    pub(crate) fn own() -> Self {
        Self::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures"))
    }

    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        let manifest = fs::read(self.folder.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let captures = manifest.get("captures").unwrap_or(&manifest);
        captures
            .as_array()
            .unwrap()
            .iter()
            .map(Entry::new)
            .collect()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.bin"))
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// A file of `expected/`, by its name without `.json.gz`.
    pub(crate) fn expected(&self, name: &str) -> Value {
        serde_json::from_str(&self.expected_text(&format!("{name}.json"))).unwrap()
    }

    /// A file of `expected/`, by its name without `.gz`.
    pub(crate) fn expected_text(&self, name: &str) -> String {
        let path = self.folder.join(format!("expected/{name}.gz"));
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
        text
    }

    /// What memray's readers give for a capture.
    pub(crate) fn oracle(&self, name: &str) -> Value {
        self.expected(&format!("{name}.oracle"))
    }
}

impl Entry {
    fn new(entry: &Value) -> Self {
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        let python = text("python");
        let mut python = python.split('.').map(|part| part.parse().unwrap());
        let expected = entry["expected"].as_array().unwrap();
        Self {
            name: text("file").strip_suffix(".bin").unwrap().to_owned(),
            version: entry["header_version"].as_u64().unwrap(),
            python: (python.next().unwrap(), python.next().unwrap()),
            mode: text("mode"),
            expected: expected
                .iter()
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
        }
    }

    /// Numbers of memory snapshots that memray was told to keep at most, for an oracle each.
    pub(crate) fn thinned_to(&self) -> Vec<usize> {
        let between = |name: &str| {
            let rest = name.strip_prefix(&self.name)?.strip_prefix(".mmr")?;
            rest.strip_suffix(".oracle.json.gz")?.parse().ok()
        };
        self.expected
            .iter()
            .filter_map(|name| between(name))
            .collect()
    }

    /// Whether there is what memray gives of a kind: `stats.json`, `transform.csv` ...
    pub(crate) fn has(&self, kind: &str) -> bool {
        self.expected.contains(&format!("{}.{kind}.gz", self.name))
    }
}

/// What is in a capture's LZ4 frame, as far as it can be unpacked; a plain capture as it is.
pub(crate) fn unpacked(capture: &[u8]) -> Vec<u8> {
    if !is_lz4(capture) {
        return capture.to_vec();
    }
    let mut inside = Vec::new();
    // Of a frame that is cut, the whole blocks are there before the error.
    let _ = FrameDecoder::new(Cursor::new(capture)).read_to_end(&mut inside);
    inside
}

pub(crate) fn is_lz4(capture: &[u8]) -> bool {
    capture.starts_with(&[0x04, 0x22, 0x4d, 0x18])
}

/// Without the zero bytes that memray leaves at the end of a plain file.
pub(crate) fn without_zero_fill(capture: &[u8]) -> &[u8] {
    let len = capture.iter().rposition(|&byte| byte != 0).unwrap() + 1;
    &capture[..len]
}
