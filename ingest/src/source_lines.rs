//! Lines of source, as the files on disk have them now.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;

use crate::frames::FrameTable;
use crate::id::{FrameId, StringId};
use crate::native::{below, open_regular};
use crate::strings::StringTable;

/// Files from this size on are not read. Nobody writes such a source file.
const MAX_FILE: u64 = 16 << 20;

/// Characters of a line that are kept.
const MAX_LINE: usize = 500;

/// Which files lines are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceFiles {
    /// From none.
    #[default]
    None,
    /// From those of Python frames whose names end in `.py`.
    Python,
    /// From those of all frames.
    All,
}

/// Where lines of source are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceLineOptions {
    /// In which files.
    pub files: SourceFiles,
    /// Stands before the paths of a capture, for one that was made elsewhere.
    pub sysroot: Option<PathBuf>,
}

/// The lines of frames.
///
/// * Only regular files of bounded size are read. Relative paths are below the working folder. Files are
///   UTF-8, or what their first lines say they are, if that is ASCII or Latin-1; of others there are no lines
/// * Source: `semantics.md`, section 12.3
#[derive(Debug, Clone, Default)]
pub struct SourceLines {
    /// The lines, without what indents them.
    pub lines: BTreeMap<FrameId, String>,
    /// Files that were read.
    pub n_read: usize,
    /// Files that are not here, or cannot be read.
    pub n_unreadable: usize,
    /// Files that were changed after the capture ended: their lines may not be those that ran.
    pub changed: Vec<String>,
}

impl SourceLines {
    /// Reads the lines of all frames; `end_time_ms` is when the capture ended.
    #[must_use]
    pub fn read(
        frames: &FrameTable,
        strings: &StringTable,
        end_time_ms: i64,
        options: &SourceLineOptions,
    ) -> Self {
        let mut found = Self::default();
        for (file, frames) in by_file(frames, strings, options.files) {
            let name = strings.text(file);
            let Some((text, modified)) = contents(strings.bytes(file), options) else {
                found.n_unreadable += 1;
                continue;
            };
            found.n_read += 1;
            if modified > ended(end_time_ms) {
                found.changed.push(name.into_owned());
            }
            let lines = lines(&text);
            for (frame, line) in frames {
                if let Some(line) = lines.get(line).filter(|line| !line.is_empty()) {
                    let kept = line.chars().take(MAX_LINE).collect();
                    found.lines.insert(frame, kept);
                }
            }
        }
        found
    }

    /// The line of a frame, without what indents it; `None` if there is none.
    #[must_use]
    pub fn line(&self, frame: FrameId) -> Option<&str> {
        self.lines.get(&frame).map(String::as_str)
    }
}

