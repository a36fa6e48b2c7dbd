//! Functions, inlined ones too, and lines by address, from debug information.

use std::borrow::Cow;
use std::sync::Arc;

use addr2line::Context;
use addr2line::gimli::{
    AbbreviationsCacheStrategy, Dwarf, DwarfSections, EndianSlice, RunTimeEndian, SectionId,
};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::demangle::demangle;
use super::elf::Elf;
use super::limits;
use super::source_paths::SourcePaths;
use super::symbol_table::MAX_NAME;
use super::{NativeFrame, UNKNOWN_FILE};

/// With fewer addresses, a second thread takes longer to get ready than to look them up.
const MIN_CHUNK: usize = 512;

pub(super) type Slice<'a> = EndianSlice<'a, RunTimeEndian>;
type Sections<'a> = DwarfSections<Cow<'a, [u8]>>;

/// Debug information of a module.
#[derive(Debug)]
pub(super) struct DebugInformation<'a> {
    sections: Sections<'a>,
    /// What it has in common with other files'.
    supplement: Option<Sections<'a>>,
    endian: RunTimeEndian,
}

impl<'a> DebugInformation<'a> {
    pub(super) fn load(elf: &Elf<'a>, supplement: Option<&Elf<'a>>) -> Result<Self, String> {
        let endian = match elf.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let loaded = Self {
            sections: load(elf)?,
            supplement: supplement.map(load).transpose()?,
            endian,
        };
        limits::check(&loaded.borrow())?;
        Ok(loaded)
    }

    fn borrow(&self) -> Dwarf<Slice<'_>> {
        self.sections
            .borrow_with_sup(self.supplement.as_ref(), |section| {
                EndianSlice::new(section, self.endian)
            })
    }

    /// The frames at each address, innermost first; none where there is no function. Addresses
    /// are sorted.
    pub(super) fn frames(&self, addresses: &[u64]) -> Result<Vec<Vec<NativeFrame>>, String> {
        let mut dwarf = self.borrow();
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
        let dwarf = Arc::new(dwarf);
        // Neighbours share a unit, which is decoded when it is first met: chunks of neighbours.
        let chunk = addresses.len().div_ceil(rayon::current_num_threads());
        let chunks: Result<Vec<_>, _> = addresses
            .par_chunks(chunk.max(MIN_CHUNK))
            .map(|addresses| {
                let context = Context::from_arc_dwarf(Arc::clone(&dwarf))?;
                let mut lookup = Lookup::default();
                let frames = addresses.iter().map(|&a| lookup.frames(&context, a));
                Ok(frames.collect::<Vec<_>>())
            })
            .collect();
        match chunks {
            Ok(chunks) => Ok(chunks.into_iter().flatten().collect()),
            Err(error) => Err(addr2line::gimli::Error::to_string(&error)),
        }
    }
}

/// The sections that lookups use; others are not even read.
fn load<'a>(elf: &Elf<'a>) -> Result<Sections<'a>, String> {
    DwarfSections::load(|id| match id {
        SectionId::DebugAbbrev
        | SectionId::DebugAddr
        | SectionId::DebugAranges
        | SectionId::DebugInfo
        | SectionId::DebugLine
        | SectionId::DebugLineStr
        | SectionId::DebugRanges
        | SectionId::DebugRngLists
        | SectionId::DebugStr
        | SectionId::DebugStrOffsets => elf.section(id.name()),
        _ => Ok(Cow::Borrowed(&[])),
    })
}

/// Names and paths that one thread has met: most are met often.
#[derive(Default)]
struct Lookup<'a> {
    functions: FxHashMap<&'a [u8], Arc<str>>,
    files: SourcePaths,
}

impl<'a> Lookup<'a> {
    fn frames(&mut self, context: &Context<Slice<'a>>, address: u64) -> Vec<NativeFrame> {
        // Parts of the debug information that were left with the object files are not looked for:
        // their paths are those of the machine that compiled them.
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else {
            return Vec::new();
        };
        let unit = context.find_dwarf_and_unit(address).skip_all_loads();
        let mut out = Vec::new();
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.map(|function| function.name.slice());
            let Some(name) = name.filter(|name| !name.is_empty() && name.len() <= MAX_NAME) else {
                continue;
            };
            let (path, line) = match frame.location {
                Some(location) => (location.file, location.line),
                None => (None, None),
            };
            let path = path.unwrap_or(UNKNOWN_FILE);
            out.push(NativeFrame {
                function: self.function(name),
                file: self.files.get(unit, path),
                line: line.unwrap_or(0),
            });
        }
        out
    }

    fn function(&mut self, name: &'a [u8]) -> Arc<str> {
        let demangled = || demangle(name).into();
        Arc::clone(self.functions.entry(name).or_insert_with(demangled))
    }
}
