//! The file: magic, version, directory, packed sections, and a checksum of each of them.

use std::io::{self, ErrorKind, Read, Write};

use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use rayon::prelude::*;

use super::error::SavedError;

pub(super) const MAGIC: &[u8] = b"MRPROF";
pub(super) const VERSION: u16 = 1;

/// Magic, version, number of sections.
const HEADER_LEN: usize = 12;
/// Name, checksum, packed length, length.
const ENTRY_LEN: usize = 24;
const CHECKSUM_LEN: usize = 4;
/// No byte of deflate stands for more.
const MAX_RATIO: u64 = 1032;
/// Sections are written once and read often: the time goes where it saves most bytes.
const LEVEL: Compression = Compression::new(9);

/// Defines the sections, in the order of the file.
macro_rules! sections {
    ($($name:ident),* $(,)?) => {
        /// A section, by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(clippy::upper_case_acronyms, reason = "names as they are in the file")]
        pub(super) enum SectionId { $($name),* }

        impl SectionId {
            const ALL: &[Self] = &[$(Self::$name),*];

            pub(super) fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

sections!(
    FACT, STRS, FRAM, NODE, LOCS, SLIC, KEYS, ENDS, ALLO, BYTE, SEQN, MADE, TEMP, SIZE, NATV, SRCL
);

/// A section as it is before it is packed.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) id: SectionId,
    pub(super) bytes: Vec<u8>,
}

/// A section as it is in the file.
#[derive(Debug)]
struct PackedSection {
    id: SectionId,
    offset: u64,
    /// Length of what is in it.
    len: u64,
    bytes: Vec<u8>,
}

/// The sections of a file: whole, and not yet unpacked.
#[derive(Debug)]
pub(super) struct Packed(Vec<PackedSection>);

/// Writes the file. Sections are to be all there are, in their order.
pub(super) fn write(sections: &[Section], out: &mut dyn Write) -> io::Result<()> {
    let packed: io::Result<Vec<Vec<u8>>> = sections.par_iter().map(pack).collect();
    let packed = packed?;
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    let n_sections = u32::try_from(sections.len()).map_err(io::Error::other)?;
    head.extend(n_sections.to_le_bytes());
    for (section, packed) in sections.iter().zip(&packed) {
        head.extend(section.id.name().as_bytes());
        head.extend(checksum(packed).to_le_bytes());
        head.extend((packed.len() as u64).to_le_bytes());
        head.extend((section.bytes.len() as u64).to_le_bytes());
    }
    out.write_all(&head)?;
    out.write_all(&checksum(&head).to_le_bytes())?;
    packed.iter().try_for_each(|packed| out.write_all(packed))
}

fn pack(section: &Section) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(&section.bytes)?;
    encoder.finish()
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Reads the file, and compares all checksums.
pub(super) fn read(reader: impl Read) -> Result<Packed, SavedError> {
    let mut input = Input { reader, offset: 0 };
    let mut head = input
        .exactly(HEADER_LEN as u64, "its header")
        .map_err(|error| match error {
            SavedError::Cut { offset, .. } if offset < MAGIC.len() as u64 => SavedError::NotSaved,
            error => error,
        })?;
    let n_sections = check_header(&head)?;
    let directory_len = (n_sections * ENTRY_LEN) as u64;
    head.extend(input.exactly(directory_len, "its directory")?);
    let offset = input.offset;
    let found = input.exactly(CHECKSUM_LEN as u64, "its directory")?;
    if found != checksum(&head).to_le_bytes() {
        let what = "its directory";
        return Err(SavedError::Checksum { what, offset });
    }
    let entries = head
        .get(HEADER_LEN..)
        .unwrap_or_default()
        .chunks_exact(ENTRY_LEN);
    let mut sections = Vec::new();
    for (index, (&id, entry)) in SectionId::ALL.iter().zip(entries).enumerate() {
        let place = (HEADER_LEN + index * ENTRY_LEN) as u64;
        sections.push(read_section(&mut input, id, entry, place)?);
    }
    input.end()?;
    Ok(Packed(sections))
}

/// The number of sections of a file of the version that is read.
fn check_header(head: &[u8]) -> Result<usize, SavedError> {
    if !head.starts_with(MAGIC) {
        return Err(SavedError::NotSaved);
    }
    let version = u16::from_le_bytes(bytes_at(head, MAGIC.len()));
    match version {
        VERSION => {}
        0 => return Err(SavedError::NoVersion { found: version }),
        found => {
            let known = VERSION;
            return Err(SavedError::TooNew { found, known });
        }
    }
    let n_sections = u32::from_le_bytes(bytes_at(head, MAGIC.len() + 2));
    if n_sections as usize == SectionId::ALL.len() {
        Ok(SectionId::ALL.len())
    } else {
        let offset = (MAGIC.len() + 2) as u64;
        let reason = "has another number of sections";
        Err(SavedError::Directory { offset, reason })
    }
}

/// Reads the section that the directory's entry at `place` describes.
fn read_section(
    input: &mut Input<impl Read>,
    id: SectionId,
    entry: &[u8],
    place: u64,
) -> Result<PackedSection, SavedError> {
    let broken = |reason| SavedError::Directory {
        offset: place,
        reason,
    };
    if bytes_at::<4>(entry, 0) != *id.name().as_bytes() {
        return Err(broken("has another section here"));
    }
    let crc = u32::from_le_bytes(bytes_at(entry, 4));
    let packed_len = u64::from_le_bytes(bytes_at(entry, 8));
    let len = u64::from_le_bytes(bytes_at(entry, 16));
    if len > packed_len.saturating_mul(MAX_RATIO) {
        return Err(broken("has a length that no section packs so small"));
    }
    let offset = input.offset;
    let bytes = input.exactly(packed_len, id.name())?;
    if checksum(&bytes) != crc {
        let what = id.name();
        return Err(SavedError::Checksum { what, offset });
    }
    Ok(PackedSection {
        id,
        offset,
        len,
        bytes,
    })
}

/// The bytes at a place where there are some; zeros elsewhere.
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    found.copied().unwrap_or([0; N])
}

impl Packed {
    fn get(&self, id: SectionId) -> Option<&PackedSection> {
        self.0.iter().find(|section| section.id == id)
    }

    /// Where a section starts in the file.
    pub(super) fn offset(&self, id: SectionId) -> u64 {
        self.get(id).map_or(0, |section| section.offset)
    }

    /// What is in a section.
    pub(super) fn unpack(&self, id: SectionId) -> Result<Vec<u8>, SavedError> {
        let broken = || SavedError::Unpack {
            section: id.name(),
            offset: self.offset(id),
        };
        let section = self.get(id).ok_or_else(broken)?;
        let len = usize::try_from(section.len).map_err(|_| broken())?;
        // One byte more, so that the end is seen without growing.
        let mut bytes = Vec::with_capacity(len.saturating_add(1));
        let mut decoder = DeflateDecoder::new(section.bytes.as_slice());
        let unpacked = (&mut decoder)
            .take(section.len.saturating_add(1))
            .read_to_end(&mut bytes);
        let is_whole = unpacked.is_ok() && bytes.len() == len;
        if is_whole && decoder.total_in() == section.bytes.len() as u64 {
            Ok(bytes)
        } else {
            Err(broken())
        }
    }
}

/// Bytes, and how many were read.
struct Input<R> {
    reader: R,
    offset: u64,
}

impl<R: Read> Input<R> {
    /// So many bytes. Memory grows with what is there, not with what is asked for.
    fn exactly(&mut self, len: u64, within: &'static str) -> Result<Vec<u8>, SavedError> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(len).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        let offset = self.offset;
        match read {
            Ok(n) if n as u64 == len => Ok(bytes),
            // Of what is compressed and cut off, too.
            Ok(_) => Err(SavedError::Cut { offset, within }),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(SavedError::Cut { offset, within })
            }
            Err(error) => Err(SavedError::Read(error)),
        }
    }

    fn end(mut self) -> Result<(), SavedError> {
        let mut next = [0];
        loop {
            match self.reader.read(&mut next) {
                Ok(0) => return Ok(()),
                Ok(_) => {
                    let offset = self.offset;
                    return Err(SavedError::DataAfterEnd { offset });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(SavedError::Read(error)),
            }
        }
    }
}
