//! Text for terminals.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(printable("a\u{1b}[31m\nb"), r"a\u{1b}[31m\u{a}b");
        assert_eq!(printable("naïve 日"), "naïve 日");
        assert_eq!(printable("a\u{202e}b"), r"a\u{202e}b");
    }
}
