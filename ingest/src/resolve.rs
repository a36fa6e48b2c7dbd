//! Turns recorded stacks into stacks to show: names and lines, without the profiler's own frames, native
//! frames between the Python ones.

use memreport_capture::{Header, PythonVersion};
use rustc_hash::FxHashMap;

use crate::call_tree::CallTree;
use crate::error::Error;
use crate::frames::{Frame, FrameTable};
use crate::hybrid::{Merged, NativeStackFrame, PythonFrame, Rule};
use crate::id::{FrameId, LocationId, NodeId, StackId, StringId};
use crate::locations::{Location, RecordedLocation};
use crate::modules::{FROZEN, ModuleOrigin, SearchPaths};
use crate::native::{NativeFrame, NativeSymbols, SymbolOptions, SymbolSummary, Symbolizer};
use crate::recorded::RecordedFrame;
use crate::tables::Tables;
use crate::thread::Thread;

/// Stacks and locations to show.
pub(crate) struct Shown {
    pub(crate) frames: FrameTable,
    pub(crate) call_tree: CallTree<FrameId>,
    pub(crate) locations: Vec<Location>,
    pub(crate) native: Option<NativeResult>,
}

/// How native stacks were resolved.
#[derive(Debug, Clone, Default)]
pub struct NativeResult {
    /// Addresses and modules, resolved or not.
    pub symbols: SymbolSummary,
    /// Stacks of which the Python frames only are shown: the native ones do not say where they go.
    pub n_unmerged: u64,
    /// Stacks whose native part is damaged and left out.
    pub n_damaged: u64,
    /// The native stacks of those that are not merged.
    pub unmerged: UnmergedStacks,
}

/// Native stacks that stand beside the Python ones, not among them.
///
/// * Source: `capture-format.md`, 13.1: such a stack is shown as Python's alone, as memray does it, so
///   that figures by stack stay comparable
#[derive(Debug, Clone, Default)]
pub struct UnmergedStacks {
    /// The native stacks, whole: with the profiler's own frames.
    pub stacks: CallTree<FrameId>,
    /// The native stack of each location that has one, by location.
    pub by_location: Vec<(LocationId, NodeId)>,
}

impl UnmergedStacks {
    /// Adds the stack of the location with this index; `native` is innermost first.
    fn add(&mut self, index: usize, native: &[NativeStackFrame]) -> Result<(), Error> {
        let mut node = CallTree::<FrameId>::ROOT;
        for frame in native.iter().rev() {
            node = self.stacks.intern(node, frame.frame)?;
        }
        let location = LocationId::new(index).ok_or(Error::TooMany { what: "locations" })?;
        self.by_location.push((location, node));
        Ok(())
    }
}

/// Resolves every stack that allocated. The `hidden` outermost frames of the main thread are left out.
pub(crate) fn resolve(
    header: &Header,
    tables: &mut Tables,
    locations: &[(RecordedLocation, u64)],
    threads: &[Thread],
    symbols: &SymbolOptions,
    hidden: u64,
) -> Result<Shown, Error> {
    let mut resolver = Resolver {
        // Formats that leave lines to us always name the Python version.
        python: header
            .python_version
            .unwrap_or(PythonVersion { major: 3, minor: 0 }),
        frames: FrameTable::default(),
        known: FxHashMap::default(),
        call_tree: CallTree::default(),
    };
    let is_main = |key: &RecordedLocation| {
        let thread = threads.get(key.thread.index());
        thread.is_some_and(|thread| Some(thread.id) == header.main_thread_id)
    };
    let (nodes, native) = if header.native_traces {
        let hidden_of = |key: &RecordedLocation| if is_main(key) { hidden } else { 0 };
        let (nodes, native) =
            resolver.hybrid_nodes(header, tables, locations, hidden_of, symbols)?;
        (nodes, Some(native))
    } else {
        (
            resolver.python_nodes(tables, locations, is_main, hidden)?,
            None,
        )
    };
    let modules = modules(&SearchPaths::new(header), tables, locations)?;
    let mut stacks = FxHashMap::default();
    let mut rows = Vec::with_capacity(locations.len());
    for ((key, first_sequence), node) in locations.iter().zip(nodes) {
        let next = StackId::new(stacks.len()).ok_or(Error::TooMany { what: "stacks" })?;
        rows.push(Location {
            node,
            stack: *stacks
                .entry((key.node, key.native_id, key.generation))
                .or_insert(next),
            python_frame: match tables.stacks.frame(key.node) {
                Some(frame) => resolver.frame(tables, frame)?,
                None => FrameId(0),
            },
            module: modules.get(key.node.index()).copied().unwrap_or_default(),
            thread: key.thread,
            allocator: key.allocator,
            first_sequence: *first_sequence,
        });
    }
    Ok(Shown {
        frames: resolver.frames,
        call_tree: resolver.call_tree,
        locations: rows,
        native,
    })
}

