//! Paths of source files.
//!
//! Debug information has a path in up to three parts: the folder that the compiler was started in, a
//! folder that may be relative to it, and a name. `addr2line` joins all three. memray shows no more
//! than the last two, which keeps the place of the build out of reports; so is it here.

use std::sync::Arc;

use addr2line::gimli::{
    AttributeValue, DebugInfoOffset, FileEntry, LineProgramHeader, Reader, UnitRef,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::dwarf::Slice;

/// Paths as they are shown, by unit and by how `addr2line` has them.
#[derive(Debug, Default)]
pub(super) struct SourcePaths {
    units: FxHashMap<DebugInfoOffset, FxHashMap<String, Arc<str>>>,
    shown: FxHashSet<Arc<str>>,
}

impl SourcePaths {
    /// The path to show for `joined` of a unit.
    pub(super) fn get(&mut self, unit: Option<UnitRef<'_, Slice<'_>>>, joined: &str) -> Arc<str> {
        let shown = &mut self.shown;
        let known = unit
            .and_then(|unit| Some((unit.header.debug_info_offset()?, unit)))
            .map(|(offset, unit)| {
                self.units
                    .entry(offset)
                    .or_insert_with(|| paths(unit, shown))
            });
        match known.and_then(|paths| paths.get(joined)) {
            Some(path) => Arc::clone(path),
            None => intern(shown, joined),
        }
    }
}

fn intern(paths: &mut FxHashSet<Arc<str>>, path: &str) -> Arc<str> {
    if let Some(known) = paths.get(path) {
        return Arc::clone(known);
    }
    let path: Arc<str> = path.into();
    paths.insert(Arc::clone(&path));
    path
}

/// Of files that are joined to the same path, the last counts: compilers that list the main file
/// twice refer to the second.
fn paths(
    unit: UnitRef<'_, Slice<'_>>,
    shown: &mut FxHashSet<Arc<str>>,
) -> FxHashMap<String, Arc<str>> {
    let Some(program) = &unit.line_program else {
        return FxHashMap::default();
    };
    let header = program.header();
    let paths = header.file_names().iter().filter_map(|file| {
        let parts = Parts::new(unit, file, header)?;
        let mut short = String::new();
        push(&mut short, &parts.folder);
        push(&mut short, &parts.name);
        let mut joined = parts.start;
        push(&mut joined, &parts.folder);
        push(&mut joined, &parts.name);
        Some((joined, intern(shown, &short)))
    });
    paths.collect()
}

struct Parts {
    start: String,
    folder: String,
    name: String,
}

impl Parts {
    fn new<'a>(
        unit: UnitRef<'_, Slice<'a>>,
        file: &FileEntry<Slice<'a>>,
        header: &LineProgramHeader<Slice<'a>>,
    ) -> Option<Self> {
        let text = |value| Some(unit.attr_string(value).ok()?.to_string_lossy().into_owned());
        let start = unit
            .comp_dir
            .map(|path| path.to_string_lossy().into_owned());
        Some(Self {
            start: start.unwrap_or_default(),
            folder: file.directory(header).and_then(text).unwrap_or_default(),
            name: text(file.path_name())?,
        })
    }
}

/// Appends a path to one that it is relative to.
fn push(path: &mut String, part: &str) {
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !part.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}

/// How long the path of a file can become.
pub(super) fn max_len<'a>(
    unit: UnitRef<'_, Slice<'a>>,
    file: &FileEntry<Slice<'a>>,
    header: &LineProgramHeader<Slice<'a>>,
) -> usize {
    let len = |value: AttributeValue<Slice<'a>>| unit.attr_string(value).map_or(0, |s| s.len());
    let start = unit.comp_dir.map_or(0, |path| path.len());
    let folder = file.directory(header).map_or(0, len);
    // Two separators, and the string itself.
    start
        .saturating_add(folder)
        .saturating_add(len(file.path_name()))
        .saturating_add(2 + size_of::<String>())
}
