//! Profiles of captures, and reports of them, made through the library.

use std::fmt::Debug;
use std::io::Cursor;
use std::sync::Arc;

use memreport_aggregate::{Error, Options, Profile, read_profile};
use memreport_ingest::{Counters, FrameId, NodeId, Source};
use memreport_render::{Csv, Gprof2dot, Json, Output, Speedscope, StatsJson};
use serde_json::Value;

use super::captures::Corpus;

/// The profile of a capture in memory.
pub(crate) fn profile_of(capture: &[u8], options: &Options) -> Result<Profile, Error> {
    let source = Source::from_reader("a capture", Cursor::new(capture.to_vec()));
    read_profile(source, options, &Arc::new(Counters::default()))
}

/// The profile of one of the repository's captures.
pub(crate) fn profile(name: &str) -> Profile {
    profile_in(&Corpus::own(), name, &Options::default())
}

pub(crate) fn profile_in(corpus: &Corpus, name: &str, options: &Options) -> Profile {
    profile_of(&corpus.bytes(name), options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of the repository's captures that hold every event: all but the aggregated ones.
pub(crate) fn captures_of_events() -> Vec<String> {
    let names = Corpus::own().entries().into_iter().map(|entry| entry.name);
    names.filter(|name| !name.contains("aggregate")).collect()
}

/// The names of the repository's aggregated captures.
pub(crate) fn aggregated_captures() -> Vec<String> {
    let names = Corpus::own().entries().into_iter().map(|entry| entry.name);
    names.filter(|name| name.contains("aggregate")).collect()
}

pub(crate) fn thinned(max_memory_records: usize) -> Options {
    Options {
        max_memory_records,
        ..Options::default()
    }
}

pub(crate) fn report(profile: &Profile, output: &dyn Output) -> Vec<u8> {
    let mut bytes = Vec::new();
    output.write(profile, &mut bytes).unwrap();
    bytes
}

/// Our JSON export with all its sections, parsed.
pub(crate) fn json(profile: &Profile) -> Value {
    let temporal = Json {
        temporal: true,
        ..Json::default()
    };
    parsed(profile, &temporal)
}

/// Our speedscope export, parsed.
pub(crate) fn speedscope(profile: &Profile) -> Value {
    parsed(profile, &Speedscope::default())
}

/// Our table of the peak's stacks.
pub(crate) fn csv(profile: &Profile) -> String {
    String::from_utf8(report(profile, &Csv::default())).unwrap()
}

/// Our call chains of the peak, parsed.
pub(crate) fn gprof2dot(profile: &Profile) -> Value {
    parsed(profile, &Gprof2dot::default())
}

/// Our statistics with all locations and modules, parsed.
pub(crate) fn stats(profile: &Profile) -> Value {
    parsed(profile, &StatsJson { top: usize::MAX })
}

fn parsed(profile: &Profile, output: &dyn Output) -> Value {
    serde_json::from_slice(&report(profile, output)).unwrap()
}

/// Function and line of each frame of a stack, innermost first.
pub(crate) fn stack(profile: &Profile, node: NodeId) -> Vec<(String, i32)> {
    let frame = |id: FrameId| {
        let frame = profile.frames.get(id);
        (
            profile.strings.text(frame.function).into_owned(),
            frame.line,
        )
    };
    profile.call_tree.stack(node).map(frame).collect()
}

/// Fails with a list of what is wrong, if anything is.
#[track_caller]
pub(crate) fn assert_none<T: Debug>(wrong: &[T], what: &str) {
    assert!(wrong.is_empty(), "{what}:\n{wrong:#?}");
}
