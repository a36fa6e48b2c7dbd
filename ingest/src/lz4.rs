//! Reads LZ4 frames, and of a frame that is cut all that is there: its last block too, up to the cut.
//!
//! Whole blocks, and all checksums, are `lz4_flex`'s, which gives nothing of a block that is not
//! whole. A cut block is a run of sequences like any other, so it is decoded here up to where its
//! bytes end. A block that is damaged is left out: where in it the damage starts cannot be known.

mod cut_block;
mod frame;

use std::io::{self, ErrorKind, Read};

use lz4_flex::frame::{Error as FrameError, FrameDecoder};

use cut_block::decode_cut_block;
use frame::{Frames, Pending};

/// How far back a linked block may refer.
const WINDOW_LEN: usize = 64 << 10;

/// What LZ4 frames hold. A frame that is cut gives all that can be decoded before its error.
pub(crate) struct Lz4Reader<R: Read> {
    decoder: FrameDecoder<Recorder<R>>,
    frames: Frames,
    /// The last bytes that were decoded, at most twice the window.
    window: Vec<u8>,
    end: Option<End>,
}

/// What is left to hand on once no whole block follows.
struct End {
    /// The beginning of the block that is cut.
    recovered: io::Cursor<Vec<u8>>,
    /// Why nothing follows, unless the frames ended in good order. Given once.
    error: Option<io::Error>,
}

impl<R: Read> Lz4Reader<R> {
    pub(crate) fn new(reader: R) -> Self {
        let recorder = Recorder {
            reader,
            recorded: Vec::new(),
            has_ended: false,
        };
        Self {
            decoder: FrameDecoder::new(recorder),
            frames: Frames::default(),
            window: Vec::new(),
            end: None,
        }
    }

    fn remember(&mut self, decoded: &[u8]) {
        if self.window.len() + decoded.len() > 2 * WINDOW_LEN {
            let keep = WINDOW_LEN
                .saturating_sub(decoded.len())
                .min(self.window.len());
            self.window.drain(..self.window.len() - keep);
        }
        let from = decoded.len().saturating_sub(WINDOW_LEN);
        self.window
            .extend_from_slice(decoded.get(from..).unwrap_or_default());
    }

    /// What follows the last whole block, of which the decoder says `error` or that all is over.
    fn ended(&mut self, error: Option<io::Error>) -> End {
        let recorder = self.decoder.get_ref();
        let pending = self.frames.pending(&recorder.recorded);
        let is_cut = recorder.has_ended && error.as_ref().is_none_or(|error| !is_damage(error));
        let recovered = match &pending {
            Pending::CutBlock(block) if is_cut => decode_cut_block(block, &self.window),
            _ => Vec::new(),
        };
        let error = match (error, pending) {
            (Some(error), _) => Some(in_words(error)),
            (None, Pending::Nothing) => None,
            // The decoder takes a frame that is cut between blocks for one that ends there.
            (None, _) => Some(ErrorKind::UnexpectedEof.into()),
        };
        End {
            recovered: io::Cursor::new(recovered),
            error,
        }
    }
}

impl<R: Read> Read for Lz4Reader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.end.is_none() && !buf.is_empty() {
            match self.decoder.read(buf) {
                Ok(len) => {
                    // After a frame nothing comes once; then the next frame, if there is one.
                    if len == 0 && self.decoder.get_ref().has_ended {
                        self.end = Some(self.ended(None));
                        break;
                    }
                    let recorded = &mut self.decoder.get_mut().recorded;
                    self.frames.pass(recorded);
                    recorded.clear();
                    self.remember(buf.get(..len).unwrap_or_default());
                    if len > 0 {
                        return Ok(len);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => self.end = Some(self.ended(Some(error))),
            }
        }
        let Some(end) = &mut self.end else {
            return Ok(0);
        };
        match (end.recovered.read(buf)?, end.error.take()) {
            (0, Some(error)) => Err(error),
            (len, error) => {
                end.error = error;
                Ok(len)
            }
        }
    }
}

