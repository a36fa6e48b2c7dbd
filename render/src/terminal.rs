//! Tables for terminals: columns of numbers, then a name that takes the rest of the line.

use crate::text::{elided, width};
use crate::units::format_count;

/// Columns that names get before numbers are left out.
const MIN_NAME_COLUMNS: usize = 20;

/// Between a function and its file.
const AT: &str = " at ";

/// A line: numbers, and a name that is made for the room that is left.
pub(crate) struct Line<'a, const N: usize> {
    pub(crate) numbers: [String; N],
    pub(crate) name: Box<dyn Fn(usize) -> String + 'a>,
}

/// A table in lines of at most so many columns, with a line's end each. Where that is too narrow for names,
/// columns of numbers are left out, in the order of `dispensable`.
pub(crate) fn table<const N: usize>(
    header: ([&str; N], &str),
    lines: &[Line<'_, N>],
    dispensable: &[usize],
    columns: usize,
) -> String {
    let (headers, name_header) = header;
    let widths: [usize; N] = std::array::from_fn(|i| {
        let numbers = lines.iter().map(|line| width(&line.numbers[i]));
        numbers.chain([width(headers[i])]).max().unwrap_or(0)
    });
    let mut is_shown = [true; N];
    let taken = |is_shown: &[bool; N]| -> usize {
        let shown = widths
            .iter()
            .zip(is_shown)
            .filter(|(_, is_shown)| **is_shown);
        shown.map(|(width, _)| width + 2).sum()
    };
    for &i in dispensable {
        if taken(&is_shown) + MIN_NAME_COLUMNS > columns
            && let Some(is_shown) = is_shown.get_mut(i)
        {
            *is_shown = false;
        }
    }
    let room = columns.saturating_sub(taken(&is_shown));
    let mut text = String::new();
    let mut push = |numbers: [&str; N], name: &str| {
        let mut line = String::new();
        for ((number, width), _) in numbers
            .into_iter()
            .zip(widths)
            .zip(is_shown)
            .filter(|(_, is_shown)| *is_shown)
        {
            line.push_str(&format!("{number:>width$}  "));
        }
        line.push_str(name);
        text.push_str(&elided(line.trim_end(), columns));
        text.push('\n');
    };
    push(headers, name_header);
    for line in lines {
        push(
            line.numbers.each_ref().map(String::as_str),
            &(line.name)(room),
        );
    }
    text
}

/// A function and its place in at most so many columns: where they do not fit, both lose of their middle,
/// but neither gives more than half for the other.
pub(crate) fn at(function: &str, place: &str, columns: usize) -> String {
    let whole = format!("{function}{AT}{place}");
    let room = columns.saturating_sub(width(AT));
    if width(&whole) <= columns || room < MIN_NAME_COLUMNS / 2 {
        return elided(&whole, columns);
    }
    let half = room / 2;
    let for_function = width(function).min(half.max(room.saturating_sub(width(place))));
    let function = elided(function, for_function);
    let place = elided(place, room - width(&function));
    format!("{function}{AT}{place}")
}

/// What stands for rows that are not shown.
pub(crate) fn more(n: usize, bytes: u64) -> String {
    let (n, bytes) = (format_count(n as u64), format_count(bytes));
    format!("… {n} more, {bytes} bytes")
}

/// Words in lines of at most so many columns, with a line's end each; a word that is longer loses its middle.
pub(crate) fn wrapped(words: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(elided(word, columns)),
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A part of a whole as a percentage with two decimals, rounded; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole).max(1);
    let hundredths = (u128::from(part) * 10_000 + whole / 2) / whole;
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_of_two_names_hides_the_other() {
        assert_eq!(at("load", "app.py", 14), "load at app.py");
        assert_eq!(
            at("load", "a/very/long/path.py", 20),
            "load at a/ver…ath.py"
        );
        let long = "an_uncommonly_long_name";
        assert_eq!(at(long, "app.py", 24), "an_unc…ng_name at app.py");
        assert_eq!(width(&at(long, long, 24)), 24);
        assert!((0..60).all(|columns| width(&at(long, long, columns)) <= columns));
    }

    #[test]
    fn narrow_tables_drop_numbers_before_names() {
        let name = |room| at("function", "some/file.py", room);
        let line = Line {
            numbers: ["1.0 KiB".into(), "50.00%".into()],
            name: Box::new(name),
        };
        let made = |columns| {
            table(
                (["Own", "%"], "Function"),
                std::slice::from_ref(&line),
                &[1],
                columns,
            )
        };
        assert_eq!(
            made(80),
            "    Own       %  Function\n1.0 KiB  50.00%  function at some/file.py\n"
        );
        assert_eq!(
            made(30),
            "    Own  Function\n1.0 KiB  function at some…e.py\n"
        );
        for columns in 0..50 {
            assert!(
                made(columns).lines().all(|line| width(line) <= columns),
                "{columns}"
            );
        }
    }

    #[test]
    fn words_go_on_in_the_next_line() {
        assert_eq!(wrapped("a bc def", 4), "a bc\ndef\n");
        assert_eq!(wrapped("abcdefg h", 5), "ab…fg\nh\n");
    }

    #[test]
    fn percentages_are_rounded_and_never_of_nothing() {
        assert_eq!(
            [percent(1, 3), percent(2, 3), percent(3, 3)],
            ["33.33%", "66.67%", "100.00%"]
        );
        assert_eq!(
            [percent(0, 0), percent(u64::MAX, u64::MAX)],
            ["0.00%", "100.00%"]
        );
    }
}
