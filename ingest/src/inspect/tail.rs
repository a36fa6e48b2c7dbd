//! The end of a large file: where its zero fill starts, and whether what comes before is the end of a
//! capture that was closed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::Outlook;

/// Bytes that are read at a time. Data is never zero for so long.
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
    let (len, last) = last_nonzero(&mut File::open(path)?, size)?;
    Ok(match trailer {
        _ if !was_closed => Outlook::SeemsInterrupted { len },
        Some(trailer) if last != trailer => Outlook::SeemsCut { len },
        _ => Outlook::SeemsComplete,
    })
}

/// The end of an LZ4 frame: its end mark, which stands before the checksum of the content, if there is
/// one.
pub(super) fn look_at_frame_end(path: &Path, size: u64) -> io::Result<Outlook> {
    let mut file = File::open(path)?;
    let mut start = [0; 5];
    file.read_exact(&mut start)?;
    let [.., flags] = start;
    let checksum_len: u64 = if flags & 0x04 == 0 { 0 } else { 4 };
    let end = size.saturating_sub(checksum_len);
    let mut mark = [0; 4];
    file.seek(SeekFrom::Start(end.saturating_sub(4)))?;
    file.read_exact(&mut mark)?;
    if mark != [0; 4] {
        return Ok(Outlook::SeemsCut { len: size });
    }
    let (len, _) = last_nonzero(&mut file, end)?;
    Ok(if end.saturating_sub(len) > MAX_FRAME_ZEROS {
        Outlook::SeemsCut { len }
    } else {
        Outlook::SeemsComplete
    })
}

/// The last byte before `size` that is not zero, and how many bytes there are up to it, if all zeros
/// are at the end. The fill may be as long as it likes: its start is searched for by halves.
fn last_nonzero(file: &mut File, size: u64) -> io::Result<(u64, u8)> {
    let mut bytes = Vec::new();
    let mut last_in = |step: u64| -> io::Result<Option<(u64, u8)>> {
        let start = step * STEP;
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        let len = STEP.min(size.saturating_sub(start));
        file.by_ref().take(len).read_to_end(&mut bytes)?;
        let found = bytes.iter().enumerate().rfind(|(_, byte)| **byte != 0);
        Ok(found.map(|(index, byte)| (start + index as u64 + 1, *byte)))
    };
    let (mut data, mut zero) = (0, size.div_ceil(STEP));
    // The last step first: most files have little fill, or none.
    let mut probe = zero.saturating_sub(1);
    let mut last = (0, 0);
    while data < zero {
        match last_in(probe)? {
            Some(found) => {
                last = found;
                data = probe + 1;
            }
            None => zero = probe,
        }
        probe = data + zero.saturating_sub(data) / 2;
    }
    Ok(last)
}
