//! Columns of numbers as bytes: groups of seven bits, differences of neighbours.
//!
//! The tables of the page and of saved profiles are made of them.

use std::io::{self, Write};

/// A sink for columns of numbers.
#[derive(Debug)]
pub struct Columns<W: Write> {
    out: W,
}

impl<W: Write> Columns<W> {
    /// A sink that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// What was written to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// An unsigned number, in groups of seven bits, lowest first.
    ///
    /// # Errors
    /// Those of the output; so do the others.
    pub fn u(&mut self, mut value: u64) -> io::Result<()> {
        let mut bytes = [0_u8; 10];
        let mut len = 0;
        for byte in &mut bytes {
            let low = value.to_le_bytes()[0] & 0x7f;
            value >>= 7;
            len += 1;
            *byte = if value == 0 { low } else { low | 0x80 };
            if value == 0 {
                break;
            }
        }
        self.out.write_all(bytes.get(..len).unwrap_or(&bytes))
    }

    /// A signed number: small magnitudes are short.
    ///
    /// # Errors
    /// Those of the output.
    pub fn z(&mut self, value: i64) -> io::Result<()> {
        self.u((value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned())
    }

    /// A column as the differences of neighbours.
    ///
    /// # Errors
    /// Those of the output.
    pub fn z_deltas(&mut self, values: impl Iterator<Item = u64>, first: u64) -> io::Result<()> {
        let mut before = first;
        for value in values {
            self.z(value.wrapping_sub(before).cast_signed())?;
            before = value;
        }
        Ok(())
    }

    /// The same for a column that never falls.
    ///
    /// # Errors
    /// Those of the output.
    pub fn u_deltas(&mut self, values: impl Iterator<Item = u64>) -> io::Result<()> {
        let mut before = 0;
        for value in values {
            self.u(value.wrapping_sub(before))?;
            before = value;
        }
        Ok(())
    }

    /// Bytes as they are.
    ///
    /// # Errors
    /// Those of the output.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }
}

/// Why columns cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Where in the columns' bytes.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// Reads columns back. No length in the bytes is believed beyond the bytes that are left.
#[derive(Debug, Clone)]
pub struct ColumnReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ColumnReader<'a> {
    /// A reader of these columns.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// A fault at the place that was reached.
    #[must_use]
    pub fn fault(&self, reason: &'static str) -> Fault {
        let at = self.at;
        Fault { at, reason }
    }

    /// An unsigned number.
    ///
    /// # Errors
    /// [`Fault`] where the bytes end, or the number goes beyond 64 bits; so do the others.
    #[inline]
    pub fn u(&mut self) -> Result<u64, Fault> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_u(),
        }
    }

    fn long_u(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(self.fault("its bytes end too early"));
            };
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                break;
            }
            self.at += 1;
            value |= low << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.fault("a number is longer than 64 bits"))
    }

    /// A signed number.
    ///
    /// # Errors
    /// As [`ColumnReader::u`].
    #[inline]
    pub fn z(&mut self) -> Result<i64, Fault> {
        let value = self.u()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A column of four-byte numbers.
    ///
    /// # Errors
    /// As [`ColumnReader::u`], and for a larger number.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, Fault> {
        let value = self.u()?;
        u32::try_from(value).map_err(|_| self.fault("a number is longer than 32 bits"))
    }

    /// A column of `n` numbers.
    ///
    /// # Errors
    /// As [`ColumnReader::u`].
    pub fn column(&mut self, n: usize) -> Result<Vec<u64>, Fault> {
        let mut values = Vec::with_capacity(self.room(n));
        for _ in 0..n {
            values.push(self.u()?);
        }
        Ok(values)
    }

    /// A column as the differences of neighbours.
    ///
    /// # Errors
    /// As [`ColumnReader::u`].
    pub fn z_deltas(&mut self, n: usize, first: u64) -> Result<Vec<u64>, Fault> {
        let mut values = Vec::with_capacity(self.room(n));
        let mut before = first;
        for _ in 0..n {
            before = before.wrapping_add_signed(self.z()?);
            values.push(before);
        }
        Ok(values)
    }

    /// So many bytes as they are.
    ///
    /// # Errors
    /// [`Fault`] if there are not so many.
    pub fn bytes(&mut self, len: u64) -> Result<&'a [u8], Fault> {
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| self.at.checked_add(len));
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => Err(self.fault("its bytes end too early")),
        }
    }

    /// A number of things, each of which has at least a byte.
    ///
    /// # Errors
    /// [`Fault`] if there are not so many bytes.
    pub fn count(&mut self) -> Result<usize, Fault> {
        let count = usize::try_from(self.u()?).ok();
        let left = self.bytes.len() - self.at;
        count
            .filter(|&count| count <= left)
            .ok_or_else(|| self.fault("there are not as many entries as it says"))
    }

    /// How many of `n` things there can be at most, as far as the bytes that are left tell.
    #[must_use]
    pub fn room(&self, n: usize) -> usize {
        n.min(self.bytes.len() - self.at)
    }

    /// Ends: all bytes were read.
    ///
    /// # Errors
    /// [`Fault`] if there are more.
    pub fn finish(self) -> Result<(), Fault> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.fault("bytes follow its last column"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_known_bytes() {
        let mut bytes = Vec::new();
        let mut columns = Columns::new(&mut bytes);
        columns.u(300).unwrap();
        columns.z(-1).unwrap();
        columns.z(64).unwrap();
        columns.u(u64::MAX).unwrap();
        let end = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(bytes, [&[0xac, 0x02, 0x01, 0x80, 0x01][..], &end].concat());
    }

    #[test]
    fn what_is_no_number_is_a_fault() {
        let fault = |bytes: &[u8]| ColumnReader::new(bytes).u().unwrap_err();
        assert_eq!(fault(&[]).reason, "its bytes end too early");
        assert_eq!(fault(&[0x80, 0x80]).at, 2);
        let too_long = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(fault(&too_long).reason, "a number is longer than 64 bits");
        assert_eq!(fault(&[0x80; 11]).reason, "a number is longer than 64 bits");
        assert!(ColumnReader::new(&[0xff, 0x7f]).count().is_err());
        assert!(ColumnReader::new(&[1]).bytes(u64::MAX).is_err());
    }

    proptest! {
        #[test]
        fn columns_come_back(values: Vec<u64>, first: u64) {
            let mut columns = Columns::new(Vec::new());
            values.iter().try_for_each(|&value| columns.u(value)).unwrap();
            values.iter().try_for_each(|&value| columns.z(value.cast_signed())).unwrap();
            columns.z_deltas(values.iter().copied(), first).unwrap();
            let bytes = columns.into_inner();
            let mut reader = ColumnReader::new(&bytes);
            prop_assert_eq!(&reader.column(values.len()).unwrap(), &values);
            for &value in &values {
                prop_assert_eq!(reader.z().unwrap(), value.cast_signed());
            }
            prop_assert_eq!(&reader.z_deltas(values.len(), first).unwrap(), &values);
            prop_assert_eq!(reader.finish(), Ok(()));
        }
    }
}
