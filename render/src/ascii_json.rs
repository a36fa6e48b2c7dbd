//! JSON as Python's `json.dump` writes it: ASCII only.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::Error;

/// Writes a value over several lines, indented by two spaces, and a line's end.
pub(crate) fn write_pretty(value: &impl Serialize, mut out: &mut dyn Write) -> Result<(), Error> {
    let formatter = Ascii(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    writeln!(out)?;
    Ok(())
}

/// Writes a value on one line, and the line's end.
pub(crate) fn write_line(value: &impl Serialize, mut out: &mut dyn Write) -> Result<(), Error> {
    let formatter = Ascii(CompactFormatter);
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    writeln!(out)?;
    Ok(())
}

/// A formatter that writes all characters but those of ASCII as escapes.
struct Ascii<F>(F);

/// Passes calls on.
macro_rules! pass_on {
    ($($name:ident($($first:ident)?)),* $(,)?) => {
        $(
            fn $name<W: ?Sized + Write>(&mut self, writer: &mut W $(, $first: bool)?) -> io::Result<()> {
                self.0.$name(writer $(, $first)?)
            }
        )*
    };
}

impl<F: Formatter> Formatter for Ascii<F> {
    pass_on! {
        begin_array(),
        end_array(),
        begin_array_value(first),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first),
        begin_object_value(),
        end_object_value(),
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        mut fragment: &str,
    ) -> io::Result<()> {
        while let Some(at) = fragment.find(|c: char| !c.is_ascii()) {
            let (plain, rest) = fragment.split_at(at);
            CompactFormatter.write_string_fragment(writer, plain)?;
            let mut rest = rest.chars();
            for unit in rest.next().into_iter().flat_map(|c| {
                let mut units = [0; 2];
                let n = c.encode_utf16(&mut units).len();
                units.into_iter().take(n)
            }) {
                write!(writer, "\\u{unit:04x}")?;
            }
            fragment = rest.as_str();
        }
        CompactFormatter.write_string_fragment(writer, fragment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_ascii_and_means_the_same() {
        let value = serde_json::json!({ "naïve \u{1f40d}": ["\u{7f}", "\n\"", []] });
        let mut out = Vec::new();
        write_pretty(&value, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.is_ascii());
        assert!(text.contains(r"na\u00efve \ud83d\udc0d"), "{text}");
        assert!(text.contains("{\n  \"na"), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }
}
