//! The HTML report: one page with the viewer and the profile's tables inside, opened from disk.

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

use std::io::Write;

use handlebars::Handlebars;
use include_dir::{Dir, include_dir};
use memreport_aggregate::{Error as AggregateError, Profile};
use serde_json::json;

use crate::units::{Units, format_bytes, format_duration};
use crate::{Error, Output};
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
#[derive(Debug, Clone, Copy, Default)]
pub struct Html {
    /// Which question it answers first.
    pub first_view: FirstView,
}

impl Html {
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
        let shown = Shown::new(profile);
        if self.first_view == FirstView::Temporary && shown.temporaries.is_none() {
            return Err(AggregateError::NotInAggregated("temporary allocations").into());
        }
        let viewer = link(&modules(), "main.js")?;
        let (title, summary) = (title(profile), summary(profile));
        let shell = shell(TEMPLATE, STYLE.trim(), &viewer, &title, &summary)?;
        let (before, after) = shell.split_once(MARKER).unwrap_or((&shell, ""));
        out.write_all(before.as_bytes())?;
        let code = (CODE, viewer.len() as u64);
        payload::write(profile, &shown, self.first_view, code, out)?;
        out.write_all(after.as_bytes())?;
        Ok(())
    }
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
