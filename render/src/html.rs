//! The HTML report: one page with the viewer and the profile's tables inside, opened from disk.

mod detail;
mod diff_page;
mod encoding;
mod linker;
mod meta;
mod page_tree;
mod payload;
mod policy;
mod sections;
mod shown;
mod table_page;
mod tree;

use std::io::Write;

use handlebars::Handlebars;
use include_dir::{Dir, include_dir};
use memreport_aggregate::{Error as AggregateError, Profile};
use serde_json::json;

use crate::units::{Units, format_bytes, format_count, format_duration};
use crate::{Error, Output};
use detail::fitted;
use encoding::{SMALLEST, section};
use linker::{Module, link};
use shown::Shown;

pub use diff_page::DiffPage;
pub(crate) use table_page::write_table_page;

static CORE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../web-assets/core");
static VIEW: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../web-assets/view");
const BOOT: &str = include_str!("../../web-assets/boot.js");
const MAIN: &str = include_str!("../../web-assets/main.js");
const DIFF_PAGE: &str = include_str!("../../web-assets/diff_page.js");
const TABLE_PAGE: &str = include_str!("../../web-assets/table_page.js");
const STYLE: &str = include_str!("../../web-assets/style.css");
const TEMPLATE: &str = include_str!("../../web-assets/index.hbs");

/// Marks the page as ours, near its start.
const GENERATOR: &str = "<meta name=\"generator\" content=\"memreport\">";

/// The section of the viewer's script.
const CODE: &str = "CODE";

/// Stands in the template's output where the tables are streamed in. No name can contain it: it is
/// looked for before any name is written but the command line's, which is escaped.
const MARKER: &str = "<!--payload-->";

/// Which question the report answers first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstView {
    /// What is live at the highest heap.
    #[default]
    Peak,
    /// What is left over.
    Leaks,
    /// What is temporary.
    Temporary,
}

/// The self-contained page.
///
/// * Shape: the viewer's markup and style, a small script that unpacks the rest, the viewer's script,
///   compressed, then the profile's tables as compressed columns
/// * One policy in the head forbids every request, and has the hashes of the two scripts: the browser
///   runs what is unpacked only if it is, to the byte, the script that the page was made with
/// * Errors: an aggregated capture has no temporary allocations to be shown first
/// * The same profile gives the same bytes
#[derive(Debug, Clone, Copy)]
pub struct Html {
    /// Which question it answers first.
    pub first_view: FirstView,
    /// Bytes that the page may have. While it has more, nodes of the call tree or slices, whichever there are
    /// more of, are halved (quartered as long as the page is far too large): stacks with the smallest shares are folded into "other" frames, neighbouring
    /// slices become one. Totals and peaks stay exact.
    pub max_len: u64,
}

impl Default for Html {
    fn default() -> Self {
        Self {
            first_view: FirstView::default(),
            max_len: 25_000_000,
        }
    }
}

/// A page that is made.
#[derive(Debug)]
pub struct Page {
    bytes: Vec<u8>,
    /// What was folded to keep it small: a clause for the terminal.
    pub folded: Option<String>,
}

impl Page {
    /// Writes it.
    ///
    /// # Errors
    /// [`Error::Write`] if the output cannot be written to.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), Error> {
        Ok(out.write_all(&self.bytes)?)
    }
}

impl Html {
    /// Makes the page.
    ///
    /// # Errors
    /// [`Error::NoAnswer`] if the profile cannot answer what is to be shown first; [`Error::PageSize`] if no
    /// page can be as small as it must.
    pub fn page(&self, profile: &Profile) -> Result<Page, Error> {
        if self.first_view == FirstView::Temporary && profile.is_aggregated {
            return Err(AggregateError::NotInAggregated("temporary allocations").into());
        }
        let viewer = link(&modules(), "main.js")?;
        let (title, summary) = (title(profile), summary(profile));
        let shell = shell(TEMPLATE, STYLE.trim(), &viewer, &title, &summary)?;
        let (before, after) = shell.split_once(MARKER).unwrap_or((&shell, ""));
        let code = (CODE, viewer.len() as u64);
        let (bytes, shown) = fitted(profile, self.max_len, shell.len() as u64, |shown, out| {
            out.write_all(before.as_bytes())?;
            payload::write(profile, shown, self.first_view, code, out)?;
            Ok(out.write_all(after.as_bytes())?)
        })?;
        let folded = folded(&shown, profile, self.max_len);
        Ok(Page { bytes, folded })
    }

