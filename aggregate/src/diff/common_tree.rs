//! The stacks of two captures in one call tree, in which equal stacks are one node.

use std::collections::BTreeSet;

use memreport_ingest::{CallTree, Frame, FrameId, FrameTable, NodeId, StringTable};
use rustc_hash::FxHashMap;

use crate::diff::origin::CodeOrigin;
use crate::diff::own_files::OwnFiles;
use crate::error::Error;
use crate::profile::Profile;

/// When frames of two captures are the same.
#[derive(Debug, Clone, Default)]
pub struct DiffOptions {
    /// Whether their lines must be the same too.
    pub exact: bool,
    /// Folders that modules are imported from, besides the usual ones of Python.
    pub strip_prefixes: Vec<String>,
}

/// One of the two captures of a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The older one, or the one that is the measure.
    Base,
    /// The other.
    New,
}

impl Side {
    /// Both, in their order.
    pub const BOTH: [Self; 2] = [Self::Base, Self::New];
}

/// The call tree that two captures have in common.
///
/// * Two frames are the same if function and module are: the name that a module is imported by; of a native
///   frame the library, without folder and version; of the program's own files the path, or that below the
///   folder that the two captures have it in
/// * List, set and dictionary comprehensions belong to the function that they are in, as they do from Python
///   3.12 on, where they have no frame
/// * Lines count with [`DiffOptions::exact`] only, and comprehensions then have their frames; else lines of
///   [`CommonTree::frames`] are 0
#[derive(Debug, Clone, Default)]
pub struct CommonTree {
    /// Names, and modules.
    pub strings: StringTable,
    /// Distinct frames; the file is the module, as the base names it.
    pub frames: FrameTable,
    /// Stacks.
    pub call_tree: CallTree<FrameId>,
    /// For each frame, where it is met first: in the new capture if it is there.
    places: Vec<Option<(Side, FrameId)>>,
}

impl CommonTree {
    /// The tree of base and new, and the node in it of each node of theirs.
    ///
    /// # Errors
    /// [`Error`] if there are more names, frames or stacks than can be numbered.
    pub fn of(
        sides: [(&Profile, &CallTree<FrameId>); 2],
        options: &DiffOptions,
    ) -> Result<(Self, [Vec<NodeId>; 2]), Error> {
        let [base, new] = sides.map(|(profile, tree)| origins(profile, tree, options));
        let [own, other] = [&base, &new].map(|origins| {
            let paths = origins.values().filter_map(|origin| match origin {
                CodeOrigin::Own(path) => Some(path.clone()),
                CodeOrigin::Imported(_) | CodeOrigin::Library(_) => None,
            });
            paths.collect::<BTreeSet<_>>()
        });
        let own = OwnFiles::new(&own, &other);
        let mut common = Self::default();
        let same = |path: &str| path.to_owned();
        let base = common.add(sides[0], Side::Base, &base, options, same)?;
        let new = common.add(sides[1], Side::New, &new, options, |path| own.in_base(path))?;
        Ok((common, [base, new]))
    }

    /// Where the frame is in one of the captures, in the new one if it is there: the frame of that profile.
    #[must_use]
    pub fn place(&self, frame: FrameId) -> Option<(Side, FrameId)> {
        self.places.get(frame.index()).copied().flatten()
    }

    fn add(
        &mut self,
        (profile, tree): (&Profile, &CallTree<FrameId>),
        side: Side,
        origins: &FxHashMap<FrameId, CodeOrigin>,
        options: &DiffOptions,
        own: impl Fn(&str) -> String,
    ) -> Result<Vec<NodeId>, Error> {
        let mut frames = FxHashMap::default();
        let mut nodes = vec![NodeId::default(); tree.len()];
        for (node, parent, frame) in tree.nodes() {
            let inlined = !options.exact && is_inlined(profile, tree, parent, frame);
            let parent = nodes.get(parent.index()).copied().unwrap_or_default();
            if inlined {
                if let Some(slot) = nodes.get_mut(node.index()) {
                    *slot = parent;
                }
                continue;
            }
            let common = match frames.get(&frame) {
                Some(&common) => common,
                None => {
                    let module = match origins.get(&frame) {
                        Some(CodeOrigin::Own(path)) => own(path),
                        Some(CodeOrigin::Imported(name) | CodeOrigin::Library(name)) => {
                            name.clone()
                        }
                        None => String::new(),
                    };
                    let common = self.frame(profile, side, frame, &module, options.exact)?;
                    frames.insert(frame, common);
                    common
                }
            };
            let common = self.call_tree.intern(parent, common)?;
            if let Some(slot) = nodes.get_mut(node.index()) {
                *slot = common;
            }
        }
        Ok(nodes)
    }

    fn frame(
        &mut self,
        profile: &Profile,
        side: Side,
        id: FrameId,
        module: &str,
        is_exact: bool,
    ) -> Result<FrameId, Error> {
        let frame = profile.frames.get(id);
        let common = Frame {
            function: self.strings.intern(profile.strings.bytes(frame.function))?,
            file: self.strings.intern(module.as_bytes())?,
            line: if is_exact { frame.line } else { 0 },
            is_native: frame.is_native,
        };
        let common = self.frames.intern(common)?;
        if self.places.len() <= common.index() {
            self.places.resize(common.index() + 1, None);
        }
        if let Some(place) = self.places.get_mut(common.index())
            && place.is_none_or(|(met, _)| met != side)
        {
            *place = Some((side, id));
        }
        Ok(common)
    }
}

/// Whether the frame is a comprehension's that newer Pythons make part of the calling function.
fn is_inlined(profile: &Profile, tree: &CallTree<FrameId>, caller: NodeId, frame: FrameId) -> bool {
    let frame = profile.frames.get(frame);
    let is_comprehension = || {
        let function = profile.strings.bytes(frame.function);
        [&b"<listcomp>"[..], b"<setcomp>", b"<dictcomp>"].contains(&function)
    };
    let caller = tree.frame(caller).map(|caller| profile.frames.get(caller));
    !frame.is_native
        && caller.is_some_and(|caller| caller.file == frame.file && !caller.is_native)
        && is_comprehension()
}

/// Where the code of each frame is from.
fn origins(
    profile: &Profile,
    tree: &CallTree<FrameId>,
    options: &DiffOptions,
) -> FxHashMap<FrameId, CodeOrigin> {
    let mut by_file = FxHashMap::default();
    let mut origins = FxHashMap::default();
    for (_, _, id) in tree.nodes() {
        origins.entry(id).or_insert_with(|| {
            let frame = profile.frames.get(id);
            let of_file = || {
                let file = profile.strings.text(frame.file);
                CodeOrigin::of(&file, frame.is_native, &options.strip_prefixes)
            };
            let origin: &CodeOrigin = by_file
                .entry((frame.file, frame.is_native))
                .or_insert_with(of_file);
            origin.clone()
        });
    }
    origins
}
