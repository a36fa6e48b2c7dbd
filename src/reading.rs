//! From a path that was typed to a profile.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{Counters, Source, SourceFiles, SourceLineOptions};
use memreport_render::aggregate::{Options, Profile, Question, read_profile};
use memreport_render::{doubts, format_count};

use crate::cli::ReadArgs;
use crate::progress::{say, with_bar};

/// How a command ended that gave what was asked for.
pub(crate) enum Outcome {
    Done,
    /// From a capture that is damaged or truncated, and that was not allowed.
    FromDamagedCapture,
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
    let source = open(capture)?;
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
        max_memory_records: args.max_memory_records,
        temporary_threshold: match question {
            Question::Temporary { threshold } => threshold.max(defaults.temporary_threshold),
            _ => defaults.temporary_threshold,
        },
        memray_frames: args.show_memray_frames,
        ..defaults
    };
    let counters = Arc::new(Counters::default());
    let size = source.size();
    let profile = with_bar(args.quiet, size, &counters, || {
        read_profile(source, &options, &counters)
    })?;
    if profile.is_aggregated && !args.quiet {
        say(
            "note: the capture holds only sums (memray run --aggregate): ranges of time, temporary allocations and \
             statistics are not in it",
        );
    }
    let unread = profile
        .source_lines
        .as_ref()
        .map_or(0, |lines| lines.n_unreadable);
    if unread > 0 && !args.quiet {
        say(&format!(
            "note: {} files of source are not here, or cannot be read",
            format_count(unread as u64)
        ));
    }
    for doubt in doubts(&profile) {
        say(&format!("warning: {doubt}"));
    }
    Ok(profile)
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
