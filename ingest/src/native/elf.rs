//! What is read of an ELF file: its segments, symbols, debug sections, and where more of them are.

use std::borrow::Cow;

use object::elf::{FileHeader32, FileHeader64, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT};
use object::read::elf::{ElfFile, FileHeader, Sym, SymbolTable};
use object::read::{CompressionFormat, Object, ObjectSection, ObjectSegment};
use object::{Endianness, File};

use super::file::{Bytes, FileFault};
use super::symbol_table::Symbol;

/// A file in the ELF format.
#[derive(Debug)]
pub(super) struct Elf<'a> {
    bytes: Bytes<'a>,
    file: File<'a, Bytes<'a>>,
}

impl<'a> Elf<'a> {
    pub(super) fn parse(bytes: Bytes<'a>) -> Result<Self, FileFault> {
        match File::parse(bytes) {
            Ok(file) => Ok(Self { bytes, file }),
            Err(_) if bytes.is_spent() => Err(FileFault::TooLarge),
            Err(error) => Err(FileFault::Unreadable(error.to_string())),
        }
    }

    /// Virtual address and size of each loaded segment.
    pub(super) fn segments(&self) -> impl Iterator<Item = (u64, u64)> {
        self.file.segments().map(|s| (s.address(), s.size()))
    }

    pub(super) fn is_little_endian(&self) -> bool {
        self.file.is_little_endian()
    }

    pub(super) fn build_id(&self) -> Option<&'a [u8]> {
        let id = self.file.build_id().ok()??;
        (!id.is_empty()).then_some(id)
    }

    /// Name and checksum of the file with the debug information.
    pub(super) fn debug_link(&self) -> Option<(&'a [u8], u32)> {
        self.file.gnu_debuglink().ok()?
    }

    /// Path and build id of a file with what several files' debug information has in common.
    pub(super) fn debug_alt_link(&self) -> Option<(&'a [u8], &'a [u8])> {
        self.file.gnu_debugaltlink().ok()?
    }

    pub(super) fn has_debug_information(&self) -> bool {
        self.file
            .section_by_name(".debug_info")
            .is_some_and(|section| section.file_range().is_some_and(|(_, size)| size > 0))
    }

    /// A section, unpacked; empty if there is none.
    pub(super) fn section(&self, name: &str) -> Result<Cow<'a, [u8]>, String> {
        let Some(section) = self.file.section_by_name(name) else {
            return Ok(Cow::Borrowed(&[]));
        };
        let data = section.compressed_data().map_err(|e| self.why(&e))?;
        if data.format != CompressionFormat::None {
            // The size is claimed by the file, and memory is taken before anything is unpacked.
            let claimed = data.uncompressed_size;
            self.bytes.spend(claimed).map_err(|()| TOO_MUCH)?;
        }
        data.decompress().map_err(|e| self.why(&e))
    }

    fn why(&self, error: &object::Error) -> String {
        match self.bytes.is_spent() {
            true => TOO_MUCH.to_owned(),
            false => error.to_string(),
        }
    }

    /// Functions of the symbol table; of the smaller table for the dynamic linker if that is all
    /// there is.
    pub(super) fn symbols(&self) -> Vec<Symbol<'a>> {
        match &self.file {
            File::Elf32(file) => symbols::<FileHeader32<Endianness>>(file),
            File::Elf64(file) => symbols::<FileHeader64<Endianness>>(file),
            _ => None,
        }
        .unwrap_or_default()
    }
}

const TOO_MUCH: &str = "there is too much of it";

fn symbols<'a, E>(file: &ElfFile<'a, E, Bytes<'a>>) -> Option<Vec<Symbol<'a>>>
where
    E: FileHeader<Endian = Endianness>,
{
    let (full, dynamic) = (file.elf_symbol_table(), file.elf_dynamic_symbol_table());
    let table: &SymbolTable<'a, E, Bytes<'a>> = if full.is_empty() { dynamic } else { full };
    let endian = file.endian();
    // Read as a whole: one name after the other is a system call each.
    let names = file
        .section_by_index(table.string_section())
        .ok()?
        .data()
        .ok()?;
    let functions = table.iter().filter(|symbol| {
        let kind = symbol.st_type();
        // Code written in assembler is at times labelled as an object.
        (kind == STT_FUNC || kind == STT_OBJECT || kind == STT_GNU_IFUNC)
            && !symbol.is_undefined(endian)
    });
    let symbols = functions.filter_map(|symbol| {
        let start = usize::try_from(symbol.st_name(endian)).ok()?;
        Some(Symbol {
            address: symbol.st_value(endian).into(),
            size: symbol.st_size(endian).into(),
            is_local: symbol.is_local(),
            is_weak: symbol.is_weak(),
            name: names.get(start..)?,
        })
    });
    Some(symbols.collect())
}
