//! Tables but the interval table: each column after the other.

use std::io;

use memreport_ingest::capture::Allocator;
use memreport_ingest::{
    CallTree, Frame, FrameId, FrameTable, Location, LocationId, NativeResult, NodeId, StackId,
    StringId, StringTable, Tally, ThreadId, UnmergedStacks,
};

use super::Out;
use super::facts::Fact;
use crate::columns::{ColumnReader, Fault};
use crate::slices::Slices;
use crate::temporaries::Temporaries;

/// Strings but the empty one: lengths, then bytes.
pub(super) fn put_strings(strings: &StringTable, out: &mut Out) -> io::Result<()> {
    let ids = || (1..strings.len()).filter_map(StringId::new);
    out.u(strings.len() as u64 - 1)?;
    ids().try_for_each(|id| out.u(strings.bytes(id).len() as u64))?;
    ids().try_for_each(|id| out.bytes(strings.bytes(id)))
}

pub(super) fn take_strings(from: &mut ColumnReader<'_>) -> Result<StringTable, Fault> {
    let n = from.count()?;
    let lengths = from.column(n)?;
    let mut strings = StringTable::default();
    for (number, length) in (1..).zip(lengths) {
        let bytes = from.bytes(length)?;
        if strings.intern(bytes).ok() != StringId::new(number) {
            return Err(from.fault("a string is there twice"));
        }
    }
    Ok(strings)
}

/// Frames but the root's: functions, files, lines, whether they are native.
pub(super) fn put_frames(frames: &FrameTable, out: &mut Out) -> io::Result<()> {
    let frames = frames.as_slice().get(1..).unwrap_or_default();
    out.u(frames.len() as u64)?;
    // A column that is forgotten here does not compile.
    let columns = |frame: &Frame| {
        let Frame {
            function,
            file,
            line,
            is_native,
        } = *frame;
        (function, file, line, is_native)
    };
    let frames = || frames.iter().map(columns);
    out.z_deltas(frames().map(|(function, ..)| function.0.into()), 0)?;
    out.z_deltas(frames().map(|(_, file, ..)| file.0.into()), 0)?;
    frames().try_for_each(|(_, _, line, _)| line.put(out))?;
    frames().try_for_each(|(.., is_native)| is_native.put(out))
}

pub(super) fn take_frames(from: &mut ColumnReader<'_>) -> Result<FrameTable, Fault> {
    let n = from.count()?;
    let functions = ids(from, n)?;
    let files = ids(from, n)?;
    let lines = several::<i32>(from, n)?;
    let native = several::<bool>(from, n)?;
    let mut frames = FrameTable::default();
    let columns = functions.into_iter().zip(files).zip(lines).zip(native);
    for (number, (((function, file), line), is_native)) in (1..).zip(columns) {
        let frame = Frame {
            function: StringId(function),
            file: StringId(file),
            line,
            is_native,
        };
        if frames.intern(frame).ok() != FrameId::new(number) {
            return Err(from.fault("a frame is there twice"));
        }
    }
    Ok(frames)
}

/// Nodes but the root: how far back their parents are, then frames.
pub(super) fn put_nodes(tree: &CallTree<FrameId>, out: &mut Out) -> io::Result<()> {
    out.u(tree.len() as u64 - 1)?;
    tree.nodes()
        .try_for_each(|(node, parent, _)| out.u(u64::from(node.0 - parent.0)))?;
    out.z_deltas(tree.nodes().map(|(_, _, frame)| frame.0.into()), 0)
}

pub(super) fn take_nodes(from: &mut ColumnReader<'_>) -> Result<CallTree<FrameId>, Fault> {
    let n = from.count()?;
    let back = several::<u32>(from, n)?;
    let frames = ids(from, n)?;
    let mut tree = CallTree::default();
    for ((number, back), frame) in (1_u32..).zip(back).zip(frames) {
        let parent = number.checked_sub(back).filter(|&parent| parent < number);
        let parent = parent.ok_or_else(|| from.fault("a stack is no part of another"))?;
        if tree.intern(NodeId(parent), FrameId(frame)).ok() != Some(NodeId(number)) {
            return Err(from.fault("a stack is there twice"));
        }
    }
    Ok(tree)
}

