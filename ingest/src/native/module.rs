//! One module: its file, what belongs to it, and the frames at its addresses.

use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;

use super::debug_file;
use super::demangle::demangle;
use super::dwarf::DebugInformation;
use super::elf::Elf;
use super::file::{Contents, FileFault};
use super::symbol_table::SymbolTable;
use super::{Image, ModuleFaultKind, NativeFrame, SymbolOptions, UNKNOWN_FILE};

/// Frames at the addresses of a module.
#[derive(Debug)]
pub(super) struct Resolved {
    /// In the order of the addresses. Never without a frame.
    pub(super) frames: Vec<Box<[NativeFrame]>>,
    pub(super) n_unresolved: u64,
    pub(super) fault: Option<ModuleFaultKind>,
    /// Whether the file that was used was modified after the capture was made.
    pub(super) is_modified: bool,
}

/// Resolves sorted addresses of a module.
pub(super) fn resolve(image: &Image, addresses: &[u64], options: &SymbolOptions) -> Resolved {
    let found = match options.enabled {
        true => look_up_safely(image, addresses, options),
        false => Ok(Found::default()),
    };
    let found = found.unwrap_or_else(|fault| Found {
        fault: Some(fault),
        ..Found::default()
    });
    let Found {
        frames: found,
        mut fault,
        is_modified,
    } = found;
    let mut n_unresolved = 0;
    let placeholder = Placeholder::new(image);
    let mut found = found.into_iter();
    let frames = addresses.iter().map(|&address| match found.next() {
        Some(frames) if !frames.is_empty() => frames.into(),
        _ => {
            n_unresolved += 1;
            [placeholder.frame(address)].into()
        }
    });
    let frames: Vec<_> = frames.collect();
    if options.enabled && fault.is_none() && n_unresolved == frames.len() as u64 {
        fault = Some(ModuleFaultKind::NoSymbols);
    }
    Resolved {
        frames,
        n_unresolved,
        fault,
        is_modified,
    }
}

/// Frames of what has no name.
struct Placeholder {
    module: String,
    path: Arc<str>,
}

impl Placeholder {
    fn new(image: &Image) -> Self {
        Self {
            module: image.module(),
            path: String::from_utf8_lossy(&image.path).into(),
        }
    }

    fn frame(&self, address: u64) -> NativeFrame {
        NativeFrame {
            function: format!("{}+{address:#x}", self.module).into(),
            file: Arc::clone(&self.path),
            line: 0,
        }
    }
}

/// What a module's files say of its addresses.
#[derive(Debug, Default)]
struct Found {
    /// In the order of the addresses, empty for those that are not known.
    frames: Vec<Vec<NativeFrame>>,
    fault: Option<ModuleFaultKind>,
    is_modified: bool,
}

fn look_up_safely(
    image: &Image,
    addresses: &[u64],
    options: &SymbolOptions,
) -> Result<Found, ModuleFaultKind> {
    // The libraries mean not to panic on any file. Should one do so all the same, one module is
    // lost, not the report.
    panic::catch_unwind(AssertUnwindSafe(|| look_up(image, addresses, options)))
        .unwrap_or_else(|_| Err(ModuleFaultKind::Unreadable(NOT_UNDERSTOOD.to_owned())))
}

const NOT_UNDERSTOOD: &str = "it is not understood";

/// Uses the first file that is the image.
fn look_up(
    image: &Image,
    addresses: &[u64],
    options: &SymbolOptions,
) -> Result<Found, ModuleFaultKind> {
    let mut fault = ModuleFaultKind::Missing;
    for path in debug_file::image_paths(&image.path, options) {
        let looked_up = Contents::open(&path)
            .map_err(ModuleFaultKind::from)
            .and_then(|contents| look_up_at(&path, &contents, image, addresses, options));
        match looked_up {
            Ok(found) => return Ok(found),
            // What is wrong with a file tells more than that another is not there.
            Err(why) if fault == ModuleFaultKind::Missing => fault = why,
            Err(_) => {}
        }
    }
    Err(fault)
}

fn look_up_at(
    path: &Path,
    contents: &Contents,
    image: &Image,
    addresses: &[u64],
    options: &SymbolOptions,
) -> Result<Found, ModuleFaultKind> {
    let elf = Elf::parse(contents.bytes())?;
    if !elf.segments().eq(image.segments.iter().copied()) {
        return Err(ModuleFaultKind::Different);
    }
    let separate = match elf.has_debug_information() {
        true => None,
        false => debug_file::find(&elf, path, options),
    };
    let separate = separate
        .as_ref()
        .map(|contents| Elf::parse(contents.bytes()));
    let separate = separate.and_then(Result::ok);
    let (mut frames, fault) = debugged(separate.as_ref().unwrap_or(&elf), path, addresses, options);
    frames.resize_with(addresses.len(), Vec::new);

    let tables = [separate.as_ref(), Some(&elf)].into_iter().flatten();
    for symbols in tables.map(|elf| SymbolTable::new(elf.symbols())) {
        name(&mut frames, addresses, &symbols);
    }
    Ok(Found {
        frames,
        fault: fault.map(ModuleFaultKind::NoDebugInformation),
        is_modified: contents
            .modified_ms
            .zip(options.captured_until_ms)
            .is_some_and(|(modified, captured)| modified > captured),
    })
}

/// Frames from debug information, and what was wrong with it.
fn debugged(
    elf: &Elf<'_>,
    image: &Path,
    addresses: &[u64],
    options: &SymbolOptions,
) -> (Vec<Vec<NativeFrame>>, Option<String>) {
    if !elf.has_debug_information() {
        return (Vec::new(), None);
    }
    let supplement = debug_file::find_supplement(elf, image, options);
    let supplement = supplement
        .as_ref()
        .map(|contents| Elf::parse(contents.bytes()));
    let supplement = supplement.and_then(Result::ok);
    let frames = DebugInformation::load(elf, supplement.as_ref())
        .and_then(|information| information.frames(addresses));
    match frames {
        Ok(frames) => (frames, None),
        Err(why) => (Vec::new(), Some(why)),
    }
}

/// Names what has no frames yet by a symbol table.
fn name(frames: &mut [Vec<NativeFrame>], addresses: &[u64], symbols: &SymbolTable<'_>) {
    if symbols.is_empty() {
        return;
    }
    let file: Arc<str> = UNKNOWN_FILE.into();
    let unnamed = frames.iter_mut().zip(addresses);
    for (frames, &address) in unnamed.filter(|(frames, _)| frames.is_empty()) {
        frames.extend(symbols.find(address).map(|name| NativeFrame {
            function: demangle(name).into(),
            file: Arc::clone(&file),
            line: 0,
        }));
    }
}

impl From<FileFault> for ModuleFaultKind {
    fn from(fault: FileFault) -> Self {
        match fault {
            FileFault::Missing => Self::Missing,
            FileFault::NotRegular => Self::NotRegular,
            FileFault::TooLarge => Self::TooLarge,
            FileFault::Unreadable(why) => Self::Unreadable(why),
        }
    }
}
