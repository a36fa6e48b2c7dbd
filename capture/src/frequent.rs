//! Many records at a time: those that captures of format 12 and later are mostly made of.
//!
//! [`Decoder::decode`] serves every record, every piece of input and every fault. Here only the
//! frequent case is taken, and whatever is not plainly that case is left to it: a record near the end
//! of the input, a number of more than eight bytes, any other record, any fault.

use std::ops::ControlFlow;

use crate::allocator::{AllocatorKind, AllocatorTable};
use crate::decoder::Decoder;
use crate::delta::{AddressCache, Deltas};
use crate::record::allocation::by_number;
use crate::record::{Allocation, CodePush};
use crate::varint::{short_varint, unzigzag};
use crate::version::Stream;

/// Takes the frequent records of one thread, in their order. Each method says whether to go on.
pub trait FrequentRecords {
    /// A block of an allocator of [`AllocatorKind::Allocation`] begins; the record starts at `offset` of
    /// the (decompressed) capture.
    fn allocated(&mut self, allocation: Allocation, offset: u64) -> ControlFlow<()>;

    /// The block at `address` ends.
    fn freed(&mut self, address: u64) -> ControlFlow<()>;

    /// A frame is entered; the record starts at `offset`.
    fn push(&mut self, push: CodePush, offset: u64) -> ControlFlow<()>;

    /// So many frames are left; the record starts at `offset`.
    fn pop(&mut self, count: u32, offset: u64) -> ControlFlow<()>;
}

/// What must be there of the input from a record's start on: more than the longest frequent record.
const WINDOW: usize = 64;

impl Decoder {
    /// Decodes frequent records from the start of `input` as long as it can or is told to, all of them
    /// of [`Decoder::thread_id`]. Returns how many bytes they take; there may be more of them behind.
    ///
    /// A record whose last byte is zero, with another zero behind it, is left alone: it can be one that
    /// is half written, at the start of the zero fill that a killed process leaves.
    pub fn decode_frequent(&mut self, input: &[u8], sink: &mut impl FrequentRecords) -> usize {
        if self.stream != Stream::Prefixes || !self.progress.is_in_thread() {
            return 0;
        }
        if self.native_traces {
            self.run::<true>(input, sink)
        } else {
            self.run::<false>(input, sink)
        }
    }

    fn run<const NATIVE_TRACES: bool>(
        &mut self,
        input: &[u8],
        sink: &mut impl FrequentRecords,
    ) -> usize {
        let start = self.progress.offset();
        let mut run = Run::<NATIVE_TRACES> {
            input,
            allocators: self.allocators,
            deltas: &mut self.deltas,
        };
        let (mut at, mut n_records) = (0, 0_u64);
        while let Some((end, flow)) = run.record(at, start, sink) {
            at = end;
            n_records = n_records.wrapping_add(1);
            if flow.is_break() {
                break;
            }
        }
        self.progress.advance(at, n_records);
        at
    }
}

struct Run<'a, const NATIVE_TRACES: bool> {
    input: &'a [u8],
    allocators: &'static AllocatorTable,
    deltas: &'a mut Deltas,
}

/// Where a record that was taken ends, or its length, and whether to go on; `None` leaves it to
/// [`Decoder::decode`].
type Taken = Option<(usize, ControlFlow<()>)>;

impl<const NATIVE_TRACES: bool> Run<'_, NATIVE_TRACES> {
    /// The record at `at`, if it is a frequent one; `start` is the offset of the input.
    #[inline(always)]
    fn record(&mut self, at: usize, start: u64, sink: &mut impl FrequentRecords) -> Taken {
        let window = Window(self.input.get(at..)?.first_chunk()?);
        let first = window.byte(0);
        let offset = start.wrapping_add(at as u64);
        let (len, flow) = if first & 0x80 != 0 {
            self.allocation(window, first, offset, sink)?
        } else if first & 0x40 != 0 {
            push(window, first, offset, sink)?
        } else if first >> 4 == 1 {
            (1, sink.pop(u32::from(first & 15).wrapping_add(1), offset))
        } else {
            return None;
        };
        Some((at.wrapping_add(len), flow))
    }

    #[inline(always)]
    fn allocation(
        &mut self,
        window: Window<'_>,
        first: u8,
        offset: u64,
        sink: &mut impl FrequentRecords,
    ) -> Taken {
        let mut len = 1;
        let slot = (first >> 3) & 15;
        let mut pointer = None;
        let address = if slot < AddressCache::SLOTS {
            self.deltas.addresses.get(slot)
        } else {
            let step = unzigzag(window.varint(&mut len)?);
            let stepped = self.deltas.pointer.wrapping_add(step);
            pointer = Some(stepped);
            stepped << 3
        };
        let mut number = first & 7;
        if number == 0 {
            number = window.byte(len);
            len = len.wrapping_add(1);
        }
        let allocator = by_number(self.allocators, number)?;
        match allocator.kind() {
            AllocatorKind::Deallocation => {
                window.check_end(len)?;
                self.keep(address, pointer);
                Some((len, sink.freed(address)))
            }
            AllocatorKind::Allocation => {
                let mut native_id = 0;
                if NATIVE_TRACES {
                    let step = unzigzag(window.varint(&mut len)?);
                    native_id = self.deltas.native_id.wrapping_add(step);
                }
                let size = window.varint(&mut len)?;
                window.check_end(len)?;
                self.keep(address, pointer);
                if NATIVE_TRACES {
                    self.deltas.native_id = native_id;
                }
                let allocation = Allocation {
                    address,
                    size,
                    allocator,
                    native_id,
                };
                Some((len, sink.allocated(allocation, offset)))
            }
            _ => None,
        }
    }

    /// Remembers an address that was not in the cache.
    #[inline(always)]
    fn keep(&mut self, address: u64, pointer: Option<u64>) {
        if let Some(pointer) = pointer {
            self.deltas.pointer = pointer;
            self.deltas.addresses.insert(address);
        }
    }
}

#[inline(always)]
fn push(window: Window<'_>, first: u8, offset: u64, sink: &mut impl FrequentRecords) -> Taken {
    let mut len = 1;
    let code_id = window.varint(&mut len)?;
    let instruction_offset = unzigzag(window.varint(&mut len)?).cast_signed();
    window.check_end(len)?;
    let push = CodePush {
        code_id,
        instruction_offset,
        is_entry: first & 1 == 1,
    };
    Some((len, sink.push(push, offset)))
}

/// The input from a record's start on. Masks spare the checks of bounds: no frequent record reaches
/// the middle.
#[derive(Clone, Copy)]
struct Window<'a>(&'a [u8; WINDOW]);

impl Window<'_> {
    const MASK: usize = WINDOW / 2 - 1;

    #[inline(always)]
    fn byte(self, at: usize) -> u8 {
        self.0.get(at & Self::MASK).copied().unwrap_or_default()
    }

    /// The varint at `at`, which moves behind it; `None` if it has more than eight bytes.
    #[inline(always)]
    fn varint(self, at: &mut usize) -> Option<u64> {
        let bytes = self.0.get(*at & Self::MASK..)?.first_chunk()?;
        let (value, len) = short_varint(u64::from_le_bytes(*bytes))?;
        *at = at.wrapping_add(len);
        Some(value)
    }

    /// `None` for a record that ends, before `end`, in a zero with another behind it.
    #[inline(always)]
    fn check_end(self, end: usize) -> Option<()> {
        let last = self.byte(end.wrapping_sub(1));
        (last | self.byte(end) != 0).then_some(())
    }
}