/// Locations: nodes, stacks, Python frames, modules, threads, allocators, first sequence numbers.
pub(super) fn put_locations(locations: &[Location], out: &mut Out) -> io::Result<()> {
    out.u(locations.len() as u64)?;
    let columns = locations.iter().map(|location| {
        let Location {
            node,
            stack,
            python_frame,
            module,
            thread,
            allocator,
            first_sequence,
        } = *location;
        let ids = [node.0, stack.0, python_frame.0, module.0, thread.0];
        (ids.map(u64::from), allocator, first_sequence)
    });
    let columns: Vec<_> = columns.collect();
    for column in 0..5 {
        out.z_deltas(columns.iter().map(|(ids, ..)| ids[column]), 0)?;
    }
    columns
        .iter()
        .try_for_each(|(_, allocator, _)| allocator.put(out))?;
    out.z_deltas(columns.iter().map(|&(.., first)| first), 0)
}

pub(super) fn take_locations(from: &mut ColumnReader<'_>) -> Result<Vec<Location>, Fault> {
    let n = from.count()?;
    let (nodes, stacks, python_frames) = (ids(from, n)?, ids(from, n)?, ids(from, n)?);
    let (modules, threads) = (ids(from, n)?, ids(from, n)?);
    let allocators = several::<Allocator>(from, n)?;
    let firsts = from.z_deltas(n, 0)?;
    let columns = nodes
        .into_iter()
        .zip(stacks)
        .zip(python_frames)
        .zip(modules);
    let columns = columns.zip(threads).zip(allocators).zip(firsts);
    let locations = columns.map(
        |((((((node, stack), python_frame), module), thread), allocator), first_sequence)| {
            Location {
                node: NodeId(node),
                stack: StackId(stack),
                python_frame: FrameId(python_frame),
                module: StringId(module),
                thread: ThreadId(thread),
                allocator,
                first_sequence,
            }
        },
    );
    Ok(locations.collect())
}

/// Slices: times and resident sets of snapshots, then heap, peaks, moments and ends of slices.
pub(super) fn put_slices(slices: &Slices, out: &mut Out) -> io::Result<()> {
    let Slices {
        times_ms,
        rss,
        heap,
        peaks,
        moments,
        ends,
    } = slices;
    out.u(times_ms.len() as u64)?;
    let mut columns = [times_ms, rss, heap, peaks, moments, ends].into_iter();
    columns.try_for_each(|column| out.z_deltas(column.iter().copied(), 0))
}

pub(super) fn take_slices(from: &mut ColumnReader<'_>) -> Result<Slices, Fault> {
    let n_snapshots = from.count()?;
    if n_snapshots >= (u32::MAX / 2 - 1) as usize {
        return Err(from.fault("there are more slices than can be numbered"));
    }
    let n_slices = n_snapshots + 1;
    Ok(Slices {
        times_ms: from.z_deltas(n_snapshots, 0)?,
        rss: from.z_deltas(n_snapshots, 0)?,
        heap: from.z_deltas(n_slices, 0)?,
        peaks: from.z_deltas(n_slices, 0)?,
        moments: from.z_deltas(n_slices, 0)?,
        ends: from.z_deltas(n_slices, 0)?,
    })
}

/// Tallies: allocations, then bytes.
pub(super) fn put_tallies(tallies: &[Tally], out: &mut Out) -> io::Result<()> {
    out.u(tallies.len() as u64)?;
    tallies
        .iter()
        .try_for_each(|tally| out.u(tally.allocations))?;
    tallies.iter().try_for_each(|tally| {
        let Tally {
            allocations: _,
            bytes,
        } = tally;
        out.u(*bytes)
    })
}

