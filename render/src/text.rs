//! Text for terminals.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Names as they can be shown on one line: control characters, which could steer a terminal, and the marks
/// that turn the direction of writing become `\u{…}`.
pub(crate) fn printable(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let breaks = matches!(c, '\u{2028}' | '\u{2029}');
        if c.is_control() || turns || breaks {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most so many columns: if it takes more, `…` stands for its middle.
pub(crate) fn elided(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else {
        return String::new();
    };
    let head = fitting(text.chars(), room / 2);
    let tail = fitting(text.chars().rev(), room - room / 2);
    head.into_iter()
        .chain(['…'])
        .chain(tail.into_iter().rev())
        .collect()
}

/// The first characters that fit in so many columns.
fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> Vec<char> {
    let mut taken = 0;
    let fits = |c: &char| {
        taken += c.width().unwrap_or(0);
        taken <= columns
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(elided("abcdef", 6), "abcdef");
        assert_eq!(elided("abcdef", 5), "ab…ef");
        assert_eq!(elided("abcdef", 4), "a…ef");
        assert_eq!(elided("abcdef", 1), "…");
        assert_eq!(elided("abcdef", 0), "");
        assert_eq!(elided("日本語文字", 6), "日…字");
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\nb"), r"a\u{1b}[31m\u{a}b");
        assert_eq!(printable("naïve 日"), "naïve 日");
        assert_eq!(printable("a\u{202e}b"), r"a\u{202e}b");
    }
}
