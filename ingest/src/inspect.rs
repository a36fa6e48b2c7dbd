//! What a capture is and how it ends, from a look at its start and its end that does not grow with it.

mod tail;

use std::sync::Arc;
use std::thread;

use memreport_capture::{FileFormat, Header};

use crate::blocks::{Blocks, Counters};
use crate::error::Error;
use crate::metadata::{Ending, Metadata};
use crate::reader::read_header;
use crate::records::{RecordsEnd, read_records};
use crate::source::{Container, Source};
use tail::{look_at_frame_end, look_at_plain_end};

/// Bytes of data, unpacked, that are decoded from the start: small captures are read whole.
const HEAD_LEN: usize = 4 << 20;

/// What a look at a capture's start and end tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Facts of the header.
    pub metadata: Metadata,
    /// What the capture is wrapped in, from the outside in.
    pub containers: Vec<Container>,
    /// Whether it holds every record or sums.
    pub file_format: FileFormat,
    /// Allocations and deallocations that the header counts: 0 if the capture was not closed, and
    /// always in aggregated ones.
    pub n_allocations: u64,
    /// Size of the file in bytes, as it is stored, if that is known.
    pub size: Option<u64>,
    /// How it ends.
    pub outlook: Outlook,
}

/// How a capture ends and what can be reported of it, as far as was looked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outlook {
    /// All records were read: there are few, or they are damaged near the start.
    Known {
        /// How the capture ends.
        ending: Ending,
        /// Records that a report is made from.
        n_records: u64,
        /// Allocations and deallocations among them.
        n_events: u64,
    },
    /// Tracking ended in good order by the header, and the file's end fits that.
    SeemsComplete,
    /// Tracking ended in good order by the header, but the file's end is missing: it was cut, or part
    /// of it is zero.
    SeemsCut {
        /// Bytes of the file, as it is stored, before what is missing.
        len: u64,
    },
    /// The capture was not closed: the process was killed, or is still running.
    SeemsInterrupted {
        /// Bytes of the file before its zero fill.
        len: u64,
    },
    /// The end cannot be looked at without reading all that comes before it.
    Unknown,
}

impl Inspection {
    /// Whether tracking ended in good order, as far as the start of the file tells: the header is
    /// written again, with counts and the end time, when a capture is closed, and an aggregated one is
    /// only written then.
    #[must_use]
    pub fn was_closed(&self) -> bool {
        self.file_format == FileFormat::Aggregated
            || self.n_allocations > 0
            || self.metadata.end_time_ms > self.metadata.start_time_ms
    }
}

/// Reads a capture's header, some records after it, and the file's last bytes. Takes about the same
/// time for any size of capture.
///
/// # Errors
/// [`Error`] if there is no capture, or none that can be read.
pub fn inspect(source: Source) -> Result<Inspection, Error> {
    let (name, size, path) = (source.name.clone(), source.size(), source.path.clone());
    let counters = Arc::new(Counters::default());
    let (mut blocks, send_blocks) = Blocks::new(source, Arc::clone(&counters));
    blocks.limit(HEAD_LEN);
    thread::scope(move |scope| {
        // `blocks` is dropped at the end of this closure, which ends the reading thread.
        scope.spawn(send_blocks);
        let (header, input, offset) = read_header(&name, &mut blocks)?;
        let head = read_records(&header, input, offset, &mut blocks, &counters, |_| Ok(()))?;
        let mut inspection = Inspection {
            metadata: Metadata::new(&header),
            containers: std::mem::take(&mut blocks.containers),
            file_format: header.file_format,
            n_allocations: header.n_allocations,
            size,
            outlook: Outlook::Unknown,
        };
        let is_known = !blocks.was_limited || ends_by_itself(&head.ending);
        inspection.outlook = if is_known {
            let RecordsEnd {
                ending,
                n_records,
                n_events,
            } = head;
            Outlook::Known {
                ending,
                n_records,
                n_events,
            }
        } else if let (Some(path), Some(size)) = (path, size) {
            look_at_end(&inspection, &header, &path, size)
                .map_err(|source| Error::Read { name, source })?
        } else {
            Outlook::Unknown
        };
        Ok(inspection)
    })
}

