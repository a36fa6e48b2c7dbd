//! Whose code a file holds, as its path tells: what two machines can agree on.

use std::sync::LazyLock;

use regex::Regex;

/// What a path says about the code in it.
///
/// * Source: the usual names of folders; nothing is looked up on the machine at hand
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeOrigin {
    /// A module of an installed package or of the standard library, by the name that it is imported by.
    Imported(String),
    /// A native library or executable, without folder, version and build.
    Library(String),
    /// Of the program itself: where it lies differs between machines. The path, with `/` between folders.
    Own(String),
}

/// Folders that Python imports packages from, or its own modules.
static IMPORT_FOLDERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let packages = r"(?:site|dist)-packages/";
    let standard = r"(?:lib(?:64)?/python\d[\d.]*t?|Lib)/(?:lib-dynload/)?";
    Regex::new(&format!("^.*/(?:{packages}|{standard})")).ok()
});

/// What a build or a version adds to the name of a library.
static LIBRARY_BUILD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let (hash, version) = ("-[0-9a-f]{8,}", r"-?\d+(?:\.\d+)+");
    let python = r"\.(?:cpython|pypy|abi)[^/]*|\.cp\d[^/]*";
    Regex::new(&format!("(?:{hash}|{version}|{python})+$")).ok()
});

impl CodeOrigin {
    /// Tells from a path. What starts with one of `prefixes` is imported from there.
    #[must_use]
    pub fn of(file: &str, is_native: bool, prefixes: &[String]) -> Self {
        let path = file.replace('\\', "/");
        if is_native {
            return Self::Library(library(&path));
        }
        if let Some(name) = path
            .strip_prefix("<frozen ")
            .and_then(|rest| rest.strip_suffix('>'))
        {
            return Self::Imported(name.to_owned());
        }
        let below = prefixes.iter().filter_map(|prefix| below(&path, prefix));
        if let Some(rest) = below.min_by_key(|rest| rest.len()) {
            return Self::Imported(dotted(rest));
        }
        let folder = IMPORT_FOLDERS.as_ref().and_then(|regex| regex.find(&path));
        match folder.and_then(|folder| path.get(folder.end()..)) {
            Some(rest) => Self::Imported(dotted(rest)),
            None => Self::Own(path),
        }
    }
}

/// A path below a folder.
fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let folder = folder.replace('\\', "/");
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder)?
        .strip_prefix('/')
        .filter(|rest| !rest.is_empty())
}

/// The name by which a file below a folder of modules is imported.
fn dotted(path: &str) -> String {
    let endings = [".py", ".pyw", ".pyx", ".pyi", ".so", ".pyd"];
    let stem = endings.iter().find_map(|ending| path.strip_suffix(ending));
    let stem = stem.unwrap_or(path);
    stem.strip_suffix("/__init__")
        .unwrap_or(stem)
        .replace('/', ".")
}

/// The file's name up to its version: `libz.so` of `/usr/lib/libz.so.1.2`. A source file keeps its name.
fn library(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = match name.find(".so") {
        Some(at)
            if name
                .get(at + 3..)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) =>
        {
            (name.get(..at).unwrap_or(name), ".so")
        }
        _ => (name, ""),
    };
    let build = LIBRARY_BUILD.as_ref().and_then(|regex| regex.find(stem));
    let stem = match build {
        Some(build) if build.start() > 0 => stem.get(..build.start()).unwrap_or(stem),
        _ => stem,
    };
    format!("{stem}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str) -> CodeOrigin {
        CodeOrigin::of(file, false, &["/srv/app/".to_owned()])
    }

    fn imported(name: &str) -> CodeOrigin {
        CodeOrigin::Imported(name.to_owned())
    }

    #[test]
    fn modules_are_known_wherever_they_are_installed() {
        for file in [
            "/usr/lib/python3.11/json/decoder.py",
            "/home/a/.pyenv/versions/3.13.1/lib/python3.13t/json/decoder.py",
            r"C:\Python312\Lib\json\decoder.py",
            "<frozen json.decoder>",
        ] {
            assert_eq!(of(file), imported("json.decoder"), "{file}");
        }
        for file in [
            "/venv/lib/python3.9/site-packages/numpy/__init__.py",
            "/usr/lib/python3/dist-packages/numpy/__init__.py",
        ] {
            assert_eq!(of(file), imported("numpy"), "{file}");
        }
        assert_eq!(of("/srv/app/shop/cart.py"), imported("shop.cart"));
        let own = "/srv/application/cart.py";
        assert_eq!(of(own), CodeOrigin::Own(own.to_owned()));
    }

    #[test]
    fn libraries_lose_folder_version_and_build() {
        for (file, name) in [
            ("/lib/x86_64-linux-gnu/libc.so.6", "libc.so"),
            ("/lib/libc-2.31.so", "libc.so"),
            ("/usr/lib/libpython3.11.so.1.0", "libpython.so"),
            (
                "/v/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so",
                "_json.so",
            ),
            (
                "/v/numpy.libs/libopenblas64_p-r0-0cf96a72.3.23.dev.so",
                "libopenblas64_p-r0-0cf96a72.3.23.dev.so",
            ),
            (
                "/v/numpy.libs/libgfortran-040039e1.so.5.0.0",
                "libgfortran.so",
            ),
            ("/usr/bin/python3.11", "python"),
            ("/build/Objects/listobject.c", "listobject.c"),
            ("", ""),
        ] {
            let library = CodeOrigin::Library(name.to_owned());
            assert_eq!(CodeOrigin::of(file, true, &[]), library, "{file}");
        }
    }
}
