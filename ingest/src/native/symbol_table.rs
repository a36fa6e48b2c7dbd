//! Functions by address, of files without debug information.

use std::cmp::Reverse;

/// Longest name that is read.
pub(super) const MAX_NAME: usize = 1 << 16;

/// How many symbols before an address are looked at for one that reaches it. Functions seldom nest.
const MAX_NESTING: usize = 32;

/// A function of a symbol table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol<'a> {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) is_local: bool,
    pub(super) is_weak: bool,
    /// The name, up to the first zero, and what follows it.
    pub(super) name: &'a [u8],
}

impl<'a> Symbol<'a> {
    /// The name; `None` if there is none, or no end to it.
    pub(super) fn name(&self) -> Option<&'a [u8]> {
        let name = self.name.get(..MAX_NAME).unwrap_or(self.name);
        let end = name.iter().position(|&byte| byte == 0)?;
        name.get(..end).filter(|name| !name.is_empty())
    }

    /// Of names for one address, those that others see come first, then the ones that read best.
    fn rank(&self) -> (bool, bool, usize, Option<&'a [u8]>) {
        let name = self.name();
        let underscores = name.map_or(0, |n| n.iter().take_while(|&&b| b == b'_').count());
        (self.is_local, self.is_weak, underscores, name)
    }
}

/// A symbol table, ready for lookups.
///
/// * Shape: sorted by address; of one address, the best name is last
#[derive(Debug, Default)]
pub(super) struct SymbolTable<'a>(Vec<Symbol<'a>>);

impl<'a> SymbolTable<'a> {
    pub(super) fn new(mut symbols: Vec<Symbol<'a>>) -> Self {
        symbols.retain(|symbol| symbol.size > 0);
        symbols.sort_by(|a, b| {
            a.address
                .cmp(&b.address)
                .then_with(|| Reverse(a.rank()).cmp(&Reverse(b.rank())))
        });
        Self(symbols)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name of the function that an address is in, the innermost if they nest.
    pub(super) fn find(&self, address: u64) -> Option<&'a [u8]> {
        let after = self.0.partition_point(|symbol| symbol.address <= address);
        let before = self.0.get(..after)?.iter().rev().take(MAX_NESTING);
        before
            .filter(|symbol| address - symbol.address < symbol.size)
            .find_map(Symbol::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(address: u64, size: u64, name: &[u8]) -> Symbol<'_> {
        Symbol {
            address,
            size,
            is_local: false,
            is_weak: false,
            name,
        }
    }

    #[test]
    fn the_innermost_function_counts() {
        let table = SymbolTable::new(vec![
            symbol(20, 5, b"inner\0"),
            symbol(10, 30, b"outer\0"),
            symbol(15, 0, b"label\0"),
        ]);
        let names = [9, 10, 19, 20, 24, 25, 39, 40].map(|address| table.find(address));
        let (outer, inner) = (Some(&b"outer"[..]), Some(&b"inner"[..]));
        assert_eq!(
            names,
            [None, outer, outer, inner, inner, outer, outer, None]
        );
    }

    #[test]
    fn of_aliases_the_visible_one_with_the_plain_name_counts() {
        let mut local = symbol(1, 1, b"a\0");
        local.is_local = true;
        let mut weak = symbol(1, 1, b"b\0");
        weak.is_weak = true;
        let global = [symbol(1, 1, b"__libc_c\0"), symbol(1, 1, b"c\0")];
        let mut symbols = vec![global[1], weak, local, global[0]];
        for _ in 0..symbols.len() {
            symbols.rotate_left(1);
            assert_eq!(SymbolTable::new(symbols.clone()).find(1), Some(&b"c"[..]));
        }
    }

    #[test]
    fn a_name_without_end_is_none_and_ends_of_the_address_space_are_reached() {
        let table = SymbolTable::new(vec![
            symbol(0, 1, b"first\0"),
            symbol(5, 1, b"endless"),
            symbol(u64::MAX, u64::MAX, b"last\0x"),
        ]);
        let names = [0, 5, u64::MAX].map(|address| table.find(address));
        assert_eq!(names, [Some(&b"first"[..]), None, Some(&b"last"[..])]);
    }
}