struct Resolver {
    python: PythonVersion,
    frames: FrameTable,
    known: FxHashMap<RecordedFrame, FrameId>,
    call_tree: CallTree<FrameId>,
}

impl Resolver {
    fn frame(&mut self, tables: &Tables, frame: RecordedFrame) -> Result<FrameId, Error> {
        if let Some(&id) = self.known.get(&frame) {
            return Ok(id);
        }
        let id = self
            .frames
            .intern(tables.definitions.resolve(frame, self.python))?;
        self.known.insert(frame, id);
        Ok(id)
    }

    /// The node to show of each location. The `hidden` outermost frames of the main thread's are left
    /// out.
    fn python_nodes(
        &mut self,
        tables: &Tables,
        locations: &[(RecordedLocation, u64)],
        is_main: impl Fn(&RecordedLocation) -> bool,
        hidden: u64,
    ) -> Result<Vec<NodeId>, Error> {
        let nodes = |main: bool| {
            let keys = locations.iter().map(|(key, _)| key);
            let of_kind = keys.filter(|key| is_main(key) == main);
            of_kind.map(|key| key.node).collect::<Vec<_>>()
        };
        let of_main = self.shown_nodes(tables, &nodes(true), hidden)?;
        let of_others = self.shown_nodes(tables, &nodes(false), 0)?;
        let shown = locations.iter().map(|(key, _)| {
            let nodes = if is_main(key) { &of_main } else { &of_others };
            nodes.get(key.node.index()).copied().unwrap_or_default()
        });
        Ok(shown.collect())
    }

    /// For each recorded node that is above one of `used`, the node to show, without the `hidden`
    /// outermost frames; for all others the root.
    fn shown_nodes(
        &mut self,
        tables: &Tables,
        used: &[NodeId],
        hidden: u64,
    ) -> Result<Vec<NodeId>, Error> {
        let needed = with_ancestors(&tables.stacks, used);
        let mut nodes = vec![NodeId::default(); tables.stacks.len()];
        let mut depths = vec![0_u64; tables.stacks.len()];
        for (node, parent, frame) in tables.stacks.nodes() {
            if !needed[node.index()] {
                continue;
            }
            let depth = depths[parent.index()] + 1;
            depths[node.index()] = depth;
            nodes[node.index()] = if depth <= hidden {
                nodes[parent.index()]
            } else {
                let frame = self.frame(tables, frame)?;
                self.call_tree.intern(nodes[parent.index()], frame)?
            };
        }
        Ok(nodes)
    }

    /// The node to show of each location, with native frames between the Python ones, without as many
    /// outermost Python frames as `hidden_of` says.
    fn hybrid_nodes(
        &mut self,
        header: &Header,
        tables: &mut Tables,
        locations: &[(RecordedLocation, u64)],
        hidden_of: impl Fn(&RecordedLocation) -> u64,
        symbols: &SymbolOptions,
    ) -> Result<(Vec<NodeId>, NativeResult), Error> {
        let rule = if header.version.has_main_thread() {
            Rule::OutsideIn
        } else {
            Rule::InsideOut
        };
        let maps = std::mem::take(&mut tables.native.maps).finish();
        let traces = std::mem::take(&mut tables.native.traces);
        let resolved =
            Symbolizer::new(maps, symbols.clone()).resolve_all(&traces.addresses(locations));
        let mut result = NativeResult {
            symbols: resolved.summary().clone(),
            ..NativeResult::default()
        };
        let mut interned = NativeFrames {
            symbols: &resolved,
            known: FxHashMap::default(),
        };
        let mut nodes = Vec::with_capacity(locations.len());
        let (mut python, mut native) = (Vec::new(), Vec::new());
        for (index, (key, _)) in locations.iter().enumerate() {
            python.clear();
            for frame in tables.stacks.stack(key.node) {
                let id = self.frame(tables, frame)?;
                let file = tables.strings.bytes(self.frames.get(id).file);
                python.push(PythonFrame {
                    frame: id,
                    is_entry: tables.definitions.is_entry(frame),
                    is_cython: file.ends_with(b".pyx"),
                });
            }
            native.clear();
            match traces.stack(key.native_id) {
                Some(addresses) => {
                    for ip in addresses {
                        native.extend(interned.frames(
                            key.generation,
                            ip,
                            tables,
                            &mut self.frames,
                        )?);
                    }
                }
                None => result.n_damaged += 1,
            }
            let merged = rule.merge(
                &python,
                &native,
                usize::try_from(hidden_of(key)).unwrap_or(usize::MAX),
            );
            let stack = match merged {
                Merged::Hybrid(stack) => stack,
                Merged::PythonOnly(stack) => {
                    if !native.is_empty() {
                        result.n_unmerged += 1;
                        result.unmerged.add(index, &native)?;
                    }
                    stack
                }
            };
            let mut node = CallTree::<FrameId>::ROOT;
            for frame in stack {
                node = self.call_tree.intern(node, frame)?;
            }
            nodes.push(node);
        }
        Ok((nodes, result))
    }
}

