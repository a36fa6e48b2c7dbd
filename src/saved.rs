//! What can be asked of a saved profile: what was decided when it was saved stays.

use anyhow::Result;
use memreport_ingest::SourceFiles;
use memreport_render::aggregate::Saved;
use thiserror::Error;

use crate::cli::ReadArgs;
use crate::progress::say;

/// Why a file that is no capture cannot do what is asked.
#[derive(Debug, Error)]
pub(crate) enum SavedRefusal {
    #[error("records are only in captures, and this is a saved profile: it has sums of them")]
    NoRecords,
    #[error("this is a report of memreport's, which does not hold all that reports are made from")]
    Report,
    #[error(
        "the saved profile keeps each {stride}. memory snapshot, at most {saved} of them: --max-memory-records {asked} is \
         for its capture"
    )]
    Snapshots {
        stride: usize,
        saved: u64,
        asked: usize,
    },
    #[error(
        "the native frames of a saved profile have their names already: {0} is for its capture"
    )]
    Symbols(&'static str),
    #[error(
        "memray's own frames were left out of the saved profile: --show-memray-frames is for its capture"
    )]
    MemrayFrames,
    #[error("the saved profile has no such lines of source: --source is for its capture")]
    Source,
}

/// That a saved profile gives what its capture would, with these options.
pub(crate) fn check_asked(saved: &Saved, args: &ReadArgs, files: SourceFiles) -> Result<()> {
    let (origin, profile) = (&saved.origin, &saved.profile);
    if let Some(asked) = args.max_memory_records {
        let is_same = asked as u64 == origin.max_memory_records;
        let has_all = profile.snapshot_stride == 1 && profile.slices.n_snapshots() <= asked;
        if !is_same && !has_all {
            return Err(SavedRefusal::Snapshots {
                stride: profile.snapshot_stride,
                saved: origin.max_memory_records,
                asked,
            }
            .into());
        }
    }
    if args.sysroot.is_some() {
        return Err(SavedRefusal::Symbols("--sysroot").into());
    }
    if !args.symbol_path.is_empty() {
        return Err(SavedRefusal::Symbols("--symbol-path").into());
    }
    if args.no_symbols && origin.symbols && profile.native.is_some() {
        return Err(SavedRefusal::Symbols("--no-symbols").into());
    }
    if args.show_memray_frames && !origin.memray_frames {
        return Err(SavedRefusal::MemrayFrames.into());
    }
    if files != SourceFiles::None && files != origin.source_files {
        return Err(SavedRefusal::Source.into());
    }
    if !args.quiet {
        kept(saved, args).into_iter().for_each(say);
    }
    Ok(())
}

/// What is not as it would be of the capture without options.
fn kept(saved: &Saved, args: &ReadArgs) -> Vec<&'static str> {
    let (origin, profile) = (&saved.origin, &saved.profile);
    let mut kept = Vec::new();
    if origin.memray_frames && !args.show_memray_frames {
        kept.push(
            "note: memray's own frames are shown, as was asked for when the profile was saved",
        );
    }
    if !origin.symbols && !args.no_symbols && profile.native.is_some() {
        kept.push("note: native frames have no names: the profile was saved with --no-symbols");
    }
    if args.max_memory_records.is_none()
        && origin.max_memory_records != 10_000
        && profile.snapshot_stride > 1
    {
        kept.push(
            "note: memory snapshots are thinned, as was asked for when the profile was saved",
        );
    }
    kept
}
