//! A profile in a file: what reports are made from, without the capture that it was made from.
//!
//! [`Saved::write`] and [`Saved::read`] are the whole of it; `docs/mrp-format.md` documents every byte.
//! What is read gives the same reports as the capture, to the byte: all that a [`Profile`] has is
//! there. Structures are taken apart by name, so that a part which is not saved does not compile.
//!
//! * `file`: magic, directory, sections, checksums
//! * `facts`: what is there once, field by field
//! * `tables`, `rows`: what is there many times, column by column
//! * `check`: what refers to what, and sums that must fit
//!
//! A file is not to be trusted. Checksums find accidents; against others, every number is compared with
//! what it counts or refers to, and memory stays proportional to the file.

mod check;
mod error;
mod facts;
mod file;
mod rows;
mod tables;

use std::io::{self, Read, Write};

use memreport_ingest::SourceFiles;

use crate::columns::{ColumnReader, Columns, Fault};
use crate::profile::{Options, Profile};

pub use error::SavedError;
use facts::{Fact, Facts};
use file::{Packed, Section, SectionId};

/// What decided what is in a saved profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The program that read the capture.
    pub generator: String,
    /// How many memory snapshots were to be kept at most.
    pub max_memory_records: u64,
    /// How many allocations may lie between a temporary allocation and its end.
    pub temporary_threshold: u64,
    /// Whether files with symbols of native frames were opened.
    pub symbols: bool,
    /// Whether stacks keep memray's own frames.
    pub memray_frames: bool,
    /// The files that lines of source were read from.
    pub source_files: SourceFiles,
}

impl Origin {
    /// That of a profile which this program made so.
    #[must_use]
    pub fn new(options: &Options) -> Self {
        Self {
            generator: concat!("memreport ", env!("CARGO_PKG_VERSION")).to_owned(),
            max_memory_records: options.max_memory_records as u64,
            temporary_threshold: options.temporary_threshold as u64,
            symbols: options.symbols.enabled,
            memray_frames: options.memray_frames,
            source_files: options.source_lines.files,
        }
    }
}

/// A profile from a file, or for one.
#[derive(Debug)]
pub struct Saved {
    /// What decided what is in it.
    pub origin: Origin,
    /// The profile.
    pub profile: Profile,
}

impl Saved {
    /// Version of the format that is written, and the only one that is read.
    pub const VERSION: u16 = file::VERSION;

    /// Whether a file that starts with these bytes is a saved profile, of any version.
    #[must_use]
    pub fn is_saved(start: &[u8]) -> bool {
        start.starts_with(file::MAGIC)
    }

