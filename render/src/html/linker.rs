//! Joins the viewer's modules into one script.
//!
//! Each module becomes `const { a, b } = (() => { …; return { a, b }; })();`, in an order in which every module
//! comes after what it imports. What is exported has a name of its own among all modules, so imports need no
//! code; the type checker sees to it that nothing is used that is not imported. One script needs one hash in
//! the page's policy, and no bundler. Comments and indentation go, outside
//! strings, templates and regular expressions.

use std::collections::BTreeMap;

use crate::Error;

/// A module of the viewer.
#[derive(Debug)]
pub(crate) struct Module<'a> {
    /// Path below the viewer's folder, with `/`.
    pub(crate) path: String,
    pub(crate) source: &'a str,
}

/// Links `entry` and all that it imports.
pub(crate) fn link(modules: &[Module<'_>], entry: &str) -> Result<String, Error> {
    let sources = modules
        .iter()
        .map(|module| (module.path.as_str(), module.source))
        .collect();
    let mut linker = Linker {
        sources,
        states: BTreeMap::new(),
        exporters: BTreeMap::new(),
        out: String::from("'use strict';\n"),
    };
    linker.add(
        entry,
        &Place {
            file: entry,
            line: 1,
        },
    )?;
    Ok(linker.out)
}

/// Where an error is.
struct Place<'a> {
    file: &'a str,
    line: usize,
}

impl Place<'_> {
    fn error(&self, what: impl Into<String>) -> Error {
        Error::Link {
            file: self.file.to_owned(),
            line: self.line,
            what: what.into(),
        }
    }
}

#[derive(PartialEq)]
enum State {
    Linking,
    Linked,
}

struct Linker<'a> {
    sources: BTreeMap<&'a str, &'a str>,
    states: BTreeMap<String, State>,
    /// The module of each exported name.
    exporters: BTreeMap<String, String>,
    out: String,
}

impl Linker<'_> {
    /// Appends a module, after the modules that it imports.
    fn add(&mut self, path: &str, from: &Place<'_>) -> Result<(), Error> {
        match self.states.get(path) {
            Some(State::Linked) => return Ok(()),
            Some(State::Linking) => {
                return Err(from.error(format!("{path} imports itself in a circle")));
            }
            None => {}
        }
        let Some(&source) = self.sources.get(path) else {
            return Err(from.error(format!("there is no module {path}")));
        };
        self.states.insert(path.to_owned(), State::Linking);
        let mut body = String::new();
        let mut exports = Vec::new();
        for (line, text) in (1..).zip(strip(source).split('\n')) {
            let place = Place { file: path, line };
            if let Some(import) = text.strip_prefix("import ") {
                self.add(&resolve(path, parse_import(import, &place)?), &place)?;
            } else if let Some(declaration) = text.strip_prefix("export ") {
                let name = exported_name(declaration, &place)?;
                if let Some(other) = self.exporters.insert(name.clone(), path.to_owned()) {
                    return Err(place.error(format!("{other} exports {name} too")));
                }
                exports.push(name);
                body.push_str(declaration);
                body.push('\n');
            } else if !text.is_empty() {
                body.push_str(text);
                body.push('\n');
            }
        }
        let names = exports.join(", ");
        self.out.push_str(&match exports.as_slice() {
            [] => format!("(() => {{\n{body}}})();\n"),
            _ => format!("const {{ {names} }} = (() => {{\n{body}return {{ {names} }};\n}})();\n"),
        });
        self.states.insert(path.to_owned(), State::Linked);
        Ok(())
    }
}

/// `{ a, b } from './x.js';`: the path.
fn parse_import<'a>(text: &'a str, place: &Place<'_>) -> Result<&'a str, Error> {
    let parts = text
        .strip_suffix(';')
        .and_then(|text| text.split_once(" from "));
    let parsed = parts.and_then(|(names, path)| {
        let quoted = path
            .strip_prefix('\'')
            .and_then(|path| path.strip_suffix('\''))?;
        let named = names.starts_with('{') && names.ends_with('}') && !names.contains(" as ");
        (named && quoted.starts_with('.')).then_some(quoted)
    });
    parsed
        .ok_or_else(|| place.error("only named imports of the viewer's own modules can be linked"))
}

/// The name that `export` is put before.
fn exported_name(declaration: &str, place: &Place<'_>) -> Result<String, Error> {
    let kinds = ["async function ", "function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| declaration.strip_prefix(kind));
    let is_name = |c: &char| c.is_alphanumeric() || *c == '_' || *c == '$';
    let name: String = rest
        .unwrap_or_default()
        .chars()
        .take_while(is_name)
        .collect();
    if name.is_empty() {
        return Err(place.error("only functions, classes and constants can be exported"));
    }
    Ok(name)
}

/// The path that `target` means in module `from`.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Leaves out comments and indentation; lines keep their numbers.
fn strip(source: &str) -> String {
    let mut stripper = Stripper {
        out: String::with_capacity(source.len()),
        rest: source,
        braces: Vec::new(),
    };
    while !stripper.rest.is_empty() {
        stripper.step();
    }
    stripper.out
}

/// A pass over JavaScript that knows where its strings, templates and regular expressions are.
struct Stripper<'a> {
    out: String,
    rest: &'a str,
    /// For each open brace, whether it is a template's `${`.
    braces: Vec<bool>,
}

