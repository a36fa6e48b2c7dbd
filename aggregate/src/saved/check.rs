//! What must hold between the tables of a profile, whoever wrote the file.
//!
//! A capture's profile has it by how it is made. Whoever answers from a profile relies on it: numbers
//! refer to rows that there are, and sums fit.

use memreport_ingest::{CallTree, FrameId, StringId};

use super::error::SavedError;
use crate::profile::Profile;

type Checked = Result<(), SavedError>;

pub(super) fn check(profile: &Profile) -> Checked {
    check_frames(profile)?;
    check_locations(profile)?;
    check_intervals(profile)?;
    check_sums(profile)?;
    check_native(profile)?;
    let n_slices = profile.slices.len();
    holds(
        profile.rss_peak.is_none_or(|peak| peak.slice < n_slices),
        "the largest resident set is in a slice that there is not",
    )?;
    holds(profile.snapshot_stride > 0, "no memory snapshot is kept")
}

fn holds(condition: bool, otherwise: &'static str) -> Checked {
    if condition {
        Ok(())
    } else {
        Err(SavedError::Contradiction(otherwise))
    }
}

fn has_frames(tree: &CallTree<FrameId>, n_frames: usize) -> bool {
    tree.nodes().all(|(_, _, frame)| frame.index() < n_frames)
}

fn check_frames(profile: &Profile) -> Checked {
    let is_string = |id: StringId| id.index() < profile.strings.len();
    let frames = profile.frames.as_slice();
    let named = frames
        .iter()
        .all(|frame| is_string(frame.function) && is_string(frame.file));
    holds(named, "a frame has a name that there is not")?;
    let threads = profile.threads.iter().all(|thread| is_string(thread.name));
    holds(threads, "a thread has a name that there is not")?;
    holds(
        has_frames(&profile.call_tree, frames.len()),
        "a stack has a frame that there is not",
    )
}

fn check_locations(profile: &Profile) -> Checked {
    let n_locations = profile.locations.len();
    let n_frames = profile.frames.as_slice().len();
    let fit = profile.locations.iter().all(|location| {
        location.node.index() < profile.call_tree.len()
            && location.stack.index() < n_locations
            && location.python_frame.index() < n_frames
            && location.module.index() < profile.strings.len()
            && location.thread.index() < profile.threads.len()
    });
    holds(fit, "a location refers to something that there is not")?;
    holds(
        profile.made.len() == n_locations,
        "there are not as many sums as locations",
    )?;
    let mut columns = profile.temporaries.by_distance.iter();
    holds(
        columns.all(|column| column.len() <= n_locations),
        "temporary allocations are of a location that there is not",
    )
}

fn check_intervals(profile: &Profile) -> Checked {
    let n_locations = profile.locations.len();
    let (mut allocations, mut bytes) = (0_u64, Some(0_u64));
    for row in &profile.intervals {
        if row.location.index() >= n_locations {
            return holds(false, "a row is of a location that there is not");
        }
        allocations = allocations.saturating_add(row.allocations.into());
        bytes = bytes.and_then(|sum| sum.checked_add(row.bytes));
    }
    holds(
        bytes.is_some() && allocations < u64::MAX,
        "its rows add up to more than 64 bits hold",
    )
}

fn check_sums(profile: &Profile) -> Checked {
    let mut made = profile.made.iter();
    let tallies = made.try_fold((0_u64, 0_u64), |sum, tally| {
        let allocations = sum.0.checked_add(tally.allocations)?;
        Some((allocations, sum.1.checked_add(tally.bytes)?))
    });
    holds(
        tallies.is_some(),
        "its sums add up to more than 64 bits hold",
    )?;
    let mut sizes = profile.sizes.iter();
    let sizes = sizes.try_fold((0_u64, 0_u64), |sum, &(size, count)| {
        let bytes = sum.1.checked_add(size.checked_mul(count)?)?;
        Some((sum.0.checked_add(count)?, bytes))
    });
    holds(
        sizes.is_some(),
        "its sizes add up to more than 64 bits hold",
    )?;
    let ascending = profile.sizes.windows(2).all(|pair| pair[0].0 < pair[1].0);
    holds(ascending, "its sizes are not in order")?;
    let counts = &profile.counts;
    let unseen = counts.implicit_frees.checked_add(counts.implicit_unmaps);
    holds(
        unseen.is_some(),
        "its counts add up to more than 64 bits hold",
    )?;
    let mut heaps = profile.slices.heap.iter().chain(&profile.slices.peaks);
    let fit = heaps.all(|&heap| i64::try_from(heap).is_ok());
    holds(
        fit || profile.is_aggregated,
        "a heap is larger than 63 bits hold",
    )
}

fn check_native(profile: &Profile) -> Checked {
    let n_frames = profile.frames.as_slice().len();
    if let Some(lines) = &profile.source_lines {
        let mut frames = lines.lines.keys();
        let known = frames.all(|frame| frame.index() < n_frames);
        holds(known, "a line of source is of a frame that there is not")?;
    }
    let Some(native) = &profile.native else {
        return Ok(());
    };
    let unmerged = &native.unmerged;
    let mut rows = unmerged.by_location.iter();
    let known = rows.all(|(location, node)| {
        location.index() < profile.locations.len() && node.index() < unmerged.stacks.len()
    });
    holds(
        known && has_frames(&unmerged.stacks, n_frames),
        "a native stack refers to something that there is not",
    )
}
