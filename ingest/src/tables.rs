//! What records define and later ones refer to: names, frames, stacks, threads, native nodes.

use memreport_capture::{CodeObject, FrameIndex, Header, NativeTrace, Segment, SegmentHeader};
use rustc_hash::FxHashSet;

use crate::call_tree::CallTree;
use crate::error::Error;
use crate::id::{NodeId, ThreadId};
use crate::locations::RecordedLocation;
use crate::native::MemoryMapsBuilder;
use crate::recorded::{Definitions, RecordedFrame};
use crate::strings::StringTable;
use crate::thread::{ThreadState, Threads};
use crate::warning::{WarningKind, Warnings};

/// Tables that grow while a capture is read.
pub(crate) struct Tables {
    pub(crate) strings: StringTable,
    pub(crate) definitions: Definitions,
    pub(crate) stacks: CallTree<RecordedFrame>,
    pub(crate) threads: Threads,
    pub(crate) native: NativeRecords,
    pub(crate) warnings: Warnings,
    /// The thread that records belong to, by memray's number and by ours.
    current_id: u64,
    pub(crate) current: ThreadId,
}

impl Tables {
    pub(crate) fn new(header: &Header) -> Self {
        Self {
            strings: StringTable::default(),
            definitions: Definitions::default(),
            stacks: CallTree::default(),
            threads: Threads::default(),
            native: NativeRecords {
                is_used: header.native_traces,
                ..NativeRecords::default()
            },
            warnings: Warnings::default(),
            current_id: 0,
            current: ThreadId::default(),
        }
    }

    /// What follows belongs to this thread.
    #[inline]
    pub(crate) fn switch_to(&mut self, thread_id: u64) -> Result<(), Error> {
        if thread_id != self.current_id {
            self.current_id = thread_id;
            self.current = self.threads.intern(thread_id)?;
        }
        Ok(())
    }

    /// The current thread, if there was any yet.
    #[inline]
    pub(crate) fn thread(&mut self) -> Option<&mut ThreadState> {
        self.threads.get_mut(self.current)
    }

    pub(crate) fn thread_name(&mut self, name: &[u8]) -> Result<(), Error> {
        let name = self.strings.intern(name)?;
        if let Some(state) = self.thread() {
            state.thread.name = name;
        }
        Ok(())
    }

    pub(crate) fn code_object(&mut self, code: &CodeObject<'_>, offset: u64) -> Result<(), Error> {
        let new = self.definitions.add_code(&mut self.strings, code)?;
        self.defined(new, offset);
        Ok(())
    }

    pub(crate) fn frame_index(&mut self, frame: &FrameIndex<'_>, offset: u64) -> Result<(), Error> {
        let new = self.definitions.add_frame(&mut self.strings, frame)?;
        self.defined(new, offset);
        Ok(())
    }

    fn defined(&mut self, new: bool, offset: u64) {
        if !new {
            self.warnings.add(WarningKind::DuplicateDefinition, offset);
        }
    }

    pub(crate) fn native_trace(&mut self, trace: NativeTrace, offset: u64) {
        if !self.native.trace(trace) {
            self.warnings.add(WarningKind::UndefinedNativeStack, offset);
        }
    }

    /// The stack that `frame` makes of `parent`'s.
    pub(crate) fn stack(
        &mut self,
        parent: NodeId,
        frame: RecordedFrame,
        offset: u64,
    ) -> Result<NodeId, Error> {
        let Self {
            stacks,
            definitions,
            warnings,
            ..
        } = self;
        enter(stacks, definitions, warnings, parent, frame, offset)
    }
}

/// The stack that `frame` makes of `parent`'s; one that is new must have a definition.
#[inline]
pub(crate) fn enter(
    stacks: &mut CallTree<RecordedFrame>,
    definitions: &Definitions,
    warnings: &mut Warnings,
    parent: NodeId,
    frame: RecordedFrame,
    offset: u64,
) -> Result<NodeId, Error> {
    let n_nodes = stacks.len();
    let node = stacks.intern(parent, frame)?;
    if stacks.len() > n_nodes && !definitions.contains(frame) {
        warnings.add(WarningKind::UndefinedFrame, offset);
    }
    Ok(node)
}

/// Native stacks, and what was mapped where, as recorded.
#[derive(Debug, Default)]
pub(crate) struct NativeRecords {
    /// Whether the capture has native stacks; else nothing depends on these records.
    is_used: bool,
    pub(crate) traces: NativeTraces,
    pub(crate) maps: MemoryMapsBuilder,
}

impl NativeRecords {
    /// Adds a node of the tree; `false` if its caller does not come before it.
    pub(crate) fn trace(&mut self, trace: NativeTrace) -> bool {
        let is_defined = !self.is_used || self.is_defined(trace.parent);
        if self.is_used {
            self.traces.0.push(trace);
        }
        is_defined
    }

    /// Whether there is such a node by now, or it is the empty stack.
    pub(crate) fn is_defined(&self, node: u64) -> bool {
        node <= self.n_nodes()
    }

    /// Nodes that are defined by now; they have the numbers from 1 on.
    #[inline]
    pub(crate) fn n_nodes(&self) -> u64 {
        self.traces.0.len() as u64
    }

    pub(crate) fn start_map(&mut self) {
        if self.is_used {
            self.maps.start_map();
        }
    }

    pub(crate) fn image(&mut self, header: &SegmentHeader<'_>) {
        if self.is_used {
            self.maps.add_image(header.file, header.address);
        }
    }

    pub(crate) fn segment(&mut self, segment: Segment) {
        if self.is_used {
            self.maps.add_segment(segment.virtual_address, segment.size);
        }
    }

    /// Number of the current memory map, from 1; 0 before the first.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.maps.generations()
    }
}

/// The tree of native stacks; node k of the capture, counted from 1, is at index k - 1.
#[derive(Debug, Default)]
pub(crate) struct NativeTraces(Vec<NativeTrace>);

impl NativeTraces {
    fn get(&self, node: u64) -> Option<NativeTrace> {
        let index = usize::try_from(node.checked_sub(1)?).ok()?;
        self.0.get(index).copied()
    }

    /// The return addresses of a stack, innermost first; none for node 0. `None` if there is no such
    /// node, or one of its callers does not come before it.
    pub(crate) fn stack(&self, mut node: u64) -> Option<Vec<u64>> {
        let mut addresses = Vec::new();
        while node != 0 {
            let trace = self.get(node).filter(|trace| trace.parent < node)?;
            addresses.push(trace.instruction_pointer);
            node = trace.parent;
        }
        Some(addresses)
    }

    /// The distinct addresses of the locations' stacks, each with the generation that it is of.
    pub(crate) fn addresses(&self, locations: &[(RecordedLocation, u64)]) -> Vec<(u32, u64)> {
        let mut seen = FxHashSet::default();
        let mut addresses = Vec::new();
        for (key, _) in locations {
            let mut node = key.native_id;
            while node != 0 && seen.insert((key.generation, node)) {
                let Some(trace) = self.get(node).filter(|trace| trace.parent < node) else {
                    break;
                };
                addresses.push((key.generation, trace.instruction_pointer));
                node = trace.parent;
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }
}
