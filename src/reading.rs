//! From a path that was typed to a profile.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{Counters, Source, SourceFiles, SourceLineOptions};
use memreport_render::aggregate::{Options, Origin, Profile, Question, Saved, read_profile};
use memreport_render::{Html, doubts, format_count};

use crate::cli::ReadArgs;
use crate::progress::{say, with_bar};
use crate::saved::{SavedRefusal, check_asked};

/// How a command ended that gave what was asked for.
pub(crate) enum Outcome {
    Done,
    /// From a capture that is damaged or truncated, and that was not allowed.
    FromDamagedCapture,
    /// What was checked is more than it may be.
    LimitBroken,
}

pub(crate) fn open(capture: &Path) -> Result<Source> {
    if capture == Path::new("-") {
        return Ok(Source::stdin());
    }
    Ok(Source::open(capture)?)
}

/// Reads the capture so that it can answer `question`, and says what is doubtful about it.
pub(crate) fn read(capture: &Path, args: &ReadArgs, question: Question) -> Result<Profile> {
    read_with(capture, args, question, SourceFiles::None)
}

/// The same, with lines of source from `files`.
pub(crate) fn read_with(
    capture: &Path,
    args: &ReadArgs,
    question: Question,
    files: SourceFiles,
) -> Result<Profile> {
    let Saved { profile, .. } = read_saved(capture, args, question, files)?;
    Ok(profile)
}

/// The same, with what decided what is in the profile.
pub(crate) fn read_saved(
    capture: &Path,
    args: &ReadArgs,
    question: Question,
    files: SourceFiles,
) -> Result<Saved> {
    let mut source = open(capture)?;
    let start = source.start()?;
    let mut saved = if Saved::is_saved(&start) {
        let saved = Saved::read(source.unwrapped()?)?;
        check_asked(&saved, args, files)?;
        saved
    } else if Html::is_report(&start) {
        bail!(SavedRefusal::Report);
    } else {
        from_capture(source, args, question, files)?
    };
    let profile = &mut saved.profile;
    if files == SourceFiles::None {
        profile.source_lines = None;
    }
    let name = args.name_captures.then_some(capture);
    say_doubts(profile, args, name);
    Ok(saved)
}

fn from_capture(
    source: Source,
    args: &ReadArgs,
    question: Question,
    files: SourceFiles,
) -> Result<Saved> {
    let symbols = SymbolOptions {
        sysroot: args.sysroot.clone(),
        symbol_paths: args.symbol_path.clone(),
        enabled: !args.no_symbols,
        ..SymbolOptions::default()
    };
    let defaults = Options::default();
    let options = Options {
        symbols,
        source_lines: SourceLineOptions {
            files,
            sysroot: args.sysroot.clone(),
        },
        max_memory_records: args
            .max_memory_records
            .unwrap_or(defaults.max_memory_records),
        temporary_threshold: match question {
            Question::Temporary { threshold } => threshold.max(defaults.temporary_threshold),
            _ => defaults.temporary_threshold,
        },
        memray_frames: args.show_memray_frames,
        ..defaults
    };
    let counters = Arc::new(Counters::default());
    let size = source.size();
    let profile = with_bar(args.quiet || args.no_bar, size, &counters, || {
        read_profile(source, &options, &counters)
    })?;
    let origin = Origin::new(&options);
    Ok(Saved { origin, profile })
}

/// Says what is doubtful about a profile, and what it does not have.
fn say_doubts(profile: &Profile, args: &ReadArgs, name: Option<&Path>) {
    let name = name.map_or_else(String::new, |name| format!("{}: ", name.display()));
    if profile.is_aggregated && !args.quiet {
        say(&format!(
            "note: {name}the capture holds only sums (memray run --aggregate): ranges of time, temporary allocations \
             and statistics are not in it",
        ));
    }
    let unread = profile
        .source_lines
        .as_ref()
        .map_or(0, |lines| lines.n_unreadable);
    if unread > 0 && !args.quiet {
        say(&format!(
            "note: {name}{} files of source are not here, or cannot be read",
            format_count(unread as u64)
        ));
    }
    for doubt in doubts(profile) {
        say(&format!("warning: {name}{doubt}"));
    }
}

/// The outcome of what was made from all of the profiles.
pub(crate) fn outcome(args: &ReadArgs, profiles: &[&Profile]) -> Outcome {
    let is_sound = |profile: &&Profile| {
        let doubtful = profile.warnings.iter().any(|w| w.kind.casts_doubt());
        profile.ending.is_complete() && !doubtful
    };
    if args.allow_truncated || profiles.iter().all(is_sound) {
        Outcome::Done
    } else {
        Outcome::FromDamagedCapture
    }
}
