//! Reading a capture whole or piece by piece, as the tests need it.

use memreport_capture::{Decoder, Error, Header, Record};

/// A capture as far as it was decoded.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) header: Header,
    /// Each record with the thread it belongs to.
    pub(crate) records: Vec<(u64, Record<'a>)>,
    decoder: Decoder,
}

impl<'a> Reading<'a> {
    /// Decodes all of `bytes`, or `None` if not even the header is whole.
    pub(crate) fn whole(bytes: &'a [u8]) -> Result<Option<Self>, Error> {
        Self::in_pieces(bytes, &[])
    }

    /// Decodes all of `bytes`, showing only those up to each of `ends`, in this order, until more
    /// are asked for.
    pub(crate) fn in_pieces(bytes: &'a [u8], ends: &[usize]) -> Result<Option<Self>, Error> {
        let mut reading: Option<Self> = None;
        for &end in ends.iter().chain([&bytes.len()]) {
            let shown = &bytes[..end];
            if reading.is_none() {
                reading = Self::start(shown)?;
            }
            if let Some(reading) = &mut reading {
                reading.go_on(shown)?;
            }
        }
        Ok(reading)
    }

    fn start(bytes: &[u8]) -> Result<Option<Self>, Error> {
        let Some((header, rest)) = Header::parse(bytes)? else {
            return Ok(None);
        };
        let decoder = Decoder::new(&header, offset_of(rest, bytes));
        Ok(Some(Self {
            header,
            records: Vec::new(),
            decoder,
        }))
    }

    /// Decodes records until the trailer or the end of `bytes`. Every step takes a byte or more,
    /// so there is an end to them.
    fn go_on(&mut self, bytes: &'a [u8]) -> Result<(), Error> {
        let mut input = &bytes[self.n_bytes()..];
        while !self.is_closed() {
            let Some((record, rest)) = self.decoder.decode(input)? else {
                break;
            };
            assert!(rest.len() < input.len(), "{record:?} took no bytes");
            assert_eq!(self.decoder.offset(), offset_of(rest, bytes));
            self.records.push((self.decoder.thread_id(), record));
            input = rest;
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        matches!(self.records.last(), Some((_, Record::Trailer)))
    }

    /// How many bytes header and records take.
    pub(crate) fn n_bytes(&self) -> usize {
        usize::try_from(self.decoder.offset()).expect("offsets fit")
    }
}

fn offset_of(rest: &[u8], bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len() - rest.len()).expect("lengths fit")
}
