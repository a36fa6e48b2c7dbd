//! A selection by function: what each has of its own, and with what it calls.

use memreport_ingest::{FrameId, StringId, Tally, ThreadId};
use rustc_hash::FxHashMap;

use crate::selection::Selected;

/// What a selection has of a function, whichever its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionRow {
    /// Its name and its file; `None` stands for stacks without frames.
    pub function: Option<(StringId, StringId)>,
    /// The allocating thread, if threads are split.
    pub thread: Option<ThreadId>,
    /// What it allocates itself. Over all rows these add up to the selection's total.
    pub own: Tally,
    /// What it and all that it calls allocate; a stack counts once, however often the function is in it.
    pub total: Tally,
}

impl Selected<'_> {
    /// The rows by function, in the order in which their stacks, innermost frame first, are met.
    ///
    /// * Source: `semantics.md`, section 9
    #[must_use]
    pub fn by_function(&self) -> Vec<FunctionRow> {
        let mut places = FxHashMap::default();
        let mut functions: Vec<FunctionRow> = Vec::new();
        // The row that a function was last met in.
        let mut met_in: Vec<usize> = Vec::new();
        for (number, row) in self.by_stack().into_iter().enumerate() {
            let thread = self.split_threads().then_some(row.thread);
            let mut is_innermost = true;
            let mut frames = self.stack(row.node);
            let mut next = frames.next();
            loop {
                let function = next.map(|frame| self.function(frame));
                let place = *places.entry((function, thread)).or_insert_with(|| {
                    let (own, total) = (Tally::default(), Tally::default());
                    functions.push(FunctionRow {
                        function,
                        thread,
                        own,
                        total,
                    });
                    met_in.push(usize::MAX);
                    functions.len() - 1
                });
                if let (Some(of), Some(met_in)) = (functions.get_mut(place), met_in.get_mut(place))
                {
                    if is_innermost {
                        of.own.add_all(row.tally);
                    }
                    if *met_in != number {
                        of.total.add_all(row.tally);
                    }
                    *met_in = number;
                }
                is_innermost = false;
                next = frames.next();
                if next.is_none() {
                    break;
                }
            }
        }
        functions
    }

    fn function(&self, frame: FrameId) -> (StringId, StringId) {
        let frame = self.profile().frames.get(frame);
        (frame.function, frame.file)
    }
}
