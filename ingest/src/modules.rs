//! Which Python module a file belongs to.

use memreport_capture::Header;

/// What Python puts before the names of modules that are compiled into it.
pub(crate) const FROZEN: &str = "<frozen ";

/// Names of folders of installed packages.
const PACKAGE_FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// Where Python looked for modules.
///
/// * Source: the header, from format 13 on; before, patterns of the paths themselves
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPaths {
    /// As the header has them.
    Recorded {
        /// Folder of the standard library, if known.
        standard_library: Option<FilePath>,
        /// Folders of installed packages.
        site_packages: Vec<FilePath>,
        /// Python's module search path.
        sys_path: Vec<FilePath>,
    },
    /// Not in the header: `site-packages` and `lib/python3.N` in a path are taken for what they say.
    Guessed,
}

/// A module, as its file's path tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name, dotted.
    pub name: String,
    /// Where it is from.
    pub origin: ModuleOrigin,
}

/// Where a module is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleOrigin {
    /// Python's standard library.
    StandardLibrary,
    /// A folder of installed packages.
    SitePackages,
    /// Elsewhere on Python's search path.
    Project,
    /// Not on Python's search path.
    Unknown,
}

impl Module {
    /// The part of the name before the first dot.
    #[must_use]
    pub fn top_level(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

impl SearchPaths {
    pub(crate) fn new(header: &Header) -> Self {
        let path = |bytes: &[u8]| FilePath::new(&String::from_utf8_lossy(bytes));
        let paths = |list: &[Vec<u8>]| list.iter().map(|bytes| path(bytes)).collect();
        if header.version.has_search_paths() {
            Self::Recorded {
                standard_library: (!header.libdest.is_empty()).then(|| path(&header.libdest)),
                site_packages: paths(&header.site_packages),
                sys_path: paths(&header.sys_path),
            }
        } else {
            Self::Guessed
        }
    }

    /// The module of a Python file.
    ///
    /// * Source: `semantics.md`, section 8.3
    #[must_use]
    pub fn module(&self, file: &str) -> Module {
        use ModuleOrigin as Origin;
        let module = |name: String, origin| Module { name, origin };
        if file.is_empty() {
            return module("unknown".to_owned(), Origin::Unknown);
        }
        if let Some(name) = file.strip_prefix(FROZEN) {
            let end = name.char_indices().next_back().map_or(0, |(at, _)| at);
            let name = name.get(..end).unwrap_or_default();
            return module(name.to_owned(), Origin::StandardLibrary);
        }
        let path = FilePath::new(file);
        let found = match self {
            Self::Recorded {
                standard_library,
                site_packages,
                sys_path,
            } => {
                let of = |origin| move |folder| (folder, origin);
                let folders = (site_packages.iter().map(of(Origin::SitePackages)))
                    .chain(standard_library.iter().map(of(Origin::StandardLibrary)))
                    .chain(sys_path.iter().map(of(Origin::Project)));
                folders
                    .filter_map(|(folder, origin)| Some((path.below(folder)?, origin)))
                    .next()
            }
            Self::Guessed => guess(&path.parts),
        };
        match found {
            Some((parts, origin)) => module(dotted(parts), origin),
            None => {
                let name = path.parts.last().map_or(&[][..], std::slice::from_ref);
                module(dotted(name), Origin::Unknown)
            }
        }
    }
}

/// The parts of a path after a folder whose name says what it holds.
fn guess(parts: &[String]) -> Option<(&[String], ModuleOrigin)> {
    let is_packages = |part: &String| PACKAGE_FOLDERS.contains(&part.as_str());
    if let Some(at) = parts.iter().position(is_packages) {
        return Some((parts.get(at + 1..)?, ModuleOrigin::SitePackages));
    }
    let is_version = |part: &str| {
        let minor = part.strip_prefix("python3.").unwrap_or_default();
        !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
    };
    let at = parts
        .windows(2)
        .position(|pair| pair[0] == "lib" && is_version(&pair[1]))?;
    Some((parts.get(at + 2..)?, ModuleOrigin::StandardLibrary))
}

/// The name of the module that these last parts of a path lead to.
fn dotted(parts: &[String]) -> String {
    let Some((last, folders)) = parts.split_last() else {
        return String::new();
    };
    let mut names: Vec<&str> = folders.iter().map(String::as_str).collect();
    match last.strip_suffix(".py") {
        Some("__init__") => {}
        Some(stem) if !stem.is_empty() => names.push(stem),
        _ => names.push(last),
    }
    names.join(".")
}

/// A path, in parts: `//` and `/./` mean the same as `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath {
    is_absolute: bool,
    parts: Vec<String>,
}

impl FilePath {
    /// The path that this text is.
    #[must_use]
    pub fn new(path: &str) -> Self {
        let parts = path
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".");
        Self {
            is_absolute: path.starts_with('/'),
            parts: parts.map(str::to_owned).collect(),
        }
    }

