//! What a profile has once, or a few times: each fact after the other.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use memreport_ingest::capture::{Allocator, PythonVersion};
use memreport_ingest::native::{ModuleFault, ModuleFaultKind, SymbolSummary};
use memreport_ingest::{
    Container, Ending, FilePath, FrameId, LocationId, Metadata, NodeId, SearchPaths, SourceFiles,
    SourceLines, StackId, StringId, Thread, ThreadId, Warning, WarningKind,
};

use super::{Origin, Out};
use crate::columns::{ColumnReader, Fault};
use crate::profile::{Counts, RssPeak};

/// Something that is written, and read back the same.
pub(super) trait Fact: Sized {
    fn put(&self, out: &mut Out) -> io::Result<()>;
    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault>;
}

/// Structures, field by field in the order here. A field that is not named does not compile.
macro_rules! facts {
    ($($type:ident { $($field:ident),* $(,)? })*) => {$(
        impl Fact for $type {
            fn put(&self, out: &mut Out) -> io::Result<()> {
                let Self { $($field),* } = self;
                $($field.put(out)?;)*
                Ok(())
            }

            fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
                Ok(Self { $($field: Fact::take(from)?),* })
            }
        }
    )*};
}

/// All of them.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) origin: Origin,
    pub(super) metadata: Metadata,
    pub(super) containers: Vec<Container>,
    pub(super) bytes_read: u64,
    pub(super) size: Option<u64>,
    pub(super) ending: Ending,
    pub(super) warnings: Vec<Warning>,
    pub(super) threads: Vec<Thread>,
    pub(super) rss_peak: Option<RssPeak>,
    pub(super) is_aggregated: bool,
    pub(super) counts: Counts,
    pub(super) snapshot_stride: usize,
}

facts! {
    Facts {
        origin, metadata, containers, bytes_read, size, ending, warnings, threads, rss_peak,
        is_aggregated, counts, snapshot_stride,
    }
    Origin {
        generator, max_memory_records, temporary_threshold, symbols, memray_frames, source_files,
    }
    Metadata {
        format, memray, python, command_line, pid, start_time_ms, end_time_ms, main_thread_id,
        python_allocator, trace_python_allocators, has_native_traces, total_frames, search_paths,
    }
    PythonVersion { major, minor }
    Warning { kind, count, first_offset }
    Thread { id, name }
    RssPeak { slice, time_ms, rss, heap }
    Counts {
        records, events, object_events, allocations, allocated_bytes, implicit_frees,
        implicit_unmaps, unknown_deallocations,
    }
    SymbolSummary { n_addresses, n_unresolved, n_unmapped, n_modules, faults, modified }
    ModuleFault { path, kind, n_unresolved }
    SourceLines { lines, n_read, n_unreadable, changed }
}

impl Fact for u64 {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        out.u(*self)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        from.u()
    }
}

impl Fact for i64 {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        out.z(*self)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        from.z()
    }
}

/// Numbers that are written as a larger type, and are no larger than that when they are read.
macro_rules! narrow {
    ($($type:ty as $wide:ty),*) => {$(
        impl Fact for $type {
            fn put(&self, out: &mut Out) -> io::Result<()> {
                <$wide>::try_from(*self).map_err(io::Error::other)?.put(out)
            }

            fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
                let value = <$wide>::take(from)?;
                Self::try_from(value).map_err(|_| from.fault("a number is too large"))
            }
        }
    )*};
}

narrow!(u8 as u64, u32 as u64, usize as u64, i32 as i64);

/// Numbers of rows.
macro_rules! ids {
    ($($type:ident),*) => {$(
        impl Fact for $type {
            fn put(&self, out: &mut Out) -> io::Result<()> {
                self.0.put(out)
            }

            fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
                Ok(Self(Fact::take(from)?))
            }
        }
    )*};
}

ids!(StringId, FrameId, NodeId, StackId, ThreadId, LocationId);