/// Passes a reader's bytes on, and keeps them until it is told to forget them.
struct Recorder<R> {
    reader: R,
    recorded: Vec<u8>,
    /// Whether the reader has no more to give.
    has_ended: bool,
}

impl<R: Read> Read for Recorder<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.reader.read(buf) {
            Ok(len) => {
                self.has_ended |= len == 0 && !buf.is_empty();
                self.recorded
                    .extend_from_slice(buf.get(..len).unwrap_or_default());
                Ok(len)
            }
            Err(error) => {
                self.has_ended |= error.kind() != ErrorKind::Interrupted;
                Err(error)
            }
        }
    }
}

/// Whether the bytes of the frame are wrong, rather than missing.
fn is_damage(error: &io::Error) -> bool {
    frame_error(error).is_some()
}

fn frame_error(error: &io::Error) -> Option<&FrameError> {
    error.get_ref()?.downcast_ref()
}

/// The decoder's error, for people.
fn in_words(error: io::Error) -> io::Error {
    let what = match frame_error(&error) {
        None => return error,
        Some(FrameError::DecompressionError(error)) => {
            format!("an LZ4 block cannot be decoded: {error}")
        }
        Some(FrameError::BlockChecksumError) => {
            "an LZ4 block is not what its checksum says".to_owned()
        }
        Some(FrameError::ContentChecksumError) => {
            "the content of the LZ4 frame is not what its checksum says".to_owned()
        }
        Some(FrameError::HeaderChecksumError) => {
            "the header of the LZ4 frame is not what its checksum says".to_owned()
        }
        Some(FrameError::ContentLengthError { expected, actual }) => {
            format!("the LZ4 frame holds {actual} bytes, and {expected} by its header")
        }
        Some(FrameError::BlockTooBig) => "an LZ4 block is larger than its frame allows".to_owned(),
        Some(FrameError::WrongMagicNumber) => "what follows the LZ4 frame is no other".to_owned(),
        Some(error) => format!("the LZ4 frame cannot be read: {error}"),
    };
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    use proptest::prelude::*;

    use super::*;

    /// What can be read, and the error at its end.
    fn read(frame: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let mut inside = Vec::new();
        let error = Lz4Reader::new(Cursor::new(frame))
            .read_to_end(&mut inside)
            .err();
        (inside, error)
    }

    fn info(mode: BlockMode, checksums: bool) -> FrameInfo {
        FrameInfo::new()
            .block_mode(mode)
            .block_size(BlockSize::Max64KB)
            .block_checksums(checksums)
            .content_checksum(checksums)
    }

    fn every_kind() -> Vec<FrameInfo> {
        let modes = [BlockMode::Linked, BlockMode::Independent];
        modes
            .into_iter()
            .flat_map(|mode| [info(mode, false), info(mode, true)])
            .collect()
    }

    fn packed(bytes: &[u8], info: FrameInfo) -> Vec<u8> {
        let mut lz4 = FrameEncoder::with_frame_info(info, Vec::new());
        lz4.write_all(bytes).unwrap();
        lz4.finish().unwrap()
    }

    /// Bytes with repetitions, near and far, and stretches that do not pack.
    fn content(len: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut random = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            usize::try_from(state >> 8).unwrap()
        };
        let mut bytes = b"memray".to_vec();
        while bytes.len() < len {
            let n = 1 + random() % 90;
            if random() % 3 == 0 {
                bytes.extend((0..n).map(|_| u8::try_from(random() % 256).unwrap()));
            } else {
                let back = 1 + random() % bytes.len().min(60_000);
                for _ in 0..n * (1 + random() % 5) {
                    bytes.push(bytes[bytes.len() - back]);
                }
            }
        }
        bytes.truncate(len);
        bytes
    }

    /// How much of the content the block at the cut adds to the whole blocks before it.
    fn whole_blocks(cut: &[u8]) -> usize {
        let mut inside = Vec::new();
        let _ = FrameDecoder::new(Cursor::new(cut)).read_to_end(&mut inside);
        inside.len()
    }

    #[test]
    fn a_small_frame_cut_anywhere_gives_a_growing_prefix() {
        let bytes = content(3_000);
        for info in every_kind() {
            let frame = packed(&bytes, info.clone());
            let mut before = 0;
            for len in 0..frame.len() {
                let (inside, error) = read(&frame[..len]);
                assert!(bytes.starts_with(&inside), "{info:?} cut at {len}");
                assert!(inside.len() >= before, "{info:?} cut at {len}");
                before = inside.len();
                // Of a source without a byte nothing was cut.
                let kind = error.map(|error| error.kind());
                assert_eq!(
                    kind,
                    (len > 0).then_some(ErrorKind::UnexpectedEof),
                    "{info:?} cut at {len}"
                );
            }
            let (inside, error) = read(&frame);
            assert!(inside == bytes && error.is_none(), "{info:?}");
        }
    }

    /// Each byte of a block stands for at least a part of a literal or match: cutting one byte off
    /// costs no more than what it could stand for.
    #[test]
    fn literals_before_the_cut_are_all_there() {
        let bytes: Vec<u8> = (0..=255).collect();
        let frame = packed(&bytes, info(BlockMode::Linked, true));
        // Incompressible: the block is stored; magic, descriptor and size take 11 bytes.
        for len in 11..frame.len() - 12 {
            assert_eq!(read(&frame[..len]).0, bytes[..len - 11]);
        }
    }

    #[test]
    fn blocks_before_the_cut_one_are_its_window() {
        let bytes = content(300_000);
        for info in every_kind() {
            let frame = packed(&bytes, info.clone());
            let mut more = 0;
            for part in 0..200 {
                let cut = &frame[..frame.len() * part / 200];
                let (inside, _) = read(cut);
                assert!(bytes.starts_with(&inside), "{info:?} part {part}");
                more += usize::from(inside.len() > whole_blocks(cut));
            }
            assert!(more > 190, "{info:?}: only {more} cut blocks gave anything");
        }
    }

    #[test]
    fn a_whole_block_whose_checksum_is_cut_is_whole() {
        let bytes = content(50_000);
        let frame = packed(&bytes, info(BlockMode::Linked, true));
        // Block checksum, end mark and content checksum are four bytes each.
        for missing in 1..=12 {
            let (inside, error) = read(&frame[..frame.len() - missing]);
            assert!(inside == bytes, "{missing}");
            assert_eq!(error.unwrap().kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn a_damaged_block_is_not_used() {
        let bytes = content(100_000);
        let frame = packed(&bytes, info(BlockMode::Linked, true));
        for at in [100, 5_000, frame.len() / 3] {
            let mut broken = frame.clone();
            broken[at] ^= 1;
            let (inside, error) = read(&broken);
            assert!(inside.len() % (64 << 10) == 0 && bytes.starts_with(&inside));
            assert!(error.unwrap().to_string().contains("checksum"));
        }
    }

    #[test]
    fn frames_follow_one_another() {
        let frame = |bytes: &[u8]| packed(bytes, info(BlockMode::Linked, false));
        let two = [frame(b"one "), frame(b""), frame(b"two")].concat();
        let (inside, error) = read(&two);
        assert!(error.is_none());
        assert_eq!(inside, b"one two");
        let (inside, error) = read(&[frame(b"one"), b"something else".to_vec()].concat());
        assert_eq!(inside, b"one");
        assert!(error.unwrap().to_string().contains("no other"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, checksums: bool) {
            let header = packed(b"", info(BlockMode::Linked, checksums));
            let (inside, _) = read(&[&header[..7], &bytes].concat());
            prop_assert!(inside.len() <= 255 * bytes.len().max(1));
        }

        #[test]
        fn a_cut_block_of_any_bytes_ends(block: Vec<u8>, window: Vec<u8>) {
            let block = frame::CutBlock { data: &block, is_stored: false, is_linked: true, max_len: 1 << 16 };
            prop_assert!(decode_cut_block(&block, &window).len() <= 1 << 16);
        }
    }
}