    /// The parts after those of `folder`, if this is in it.
    fn below(&self, folder: &Self) -> Option<&[String]> {
        if self.is_absolute != folder.is_absolute {
            return None;
        }
        self.parts.strip_prefix(folder.parts.as_slice())
    }
}

impl std::fmt::Display for FilePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let root = if self.is_absolute { "/" } else { "" };
        write!(f, "{root}{}", self.parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> SearchPaths {
        SearchPaths::Recorded {
            standard_library: Some(FilePath::new("/opt/lib/python3.11")),
            site_packages: vec![FilePath::new("/opt/lib/python3.11/site-packages")],
            sys_path: vec![FilePath::new("/srv//app/./"), FilePath::new("/srv/lib.zip")],
        }
    }

    #[track_caller]
    fn check(paths: &SearchPaths, file: &str, name: &str, origin: ModuleOrigin) {
        let module = paths.module(file);
        assert_eq!((module.name.as_str(), module.origin), (name, origin));
    }

    #[test]
    fn recorded_folders_are_tried_in_order() {
        use ModuleOrigin::{Project, SitePackages, StandardLibrary, Unknown};
        let paths = recorded();
        let cases = [
            ("", "unknown", Unknown),
            ("<frozen runpy>", "runpy", StandardLibrary),
            ("<frozen é>", "é", StandardLibrary),
            ("<frozen ", "", StandardLibrary),
            (
                "/opt/lib/python3.11/json/encoder.py",
                "json.encoder",
                StandardLibrary,
            ),
            (
                "/opt/lib/python3.11/json/__init__.py",
                "json",
                StandardLibrary,
            ),
            (
                "/opt/lib/python3.11/site-packages/jinja2/lexer.py",
                "jinja2.lexer",
                SitePackages,
            ),
            ("/opt/lib/python3.110/json.py", "json", Unknown),
            ("/srv/app//pkg/./x.pyx", "pkg.x.pyx", Project),
            ("/srv/../srv/app/x.py", "x", Unknown),
            ("srv/app/x.py", "x", Unknown),
            ("/srv/lib.zip/a/b.py", "a.b", Project),
            ("etl.py", "etl", Unknown),
            ("/x/.py", ".py", Unknown),
            ("<string>", "<string>", Unknown),
        ];
        for (file, name, origin) in cases {
            check(&paths, file, name, origin);
        }
        assert_eq!(paths.module("/srv/app/pkg/x.pyx").top_level(), "pkg");
    }

    #[test]
    fn without_folders_paths_are_taken_for_what_they_say() {
        use ModuleOrigin::{SitePackages, StandardLibrary, Unknown};
        let cases = [
            (
                "/v/lib/python3.8/site-packages/flask/app.py",
                "flask.app",
                SitePackages,
            ),
            (
                "/usr/lib/python3/dist-packages/yaml.py",
                "yaml",
                SitePackages,
            ),
            (
                "/usr/lib/python3.8/json/__init__.py",
                "json",
                StandardLibrary,
            ),
            ("/usr/lib/python3.x/json.py", "json", Unknown),
            ("/usr/lib/python3./json.py", "json", Unknown),
            (
                "<frozen importlib._bootstrap>",
                "importlib._bootstrap",
                StandardLibrary,
            ),
            ("app.py", "app", Unknown),
        ];
        for (file, name, origin) in cases {
            check(&SearchPaths::Guessed, file, name, origin);
        }
    }
}
