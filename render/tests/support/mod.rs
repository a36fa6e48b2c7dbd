//! What the tests of reports share: captures made record by record, and a reader of the page.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod capture;
pub(crate) mod html;
pub(crate) mod page;

use memreport_render::Output;
use memreport_render::aggregate::Profile;

/// A report as text.
pub(crate) fn written(output: &impl Output, profile: &Profile) -> String {
    let mut bytes = Vec::new();
    output.write(profile, &mut bytes).expect("memory takes it");
    String::from_utf8(bytes).expect("reports are UTF-8")
}
