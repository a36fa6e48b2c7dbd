//! The outline of LZ4 frames: where blocks start and end. What is in them is not looked at.

const MAGIC_LEN: usize = 4;
const CHECKSUM_LEN: usize = 4;
/// Of a block's size: its bytes are as they were.
const STORED: u32 = 1 << 31;

/// What is known of the frame under way.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// `None` before a frame's header.
    current: Option<Frame>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    is_linked: bool,
    has_block_checksums: bool,
    has_content_checksum: bool,
    max_block_len: usize,
}

/// What is left of the source after the last whole block.
pub(super) enum Pending<'a> {
    /// Nothing: the last frame is whole.
    Nothing,
    /// The beginning of a header, a size, or what else holds no data.
    Rest,
    /// A block of which data, or its checksum, is missing.
    CutBlock(CutBlock<'a>),
}

/// The beginning of a block.
pub(super) struct CutBlock<'a> {
    pub(super) data: &'a [u8],
    pub(super) is_stored: bool,
    /// Whether it may refer to the blocks before it.
    pub(super) is_linked: bool,
    /// Bytes that it holds at most, unpacked.
    pub(super) max_len: usize,
}

impl Frames {
    /// Goes past whole blocks, headers and end marks.
    pub(super) fn pass(&mut self, source: &[u8]) {
        self.pending(source);
    }

    /// Goes past whatever is whole in `source`, and says what is left.
    pub(super) fn pending<'a>(&mut self, mut source: &'a [u8]) -> Pending<'a> {
        loop {
            let Some(frame) = self.current else {
                if source.is_empty() {
                    return Pending::Nothing;
                }
                let Some((frame, rest)) = Frame::read(source) else {
                    return Pending::Rest;
                };
                self.current = Some(frame);
                source = rest;
                continue;
            };
            let Some((size, rest)) = source.split_first_chunk() else {
                // The decoder may have all of the frame but what no data is in.
                return Pending::Rest;
            };
            let size = u32::from_le_bytes(*size);
            if size == 0 {
                let checksum = if frame.has_content_checksum {
                    CHECKSUM_LEN
                } else {
                    0
                };
                let Some(rest) = rest.get(checksum..) else {
                    return Pending::Rest;
                };
                self.current = None;
                source = rest;
                continue;
            }
            let len = usize::try_from(size & !STORED).unwrap_or(usize::MAX);
            let checksum = if frame.has_block_checksums {
                CHECKSUM_LEN
            } else {
                0
            };
            match rest.get(len.saturating_add(checksum)..) {
                Some(rest) => source = rest,
                None => {
                    return Pending::CutBlock(CutBlock {
                        data: rest.get(..len).unwrap_or(rest),
                        is_stored: size & STORED != 0,
                        is_linked: frame.is_linked,
                        max_len: frame.max_block_len,
                    });
                }
            }
        }
    }
}

impl Frame {
    /// Reads a frame's header: magic number, flags, block size, perhaps the content's size, checksum.
    fn read(source: &[u8]) -> Option<(Self, &[u8])> {
        let flags = *source.get(MAGIC_LEN)?;
        let block_size = u32::from(source.get(MAGIC_LEN + 1)? >> 4 & 7);
        let has = |bit: u8| flags & bit != 0;
        let sizes = if has(0x08) { 8 } else { 0 } + if has(0x01) { 4 } else { 0 };
        let rest = source.get(MAGIC_LEN + 3 + sizes..)?;
        let frame = Self {
            is_linked: !has(0x20),
            has_block_checksums: has(0x10),
            has_content_checksum: has(0x04),
            max_block_len: 1 << (8 + 2 * block_size),
        };
        Some((frame, rest))
    }
}
