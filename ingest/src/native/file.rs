//! Files that are not to be trusted: what is opened, and how much of it is read.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::time::UNIX_EPOCH;

use object::{ReadCache, ReadRef};

/// What is read of one file, at most, unpacked sections included.
const MAX_READ: u64 = 1 << 30;

/// Files from this size on are not opened. No library comes near it; files with holes do.
const MAX_FILE: u64 = 1 << 36;

/// What a name costs of [`MAX_READ`], so that a file of nothing but section headers ends some time.
const NAME_COST: u64 = 256;

/// Why a file's contents are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileFault {
    Missing,
    NotRegular,
    TooLarge,
    Unreadable(String),
}

impl From<io::Error> for FileFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// Opens a regular file.
pub(super) fn open(path: &Path) -> Result<File, FileFault> {
    // Opening a pipe waits for its writer, and opening a device may do anything: look first. What was
    // exchanged between the two calls is found by the second look.
    if !fs::metadata(path)?.is_file() {
        return Err(FileFault::NotRegular);
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileFault::NotRegular);
    }
    if metadata.len() >= MAX_FILE {
        return Err(FileFault::TooLarge);
    }
    Ok(file)
}

/// The checksum that `.gnu_debuglink` gives of a file.
pub(super) fn checksum(path: &Path) -> Result<u32, FileFault> {
    let file = open(path)?;
    let len = file.metadata()?.len();
    if len > MAX_READ {
        return Err(FileFault::TooLarge);
    }
    // Some files of the system claim no length and wait for something to say: they are not read.
    let mut file = file.take(len);
    let mut crc = flate2::Crc::new();
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(crc.sum()),
            n => crc.update(block.get(..n).unwrap_or_default()),
        }
    }
}

/// An open file: parts that were read stay in memory, the others are never read.
#[derive(Debug)]
pub(super) struct Contents {
    cache: ReadCache<File>,
    /// When the file was modified last, in milliseconds since the epoch, if the system knows.
    pub(super) modified_ms: Option<i64>,
    left: Cell<u64>,
}

impl Contents {
    pub(super) fn open(path: &Path) -> Result<Self, FileFault> {
        let file = open(path)?;
        Ok(Self {
            modified_ms: modified_ms(&file),
            cache: ReadCache::new(file),
            left: Cell::new(MAX_READ),
        })
    }

    pub(super) fn bytes(&self) -> Bytes<'_> {
        Bytes(self)
    }
}

fn modified_ms(file: &File) -> Option<i64> {
    let modified = file.metadata().ok()?.modified().ok()?;
    let since_epoch = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_millis()).ok()
}

/// The bytes of [`Contents`], as parsers want them. Reads fail once too much was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(&'a Contents);

impl Bytes<'_> {
    /// Takes `size` bytes from what may still be read or unpacked.
    pub(super) fn spend(self, size: u64) -> Result<(), ()> {
        let left = self.0.left.get().checked_sub(size);
        self.0.left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(())
    }

    /// Whether a read failed because too much was read before.
    pub(super) fn is_spent(self) -> bool {
        self.0.left.get() == 0
    }
}

impl<'a> ReadRef<'a> for Bytes<'a> {
    fn len(self) -> Result<u64, ()> {
        (&self.0.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        // Beyond the end there is nothing to pay for.
        if offset
            .checked_add(size)
            .is_none_or(|end| Ok(end) > self.len())
        {
            return Err(());
        }
        self.spend(size)?;
        self.0.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.spend(NAME_COST)?;
        self.0.cache.read_bytes_at_until(range, delimiter)
    }
}
