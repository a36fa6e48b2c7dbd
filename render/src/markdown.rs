//! Names in Markdown, where they must not mean anything.

use std::fmt::Write as _;

/// A name as code, on one line, that is shown as it is wherever Markdown or its tables are read.
///
/// Where a mark in it could end the code or the cell, all marks become character references.
pub(crate) fn code(name: &str) -> String {
    let ends = |c: char| matches!(c, '`' | '|' | '\\');
    let is_plain = !name.contains(ends) && !name.starts_with(' ') && !name.ends_with(' ');
    if is_plain && !name.is_empty() {
        return format!("`{name}`");
    }
    let mut text = String::from("<code>");
    escape_into(name, &mut text);
    text.push_str("</code>");
    text
}

/// A sentence with names in it.
pub(crate) fn escaped(sentence: &str) -> String {
    let mut text = String::new();
    escape_into(sentence, &mut text);
    text
}

fn escape_into(name: &str, text: &mut String) {
    for c in name.chars() {
        if matches!(
            c,
            '`' | '|' | '\\' | '<' | '>' | '&' | '*' | '_' | '[' | ']' | '~' | '#' | '$' | '!'
        ) {
            let _ = write!(text, "&#{};", u32::from(c));
        } else {
            text.push(c);
        }
    }
}

/// A block of lines that are shown as they are.
pub(crate) fn block(lines: &str) -> String {
    let runs = lines.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{lines}{fence}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_neither_their_code_nor_their_cell() {
        assert_eq!(code("__init__"), "`__init__`");
        assert_eq!(code("<module>"), "`<module>`");
        assert_eq!(code("a|b"), "<code>a&#124;b</code>");
        assert_eq!(code("`x` <b>"), "<code>&#96;x&#96; &#60;b&#62;</code>");
        assert_eq!(code(r"a\"), "<code>a&#92;</code>");
        assert_eq!(code(""), "<code></code>");
        assert_eq!(escaped("a [link](x)"), "a &#91;link&#93;(x)");
    }

    #[test]
    fn blocks_have_longer_fences_than_what_is_in_them() {
        assert_eq!(block("a\n"), "```text\na\n```\n");
        assert_eq!(block("````\n"), "`````text\n````\n`````\n");
    }
}
