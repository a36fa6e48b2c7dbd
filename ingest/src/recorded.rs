//! Stacks as records tell them, and how they become stacks to show.

use memreport_capture::{CodeObject, CodePush, FrameIndex, Header, PythonVersion};
use rustc_hash::FxHashMap;

use crate::call_tree::{CallTree, TreeKey};
use crate::error::Error;
use crate::frames::{Frame, FrameTable};
use crate::id::{FrameId, NodeId, StackId, StringId, ThreadId};
use crate::line_table;
use crate::locations::{Location, RecordedLocation};
use crate::strings::StringTable;
use crate::thread::Thread;

/// What identifies a frame in the capture: a frame's id up to format 11, then a place in a code
/// object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct RecordedFrame {
    id: u64,
    offset: i64,
    is_entry: bool,
}

impl TreeKey for RecordedFrame {
    #[inline]
    fn bits(&self) -> u64 {
        (self.id << 20) ^ (self.offset.cast_unsigned() << 1) ^ u64::from(self.is_entry)
    }
}

impl From<CodePush> for RecordedFrame {
    #[inline]
    fn from(push: CodePush) -> Self {
        Self {
            id: push.code_id,
            offset: push.instruction_offset,
            is_entry: push.is_entry,
        }
    }
}

impl From<u64> for RecordedFrame {
    #[inline]
    fn from(id: u64) -> Self {
        Self {
            id,
            offset: 0,
            is_entry: true,
        }
    }
}

/// What an id stands for.
#[derive(Debug)]
struct Definition {
    function: StringId,
    file: StringId,
    /// Line of the frame, or first line of the code object.
    line: i32,
    /// Line table of a code object.
    line_table: Option<Box<[u8]>>,
}

/// Definitions of frames and code objects, by id.
#[derive(Debug, Default)]
pub(crate) struct Definitions(FxHashMap<u64, Definition>);

impl Definitions {
    /// Adds a code object; `false` if its id is taken.
    pub(crate) fn add_code(
        &mut self,
        strings: &mut StringTable,
        code: &CodeObject<'_>,
    ) -> Result<bool, Error> {
        let definition = Definition {
            function: strings.intern(code.function)?,
            file: strings.intern(code.file)?,
            line: code.first_line,
            line_table: Some(code.line_table.into()),
        };
        Ok(self.add(code.id, definition))
    }

    /// Adds a frame; `false` if its id is taken.
    pub(crate) fn add_frame(
        &mut self,
        strings: &mut StringTable,
        frame: &FrameIndex<'_>,
    ) -> Result<bool, Error> {
        let definition = Definition {
            function: strings.intern(frame.function)?,
            file: strings.intern(frame.file)?,
            line: frame.line,
            line_table: None,
        };
        Ok(self.add(frame.id, definition))
    }

    fn add(&mut self, id: u64, definition: Definition) -> bool {
        let new = !self.0.contains_key(&id);
        self.0.entry(id).or_insert(definition);
        new
    }

    pub(crate) fn contains(&self, frame: RecordedFrame) -> bool {
        self.0.contains_key(&frame.id)
    }

    /// The frame to show. An id that was never defined gives a frame without names.
    fn resolve(&self, frame: RecordedFrame, python: PythonVersion) -> Frame {
        let Some(definition) = self.0.get(&frame.id) else {
            return Frame::default();
        };
        let line = match &definition.line_table {
            Some(table) => line_table::line(python, table, definition.line, frame.offset),
            None => definition.line,
        };
        Frame {
            function: definition.function,
            file: definition.file,
            line,
        }
    }
}

/// Stacks and locations to show.
pub(crate) struct Shown {
    pub(crate) frames: FrameTable,
    pub(crate) call_tree: CallTree<FrameId>,
    pub(crate) locations: Vec<Location>,
}