    /// Whether a file that starts with these bytes is such a page.
    #[must_use]
    pub fn is_report(start: &[u8]) -> bool {
        start
            .windows(GENERATOR.len())
            .any(|window| window == GENERATOR.as_bytes())
    }
}

impl Output for Html {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        self.page(profile)?.write(out)
    }
}

/// What the terminal says of a page that does not show everything.
fn folded(shown: &Shown<'_>, profile: &Profile, max_len: u64) -> Option<String> {
    let mut parts = Vec::new();
    if shown.folded.stacks > 0 {
        parts.push(format!(
            "{} small stacks ({} of the peak) are folded into \"other\" frames",
            format_count(shown.folded.stacks),
            format_bytes(shown.folded.peak_bytes, Units::Iec),
        ));
    }
    if shown.snapshot_stride > profile.snapshot_stride {
        parts.push(format!(
            "one in {} memory snapshots is kept",
            format_count(shown.snapshot_stride as u64),
        ));
    }
    (!parts.is_empty()).then(|| {
        format!(
            "to keep the page below {}, {}; totals and peaks are exact",
            format_bytes(max_len, Units::Si),
            parts.join(" and "),
        )
    })
}

/// A page without its tables. `summary` is for readers without JavaScript.
fn shell(
    template: &str,
    style: &str,
    viewer: &str,
    title: &str,
    summary: &str,
) -> Result<String, Error> {
    let boot = link(&modules(), "boot.js")?;
    let mut packed_viewer = Vec::new();
    section(CODE, SMALLEST, &mut packed_viewer, |out| {
        out.write_all(viewer.as_bytes())
    })?;
    let values = json!({
        "title": title,
        "summary": summary,
        "csp": policy::policy(&[&boot, viewer], style),
        "style": style,
        "boot": boot,
        "viewer": String::from_utf8_lossy(&packed_viewer),
        "payload": MARKER,
    });
    handlebars()
        .render_template(template, &values)
        .map_err(|error| Error::Template(Box::new(error)))
}

fn handlebars() -> Handlebars<'static> {
    let mut handlebars = Handlebars::new();
    handlebars.set_strict_mode(true);
    handlebars
}

fn modules() -> Vec<Module<'static>> {
    let entry = |path: &str, source| Module {
        path: path.to_owned(),
        source,
    };
    let folder = |name: &'static str, dir: &'static Dir<'static>| {
        dir.files().filter_map(move |file| {
            let path = file.path().to_str()?;
            let source = file.contents_utf8()?;
            Some((name, path, source))
        })
    };
    let files = folder("core", &CORE).chain(folder("view", &VIEW));
    let named = files.filter(|(_, path, _)| path.ends_with(".js") && !path.ends_with(".test.js"));
    let modules = named.map(|(folder, path, source)| Module {
        path: format!("{folder}/{path}"),
        source,
    });
    let entries = [
        entry("boot.js", BOOT),
        entry("main.js", MAIN),
        entry("diff_page.js", DIFF_PAGE),
        entry("table_page.js", TABLE_PAGE),
    ];
    entries.into_iter().chain(modules).collect()
}

fn title(profile: &Profile) -> String {
    format!("memreport · {}", profile.metadata.command_line)
}

/// The report in one sentence, for readers without JavaScript.
fn summary(profile: &Profile) -> String {
    let metadata = &profile.metadata;
    let duration = metadata
        .end_time_ms
        .saturating_sub(metadata.start_time_ms)
        .max(0)
        .cast_unsigned();
    format!(
        "Peak heap {}, left over at the end {}, in a run of {}. The graphs need JavaScript.",
        format_bytes(profile.slices.peak(), Units::Iec),
        format_bytes(profile.slices.heap.last().copied().unwrap_or(0), Units::Iec),
        format_duration(duration),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_viewer_links() {
        for entry in ["boot.js", "main.js", "diff_page.js", "table_page.js"] {
            let script = link(&modules(), entry).unwrap();
            assert!(!script.contains("import "), "imports are resolved");
            assert!(!script.contains("/**"), "comments are left out");
        }
        assert!(TEMPLATE.contains(GENERATOR));
    }
}
