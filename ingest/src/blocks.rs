//! Reads a capture's bytes on a thread of its own, block by block.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::source::{Container, Source, unwrap_containers};

/// Bytes in a block: small enough to stay in cache between threads.
const BLOCK_LEN: usize = 256 << 10;
/// Blocks under way between the two threads.
const BLOCKS_AHEAD: usize = 4;

/// How far reading has come, for whoever shows progress.
#[derive(Debug, Default)]
pub struct Counters {
    /// Bytes read from the source, before decompression.
    pub bytes_read: AtomicU64,
    /// Records decoded.
    pub records: AtomicU64,
}

/// What the reading thread sends.
enum Message {
    Containers(Vec<Container>),
    Block(Vec<u8>),
    Failed(io::Error),
}

/// The receiving end: the capture's bytes in order.
pub(crate) struct Blocks {
    full: Receiver<Message>,
    empty: Sender<Vec<u8>>,
    pub(crate) containers: Vec<Container>,
    /// Why the bytes ended early, if they did.
    pub(crate) error: Option<io::Error>,
    /// How many bytes may still be had.
    left: usize,
    /// Whether bytes were asked for beyond those.
    pub(crate) was_limited: bool,
}

impl Blocks {
    /// The receiving end, and what to run on the reading thread.
    pub(crate) fn new(source: Source, counters: Arc<Counters>) -> (Self, impl FnOnce() + Send) {
        let (full_in, full) = bounded(BLOCKS_AHEAD);
        let (empty, empty_out) = bounded(BLOCKS_AHEAD + 1);
        let counted = Counted {
            reader: source.reader,
            counters,
        };
        let run = move || send_blocks(Box::new(counted), &full_in, &empty_out);
        (
            Self {
                full,
                empty,
                containers: Vec::new(),
                error: None,
                left: usize::MAX,
                was_limited: false,
            },
            run,
        )
    }

    /// Ends the bytes after about `len` more, at the end of a block.
    pub(crate) fn limit(&mut self, len: usize) {
        self.left = len;
    }

    /// Appends the next block to `buffer`; `false` at the end.
    pub(crate) fn read_more(&mut self, buffer: &mut Vec<u8>) -> bool {
        let Some(block) = self.next() else {
            return false;
        };
        buffer.extend_from_slice(&block);
        let _ = self.empty.try_send(block);
        true
    }

    /// Whether `rest` and all blocks after it are zero bytes. Reads up to the first that is not.
    pub(crate) fn only_zeros_follow(&mut self, rest: &[u8]) -> bool {
        if !is_zero(rest) {
            return false;
        }
        while let Some(block) = self.next() {
            if !is_zero(&block) {
                return false;
            }
            let _ = self.empty.try_send(block);
        }
        true
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let message = self.full.recv().ok()?;
            if self.left == 0 {
                self.was_limited = true;
                return None;
            }
            match message {
                Message::Block(block) => {
                    self.left = self.left.saturating_sub(block.len());
                    return Some(block);
                }
                Message::Containers(containers) => self.containers = containers,
                Message::Failed(error) => self.error = Some(error),
            }
        }
    }
}

/// Whether all bytes are zero, in steps that the compiler can do many bytes at a time.
fn is_zero(bytes: &[u8]) -> bool {
    bytes
        .chunks(4096)
        .all(|chunk| chunk.iter().fold(0, |any, &byte| any | byte) == 0)
}

fn send_blocks(reader: Box<dyn Read + Send>, full: &Sender<Message>, empty: &Receiver<Vec<u8>>) {
    let mut reader = match unwrap_containers(reader) {
        Ok(unwrapped) => {
            let _ = full.send(Message::Containers(unwrapped.containers));
            unwrapped.reader
        }
        Err(error) => {
            let _ = full.send(Message::Failed(error));
            return;
        }
    };
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.resize(BLOCK_LEN, 0);
        let (len, error) = fill(&mut reader, &mut block);
        block.truncate(len);
        let sent = len == 0 || full.send(Message::Block(block)).is_ok();
        if let Some(error) = error {
            let _ = full.send(Message::Failed(error));
            return;
        }
        if !sent || len < BLOCK_LEN {
            return;
        }
    }
}

/// Reads until the block is full, the source ends, or it fails; what was read before counts.
fn fill(reader: &mut dyn Read, block: &mut [u8]) -> (usize, Option<io::Error>) {
    let mut len = 0;
    while let Some(free) = block.get_mut(len..).filter(|free| !free.is_empty()) {
        match reader.read(free) {
            Ok(0) => break,
            Ok(n) => len += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (len, Some(error)),
        }
    }
    (len, None)
}

/// Counts what is read from the source itself.
struct Counted {
    reader: Box<dyn Read + Send>,
    counters: Arc<Counters>,
}

impl Read for Counted {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.counters
            .bytes_read
            .fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