/// Resolves every stack that allocated, and takes the frames above the tracker off the main thread's.
pub(crate) fn resolve(
    header: &Header,
    definitions: &Definitions,
    recorded: &CallTree<RecordedFrame>,
    locations: &[(RecordedLocation, u64)],
    threads: &[Thread],
) -> Result<Shown, Error> {
    let main = header.main_thread_id;
    let is_main = |thread: ThreadId| {
        threads
            .get(thread.index())
            .is_some_and(|t| Some(t.id) == main)
    };
    let mut frames = FrameTable::default();
    let mut call_tree = CallTree::default();
    let resolver = Resolver::new(header, definitions, recorded);

    let all = locations.iter().map(|(key, _)| key);
    let of_main = all
        .clone()
        .filter(|key| is_main(key.thread))
        .map(|key| key.node);
    let of_others = all.filter(|key| !is_main(key.thread)).map(|key| key.node);
    let hidden = header.skipped_frames_on_main_thread;
    let main_nodes = resolver.shown_nodes(of_main, hidden, &mut frames, &mut call_tree)?;
    let other_nodes = resolver.shown_nodes(of_others, 0, &mut frames, &mut call_tree)?;

    let mut stacks = FxHashMap::default();
    let mut rows = Vec::with_capacity(locations.len());
    for (key, first_sequence) in locations {
        let next = StackId::new(stacks.len()).ok_or(Error::TooMany { what: "stacks" })?;
        let stack = *stacks
            .entry((key.node, key.native_id, key.generation))
            .or_insert(next);
        let nodes = if is_main(key.thread) {
            &main_nodes
        } else {
            &other_nodes
        };
        rows.push(Location {
            node: nodes.get(key.node.index()).copied().unwrap_or_default(),
            stack,
            thread: key.thread,
            allocator: key.allocator,
            first_sequence: *first_sequence,
        });
    }
    Ok(Shown {
        frames,
        call_tree,
        locations: rows,
    })
}

struct Resolver<'a> {
    python: PythonVersion,
    definitions: &'a Definitions,
    recorded: &'a CallTree<RecordedFrame>,
}

impl<'a> Resolver<'a> {
    fn new(
        header: &Header,
        definitions: &'a Definitions,
        recorded: &'a CallTree<RecordedFrame>,
    ) -> Self {
        // Formats that leave lines to us always name the Python version.
        let python = header
            .python_version
            .unwrap_or(PythonVersion { major: 3, minor: 0 });
        Self {
            python,
            definitions,
            recorded,
        }
    }

    /// For each recorded node that is above one of `used`, the node to show, without the `hidden`
    /// outermost frames; for all others the root.
    fn shown_nodes(
        &self,
        used: impl Iterator<Item = NodeId>,
        hidden: u64,
        frames: &mut FrameTable,
        shown: &mut CallTree<FrameId>,
    ) -> Result<Vec<NodeId>, Error> {
        let needed = self.with_ancestors(used);
        let mut nodes = vec![NodeId::default(); self.recorded.len()];
        let mut depths = vec![0_u64; self.recorded.len()];
        let mut known = FxHashMap::default();
        for (node, parent, frame) in self.recorded.nodes() {
            if !needed.get(node.index()).copied().unwrap_or(false) {
                continue;
            }
            let depth = depths.get(parent.index()).copied().unwrap_or(0) + 1;
            let above = nodes.get(parent.index()).copied().unwrap_or_default();
            let here = if depth <= hidden {
                above
            } else {
                let frame = match known.get(&frame) {
                    Some(&id) => id,
                    None => {
                        let id = frames.intern(self.definitions.resolve(frame, self.python))?;
                        known.insert(frame, id);
                        id
                    }
                };
                shown.intern(above, frame)?
            };
            if let (Some(depth_slot), Some(slot)) =
                (depths.get_mut(node.index()), nodes.get_mut(node.index()))
            {
                *depth_slot = depth;
                *slot = here;
            }
        }
        Ok(nodes)
    }

    fn with_ancestors(&self, used: impl Iterator<Item = NodeId>) -> Vec<bool> {
        let mut needed = vec![false; self.recorded.len()];
        let mark = |needed: &mut Vec<bool>, node: NodeId| {
            if let Some(slot) = needed.get_mut(node.index()) {
                *slot = true;
            }
        };
        used.for_each(|node| mark(&mut needed, node));
        for (node, parent, _) in self.recorded.nodes().rev() {
            if needed.get(node.index()).copied().unwrap_or(false) {
                mark(&mut needed, parent);
            }
        }
        needed
    }
}