impl Stripper<'_> {
    fn step(&mut self) {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return;
        };
        match first {
            '/' if rest.starts_with("//") => self.skip(rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").map_or(rest.len(), |at| at + 2);
                let lines = rest.get(..end).unwrap_or(rest).matches('\n').count();
                self.out.extend(std::iter::repeat_n('\n', lines));
                self.skip(end);
            }
            '/' if self.regex_can_start() => self.copy_quoted('/'),
            '\'' | '"' => self.copy_quoted(first),
            '`' => {
                self.copy(1);
                self.copy_template();
            }
            '{' => {
                self.braces.push(false);
                self.copy(1);
            }
            '}' => {
                self.copy(1);
                if self.braces.pop() == Some(true) {
                    self.copy_template();
                }
            }
            '\n' => {
                self.out
                    .truncate(self.out.trim_end_matches([' ', '\t']).len());
                self.copy(1);
            }
            ' ' | '\t' if self.out.is_empty() || self.out.ends_with('\n') => self.skip(1),
            c => self.copy(c.len_utf8()),
        }
    }

    fn skip(&mut self, len: usize) {
        self.rest = self.rest.get(len..).unwrap_or("");
    }

    fn copy(&mut self, len: usize) {
        self.out.push_str(self.rest.get(..len).unwrap_or(self.rest));
        self.skip(len);
    }

    /// A slash starts a regular expression where a value is expected: after an operator, an opening
    /// bracket, a statement's end, or a word that expects one.
    fn regex_can_start(&self) -> bool {
        let before = self.out.trim_end();
        let word: String = before
            .chars()
            .rev()
            .take_while(|c| c.is_alphanumeric())
            .collect();
        let word: String = word.chars().rev().collect();
        if [
            "return", "typeof", "case", "in", "of", "void", "delete", "await",
        ]
        .contains(&word.as_str())
        {
            return true;
        }
        before
            .chars()
            .next_back()
            .is_none_or(|c| "(,=:[!&|?{};+-*%<>~^".contains(c))
    }

    /// A string or regular expression up to its closing mark. In a class of characters a slash does
    /// not close.
    fn copy_quoted(&mut self, mark: char) {
        let mut chars = self.rest.char_indices().skip(1);
        let mut in_class = false;
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '[' if mark == '/' => in_class = true,
                ']' if mark == '/' => in_class = false,
                c if c == mark && !in_class => return self.copy(at + c.len_utf8()),
                _ => {}
            }
        }
        self.copy(self.rest.len());
    }

    /// A template literal, from after its opening mark or a `}` up to its end or the next `${`.
    fn copy_template(&mut self) {
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => {
                    chars.next();
                }
                '`' => return self.copy(at + 1),
                '$' if self
                    .rest
                    .get(at..)
                    .is_some_and(|rest| rest.starts_with("${")) =>
                {
                    self.braces.push(true);
                    return self.copy(at + 2);
                }
                _ => {}
            }
        }
        self.copy(self.rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(modules: &[(&str, &'static str)]) -> Result<String, Error> {
        let modules: Vec<Module<'_>> = modules
            .iter()
            .map(|&(path, source)| Module {
                path: path.to_owned(),
                source,
            })
            .collect();
        link(&modules, "main.js")
    }

    fn message(modules: &[(&str, &'static str)]) -> String {
        linked(modules).unwrap_err().to_string()
    }

    #[test]
    fn modules_come_after_what_they_import() {
        let main =
            "import { twice } from './core/math.js';\n\n// doubled\nconsole.log(twice(2));\n";
        let math = "import { two } from './numbers.js';\n/** doc */\nexport function twice(x) {\n  return two * x;\n}\n";
        let numbers = "export const two = 2;\n";
        let script = linked(&[
            ("main.js", main),
            ("core/math.js", math),
            ("core/numbers.js", numbers),
        ])
        .unwrap();
        let expected = "'use strict';
const { two } = (() => {
const two = 2;
return { two };
})();
const { twice } = (() => {
function twice(x) {
return two * x;
}
return { twice };
})();
(() => {
console.log(twice(2));
})();
";
        assert_eq!(script, expected);
    }

    #[test]
    fn what_cannot_be_linked_is_named_with_its_line() {
        let cases = [
            (
                "\nimport x from './a.js';\n",
                "main.js:2: only named imports",
            ),
            (
                "import { x as y } from './a.js';\n",
                "main.js:1: only named imports",
            ),
            (
                "import { x } from 'left-pad';\n",
                "main.js:1: only named imports",
            ),
            (
                "import { x } from './a.js';\n",
                "main.js:1: there is no module a.js",
            ),
            (
                "/*\n*/\nexport let x = 1;\n",
                "main.js:3: only functions, classes and constants",
            ),
            (
                "import { x } from './main.js';\n",
                "main.js:1: main.js imports itself",
            ),
        ];
        for (source, expected) in cases {
            let message = message(&[("main.js", source)]);
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn what_two_modules_export_is_an_error() {
        let main = "import { a } from './core/x.js';\nimport { b } from './view/x.js';\n";
        let message = message(&[
            ("main.js", main),
            ("core/x.js", "export const a = 1;\n"),
            ("view/x.js", "export const b = 1;\nexport const a = 2;\n"),
        ]);
        assert!(
            message.contains("view/x.js:2: core/x.js exports a too"),
            "{message}"
        );
    }

    #[test]
    fn only_comments_are_comments() {
        let cases = [
            ("a = 'x // y'; // z\n", "a = 'x // y';\n"),
            (
                "a = \"/* y */\"; /* z */ b();\n",
                "a = \"/* y */\";  b();\n",
            ),
            ("a = /[/*]\\//.test(b);\n", "a = /[/*]\\//.test(b);\n"),
            ("a = b / c; // d\n", "a = b / c;\n"),
            (
                "a = `x // ${b /* c */ + `}`}  \n  // y`;\n",
                "a = `x // ${b  + `}`}  \n  // y`;\n",
            ),
            ("return /'/;\n", "return /'/;\n"),
            ("f('\\'', x); // don't\n", "f('\\'', x);\n"),
        ];
        for (source, expected) in cases {
            assert_eq!(strip(source), expected);
        }
    }
}
