//! How much of a profile fits in a page of some size.

use std::io::{self, Write};

use memreport_aggregate::Profile;

use super::shown::Shown;
use crate::Error;

/// How much of a profile a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Detail {
    /// Nodes of the call tree that have a place of their own.
    pub(crate) max_nodes: usize,
    /// How many slices of the profile are one of the page's.
    pub(crate) stride: usize,
}

impl Detail {
    pub(crate) const ALL: Self = Self {
        max_nodes: usize::MAX,
        stride: 1,
    };

    /// Divides by `factor` whichever there is more of, nodes or slices; `None` when there is one of each.
    fn less(self, shown: &Shown<'_>, factor: usize) -> Option<Self> {
        let nodes = self.max_nodes.min(shown.depths.len());
        let slices = shown.slices.len();
        if nodes <= 1 && slices <= 2 {
            None
        } else if nodes >= slices || slices <= 2 {
            Some(Self {
                max_nodes: nodes.div_ceil(factor),
                ..self
            })
        } else {
            Some(Self {
                stride: factor * self.stride,
                ..self
            })
        }
    }
}

/// The page of at most `max_len` bytes that shows most, and what it shows. `write` writes it, of which
/// `fixed_len` bytes do not depend on what is shown.
pub(crate) fn fitted<'a>(
    profile: &'a Profile,
    max_len: u64,
    fixed_len: u64,
    write: impl Fn(&Shown<'a>, &mut dyn Write) -> Result<(), Error>,
) -> Result<(Vec<u8>, Shown<'a>), Error> {
    let mut detail = Detail::ALL;
    let mut tried: Option<Size> = None;
    let mut smallest = u64::MAX;
    loop {
        let shown = Shown::new(profile, detail);
        let expected = tried.map_or(0, |size: Size| size.of(&shown));
        let factor = if expected / 4 > max_len { 4 } else { 2 };
        let next = detail.less(&shown, factor);
        let is_hopeless = expected / 3 > max_len / 2;
        if let Some(next) = next.filter(|_| is_hopeless) {
            detail = next;
            continue;
        }
        let mut page = Bounded::new(max_len);
        write(&shown, &mut page)?;
        match (page.whole(), next) {
            (Ok(bytes), _) => return Ok((bytes, shown)),
            (Err(len), None) => {
                return Err(Error::PageSize {
                    allowed: max_len,
                    needed: smallest.min(len),
                });
            }
            (Err(len), Some(next)) => {
                smallest = smallest.min(len);
                tried = Some(Size {
                    fixed_len,
                    len,
                    n: things(&shown),
                });
                detail = next;
            }
        }
    }
}

/// How long a page became.
#[derive(Debug, Clone, Copy)]
struct Size {
    fixed_len: u64,
    len: u64,
    /// Nodes and rows in it.
    n: u64,
}

impl Size {
    /// About how long another one would become.
    fn of(self, shown: &Shown<'_>) -> u64 {
        let each = self.len.saturating_sub(self.fixed_len) / self.n.max(1);
        self.fixed_len
            .saturating_add(each.saturating_mul(things(shown)))
    }
}

fn things(shown: &Shown<'_>) -> u64 {
    (shown.depths.len() + shown.rows.len()) as u64
}

/// Keeps what is written as long as it is not too long, and counts it.
struct Bounded {
    bytes: Vec<u8>,
    len: u64,
    max_len: u64,
}

impl Bounded {
    fn new(max_len: u64) -> Self {
        Self {
            bytes: Vec::new(),
            len: 0,
            max_len,
        }
    }

    /// What was written, or how long it was.
    fn whole(self) -> Result<Vec<u8>, u64> {
        if self.len <= self.max_len {
            Ok(self.bytes)
        } else {
            Err(self.len)
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.len = self.len.saturating_add(bytes.len() as u64);
        if self.len <= self.max_len {
            self.bytes.extend_from_slice(bytes);
        } else {
            self.bytes = Vec::new();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
