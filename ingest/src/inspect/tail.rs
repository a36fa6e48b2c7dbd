//! The end of a large file: its last bytes, and whether they are those of a capture that was closed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::Outlook;

/// Bytes at the end that are looked at.
const TAIL_LEN: u64 = 8 << 20;
/// Bytes that are read at a time.
const STEP: u64 = 64 << 10;
/// More zero bytes than an LZ4 frame can end with: its end mark of four, and five literals.
const MAX_FRAME_ZEROS: u64 = 9;

/// The end of a capture that is in no container.
pub(super) fn look_at_plain_end(
    path: &Path,
    size: u64,
    trailer: Option<u8>,
    was_closed: bool,
) -> io::Result<Outlook> {
    let Some((len, last)) = last_nonzero(path, size)? else {
        return Ok(Outlook::ZeroFilled {
            len: size.saturating_sub(TAIL_LEN),
        });
    };
    Ok(match trailer {
        _ if !was_closed => Outlook::SeemsInterrupted { len },
        Some(trailer) if last != trailer => Outlook::SeemsCut { len },
        _ => Outlook::SeemsComplete,
    })
}

/// The end of an LZ4 frame without checksum of its content, as memray writes them; of others, the end
/// mark is looked for before the checksum.
pub(super) fn look_at_frame_end(path: &Path, size: u64) -> io::Result<Outlook> {
    let mut file = File::open(path)?;
    let mut start = [0; 5];
    file.read_exact(&mut start)?;
    let [.., flags] = start;
    let checksum_len: u64 = if flags & 0x04 == 0 { 0 } else { 4 };
    let end_mark = size.saturating_sub(4 + checksum_len);
    let mut mark = [0; 4];
    file.seek(SeekFrom::Start(end_mark))?;
    file.read_exact(&mut mark)?;
    if mark != [0; 4] {
        return Ok(Outlook::SeemsCut { len: size });
    }
    Ok(match last_nonzero(path, size - checksum_len)? {
        None => Outlook::ZeroFilled {
            len: size.saturating_sub(TAIL_LEN),
        },
        Some((len, _)) if size - checksum_len - len > MAX_FRAME_ZEROS => Outlook::SeemsCut { len },
        Some(_) => Outlook::SeemsComplete,
    })
}

/// The last byte before `size` that is not zero, and how many bytes there are up to it; `None` if it is
/// not among the last ones.
fn last_nonzero(path: &Path, size: u64) -> io::Result<Option<(u64, u8)>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut end = size;
    while end > size.saturating_sub(TAIL_LEN) {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        file.by_ref().take(end - start).read_to_end(&mut bytes)?;
        if let Some(index) = bytes.iter().rposition(|&byte| byte != 0) {
            return Ok(Some((start + index as u64 + 1, bytes[index])));
        }
        end = start;
    }
    Ok(None)
}
