//! Names as programmers wrote them.

use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// Longest name that is shown. A mangled name of a few hundred bytes can stand for gigabytes.
const MAX_DEMANGLED: usize = 1 << 16;

/// The readable name of a symbol: of C++ with all parameters, of Rust without the hash. What is
/// neither stays as it is.
pub(super) fn demangle(symbol: &[u8]) -> String {
    let text = String::from_utf8_lossy(symbol);
    // Symbols that exist in several versions have theirs in the name.
    let name = match text.find('@') {
        Some(at) if at > 0 => text.get(..at).unwrap_or(&text),
        _ => &text,
    };
    rust(name)
        .or_else(|| cpp(name))
        .unwrap_or_else(|| name.to_owned())
}

fn rust(name: &str) -> Option<String> {
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    write!(out, "{name:#}").ok()?;
    Some(out.0)
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("_GLOBAL_") {
        return None;
    }
    let (symbol, rest) = BorrowedSymbol::with_tail(name.as_bytes()).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let mut out = Bounded::default();
    let options = DemangleOptions::new();
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(tidy(&out.0))
}

/// Casts that compilers write as suffixes of a number.
const SUFFIXES: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long)", "ul"),
    ("(unsigned long long)", "ull"),
    ("(long)", "l"),
    ("(long long)", "ll"),
];

/// Writes numbers and empty lists in templates as C++ programmers, and memray, do: `4u` for
/// `(unsigned int)4`, `A<B>` for `A<B, >`.
fn tidy(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find(['(', ',']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = tidied(from, &mut out).unwrap_or_else(|| {
            let (first, others) = from.split_at(1);
            out.push_str(first);
            others
        });
    }
    out.push_str(rest);
    out
}

/// Appends the number or the end of a list that `from` starts with, if it does, and returns what
/// follows.
fn tidied<'a>(from: &'a str, out: &mut String) -> Option<&'a str> {
    if let Some(rest) = from.strip_prefix(", >") {
        out.push('>');
        return Some(rest);
    }
    let (number, suffix) = SUFFIXES
        .iter()
        .find_map(|(cast, suffix)| Some((from.strip_prefix(cast)?, suffix)))?;
    let digits = number.strip_prefix('-').unwrap_or(number);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() == digits.len() {
        return None;
    }
    out.push_str(number.strip_suffix(rest)?);
    out.push_str(suffix);
    Some(rest)
}

/// Text that refuses to grow too long.
#[derive(Default)]
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > MAX_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_programmers_write_them() {
        for (symbol, name) in [
            ("main", "main"),
            ("_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault"),
            // As types, these would be read as `int` and `float`.
            ("i", "i"),
            ("f", "f"),
            ("", ""),
            ("@", "@"),
            ("pow@@GLIBC_2.29", "pow"),
            ("_ZN4work5outerEm", "work::outer(unsigned long)"),
            ("_ZdlPv@@GLIBCXX_3.4", "operator delete(void*)"),
            (
                "_ZNK4work12_GLOBAL__N_15thingIiE3getEv.isra.0",
                "work::(anonymous namespace)::thing<int>::get() const [clone .isra.0]",
            ),
            (
                "_Z1fRN1a5SmallIiLj8ELln3ELm1EJEEE",
                "f(a::Small<int, 8u, -3l, 1ul>&)",
            ),
            ("_ZN3foo17h0123456789abcdefE", "foo"),
            (
                "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            // Not a name, or not a whole one.
            ("_Z", "_Z"),
            ("_ZN4work5outerEmNOT", "_ZN4work5outerEmNOT"),
            ("_ZN99999999999999999999x", "_ZN99999999999999999999x"),
            ("_R", "_R"),
        ] {
            assert_eq!(demangle(symbol.as_bytes()), name, "{symbol}");
        }
        assert_eq!(demangle(b"\xff"), "\u{fffd}");
    }

    #[test]
    fn names_that_would_fill_memory_or_the_stack_stay_mangled() {
        // Each `S` stands for all that is before it, twice.
        let mut doubling = String::from("_Z1fI1aS_E1bI");
        for n in 0..40 {
            write!(doubling, "1tIS{0}_S{0}_E", char::from(b'0' + n % 10)).unwrap();
        }
        doubling.push('E');
        let nested = |inner: &str| format!("_Z1f{}i", inner.repeat(30_000));
        for symbol in [
            doubling,
            nested("P"),
            nested("1aI"),
            nested("FvPF"),
            format!("_ZN{}", "1a".repeat(30_000)),
            format!("_R{}", "Y".repeat(30_000)),
            format!("_RNvC1a{}", "B_".repeat(30_000)),
        ] {
            assert!(demangle(symbol.as_bytes()).len() <= MAX_DEMANGLED.max(symbol.len()));
        }
    }
}