pub(super) fn take_tallies(from: &mut ColumnReader<'_>) -> Result<Vec<Tally>, Fault> {
    let n = from.count()?;
    let (allocations, bytes) = (from.column(n)?, from.column(n)?);
    let tallies = allocations.into_iter().zip(bytes);
    Ok(tallies
        .map(|(allocations, bytes)| Tally { allocations, bytes })
        .collect())
}

/// Temporary allocations: tallies for each number of allocations in between.
pub(super) fn put_temporaries(temporaries: &Temporaries, out: &mut Out) -> io::Result<()> {
    let Temporaries { by_distance } = temporaries;
    out.u(by_distance.len() as u64)?;
    by_distance
        .iter()
        .try_for_each(|tallies| put_tallies(tallies, out))
}

pub(super) fn take_temporaries(from: &mut ColumnReader<'_>) -> Result<Temporaries, Fault> {
    let n = from.count()?;
    let by_distance: Result<_, Fault> = (0..n).map(|_| take_tallies(from)).collect();
    Ok(Temporaries {
        by_distance: by_distance?,
    })
}

/// Sizes, then their numbers of allocations.
pub(super) fn put_sizes(sizes: &[(u64, u64)], out: &mut Out) -> io::Result<()> {
    out.u(sizes.len() as u64)?;
    out.z_deltas(sizes.iter().map(|&(size, _)| size), 0)?;
    sizes.iter().try_for_each(|&(_, count)| out.u(count))
}

pub(super) fn take_sizes(from: &mut ColumnReader<'_>) -> Result<Vec<(u64, u64)>, Fault> {
    let n = from.count()?;
    let (sizes, counts) = (from.z_deltas(n, 0)?, from.column(n)?);
    Ok(sizes.into_iter().zip(counts).collect())
}

/// How native stacks were resolved, with those that stand beside Python's.
pub(super) fn put_native(native: Option<&NativeResult>, out: &mut Out) -> io::Result<()> {
    native.is_some().put(out)?;
    let Some(native) = native else {
        return Ok(());
    };
    let NativeResult {
        symbols,
        n_unmerged,
        n_damaged,
        unmerged: UnmergedStacks {
            stacks,
            by_location,
        },
    } = native;
    symbols.put(out)?;
    n_unmerged.put(out)?;
    n_damaged.put(out)?;
    put_nodes(stacks, out)?;
    out.u(by_location.len() as u64)?;
    out.z_deltas(by_location.iter().map(|(location, _)| location.0.into()), 0)?;
    out.z_deltas(by_location.iter().map(|(_, node)| node.0.into()), 0)
}

pub(super) fn take_native(from: &mut ColumnReader<'_>) -> Result<Option<NativeResult>, Fault> {
    if !bool::take(from)? {
        return Ok(None);
    }
    let symbols = Fact::take(from)?;
    let (n_unmerged, n_damaged) = (from.u()?, from.u()?);
    let stacks = take_nodes(from)?;
    let n = from.count()?;
    let (locations, nodes) = (ids(from, n)?, ids(from, n)?);
    let by_location = locations
        .into_iter()
        .map(LocationId)
        .zip(nodes.into_iter().map(NodeId));
    Ok(Some(NativeResult {
        symbols,
        n_unmerged,
        n_damaged,
        unmerged: UnmergedStacks {
            stacks,
            by_location: by_location.collect(),
        },
    }))
}

/// A column of facts.
fn several<T: Fact>(from: &mut ColumnReader<'_>, n: usize) -> Result<Vec<T>, Fault> {
    (0..n).map(|_| T::take(from)).collect()
}

/// A column of four-byte numbers, as the differences of neighbours.
fn ids(from: &mut ColumnReader<'_>, n: usize) -> Result<Vec<u32>, Fault> {
    let mut ids = Vec::with_capacity(from.room(n));
    let mut before = 0_u64;
    for _ in 0..n {
        before = before.wrapping_add_signed(from.z()?);
        let id = u32::try_from(before).ok().filter(|&id| id != u32::MAX);
        ids.push(id.ok_or_else(|| from.fault("a number is longer than 32 bits"))?);
    }
    Ok(ids)
}
