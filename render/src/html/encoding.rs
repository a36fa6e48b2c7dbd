//! How columns become text in the page: gzip, then base64 in parts.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Compressed bytes in a part: 4 MiB of base64. Browsers cannot read a text node of any length.
const PART_LEN: usize = 3 << 20;
/// For tables. The highest level gains one hundredth for twice the time.
pub(crate) const FAST: Compression = Compression::new(6);
pub(crate) const SMALLEST: Compression = Compression::new(9);

/// Counts bytes, to know a section's length before it is written.
#[derive(Debug, Default)]
pub(crate) struct Length(pub(crate) u64);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a section of the page: what `fill` writes, as one gzip stream in script elements.
pub(crate) fn section(
    name: &str,
    level: Compression,
    out: &mut dyn Write,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let parts = Parts {
        name,
        out,
        part: 0,
        bytes: Vec::with_capacity(PART_LEN),
    };
    let mut gzip = io::BufWriter::with_capacity(1 << 16, GzEncoder::new(parts, level));
    fill(&mut gzip)?;
    let parts = gzip
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .finish()?;
    parts.finish()
}

/// Base64 in script elements of bounded length, each decodable on its own.
struct Parts<'a> {
    name: &'a str,
    out: &'a mut dyn Write,
    part: usize,
    bytes: Vec<u8>,
}

impl Parts<'_> {
    fn write_part(&mut self) -> io::Result<()> {
        let Self { name, part, .. } = self;
        write!(
            self.out,
            "<script type=\"application/octet-stream\" data-section=\"{name}\" data-part=\"{part}\">"
        )?;
        self.out
            .write_all(STANDARD.encode(&self.bytes).as_bytes())?;
        self.out.write_all(b"</script>\n")?;
        self.bytes.clear();
        self.part += 1;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        if self.part == 0 || !self.bytes.is_empty() {
            self.write_part()?;
        }
        Ok(())
    }
}

impl Write for Parts<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PART_LEN - self.bytes.len();
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        if self.bytes.len() == PART_LEN {
            self.write_part()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn long_sections_come_in_parts_of_one_stream() {
        // Noise, so that gzip leaves more than a part.
        let noise: Vec<u8> = (0_u64..4 << 20)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        let mut state = 1_u64;
        let noise: Vec<u8> = noise
            .iter()
            .map(|byte| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(u64::from(*byte) | 1);
                state.to_le_bytes()[7]
            })
            .collect();
        let mut page = Vec::new();
        section("ROWS", FAST, &mut page, |out| out.write_all(&noise)).unwrap();
        let page = String::from_utf8(page).unwrap();
        let mut compressed = Vec::new();
        for (part, line) in page.lines().enumerate() {
            let start = format!(
                "<script type=\"application/octet-stream\" data-section=\"ROWS\" data-part=\"{part}\">"
            );
            let text = line
                .strip_prefix(&start)
                .unwrap()
                .strip_suffix("</script>")
                .unwrap();
            compressed.extend(STANDARD.decode(text).unwrap());
        }
        assert!(page.lines().count() > 1);
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..])
            .read_to_end(&mut back)
            .unwrap();
        assert!(back == noise);
    }
}
