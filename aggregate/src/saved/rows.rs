//! The interval table. It is most of a file: its columns are sections of their own, read side by side.

use std::io;

use memreport_ingest::LocationId;

use super::Out;
use super::error::SavedError;
use super::file::{Packed, SectionId};
use crate::columns::{ColumnReader, Fault};
use crate::interval_table::{Interval, NEVER};
use crate::slices::Slices;

/// Start and location of a row.
type Key = (u32, u32);

/// Starts and locations: for each tick its number of rows and, within it, the differences of locations.
pub(super) fn put_keys(rows: &[Interval], slices: &Slices, out: &mut Out) -> io::Result<()> {
    let mut left = rows;
    out.u(rows.len() as u64)?;
    for tick in 0..n_ticks(slices) {
        let len = left.partition_point(|row| row.start <= tick);
        let (of_tick, rest) = left.split_at(len);
        out.u(len as u64)?;
        out.u_deltas(of_tick.iter().map(|row| row.location.0.into()))?;
        left = rest;
    }
    Ok(())
}

fn take_keys(from: &mut ColumnReader<'_>, slices: &Slices) -> Result<Vec<Key>, Fault> {
    let n = from.count()?;
    let mut keys = Vec::with_capacity(n);
    for tick in 0..n_ticks(slices) {
        let len = usize::try_from(from.u()?).ok();
        let len = len.filter(|&len| len <= n - keys.len());
        let len = len.ok_or_else(|| from.fault("there are more rows than it says"))?;
        let mut location = 0_u32;
        for _ in 0..len {
            let next = location.checked_add(from.u32()?);
            location = next.ok_or_else(|| from.fault("a location is longer than 32 bits"))?;
            keys.push((tick, location));
        }
    }
    if keys.len() < n {
        return Err(from.fault("there are fewer rows than it says"));
    }
    Ok(keys)
}

/// Ticks from start to end; 0 for what never ends.
pub(super) fn put_ends(rows: &[Interval], out: &mut Out) -> io::Result<()> {
    rows.iter().try_for_each(|row| {
        out.u(match row.end {
            NEVER => 0,
            end => u64::from(end.saturating_sub(row.start)),
        })
    })
}

pub(super) fn put_allocations(rows: &[Interval], out: &mut Out) -> io::Result<()> {
    rows.iter()
        .try_for_each(|row| out.u(row.allocations.into()))
}

pub(super) fn put_bytes(rows: &[Interval], out: &mut Out) -> io::Result<()> {
    rows.iter().try_for_each(|row| out.u(row.bytes))
}

/// Sequence numbers of first allocations, from where the row's tick starts.
pub(super) fn put_firsts(rows: &[Interval], slices: &Slices, out: &mut Out) -> io::Result<()> {
    for of_tick in rows.chunk_by(|a, b| a.start == b.start) {
        let Some(first) = of_tick.first() else {
            continue;
        };
        let start = tick_start(slices, first.start);
        for row in of_tick {
            // A destructuring, so that a column that is not saved does not compile.
            let Interval {
                start: _,
                location: _,
                end: _,
                allocations: _,
                bytes: _,
                first_sequence,
            } = row;
            out.z(first_sequence.wrapping_sub(start).cast_signed())?;
        }
    }
    Ok(())
}

/// Reads all columns.
pub(super) fn read(packed: &Packed, slices: &Slices) -> Result<Vec<Interval>, SavedError> {
    let keys = packed.take(SectionId::KEYS, |from| take_keys(from, slices))?;
    let n = keys.len();
    // The two longest columns on one side, so that both sides take as long.
    let (left, right) = rayon::join(
        || {
            let ends = packed.take(SectionId::ENDS, |from| take_ends(from, &keys, slices))?;
            let allocations = packed.take(SectionId::ALLO, |from| {
                (0..n).map(|_| from.u32()).collect::<Result<Vec<_>, _>>()
            })?;
            Ok::<_, SavedError>((ends, allocations))
        },
        || {
            let (bytes, firsts) = rayon::join(
                || packed.take(SectionId::BYTE, |from| from.column(n)),
                || packed.take(SectionId::SEQN, |from| take_firsts(from, &keys, slices)),
            );
            Ok::<_, SavedError>((bytes?, firsts?))
        },
    );
    let ((ends, allocations), (bytes, firsts)) = (left?, right?);
    let columns = keys
        .into_iter()
        .zip(ends)
        .zip(allocations)
        .zip(bytes)
        .zip(firsts);
    let rows = columns.map(
        |(((((start, location), end), allocations), bytes), first_sequence)| Interval {
            start,
            location: LocationId(location),
            end,
            allocations,
            bytes,
            first_sequence,
        },
    );
    Ok(rows.collect())
}

fn take_ends(
    from: &mut ColumnReader<'_>,
    keys: &[Key],
    slices: &Slices,
) -> Result<Vec<u32>, Fault> {
    let n_ticks = n_ticks(slices);
    let mut ends = Vec::with_capacity(from.room(keys.len()));
    for &(start, _) in keys {
        ends.push(match from.u32()? {
            0 => NEVER,
            duration => start
                .checked_add(duration)
                .filter(|&end| end < n_ticks)
                .ok_or_else(|| from.fault("a row ends after the last slice"))?,
        });
    }
    Ok(ends)
}

fn take_firsts(
    from: &mut ColumnReader<'_>,
    keys: &[Key],
    slices: &Slices,
) -> Result<Vec<u64>, Fault> {
    let mut firsts = Vec::with_capacity(from.room(keys.len()));
    for of_tick in keys.chunk_by(|a, b| a.0 == b.0) {
        let start = of_tick
            .first()
            .map_or(0, |&(tick, _)| tick_start(slices, tick));
        for _ in of_tick {
            firsts.push(start.wrapping_add_signed(from.z()?));
        }
    }
    Ok(firsts)
}

fn n_ticks(slices: &Slices) -> u32 {
    u32::try_from(slices.len())
        .unwrap_or(u32::MAX / 2)
        .saturating_mul(2)
}

/// How many events had been processed when a tick starts.
fn tick_start(slices: &Slices, tick: u32) -> u64 {
    let slice = (tick / 2) as usize;
    let start = if tick % 2 == 1 {
        slices.moments.get(slice)
    } else {
        slice
            .checked_sub(1)
            .and_then(|before| slices.ends.get(before))
    };
    start.copied().unwrap_or(0)
}