    /// Writes a profile. The same profile gives the same bytes.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(origin: &Origin, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
        let Profile {
            metadata,
            containers,
            bytes_read,
            size,
            ending,
            warnings,
            strings,
            frames,
            call_tree,
            threads,
            locations,
            slices,
            rss_peak,
            intervals,
            made,
            temporaries,
            sizes,
            is_aggregated,
            native,
            source_lines,
            counts,
            snapshot_stride,
        } = profile;
        let facts = Facts {
            origin: origin.clone(),
            metadata: metadata.clone(),
            containers: containers.clone(),
            bytes_read: *bytes_read,
            size: *size,
            ending: ending.clone(),
            warnings: warnings.clone(),
            threads: threads.clone(),
            rss_peak: *rss_peak,
            is_aggregated: *is_aggregated,
            counts: *counts,
            snapshot_stride: *snapshot_stride,
        };
        let sections = [
            filled(SectionId::FACT, |out| facts.put(out)),
            filled(SectionId::STRS, |out| tables::put_strings(strings, out)),
            filled(SectionId::FRAM, |out| tables::put_frames(frames, out)),
            filled(SectionId::NODE, |out| tables::put_nodes(call_tree, out)),
            filled(SectionId::LOCS, |out| tables::put_locations(locations, out)),
            filled(SectionId::SLIC, |out| tables::put_slices(slices, out)),
            filled(SectionId::KEYS, |out| {
                rows::put_keys(intervals, slices, out)
            }),
            filled(SectionId::ENDS, |out| rows::put_ends(intervals, out)),
            filled(SectionId::ALLO, |out| rows::put_allocations(intervals, out)),
            filled(SectionId::BYTE, |out| rows::put_bytes(intervals, out)),
            filled(SectionId::SEQN, |out| {
                rows::put_firsts(intervals, slices, out)
            }),
            filled(SectionId::MADE, |out| tables::put_tallies(made, out)),
            filled(SectionId::TEMP, |out| {
                tables::put_temporaries(temporaries, out)
            }),
            filled(SectionId::SIZE, |out| tables::put_sizes(sizes, out)),
            filled(SectionId::NATV, |out| {
                tables::put_native(native.as_ref(), out)
            }),
            filled(SectionId::SRCL, |out| source_lines.put(out)),
        ];
        file::write(&sections.into_iter().collect::<io::Result<Vec<_>>>()?, out)
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// [`SavedError`] that says what is wrong, and where.
    pub fn read(reader: impl Read) -> Result<Self, SavedError> {
        let packed = file::read(reader)?;
        let facts = || Facts::take_all(&packed);
        let slices = packed.take(SectionId::SLIC, tables::take_slices)?;
        let ((intervals, rest), tables) = rayon::join(
            || {
                rayon::join(
                    || rows::read(&packed, &slices),
                    || {
                        let locations = packed.take(SectionId::LOCS, tables::take_locations)?;
                        let made = packed.take(SectionId::MADE, tables::take_tallies)?;
                        let temporaries = packed.take(SectionId::TEMP, tables::take_temporaries)?;
                        let sizes = packed.take(SectionId::SIZE, tables::take_sizes)?;
                        let native = packed.take(SectionId::NATV, tables::take_native)?;
                        let source_lines = packed.take(SectionId::SRCL, Fact::take)?;
                        Ok::<_, SavedError>((
                            locations,
                            made,
                            temporaries,
                            sizes,
                            native,
                            source_lines,
                        ))
                    },
                )
            },
            || {
                let strings = packed.take(SectionId::STRS, tables::take_strings)?;
                let frames = packed.take(SectionId::FRAM, tables::take_frames)?;
                let call_tree = packed.take(SectionId::NODE, tables::take_nodes)?;
                Ok::<_, SavedError>((facts()?, strings, frames, call_tree))
            },
        );
        let (locations, made, temporaries, sizes, native, source_lines) = rest?;
        let (facts, strings, frames, call_tree) = tables?;
        let Facts {
            origin,
            metadata,
            containers,
            bytes_read,
            size,
            ending,
            warnings,
            threads,
            rss_peak,
            is_aggregated,
            counts,
            snapshot_stride,
        } = facts;
        let profile = Profile {
            metadata,
            containers,
            bytes_read,
            size,
            ending,
            warnings,
            strings,
            frames,
            call_tree,
            threads,
            locations,
            slices,
            rss_peak,
            intervals: intervals?,
            made,
            temporaries,
            sizes,
            is_aggregated,
            native,
            source_lines,
            counts,
            snapshot_stride,
        };
        check::check(&profile)?;
        Ok(Self { origin, profile })
    }
}

type Out = Columns<Vec<u8>>;

/// A section that `fill` fills.
fn filled(id: SectionId, fill: impl FnOnce(&mut Out) -> io::Result<()>) -> io::Result<Section> {
    let mut out = Columns::new(Vec::new());
    fill(&mut out)?;
    let bytes = out.into_inner();
    Ok(Section { id, bytes })
}

impl Packed {
    /// Unpacks a section and reads all of it with `take`.
    fn take<T>(
        &self,
        id: SectionId,
        take: impl FnOnce(&mut ColumnReader<'_>) -> Result<T, Fault>,
    ) -> Result<T, SavedError> {
        let bytes = self.unpack(id)?;
        let mut from = ColumnReader::new(&bytes);
        let taken = take(&mut from).and_then(|taken| from.finish().map(|()| taken));
        taken.map_err(|Fault { at, reason }| SavedError::Malformed {
            section: id.name(),
            offset: self.offset(id),
            at,
            reason,
        })
    }
}

impl Facts {
    fn take_all(packed: &Packed) -> Result<Self, SavedError> {
        packed.take(SectionId::FACT, Self::take)
    }
}
