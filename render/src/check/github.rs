//! A check in the log of a GitHub action, with annotations.

use std::fmt::Write as _;

use memreport_aggregate::{CodeOrigin, CodePlace, Level, Stack, Verdict};
use sha2::{Digest, Sha256};

use super::CheckReport;
use super::words::{heading, more, of_stack, sentence, stack_line};
use crate::text::{elided, printable};

/// Annotations at most; GitHub shows no more of one step.
const MAX_ANNOTATIONS: usize = 10;

/// Columns of a line in an annotation.
const COLUMNS: usize = 300;

impl CheckReport<'_> {
    /// The text, between commands that tell the runner to look for none in it: names come from elsewhere. Then an
    /// annotation for each broken rule, worst first.
    ///
    /// * Source: "Workflow commands for GitHub Actions"
    pub(super) fn github(&self, columns: usize, folders: &Folders<'_>) -> String {
        let text = self.text(columns);
        // What nobody can write into a name that it depends on.
        let hash = Sha256::digest(text.as_bytes());
        let mut token = String::from("memreport-");
        for byte in hash {
            let _ = write!(token, "{byte:02x}");
        }
        let mut log = format!("::stop-commands::{token}\n{text}::{token}::\n");
        for verdict in self.checked.broken().take(MAX_ANNOTATIONS) {
            log.push_str(&self.annotation(verdict, folders));
        }
        log
    }

    fn annotation(&self, verdict: &Verdict, folders: &Folders<'_>) -> String {
        let command = match verdict.level {
            Level::Failed => "error",
            Level::Alert | Level::Passed => "warning",
        };
        let title = format!("memory: {}", verdict.rule);
        let title = property(&elided(&printable(&title), COLUMNS));
        let stacks = verdict.explanation.stacks.iter();
        let place = stacks.filter_map(|stack| place(stack, folders)).next();
        let place = place.map(|(file, line)| match line {
            0 => format!("file={},", property(&printable(&file))),
            line => format!("file={},line={line},", property(&printable(&file))),
        });
        format!(
            "::{command} {}title={title}::{}\n",
            place.unwrap_or_default(),
            data(&self.message(verdict))
        )
    }

    fn message(&self, verdict: &Verdict) -> String {
        let explanation = &verdict.explanation;
        let mut lines = vec![sentence(verdict, self.units)];
        if !explanation.stacks.is_empty() {
            lines.push(format!("{}:", heading(verdict)));
        }
        for stack in &explanation.stacks {
            let amount = of_stack(verdict, stack.amount, self.units);
            let line = format!("{amount}  {}", stack_line(stack));
            lines.push(elided(&printable(&line), COLUMNS));
        }
        lines.extend(more(verdict, explanation.n_more, explanation.more));
        lines.join("\n")
    }
}

/// Where files are looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folders<'a> {
    pub(super) workspace: Option<&'a str>,
    pub(super) folder: Option<&'a str>,
}

/// The line of a stack to look at, with its file below the workspace: of the frame that is blamed, else of the
/// innermost that is not of an installed package.
fn place(stack: &Stack, folders: &Folders<'_>) -> Option<(String, u32)> {
    let below = |frame: &CodePlace| Some((folders.below(&frame.file)?, frame.line));
    let blamed = stack.blamed.and_then(|blamed| stack.frames.get(blamed));
    let is_own = |frame: &&CodePlace| {
        let origin = CodeOrigin::of(&frame.file, false, &[]);
        matches!(origin, CodeOrigin::Own(_))
    };
    let own = || stack.frames.iter().filter(is_own).find_map(below);
    blamed.and_then(below).or_else(own)
}

impl Folders<'_> {
    /// A path below the workspace. Where the folder is not in it, a relative path is taken to be.
    fn below(&self, file: &str) -> Option<String> {
        let path = file.replace('\\', "/");
        let path = path.strip_prefix("./").unwrap_or(&path);
        let is_absolute = path.starts_with('/') || path.get(1..2) == Some(":");
        let relative = if is_absolute {
            self.in_workspace(path)?
        } else {
            let whole = self.folder.map(|folder| format!("{folder}/{path}"));
            let found = whole.and_then(|whole| self.in_workspace(&whole));
            found.unwrap_or_else(|| path.to_owned())
        };
        let is_file = !path.is_empty() && !path.starts_with('<');
        let stays = relative.split('/').all(|part| part != "..");
        (is_file && stays).then_some(relative)
    }

    fn in_workspace(&self, path: &str) -> Option<String> {
        let path = path.replace('\\', "/");
        let workspace = self.workspace?.replace('\\', "/");
        let below = path.strip_prefix(workspace.trim_end_matches('/'))?;
        Some(below.strip_prefix('/')?.to_owned())
    }
}

/// The message of a command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_commands_is_escaped() {
        assert_eq!(
            property("50%, a:b\r\n::error::c"),
            "50%25%2C a%3Ab%0D%0A%3A%3Aerror%3A%3Ac"
        );
        assert_eq!(data("50%, a:b\r\nc"), "50%25, a:b%0D%0Ac");
    }

    #[test]
    fn annotations_are_in_the_workspace_or_nowhere() {
        let below = |file, workspace, folder| Folders { workspace, folder }.below(file);
        let in_workspace = |file| below(file, Some("/home/runner/work/app/app/"), None);
        let some = |file: &str| Some(file.to_owned());
        assert_eq!(
            in_workspace("/home/runner/work/app/app/src/a.py"),
            some("src/a.py")
        );
        assert_eq!(in_workspace("/home/runner/work/app/apple/a.py"), None);
        assert_eq!(in_workspace("/usr/lib/python3.12/json/decoder.py"), None);
        assert_eq!(in_workspace("./src/a.py"), some("src/a.py"));
        assert_eq!(in_workspace("../a.py"), None);
        assert_eq!(in_workspace("<frozen runpy>"), None);
        assert_eq!(in_workspace(""), None);
        assert_eq!(below("/a.py", None, Some("/")), None);
        let here = |folder| below("./a.py", Some("/ws"), Some(folder));
        assert_eq!(here("/ws/services/api"), some("services/api/a.py"));
        assert_eq!(here("/ws"), some("a.py"));
        assert_eq!(here("/elsewhere"), some("a.py"));
        assert_eq!(below(r"D:\a\b\c.py", Some(r"D:\a\b"), None), some("c.py"));
        assert_eq!(
            below("c.py", Some(r"D:\a\b"), Some(r"D:\a\b\d")),
            some("d/c.py")
        );
        assert_eq!(below(r"C:\c.py", Some(r"D:\a\b"), None), None);
    }
}