/// Whether the records end so wherever the bytes that were looked at end.
fn ends_by_itself(ending: &Ending) -> bool {
    matches!(ending, Ending::Complete | Ending::Corrupt { .. })
}

fn look_at_end(
    inspection: &Inspection,
    header: &Header,
    path: &std::path::Path,
    size: u64,
) -> std::io::Result<Outlook> {
    match inspection.containers.as_slice() {
        [] => look_at_plain_end(path, size, header.trailer_byte(), inspection.was_closed()),
        [Container::Lz4] => look_at_frame_end(path, size),
        // The end of a gzip file holds sums over all of it.
        _ => Ok(Outlook::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{self, Read, Write as _};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};

    use memreport_capture::{Allocation, Allocator, Encoder, Record};
    use tempfile::TempDir;

    use super::*;

    /// A capture of format 13 with more records than are read, closed and with its trailer.
    fn large_capture() -> Vec<u8> {
        let small = small_capture();
        let Ok(Some((mut header, _))) = Header::parse(&small) else {
            panic!("no header");
        };
        let n = 2_000_000;
        header.n_allocations = n;
        let mut encoder = Encoder::new(&header);
        encoder.push(&Record::ContextSwitch(1));
        for i in 0..n {
            let allocation = Allocation {
                address: 0x5000_0000 + i * 7_919 * 16,
                size: i % 5_000 + 1,
                allocator: Allocator::Malloc,
                native_id: 0,
            };
            encoder.push(&Record::Allocation(allocation));
        }
        encoder.push(&Record::Trailer);
        encoder.finish()
    }

    fn small_capture() -> Vec<u8> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
        fs::read(format!("{folder}/v13-nocompress.bin")).unwrap()
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(bytes).unwrap();
        lz4.finish().unwrap()
    }

    /// The header as it is before a capture is closed.
    fn not_closed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes[17..25].fill(0);
        let start: [u8; 8] = bytes[33..41].try_into().unwrap();
        bytes[41..49].copy_from_slice(&start);
        bytes
    }

    struct Desk(TempDir);

    impl Desk {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("out.bin")
        }

        fn outlook(&self, bytes: &[u8]) -> Outlook {
            fs::write(self.path(), bytes).unwrap();
            outlook(&self.path())
        }
    }

    fn outlook(path: &Path) -> Outlook {
        inspect(Source::open(path).unwrap()).unwrap().outlook
    }

    #[test]
    fn the_end_of_a_large_plain_capture_is_looked_at() {
        let desk = Desk::new();
        let whole = large_capture();
        assert!(whole.len() > 2 * HEAD_LEN);
        let len = whole.len() as u64;
        assert_eq!(desk.outlook(&whole), Outlook::SeemsComplete);
        let filled = [&whole[..], &[0; 100_000]].concat();
        assert_eq!(desk.outlook(&filled), Outlook::SeemsComplete);
        let cut = &whole[..whole.len() - 1];
        assert_eq!(desk.outlook(cut), Outlook::SeemsCut { len: len - 1 });
        let killed = not_closed(filled.clone());
        assert_eq!(desk.outlook(&killed), Outlook::SeemsInterrupted { len });
        // The fill grows with the file.
        let long_fill = [&whole[..], &vec![0; 9 << 20]].concat();
        assert_eq!(desk.outlook(&long_fill), Outlook::SeemsComplete);
        let killed = not_closed(long_fill);
        assert_eq!(desk.outlook(&killed), Outlook::SeemsInterrupted { len });
    }

    #[test]
    fn the_end_of_a_large_packed_capture_is_looked_at() {
        let desk = Desk::new();
        let whole = packed(&large_capture());
        assert_eq!(desk.outlook(&whole), Outlook::SeemsComplete);
        for missing in [1, 3, 4, 5, 1_000] {
            let cut = &whole[..whole.len() - missing];
            let len = cut.len() as u64;
            assert_eq!(desk.outlook(cut), Outlook::SeemsCut { len }, "{missing}");
        }
        let mut zero_tail = whole.clone();
        let len = zero_tail.len() - 5_000;
        zero_tail[len..].fill(0);
        let Outlook::SeemsCut { len: seen } = desk.outlook(&zero_tail) else {
            panic!("the zeros are not seen");
        };
        assert!(seen <= len as u64 && seen > len as u64 - 10);
    }

    #[test]
    fn damage_near_the_start_is_known_however_large_the_capture() {
        let desk = Desk::new();
        let mut bytes = large_capture();
        bytes[50_000..50_100].fill(0);
        let Outlook::Known {
            ending: Ending::Corrupt { offset, record, .. },
            n_records,
            ..
        } = desk.outlook(&bytes)
        else {
            panic!("the hole is not seen");
        };
        assert!(offset < 51_000 && record == n_records, "{offset}");
    }

    #[test]
    fn small_captures_are_read_whole() {
        let desk = Desk::new();
        let bytes = small_capture();
        fs::write(desk.path(), &bytes).unwrap();
        let whole = inspect(Source::open(&desk.path()).unwrap()).unwrap();
        let Outlook::Known {
            ending, n_events, ..
        } = whole.outlook
        else {
            panic!("it was not read whole");
        };
        assert_eq!((ending, n_events), (Ending::Complete, whole.n_allocations));
        let packed = packed(&bytes);
        let cut = &packed[..packed.len() / 2];
        let Outlook::Known {
            ending,
            n_events,
            n_records,
        } = desk.outlook(cut)
        else {
            panic!("it was not read whole");
        };
        assert!(matches!(ending, Ending::Truncated { record, .. } if record == n_records));
        assert!(n_events > 0 && n_events < whole.n_allocations);
    }

    /// Counts what is read of a source that has no end.
    struct Endless {
        start: io::Cursor<Vec<u8>>,
        n_read: Arc<AtomicU64>,
    }

    impl Read for Endless {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = match self.start.read(buf)? {
                0 => {
                    buf.fill(b'x');
                    buf.len()
                }
                len => len,
            };
            self.n_read.fetch_add(len as u64, Ordering::Relaxed);
            Ok(len)
        }
    }

    #[test]
    fn so_much_is_read_however_large_the_capture() {
        let header = small_capture();
        let Ok(Some((_, rest))) = Header::parse(&header) else {
            panic!("no header");
        };
        let records = header.len() - rest.len();
        // A thread's name that never ends, and records that never do.
        let endless_name = [&header[..records], b"\x0c\x01\0\0\0\0\0\0\0\x0a"].concat();
        for start in [endless_name, large_capture()] {
            let n_read = Arc::new(AtomicU64::new(0));
            let endless = Endless {
                start: io::Cursor::new(start),
                n_read: Arc::clone(&n_read),
            };
            let inspection = inspect(Source::from_reader("endless", endless)).unwrap();
            assert_eq!(inspection.outlook, Outlook::Unknown);
            assert!(n_read.load(Ordering::Relaxed) < 3 * HEAD_LEN as u64);
        }
        let desk = Desk::new();
        fs::write(desk.path(), &header).unwrap();
        let file = File::options().write(true).open(desk.path()).unwrap();
        file.set_len(1 << 40).unwrap();
        assert!(matches!(
            outlook(&desk.path()),
            Outlook::Known {
                ending: Ending::Complete,
                ..
            }
        ));
        let killed = not_closed(header[..records + 9].to_vec());
        let len = killed.iter().rposition(|&byte| byte != 0).unwrap() as u64 + 1;
        fs::write(desk.path(), killed).unwrap();
        let file = File::options().write(true).open(desk.path()).unwrap();
        file.set_len(1 << 40).unwrap();
        assert_eq!(outlook(&desk.path()), Outlook::SeemsInterrupted { len });
    }
}
