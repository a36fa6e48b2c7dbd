//! Takes records for the time that decoding them takes.

use std::ops::ControlFlow;

use memreport_capture::{Allocation, CodePush, FrequentRecords};

/// The sum of fields, so that none can be left undecoded.
#[derive(Debug, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    fn add(&mut self, value: u64) -> ControlFlow<()> {
        self.0 = self.0.wrapping_add(value);
        ControlFlow::Continue(())
    }
}

impl FrequentRecords for Sum {
    #[inline]
    fn allocated(&mut self, allocation: Allocation, _offset: u64) -> ControlFlow<()> {
        self.add(allocation.address ^ allocation.size)
    }

    #[inline]
    fn freed(&mut self, address: u64) -> ControlFlow<()> {
        self.add(address)
    }

    #[inline]
    fn push(&mut self, push: CodePush, _offset: u64) -> ControlFlow<()> {
        self.add(push.code_id ^ push.instruction_offset.cast_unsigned())
    }

    #[inline]
    fn pop(&mut self, count: u32, _offset: u64) -> ControlFlow<()> {
        self.add(count.into())
    }
}
