//! The table as a page of its own.

use std::io::Write;

use memreport_aggregate::Selected;
use serde_json::json;

use super::{STYLE, handlebars, link, modules, policy, title};
use crate::doubts::{doubts, sentence};
use crate::selection::{left_out, title as total};
use crate::table::TableRow;
use crate::units::{Units, format_bytes, format_count};
use crate::{Error, error};

const TEMPLATE: &str = include_str!("../../../web-assets/table.hbs");

/// Rows that are there without a script, largest first. With it, all are.
const PLAIN_ROWS: usize = 1000;

/// Stands in the template's output where all rows are streamed in.
const MARKER: &str = "<!--rows-->";

/// Writes the page: the largest rows as a plain table, then all of them as JSON, which the script sorts and
/// searches.
///
/// One policy in the head forbids every request, and has the hashes of the script and the style.
pub(crate) fn write_table_page(
    rows: &[TableRow],
    selected: &Selected<'_>,
    units: Units,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let script = link(&modules(), "table_page.js")?;
    let style = STYLE.trim();
    let mut largest: Vec<&TableRow> = rows.iter().collect();
    largest.sort_by_key(|row| std::cmp::Reverse(row.tally.bytes));
    largest.truncate(PLAIN_ROWS);
    let plain = largest.iter().map(|row| {
        json!({
            "size": format_bytes(row.tally.bytes, units),
            "bytes": format_count(row.tally.bytes),
            "count": format_count(row.tally.allocations),
            "thread": row.thread,
            "allocator": row.allocator,
            "location": row.location,
        })
    });
    let remarks = doubts(selected.profile());
    let values = json!({
        "title": title(selected.profile()),
        "command": selected.profile().metadata.command_line,
        "csp": policy::policy(&[&script], style),
        "style": style,
        "script": script,
        "total": total(selected, units),
        "left_out": left_out(selected, units),
        "remarks": remarks.iter().map(|remark| sentence(remark)).collect::<Vec<_>>(),
        "units": match units { Units::Iec => "iec", Units::Si => "si" },
        "rows": plain.collect::<Vec<_>>(),
        "n_rows": format_count(rows.len() as u64),
        "n_plain": (rows.len() > PLAIN_ROWS).then(|| format_count(PLAIN_ROWS as u64)),
        "marker": MARKER,
    });
    let page = handlebars()
        .render_template(TEMPLATE, &values)
        .map_err(|error| error::Error::Template(Box::new(error)))?;
    // The marker is the last: names before it are escaped.
    let (before, after) = page.rsplit_once(MARKER).unwrap_or((&page, ""));
    out.write_all(before.as_bytes())?;
    for (i, row) in rows.iter().enumerate() {
        let row = json!([
            row.tally.bytes,
            row.tally.allocations,
            row.thread,
            row.allocator,
            row.location
        ]);
        // In JSON `<` only stands in strings, where this means the same and closes no element.
        let row = row.to_string().replace('<', "\\u003c");
        let separator = if i == 0 { "" } else { ",\n" };
        write!(out, "{separator}{row}")?;
    }
    out.write_all(after.as_bytes())?;
    Ok(())
}
