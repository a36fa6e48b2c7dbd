//! Records taken many at a time are the same as those taken one by one, wherever that stops.

mod strategy;

use std::ops::ControlFlow;

use memreport_capture::{
    Allocation, AllocatorKind, CodePush, Decoder, Encoder, FrequentRecords, Header, Record,
};
use proptest::prelude::*;
use strategy::capture;

/// Keeps records, with their offsets where it is told them; wants no more after `limit` at a time.
struct Kept {
    records: Vec<(Option<u64>, Record<'static>)>,
    limit: usize,
}

impl Kept {
    fn keep(&mut self, offset: Option<u64>, record: Record<'static>) -> ControlFlow<()> {
        self.records.push((offset, record));
        if self.records.len() < self.limit {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

impl FrequentRecords for Kept {
    fn allocated(&mut self, allocation: Allocation, offset: u64) -> ControlFlow<()> {
        assert_eq!(allocation.allocator.kind(), AllocatorKind::Allocation);
        self.keep(Some(offset), Record::Allocation(allocation))
    }

    fn freed(&mut self, address: u64) -> ControlFlow<()> {
        // Which function freed it is not told, and nobody asks.
        let allocator = memreport_capture::Allocator::Free;
        self.keep(
            None,
            Record::Allocation(Allocation {
                address,
                size: 0,
                allocator,
                native_id: 0,
            }),
        )
    }

    fn push(&mut self, push: CodePush, offset: u64) -> ControlFlow<()> {
        self.keep(Some(offset), Record::CodePush(push))
    }

    fn pop(&mut self, count: u32, offset: u64) -> ControlFlow<()> {
        self.keep(Some(offset), Record::FramePop(count))
    }
}

/// All simple deallocations are one.
fn told(record: Record<'_>) -> String {
    match record {
        Record::Allocation(a) if a.allocator.kind() == AllocatorKind::Deallocation => {
            format!("free {:x}", a.address)
        }
        record => format!("{record:?}"),
    }
}

/// The state of a decoder that shows whether two agree.
fn state(decoder: &Decoder) -> (u64, u64, u64) {
    (decoder.offset(), decoder.n_records(), decoder.thread_id())
}

/// Decodes by turns many records and one, and compares with one by one. Returns how many were taken
/// many at a time.
fn check(bytes: &[u8], limit: usize) -> Result<usize, TestCaseError> {
    let Ok(Some((header, rest))) = Header::parse(bytes) else {
        return Ok(0);
    };
    let start = (bytes.len() - rest.len()) as u64;
    let (mut fast, mut slow) = (Decoder::new(&header, start), Decoder::new(&header, start));
    let (mut input, mut together) = (rest, 0);
    loop {
        let mut kept = Kept {
            records: Vec::new(),
            limit,
        };
        let n_bytes = fast.decode_frequent(input, &mut kept);
        let before = input;
        for (offset, record) in kept.records {
            if let Some(offset) = offset {
                prop_assert_eq!(offset, slow.offset());
            }
            let decoded = slow.decode(input).ok().flatten();
            let (expected, rest) = decoded.expect("what was taken can be decoded");
            prop_assert_eq!(told(record), told(expected));
            together += 1;
            input = rest;
        }
        prop_assert_eq!(n_bytes, before.len() - input.len());
        prop_assert_eq!(state(&fast), state(&slow));
        let (one, other) = (fast.decode(input), slow.decode(input));
        prop_assert_eq!(&one, &other);
        match one {
            Ok(Some((_, rest))) => input = rest,
            _ => return Ok(together),
        }
    }
}

fn encoded(header: &Header, records: &[Record<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(header);
    for record in records {
        encoder.push(record);
    }
    encoder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn many_at_a_time_are_the_same_as_one_by_one((header, records) in capture(), limit in 1..9_usize, fill in 0..200_usize) {
        let mut bytes = encoded(&header, &records);
        bytes.extend(std::iter::repeat_n(0, fill));
        check(&bytes, limit)?;
    }

    #[test]
    fn so_are_damaged_ones((header, records) in capture(), at in any::<prop::sample::Index>(), to in any::<u8>(), limit in 1..9_usize) {
        let mut bytes = encoded(&header, &records);
        bytes.extend([0x55; 80]);
        let at = at.index(bytes.len());
        bytes[at] = to;
        check(&bytes, limit)?;
    }
}

#[test]
fn real_captures_are_taken_mostly_so() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let mut tried = 0;
    for name in [
        "v13-nocompress",
        "v13-synthetic-mappings",
        "v13-synthetic-unbalanced",
    ] {
        let Ok(bytes) = std::fs::read(folder.join(name).with_extension("bin")) else {
            continue;
        };
        let together = check(&bytes, usize::MAX).unwrap();
        tried += together;
    }
    assert!(tried > 100, "{tried} records");
}
