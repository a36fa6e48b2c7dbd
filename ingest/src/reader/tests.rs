//! Captures in containers, whole and cut, are read as plain ones are.

use std::io::{Cursor, Read as _, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use super::*;
use crate::event::{Event, RangedEvent};
use crate::source::unwrap_containers;

/// All that was read of a capture, and where reading stopped.
#[derive(Debug, PartialEq)]
struct Seen {
    events: Vec<Event>,
    ranged: Vec<RangedEvent>,
    n_records: u64,
    /// `None` if the capture is complete.
    end: Option<u64>,
}

/// `None` if there is no capture.
fn seen(bytes: &[u8]) -> Option<Seen> {
    let source = Source::from_reader("a capture", Cursor::new(bytes.to_vec()));
    let (mut events, mut ranged) = (Vec::new(), Vec::new());
    let (recording, ()) = read(source, &Options::default(), &Arc::default(), |batches| {
        for batch in batches {
            events.extend(batch.events.iter().copied());
            ranged.extend(&batch.ranged);
        }
    })
    .ok()?;
    let end = match recording.ending {
        Ending::Complete => None,
        Ending::Interrupted { offset }
        | Ending::Truncated { offset, .. }
        | Ending::Corrupt { offset, .. } => Some(offset),
    };
    Some(Seen {
        events,
        ranged,
        n_records: recording.n_records,
        end,
    })
}

/// As much of a capture as can be taken out of its containers.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut inside = Vec::new();
    if let Ok(mut unwrapped) = unwrap_containers(Box::new(Cursor::new(bytes.to_vec()))) {
        let _ = unwrapped.reader.read_to_end(&mut inside);
    }
    inside
}

fn capture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
    std::fs::read(format!("{folder}/{name}.bin")).unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

/// A capture in LZ4 frames of every kind, in gzip, and in both.
fn packed(plain: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for mode in [BlockMode::Linked, BlockMode::Independent] {
        for checksums in [false, true] {
            let info = FrameInfo::new()
                .block_mode(mode)
                .block_size(BlockSize::Max64KB)
                .block_checksums(checksums)
                .content_checksum(checksums);
            let mut lz4 = FrameEncoder::with_frame_info(info, Vec::new());
            lz4.write_all(plain).unwrap();
            all.push(lz4.finish().unwrap());
        }
    }
    all.extend([gzip(plain), gzip(&all[0])]);
    all
}

/// Fails unless the beginning of a packed capture is read as that of the plain one.
#[track_caller]
fn assert_cut_like_plain(plain: &[u8], packed: &[u8], len: usize) -> usize {
    let cut = &packed[..len];
    let inside = unpacked(cut);
    assert!(plain.starts_with(&inside), "cut at {len}");
    assert_eq!(seen(cut), seen(&inside), "cut at {len}");
    inside.len()
}

#[test]
fn a_small_packed_capture_cut_anywhere_is_as_the_plain_one_cut_there() {
    for name in ["v13-end-peak", "v11-spike", "v10-end-peak"] {
        let plain = unpacked(&capture(name));
        for packed in packed(&plain) {
            // Fewer bytes do not tell that they are packed.
            for len in 4..=packed.len() {
                assert_cut_like_plain(&plain, &packed, len);
            }
        }
    }
}

#[test]
fn a_packed_capture_cut_anywhere_is_as_the_plain_one_cut_there() {
    for name in ["v13-threads-py314", "v08-etl", "v12-aggregate", "v13-etl"] {
        let plain = unpacked(&capture(name));
        for packed in packed(&plain) {
            let lens = (1..=200).map(|part| packed.len() * part / 200);
            let inside: Vec<usize> = lens
                .map(|len| assert_cut_like_plain(&plain, &packed, len))
                .collect();
            assert!(inside.is_sorted(), "{name}");
            // A cut costs no whole block.
            assert!(inside[99] > plain.len() / 5, "{name}: {} bytes", inside[99]);
        }
    }
}

/// One member's bytes are as many as the decompressor itself finds in what is left of it.
#[test]
fn nothing_before_the_cut_of_a_gzip_file_is_lost() {
    let plain = unpacked(&capture("v13-tick"));
    let packed = gzip(&plain);
    for len in (11..packed.len()).step_by(97) {
        let mut inflated = vec![0; plain.len()];
        let mut inflate = flate2::Decompress::new(false);
        // The member's header takes 10 bytes.
        let _ = inflate.decompress(
            &packed[10..len],
            &mut inflated,
            flate2::FlushDecompress::None,
        );
        let n = usize::try_from(inflate.total_out()).unwrap();
        assert_eq!(unpacked(&packed[..len]), inflated[..n], "cut at {len}");
    }
}
