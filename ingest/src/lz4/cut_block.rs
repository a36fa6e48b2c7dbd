//! Decodes the beginning of a block: all that its bytes say, up to where they end.

use super::frame::CutBlock;

/// The least that a match copies.
const MIN_MATCH: usize = 4;

/// The content of a block up to its cut. `window` is what was decoded before it.
pub(super) fn decode_cut_block(block: &CutBlock<'_>, window: &[u8]) -> Vec<u8> {
    let window = if block.is_linked { window } else { &[] };
    let mut out = Output {
        window,
        bytes: Vec::new(),
        max_len: block.max_len,
    };
    if block.is_stored {
        out.literals(block.data);
    } else {
        let mut input = block.data;
        while let Some(rest) = sequence(input, &mut out) {
            input = rest;
        }
    }
    out.bytes
}

/// Decodes a sequence: literals, then a match. Returns the rest, or `None` where the input ends or
/// makes no sense.
fn sequence<'a>(input: &'a [u8], out: &mut Output<'_>) -> Option<&'a [u8]> {
    let (&token, input) = input.split_first()?;
    let (len, input) = length(token >> 4, input);
    let Some((literals, input)) = input.split_at_checked(len) else {
        out.literals(input);
        return None;
    };
    out.literals(literals)?;
    let (offset, input) = input.split_first_chunk()?;
    // A length whose last byte is missing is at least what its other bytes say.
    let (len, input) = length(token & 15, input);
    out.copy(
        u16::from_le_bytes(*offset).into(),
        len.saturating_add(MIN_MATCH),
    )?;
    Some(input)
}

/// Four bits of a token as a length; 15 goes on in further bytes.
fn length(nibble: u8, mut input: &[u8]) -> (usize, &[u8]) {
    let mut len = usize::from(nibble);
    let mut goes_on = nibble == 15;
    while let (true, Some((&more, rest))) = (goes_on, input.split_first()) {
        len = len.saturating_add(more.into());
        input = rest;
        goes_on = more == 255;
    }
    (len, input)
}

struct Output<'a> {
    window: &'a [u8],
    bytes: Vec<u8>,
    max_len: usize,
}

impl Output<'_> {
    /// Appends `literals`; `None` if the block is full before their end.
    fn literals(&mut self, literals: &[u8]) -> Option<()> {
        let room = self.max_len.saturating_sub(self.bytes.len());
        self.bytes
            .extend_from_slice(literals.get(..room).unwrap_or(literals));
        (literals.len() <= room).then_some(())
    }

    /// Appends `len` bytes from `offset` bytes back, one by one, for they may overlap themselves.
    fn copy(&mut self, offset: usize, len: usize) -> Option<()> {
        for _ in 0..len {
            if self.bytes.len() >= self.max_len {
                return None;
            }
            let byte = match self.bytes.len().checked_sub(offset) {
                Some(at) => self.bytes.get(at),
                None => {
                    let beyond = offset.checked_sub(self.bytes.len())?;
                    self.window.get(self.window.len().checked_sub(beyond)?)
                }
            };
            self.bytes.push(*byte?);
        }
        Some(())
    }
}
