//! Files that are there whole or not at all, and standard output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use memreport_render::aggregate::Profile;
use memreport_render::{Error as RenderError, Html, Output};
use tempfile::NamedTempFile;

/// Longest name of a file that common file systems take, in bytes.
const MAX_NAME_LEN: usize = 255;

/// A report that is written, but not yet at its place.
pub(crate) enum Written {
    /// Beside its place, under another name.
    Aside { file: NamedTempFile, path: PathBuf },
    /// At its place: standard output, a pipe, a device.
    Through,
}

impl Written {
    /// Moves the report to its place, replacing what is there.
    pub(crate) fn publish(self) -> Result<()> {
        let Self::Aside { file, path } = self else {
            return Ok(());
        };
        file.persist(&path)
            .map_err(|error| error.error)
            .with_context(|| cannot_write(&path))?;
        Ok(())
    }
}

/// Writes a report for `path`, or through to standard output for `-`.
pub(crate) fn write(output: &dyn Output, profile: &Profile, path: &Path) -> Result<Written> {
    write_with(path, &|out| output.write(profile, out))
}

/// What writes a report.
pub(crate) type Writer<'a> = dyn Fn(&mut dyn Write) -> Result<(), RenderError> + 'a;

/// The same for what `write` writes.
pub(crate) fn write_with(path: &Path, write: &Writer<'_>) -> Result<Written> {
    if path == Path::new("-") {
        write_through(write, &mut io::stdout().lock())?;
        return Ok(Written::Through);
    }
    if path.is_dir() {
        bail!("{}: it is a folder", cannot_write(path));
    }
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = File::create(path).with_context(|| cannot_write(path))?;
        write_through(write, &mut file).with_context(|| cannot_write(path))?;
        return Ok(Written::Through);
    }
    let file = new_file(folder(path)).with_context(|| cannot_write(path))?;
    write_through(write, &mut file.as_file()).with_context(|| cannot_write(path))?;
    Ok(Written::Aside {
        file,
        path: path.to_owned(),
    })
}

/// What a path leads to, however it is written; it need not be there yet.
pub(crate) fn place(path: &Path) -> PathBuf {
    if path == Path::new("-") {
        return path.to_owned();
    }
    let in_folder = || Some(folder(path).canonicalize().ok()?.join(path.file_name()?));
    let place = path.canonicalize().ok().or_else(in_folder);
    place.unwrap_or_else(|| path.to_owned())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn write_through(write: &Writer<'_>, out: &mut dyn Write) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    write(&mut out)?;
    out.flush()?;
    Ok(())
}

/// A new file that others may read as the user's other files: temporary files are private otherwise.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".memreport-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Where `build` writes without `-o`: the capture's name with `.html`, in the working folder. A file
/// there that memreport did not write is only replaced with `force`.
pub(crate) fn default_path(capture: &Path, force: bool) -> Result<PathBuf> {
    let path = PathBuf::from(default_name(capture));
    if !force && path.exists() && !was_written_by_us(&path) {
        bail!(
            "{} exists and is no report of memreport's; name another file with -o, or replace it with -f",
            path.display()
        );
    }
    Ok(path)
}

/// Whether a path is that of a folder, which need not be there if it ends with a separator.
pub(crate) fn is_folder(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    path.is_dir()
        || text
            .last()
            .is_some_and(|&last| std::path::is_separator(last.into()))
}

/// The name of a capture's page.
pub(crate) fn default_name(capture: &Path) -> String {
    const ENDING: &str = ".html";
    if capture == Path::new("-") {
        return format!("memreport{ENDING}");
    }
    let stem = capture
        .file_stem()
        .map_or_else(|| "memreport".into(), |stem| stem.to_string_lossy());
    if stem.len() + ENDING.len() <= MAX_NAME_LEN {
        return format!("{stem}{ENDING}");
    }
    // Names that differ only in their cut-off ends stay different.
    let mark = format!("-{:016x}", fingerprint(stem.as_bytes()));
    let room = MAX_NAME_LEN - ENDING.len() - mark.len();
    let end = (0..=room)
        .rev()
        .find(|&end| stem.is_char_boundary(end))
        .unwrap_or(0);
    format!("{}{mark}{ENDING}", stem.get(..end).unwrap_or_default())
}

/// FNV-1a: the same on every machine.
fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn was_written_by_us(path: &Path) -> bool {
    use std::io::Read;
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut start));
    read.is_ok() && Html::is_report(&start)
}

/// Whether an error only says that nobody reads standard output any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(broken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_names_fit_a_file_system() {
        assert_eq!(default_name(Path::new("some/out.bin")), "out.html");
        assert_eq!(default_name(Path::new("-")), "memreport.html");
        let long = |end: &str| default_name(Path::new(&format!("{}{end}.bin", "ü".repeat(140))));
        assert!(long("a").len() <= MAX_NAME_LEN);
        assert_ne!(long("a"), long("b"));
    }
}
