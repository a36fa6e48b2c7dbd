//! Native frames: which function, file and line an instruction of a native stack belongs to.
//!
//! A capture holds return addresses and, in generations, what was mapped where. [`MemoryMaps`] turns
//! an address into an image and an address in its file; a [`Symbolizer`] looks that up in the file's
//! debug information, else in its symbol table, and names what neither knows `module+0xoffset`.
//!
//! What files hold is as untrusted as the capture that names them: only regular files are opened, a
//! file with other segments than were mapped is left alone, reads are bounded, and nothing is ever
//! fetched from a network.

mod debug_file;
mod demangle;
mod dwarf;
mod elf;
mod file;
mod limits;
mod memory_maps;
mod module;
mod source_paths;
mod summary;
mod symbol_table;
mod symbolizer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use debug_file::below;

pub use memory_maps::{Image, ImageId, MemoryMaps, MemoryMapsBuilder};
pub use summary::{ModuleFault, ModuleFaultKind, SymbolSummary};
pub use symbolizer::{NativeSymbols, Symbolizer};

/// What is shown for the file of a function that only a symbol table names.
pub const UNKNOWN_FILE: &str = "<unknown>";

/// Where symbols are looked for.
///
/// * An image is read from its path in the capture, or, with `sysroot`, from that path below it;
///   then by its base name from each of `symbol_paths`
/// * Separate debug information is looked for by build id in `.build-id/xx/yyyy.debug` below each of
///   `symbol_paths` and `/usr/lib/debug`, then by `.gnu_debuglink` beside the image, in `.debug`
///   there, in `symbol_paths`, and below `/usr/lib/debug`; with `sysroot`, below that too
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolOptions {
    /// Stands before the paths of a capture, for one that was made elsewhere.
    pub sysroot: Option<PathBuf>,
    /// Folders with images or debug information.
    pub symbol_paths: Vec<PathBuf>,
    /// Whether files are opened at all. If not, every frame is `module+0xoffset`.
    pub enabled: bool,
    /// When the capture ended, in milliseconds since the epoch. Files that were modified later are
    /// used, and named in [`SymbolSummary::modified`].
    pub captured_until_ms: Option<i64>,
}

/// Opens a file that is not to be trusted, if it is a regular one.
pub(crate) fn open_regular(path: &Path) -> Option<File> {
    file::open(path).ok()
}

/// A function of a native stack. Inlined functions are frames of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NativeFrame {
    /// Demangled name, or `module+0xoffset`.
    pub function: Arc<str>,
    /// Source file; [`UNKNOWN_FILE`] if only a symbol table names the function, and the image's path
    /// if nothing does.
    pub file: Arc<str>,
    /// Line of the call, from 1; 0 if it is not known.
    pub line: u32,
}