/// What a stack belongs to in which no frame tells.
const NO_MODULE: &[u8] = b"<root>";

/// The profiler's own module: its frames are those of whatever called it.
const PROFILER: &str = "memray";

/// The name of the top-level module that the allocations of each recorded node that has any are made for.
/// Where modules are guessed, and no path says where a folder of them is, all names are empty.
fn modules(
    paths: &SearchPaths,
    tables: &mut Tables,
    locations: &[(RecordedLocation, u64)],
) -> Result<Vec<StringId>, Error> {
    let nodes: Vec<NodeId> = locations.iter().map(|(key, _)| key.node).collect();
    let needed = with_ancestors(&tables.stacks, &nodes);
    let root = tables.strings.intern(NO_MODULE)?;
    // By file, what its frames say: nothing if it is the standard library's.
    let mut by_file = FxHashMap::<StringId, Option<StringId>>::default();
    let mut modules = vec![root; tables.stacks.len()];
    let mut is_told = *paths != SearchPaths::Guessed;
    for (node, parent, frame) in tables.stacks.nodes() {
        if !needed[node.index()] {
            continue;
        }
        let file = tables.definitions.file(frame);
        let own = match by_file.get(&file) {
            Some(&module) => module,
            None => {
                let path = tables.strings.text(file);
                let module = paths.module(&path);
                is_told |= module.origin != ModuleOrigin::Unknown && !path.starts_with(FROZEN);
                let module = match module.top_level() {
                    _ if module.origin == ModuleOrigin::StandardLibrary => None,
                    PROFILER => Some(root),
                    name => Some(tables.strings.intern(name.as_bytes())?),
                };
                by_file.insert(file, module);
                module
            }
        };
        modules[node.index()] = own.unwrap_or(modules[parent.index()]);
    }
    if !is_told {
        modules.fill(StringId::default());
    }
    Ok(modules)
}

/// Which nodes are among `used` or above one of them.
fn with_ancestors(stacks: &CallTree<RecordedFrame>, used: &[NodeId]) -> Vec<bool> {
    let mut needed = vec![false; stacks.len()];
    for node in used {
        needed[node.index()] = true;
    }
    for (node, parent, _) in stacks.nodes().rev() {
        needed[parent.index()] |= needed[node.index()];
    }
    needed
}

/// Frames at native addresses, interned once an address.
struct NativeFrames<'a> {
    symbols: &'a NativeSymbols,
    known: FxHashMap<(u32, u64), Vec<NativeStackFrame>>,
}

impl NativeFrames<'_> {
    /// The frames at a return address, innermost first.
    fn frames(
        &mut self,
        generation: u32,
        ip: u64,
        tables: &mut Tables,
        frames: &mut FrameTable,
    ) -> Result<&[NativeStackFrame], Error> {
        let key = (generation, ip);
        if !self.known.contains_key(&key) {
            let mut stack = Vec::new();
            for frame in self.symbols.frames(generation, ip) {
                stack.push(native_frame(frame, tables, frames)?);
            }
            self.known.insert(key, stack);
        }
        Ok(self.known.get(&key).map_or(&[], |stack| stack))
    }
}

fn native_frame(
    frame: &NativeFrame,
    tables: &mut Tables,
    frames: &mut FrameTable,
) -> Result<NativeStackFrame, Error> {
    let id = frames.intern(Frame {
        function: tables.strings.intern(frame.function.as_bytes())?,
        file: tables.strings.intern(frame.file.as_bytes())?,
        line: i32::try_from(frame.line).unwrap_or(0),
        is_native: true,
    })?;
    // `_TAIL_CALL_…` are the parts that Python 3.14 and later divide the loop into.
    let is_loop = frame.function.contains("_PyEval_EvalFrameDefault")
        || frame.function.starts_with("_TAIL_CALL_");
    Ok(NativeStackFrame { frame: id, is_loop })
}
