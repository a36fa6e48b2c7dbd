//! Random captures of every version: what is written is read again, and damage does no harm.

mod common;
mod strategy;

use common::Reading;
use memreport_capture::{Encoder, Error, Header, Record};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use strategy::{capture, header};

fn encoded(header: &Header, records: &[Record<'_>]) -> Vec<u8> {
    let mut encoder = Encoder::new(header);
    for record in records {
        assert!(encoder.push(record), "{record:?}");
    }
    encoder.finish()
}

/// How many cases a property is tried with.
fn cases(n: u32) -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(n)
    }
}

/// What the decoder should say: each record with the thread that was named last. Format 6 has no
/// switches: records that belong to a thread name it.
fn with_threads<'a>(header: &Header, records: &[Record<'a>]) -> Vec<(u64, Record<'a>)> {
    let has_switches = header.version.number() > 6;
    let (mut current, mut named) = (0, 0);
    let mut expected = Vec::new();
    for &record in records {
        if let Record::ContextSwitch(id) = record {
            current = id;
        }
        if has_switches || belongs_to_thread(&record) {
            named = current;
        }
        if has_switches || !matches!(record, Record::ContextSwitch(_)) {
            expected.push((named, record));
        }
    }
    expected
}

/// Whether the record names its thread in format 6.
fn belongs_to_thread(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::Allocation(_) | Record::FramePush(_) | Record::FramePop(_) | Record::ThreadName(_)
    )
}

/// Decodes bytes that may be anything. [`Reading`] checks that each step takes some of them.
fn decode_to_an_end(bytes: &[u8]) -> Result<usize, Error> {
    let reading = Reading::whole(bytes)?;
    Ok(reading.map_or(0, |reading| reading.n_bytes()))
}

proptest! {
    #![proptest_config(cases(4096))]

    #[test]
    fn headers_are_read_as_they_were_written(header in header(), rest in any::<[u8; 4]>()) {
        let mut bytes = Encoder::new(&header).finish();
        bytes.extend(rest);
        prop_assert_eq!(Header::parse(&bytes), Ok(Some((header, &rest[..]))));
    }

    #[test]
    fn every_cut_of_a_header_asks_for_more(header in header()) {
        let bytes = Encoder::new(&header).finish();
        for len in 0..bytes.len() {
            prop_assert_eq!(Header::parse(&bytes[..len]), Ok(None));
        }
    }

    #[test]
    fn records_are_read_as_they_were_written((header, records) in capture()) {
        let bytes = encoded(&header, &records);
        let reading = Reading::whole(&bytes).unwrap().unwrap();
        prop_assert_eq!(reading.records, with_threads(&header, &records));
        prop_assert_eq!(reading.header, header);
    }

    #[test]
    fn any_splitting_of_the_input_gives_the_same_records(
        (header, records) in capture(),
        ends in vec(any::<Index>(), 0..20),
    ) {
        let bytes = encoded(&header, &records);
        let mut ends: Vec<_> = ends.iter().map(|end| end.index(bytes.len())).collect();
        ends.sort_unstable();
        let reading = Reading::in_pieces(&bytes, &ends).unwrap().unwrap();
        prop_assert_eq!(reading.records, with_threads(&header, &records));
        prop_assert_eq!(reading.header, header);
    }

    #[test]
    fn a_cut_capture_decodes_to_the_first_of_its_records(
        (header, records) in capture(),
        end in any::<Index>(),
    ) {
        let bytes = encoded(&header, &records);
        let end = end.index(bytes.len());
        if let Some(reading) = Reading::whole(&bytes[..end]).unwrap() {
            let expected = with_threads(&header, &records);
            let n_records = reading.records.len();
            prop_assert!(n_records < expected.len());
            prop_assert_eq!(reading.records, &expected[..n_records]);
        }
    }

    #[test]
    fn a_changed_byte_does_no_harm(
        (header, records) in capture(),
        changes in vec((any::<Index>(), any::<u8>()), 20),
    ) {
        let mut bytes = encoded(&header, &records);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            let intact = std::mem::replace(&mut bytes[at], value);
            // Read, or refused: both are an end.
            let _ = decode_to_an_end(&bytes);
            bytes[at] = intact;
        }
    }

    #[test]
    fn any_bytes_behind_a_thread_do_no_harm(
        header in header(),
        bytes in vec(any::<u8>(), 0..200),
    ) {
        let switch = Record::ContextSwitch(1);
        let capture = [encoded(&header, &[switch]), bytes].concat();
        if let Ok(taken) = decode_to_an_end(&capture) {
            prop_assert!(taken <= capture.len());
        }
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn input_byte_by_byte_gives_the_same_records((header, records) in capture()) {
        let bytes = encoded(&header, &records);
        let ends: Vec<_> = (0..bytes.len()).collect();
        let reading = Reading::in_pieces(&bytes, &ends).unwrap().unwrap();
        prop_assert_eq!(reading.records, with_threads(&header, &records));
        prop_assert_eq!(reading.header, header);
    }
}