/// Values that are numbers in the file.
macro_rules! numbered {
    ($($type:ty: $to:expr, $from:expr;)*) => {$(
        impl Fact for $type {
            fn put(&self, out: &mut Out) -> io::Result<()> {
                let number: u8 = ($to)(*self);
                number.put(out)
            }

            fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
                let value: Option<Self> = ($from)(u8::take(from)?);
                value.ok_or_else(|| from.fault("a number stands for nothing here"))
            }
        }
    )*};
}

numbered! {
    bool: u8::from, |number| [false, true].get(usize::from(number)).copied();
    WarningKind: WarningKind::number, WarningKind::from_number;
    Allocator: |allocator| allocator as u8, |number| {
        let index = usize::from(number).checked_sub(1)?;
        Allocator::ALL.get(index).copied()
    };
    Container: |container| match container {
        Container::Gzip => 0,
        Container::Lz4 => 1,
    }, |number| [Container::Gzip, Container::Lz4].get(usize::from(number)).copied();
    SourceFiles: |files| match files {
        SourceFiles::None => 0,
        SourceFiles::Python => 1,
        SourceFiles::All => 2,
    }, |number| {
        let all = [SourceFiles::None, SourceFiles::Python, SourceFiles::All];
        all.get(usize::from(number)).copied()
    };
}

fn put_text(text: &str, out: &mut Out) -> io::Result<()> {
    out.u(text.len() as u64)?;
    out.bytes(text.as_bytes())
}

impl Fact for String {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        put_text(self, out)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        let len = from.u()?;
        let text = str::from_utf8(from.bytes(len)?).map(str::to_owned);
        text.map_err(|_| from.fault("a text is not UTF-8"))
    }
}

impl Fact for Cow<'static, str> {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        put_text(self, out)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        Ok(Self::Owned(Fact::take(from)?))
    }
}

impl<T: Fact> Fact for Option<T> {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        self.is_some().put(out)?;
        self.as_ref().map_or(Ok(()), |value| value.put(out))
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        bool::take(from)?.then(|| T::take(from)).transpose()
    }
}

impl<T: Fact> Fact for Vec<T> {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        out.u(self.len() as u64)?;
        self.iter().try_for_each(|value| value.put(out))
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        let len = from.count()?;
        (0..len).map(|_| T::take(from)).collect()
    }
}

impl<K: Fact + Ord, V: Fact> Fact for BTreeMap<K, V> {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        out.u(self.len() as u64)?;
        self.iter().try_for_each(|(key, value)| {
            key.put(out)?;
            value.put(out)
        })
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        let len = from.count()?;
        (0..len)
            .map(|_| Ok((K::take(from)?, V::take(from)?)))
            .collect()
    }
}

impl Fact for Ending {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        let (kind, offset, record, reason) = self.to_parts();
        kind.put(out)?;
        offset.put(out)?;
        record.put(out)?;
        put_text(reason, out)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        let (kind, offset, record) = (u8::take(from)?, u64::take(from)?, u64::take(from)?);
        let ending = Self::from_parts(kind, offset, record, String::take(from)?);
        ending.ok_or_else(|| from.fault("a number stands for no ending"))
    }
}

impl Fact for ModuleFaultKind {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        let (number, why) = self.to_parts();
        number.put(out)?;
        put_text(why, out)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        let kind = Self::from_parts(u8::take(from)?, String::take(from)?);
        kind.ok_or_else(|| from.fault("a number stands for no fault of a module"))
    }
}

impl Fact for FilePath {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        self.to_string().put(out)
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        Ok(Self::new(&String::take(from)?))
    }
}

impl Fact for SearchPaths {
    fn put(&self, out: &mut Out) -> io::Result<()> {
        match self {
            Self::Guessed => false.put(out),
            Self::Recorded {
                standard_library,
                site_packages,
                sys_path,
            } => {
                true.put(out)?;
                standard_library.put(out)?;
                site_packages.put(out)?;
                sys_path.put(out)
            }
        }
    }

    fn take(from: &mut ColumnReader<'_>) -> Result<Self, Fault> {
        if !bool::take(from)? {
            return Ok(Self::Guessed);
        }
        Ok(Self::Recorded {
            standard_library: Fact::take(from)?,
            site_packages: Fact::take(from)?,
            sys_path: Fact::take(from)?,
        })
    }
}
