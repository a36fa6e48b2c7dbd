//! Where a capture's bytes come from, and what they are wrapped in.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::error::Error;
use crate::lz4::Lz4Reader;

/// Bytes that should be a capture: a file, standard input, or any reader.
pub struct Source {
    pub(crate) name: String,
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) len: Option<u64>,
    /// Where the file's end can be looked at.
    pub(crate) path: Option<PathBuf>,
}

/// What a capture is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// gzip, of any number of members.
    Gzip,
    /// An LZ4 frame, as memray writes by default.
    Lz4,
}

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Wrappings that are taken off: gzip around LZ4, and one to spare. A file made of endless layers is
/// nothing that a profiler wrote.
const MAX_LAYERS: usize = 3;

/// How many bytes tell what a file is.
const START_LEN: u64 = 4096;

impl Source {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Open`] with the system's answer.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Ok((file, metadata.is_file().then_some(metadata.len())))
        });
        match file {
            Ok((file, len)) => Ok(Self {
                name,
                reader: Box::new(file),
                len,
                path: len.map(|_| path.to_owned()),
            }),
            Err(source) => Err(Error::Open { name, source }),
        }
    }

    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        Self::from_reader("standard input", io::stdin())
    }

    /// Any reader; `name` is for messages.
    #[must_use]
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self {
            name: name.into(),
            reader: Box::new(reader),
            len: None,
            path: None,
        }
    }

    /// The first bytes of what is inside its containers, some hundreds at least if there are as many.
    /// They are not used up.
    ///
    /// # Errors
    /// [`Error::Read`] with the system's answer.
    pub fn start(&mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = (&mut self.reader).take(START_LEN).read_to_end(&mut bytes);
        read.map_err(|source| self.cannot_read(source))?;
        let mut start = Vec::new();
        if let Ok(unwrapped) = unwrap_containers(Box::new(Cursor::new(bytes.clone()))) {
            // Containers end too early here; what comes before that counts.
            let _ = unwrapped.reader.take(START_LEN).read_to_end(&mut start);
        }
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(Cursor::new(bytes).chain(rest));
        Ok(start)
    }

    /// A reader of what is inside its containers, whatever it is.
    ///
    /// # Errors
    /// [`Error::Read`] with the system's answer.
    pub fn unwrapped(self) -> Result<Box<dyn Read + Send>, Error> {
        let Self { name, reader, .. } = self;
        match unwrap_containers(reader) {
            Ok(unwrapped) => Ok(unwrapped.reader),
            Err(source) => Err(Error::Read { name, source }),
        }
    }

    fn cannot_read(&self, source: io::Error) -> Error {
        let name = self.name.clone();
        Error::Read { name, source }
    }

    /// Bytes to read before anything is unwrapped, if that is known.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.len
    }

    /// What messages call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

/// A reader of the capture inside, and its containers from the outside in.
pub(crate) struct Unwrapped {
    pub(crate) reader: Box<dyn Read + Send>,
    pub(crate) containers: Vec<Container>,
}

/// Takes containers off, recognised by their first bytes.
pub(crate) fn unwrap_containers(mut reader: Box<dyn Read + Send>) -> io::Result<Unwrapped> {
    let mut containers = Vec::new();
    loop {
        let mut start = Vec::with_capacity(LZ4_MAGIC.len());
        reader.by_ref().take(4).read_to_end(&mut start)?;
        let container = if start.starts_with(&LZ4_MAGIC) {
            Some(Container::Lz4)
        } else if start.starts_with(&GZIP_MAGIC) {
            Some(Container::Gzip)
        } else {
            None
        };
        let whole = Cursor::new(start).chain(reader);
        reader = match container {
            Some(Container::Lz4) => Box::new(Lz4Reader::new(whole)),
            Some(Container::Gzip) => Box::new(MultiGzDecoder::new(whole)),
            None => {
                return Ok(Unwrapped {
                    reader: Box::new(whole),
                    containers,
                });
            }
        };
        containers.extend(container);
        if containers.len() > MAX_LAYERS {
            return Err(io::Error::other("it is compressed again and again"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn unwrapped(bytes: Vec<u8>) -> (Vec<u8>, Vec<Container>) {
        let mut inside = Vec::new();
        let mut unwrapped = unwrap_containers(Box::new(Cursor::new(bytes))).unwrap();
        unwrapped.reader.read_to_end(&mut inside).unwrap();
        (inside, unwrapped.containers)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        gz.finish().unwrap()
    }

    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(bytes).unwrap();
        lz4.finish().unwrap()
    }

    #[test]
    fn containers_are_recognised_by_content() {
        use Container::{Gzip, Lz4};
        let bytes = b"memray\0 and so on".to_vec();
        assert_eq!(unwrapped(bytes.clone()), (bytes.clone(), vec![]));
        assert_eq!(unwrapped(lz4(&bytes)), (bytes.clone(), vec![Lz4]));
        assert_eq!(
            unwrapped(gzip(&lz4(&bytes))),
            (bytes.clone(), vec![Gzip, Lz4])
        );
        let members = [gzip(&bytes[..5]), gzip(&bytes[5..])].concat();
        assert_eq!(unwrapped(members), (bytes, vec![Gzip]));
        assert_eq!(unwrapped(b"ab".to_vec()), (b"ab".to_vec(), vec![]));
    }

    #[test]
    fn a_look_at_the_start_uses_nothing_up() {
        let bytes: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
        for packed in [bytes.clone(), gzip(&bytes), lz4(&bytes), gzip(&lz4(&bytes))] {
            let mut source = Source::from_reader("it", Cursor::new(packed));
            let start = source.start().unwrap();
            assert!(start.len() >= 500 && bytes.starts_with(&start));
            let mut inside = Vec::new();
            source
                .unwrapped()
                .unwrap()
                .read_to_end(&mut inside)
                .unwrap();
            assert!(inside == bytes);
        }
    }

    #[test]
    fn endless_layers_are_refused() {
        let mut bytes = b"memray\0".to_vec();
        for _ in 0..6 {
            bytes = gzip(&bytes);
        }
        assert!(unwrap_containers(Box::new(Cursor::new(bytes))).is_err());
    }
}
