//! Where images and their separate debug information are.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use super::SymbolOptions;
use super::elf::Elf;
use super::file::{self, Contents};

/// Where distributions keep debug information.
const DEBUG_ROOT: &str = "/usr/lib/debug";

/// Paths that an image may be at, most likely first.
pub(super) fn image_paths(image: &[u8], options: &SymbolOptions) -> Vec<PathBuf> {
    let path = path(image);
    let first = match &options.sysroot {
        Some(sysroot) => below(sysroot, &path),
        None => path.clone(),
    };
    let name = path.file_name();
    let others = options.symbol_paths.iter();
    let others = others.filter_map(|folder| Some(folder.join(name?)));
    std::iter::once(first).chain(others).collect()
}

/// The file with an image's debug information, if it is not in the image. `at` is where the image
/// was found.
pub(super) fn find(image: &Elf<'_>, at: &Path, options: &SymbolOptions) -> Option<Contents> {
    let build_id = image.build_id();
    build_id
        .and_then(|build_id| by_build_id(build_id, options))
        .or_else(|| by_link(image, at, options))
}

/// The file with what several files' debug information has in common. `at` is the image.
pub(super) fn find_supplement(
    elf: &Elf<'_>,
    at: &Path,
    options: &SymbolOptions,
) -> Option<Contents> {
    let (link, build_id) = elf.debug_alt_link()?;
    by_build_id(build_id, options).or_else(|| {
        let link = path(link);
        let at = match (&options.sysroot, link.is_absolute()) {
            (Some(sysroot), true) => below(sysroot, &link),
            _ => at.parent()?.join(link),
        };
        with_build_id(&at, build_id)
    })
}

fn by_build_id(build_id: &[u8], options: &SymbolOptions) -> Option<Contents> {
    let (first, rest) = build_id.split_first()?;
    let mut name = format!(".build-id/{first:02x}/");
    for byte in rest {
        write!(name, "{byte:02x}").ok()?;
    }
    name.push_str(".debug");
    let debug_root = debug_root(options);
    let folders = options.symbol_paths.iter().chain([&debug_root]);
    folders
        .map(|folder| folder.join(&name))
        .find_map(|path| with_build_id(&path, build_id))
}

fn with_build_id(path: &Path, build_id: &[u8]) -> Option<Contents> {
    let contents = Contents::open(path).ok()?;
    let found = Elf::parse(contents.bytes()).ok()?.build_id() == Some(build_id);
    found.then_some(contents)
}

fn by_link(image: &Elf<'_>, at: &Path, options: &SymbolOptions) -> Option<Contents> {
    let (name, checksum) = image.debug_link()?;
    let name = path(name);
    // A name, not a path to anywhere.
    if Path::new(name.file_name()?) != name {
        return None;
    }
    let folder = at.parent()?;
    let mut paths = vec![folder.join(&name), folder.join(".debug").join(&name)];
    paths.extend(options.symbol_paths.iter().map(|path| path.join(&name)));
    let in_system = match &options.sysroot {
        Some(sysroot) => folder.strip_prefix(sysroot).ok()?,
        None => folder,
    };
    paths.push(below(&debug_root(options), in_system).join(&name));
    let found =
        |path: &PathBuf| path != at && file::checksum(path).is_ok_and(|found| found == checksum);
    Contents::open(&paths.into_iter().find(found)?).ok()
}

fn debug_root(options: &SymbolOptions) -> PathBuf {
    let root = Path::new(DEBUG_ROOT);
    match &options.sysroot {
        Some(sysroot) => below(sysroot, root),
        None => root.to_owned(),
    }
}

/// `path` as if `root` were the root of the file system: nothing leads out of it by name.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    let mut inside = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::ParentDir => {
                inside.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    root.join(inside)
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysroot_stands_for_the_root_and_is_not_left() {
        let mut options = SymbolOptions {
            sysroot: Some("/root".into()),
            symbol_paths: vec!["/symbols".into()],
            enabled: true,
            ..SymbolOptions::default()
        };
        let paths = |image: &[u8], options: &_| -> Vec<String> {
            let paths = image_paths(image, options).into_iter();
            paths.map(|path| path.display().to_string()).collect()
        };
        for (image, at) in [
            (&b"/usr/lib/a.so"[..], "/root/usr/lib/a.so"),
            (b"/usr/bin/../lib/./a.so", "/root/usr/lib/a.so"),
            (b"../../../etc/../../a.so", "/root/a.so"),
        ] {
            assert_eq!(paths(image, &options), [at, "/symbols/a.so"]);
        }
        options.sysroot = None;
        assert_eq!(
            paths(b"/usr/lib/a.so", &options),
            ["/usr/lib/a.so", "/symbols/a.so"]
        );
        assert_eq!(paths(b"..", &options), [".."]);
    }
}
