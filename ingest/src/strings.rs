//! Interned strings: names and paths, each stored once.

use std::borrow::Cow;
use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::error::Error;
use crate::id::StringId;

/// Distinct strings, by number.
///
/// * Shape: one run of bytes, and where each string ends in it; string 0 is empty
/// * Source: the capture's bytes as they are; they need not be UTF-8
#[derive(Debug, Clone)]
pub struct StringTable {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: HashTable<StringId>,
}

impl Default for StringTable {
    fn default() -> Self {
        let mut table = Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            numbers: HashTable::new(),
        };
        table.ends.push(0);
        table
            .numbers
            .insert_unique(hash(b""), StringId(0), |_| hash(b""));
        table
    }
}

impl StringTable {
    /// Finds or adds a string.
    ///
    /// # Errors
    /// [`Error::TooMany`] past four thousand million strings.
    pub fn intern(&mut self, string: &[u8]) -> Result<StringId, Error> {
        let (bytes, ends) = (&self.bytes, &self.ends);
        let equal = |&id: &StringId| get(bytes, ends, id) == string;
        if let Some(&id) = self.numbers.find(hash(string), equal) {
            return Ok(id);
        }
        let id = StringId::new(self.ends.len()).ok_or(Error::TooMany { what: "names" })?;
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.numbers
            .insert_unique(hash(string), id, |&id| hash(get(bytes, ends, id)));
        Ok(id)
    }

    /// The bytes of a string; none for a number that is not in the table.
    #[must_use]
    pub fn bytes(&self, id: StringId) -> &[u8] {
        get(&self.bytes, &self.ends, id)
    }

    /// The string as text, with what is not UTF-8 replaced.
    #[must_use]
    pub fn text(&self, id: StringId) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes(id))
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Never: string 0 is always there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn hash(string: &[u8]) -> u64 {
    FxBuildHasher.hash_one(string)
}

fn get<'a>(bytes: &'a [u8], ends: &[usize], id: StringId) -> &'a [u8] {
    let index = id.index();
    let start = index
        .checked_sub(1)
        .and_then(|before| ends.get(before))
        .copied()
        .unwrap_or(0);
    let end = ends.get(index).copied().unwrap_or(start);
    bytes.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_have_one_number() {
        let mut table = StringTable::default();
        let a = table.intern(b"main").unwrap();
        let b = table.intern(b"a.py").unwrap();
        assert_eq!(table.intern(b"main").unwrap(), a);
        assert_eq!(table.intern(b"").unwrap(), StringId(0));
        assert_eq!(
            (table.bytes(a), table.bytes(b)),
            (&b"main"[..], &b"a.py"[..])
        );
        assert_eq!(table.len(), 3);
        assert_eq!(table.bytes(StringId(99)), b"");
    }
}