/// Frames that may have a line, with its index in the file, by file; in the order of their numbers.
fn by_file(
    frames: &FrameTable,
    strings: &StringTable,
    files: SourceFiles,
) -> Vec<(StringId, Vec<(FrameId, usize)>)> {
    let mut places = FxHashMap::<StringId, usize>::default();
    let mut groups = Vec::<(StringId, Vec<(FrameId, usize)>)>::new();
    for (id, frame) in (0..).map(FrameId).zip(frames.as_slice()) {
        let name = strings.bytes(frame.file);
        let is_wanted = match files {
            SourceFiles::None => false,
            SourceFiles::Python => !frame.is_native && name.ends_with(b".py"),
            SourceFiles::All => !name.is_empty() && !name.starts_with(b"<"),
        };
        let line = usize::try_from(frame.line).ok();
        let Some(line) = line.and_then(|line| line.checked_sub(1)) else {
            continue;
        };
        if is_wanted {
            let place = *places.entry(frame.file).or_insert_with(|| {
                groups.push((frame.file, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, frames)) = groups.get_mut(place) {
                frames.push((id, line));
            }
        }
    }
    groups
}

/// When a capture ended. Times of files are finer than its milliseconds.
fn ended(end_time_ms: i64) -> SystemTime {
    let ms = end_time_ms.max(0).cast_unsigned().saturating_add(1);
    UNIX_EPOCH + Duration::from_millis(ms)
}

/// The text of a file, and when it was changed last.
fn contents(name: &[u8], options: &SourceLineOptions) -> Option<(String, SystemTime)> {
    let name = str::from_utf8(name).ok()?;
    let path = match &options.sysroot {
        Some(sysroot) => below(sysroot, Path::new(name)),
        None => PathBuf::from(name),
    };
    let file = open_regular(&path)?;
    let metadata = file.metadata().ok()?;
    if metadata.len() >= MAX_FILE {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(metadata.len()).read_to_end(&mut bytes).ok()?;
    Some((decoded(&bytes)?, metadata.modified().ok()?))
}

fn decoded(bytes: &[u8]) -> Option<String> {
    let utf8 = |bytes: &[u8]| str::from_utf8(bytes).ok().map(str::to_owned);
    if let Some(bytes) = bytes.strip_prefix("\u{feff}".as_bytes()) {
        return utf8(bytes);
    }
    let encoding = declared_encoding(bytes).map(|name| name.to_lowercase().replace('_', "-"));
    match encoding.as_deref() {
        None | Some("utf-8" | "utf8" | "utf-8-sig") => utf8(bytes),
        Some("ascii" | "us-ascii") => utf8(bytes).filter(|text| text.is_ascii()),
        Some("latin-1" | "latin1" | "iso-8859-1" | "iso-latin-1" | "l1") => {
            Some(bytes.iter().map(|&byte| char::from(byte)).collect())
        }
        _ => None,
    }
}

/// The encoding that a comment in the first two lines declares, as PEP 263 has it.
fn declared_encoding(bytes: &[u8]) -> Option<&str> {
    for line in bytes.split(|&byte| byte == b'\n').take(2) {
        let start = line
            .iter()
            .position(|byte| !b" \t\x0c\r".contains(byte))
            .unwrap_or(line.len());
        let line = line.get(start..).unwrap_or_default();
        if !line.is_empty() && !line.starts_with(b"#") {
            return None;
        }
        if let Some(name) = encoding_in(line) {
            return Some(name);
        }
    }
    None
}

/// What follows `coding:` or `coding=`.
fn encoding_in(comment: &[u8]) -> Option<&str> {
    const WORD: &[u8] = b"coding";
    let mut words = comment.windows(WORD.len() + 1).enumerate();
    words.find_map(|(at, word)| {
        let (word, sign) = word.split_at(WORD.len());
        if word != WORD || !(sign == b":" || sign == b"=") {
            return None;
        }
        let rest = comment.get(at + WORD.len() + 1..)?.trim_ascii_start();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let end = rest.iter().position(|byte| !is_name(byte));
        let name = rest.get(..end.unwrap_or(rest.len()))?;
        str::from_utf8(name).ok().filter(|name| !name.is_empty())
    })
}

/// The lines of a text, as Python divides them, without spaces at their ends.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        let (line, after) = rest.split_at(end);
        lines.push(line.trim());
        rest = after.strip_prefix("\r\n").unwrap_or_else(|| &after[1..]);
    }
    lines.push(rest.trim());
    lines
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;
    use crate::frames::Frame;

    /// Frames of `main` at the lines of files.
    fn tables(places: &[(&str, i32)]) -> (FrameTable, StringTable) {
        let (mut frames, mut strings) = (FrameTable::default(), StringTable::default());
        for &(file, line) in places {
            let frame = Frame {
                function: strings.intern(b"main").unwrap(),
                file: strings.intern(file.as_bytes()).unwrap(),
                line,
                is_native: file.ends_with(".c"),
            };
            frames.intern(frame).unwrap();
        }
        (frames, strings)
    }

    fn read(places: &[(&str, i32)], end_time_ms: i64, options: &SourceLineOptions) -> SourceLines {
        let (frames, strings) = tables(places);
        SourceLines::read(&frames, &strings, end_time_ms, options)
    }

    #[test]
    fn lines_are_found_below_the_sysroot_and_only_there() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("app")).unwrap();
        fs::write(root.path().join("app/a.py"), "one\r\n  two \rthree").unwrap();
        fs::write(root.path().join("app/b.c"), "four\n").unwrap();
        let options = |files| SourceLineOptions {
            files,
            sysroot: Some(root.path().to_owned()),
        };
        let places = [
            ("/app/a.py", 2),
            ("/app/../app/a.py", 3),
            ("/app/a.py", 4),
            ("/app/a.py", 0),
            ("/app/b.c", 1),
            ("<frozen posixpath>", 1),
            ("/gone.py", 1),
        ];
        let found = |files| {
            let lines = read(&places, i64::MAX, &options(files));
            let texts = (1..8).map(|id| lines.line(FrameId(id)).unwrap_or("-").to_owned());
            let texts: Vec<String> = texts.collect();
            assert!(lines.changed.is_empty());
            (texts.join(" "), lines.n_read, lines.n_unreadable)
        };
        assert_eq!(found(SourceFiles::None), ("- - - - - - -".into(), 0, 0));
        assert_eq!(
            found(SourceFiles::Python),
            ("two three - - - - -".into(), 2, 1)
        );
        assert_eq!(
            found(SourceFiles::All),
            ("two three - - four - -".into(), 3, 1)
        );
    }

    #[test]
    fn files_changed_after_the_capture_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.py");
        fs::write(&path, "x = 1\n").unwrap();
        let changed = UNIX_EPOCH + Duration::from_millis(5_000);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(changed)
            .unwrap();
        let options = SourceLineOptions {
            files: SourceFiles::Python,
            sysroot: None,
        };
        let name = path.to_str().unwrap();
        let changed = |end| read(&[(name, 1)], end, &options).changed;
        assert_eq!(changed(4_000), [name]);
        assert!(changed(5_000).is_empty());
    }

    #[test]
    fn what_is_no_regular_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("folder.py");
        fs::create_dir(&path).unwrap();
        let large = folder.path().join("large.py");
        File::create(&large).unwrap().set_len(MAX_FILE).unwrap();
        let options = SourceLineOptions {
            files: SourceFiles::All,
            sysroot: None,
        };
        let places = [
            (path.to_str().unwrap(), 1),
            (large.to_str().unwrap(), 1),
            ("/dev/zero", 1),
        ];
        let lines = read(&places, 0, &options);
        assert_eq!((lines.n_read, lines.n_unreadable), (0, 3));
    }

    #[test]
    fn encodings_are_those_that_files_declare() {
        let latin = |first: &str| decoded(&[first.as_bytes(), b"\nna\xefve"].concat());
        assert_eq!(
            latin("# -*- coding: latin-1 -*-").unwrap().lines().last(),
            Some("naïve")
        );
        assert_eq!(
            latin("#!python\n# vim: set fileencoding=ISO_8859-1 :")
                .unwrap()
                .lines()
                .last(),
            Some("naïve")
        );
        assert_eq!(latin("x = 1  # coding: latin-1"), None);
        assert_eq!(latin("# coding: cp1252"), None);
        assert_eq!(latin("# coding: utf-8"), None);
        assert_eq!(
            decoded("\u{feff}naïve".as_bytes()).as_deref(),
            Some("naïve")
        );
    }
}
