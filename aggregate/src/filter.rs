//! Which rows and frames of a view are shown.

use std::borrow::Cow;

use memreport_ingest::{CallTree, Frame, FrameId, LocationId, NodeId};
use regex::Regex;

use crate::error::Error;
use crate::frame_class::{is_import_system, is_irrelevant};
use crate::profile::Profile;

/// Which rows are shown, and which frames of them. The default shows all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    /// Whether stacks end before the first frame that imports modules: what an import allocates counts at
    /// the place that imports.
    pub hide_import_system: bool,
    /// Whether the interpreter's own machinery is left out of stacks.
    pub hide_internals: bool,
}

impl Filter {
    /// Shows only rows with a frame that one of the patterns in `include` matches, if there are any, and
    /// none that one in `exclude` matches. A pattern matches a frame by its function, its file, or the
    /// dotted name of its module.
    ///
    /// # Errors
    /// [`Error::NotAPattern`] for what is no regular expression.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, Error> {
        let compile = |patterns: &[String]| -> Result<Vec<Regex>, Error> {
            let regexes = patterns.iter().map(|pattern| Regex::new(pattern));
            Ok(regexes.collect::<Result<_, _>>()?)
        };
        Ok(Self {
            include: compile(include)?,
            exclude: compile(exclude)?,
            ..Self::default()
        })
    }

    /// Where what this leaves of a profile is shown.
    ///
    /// # Errors
    /// [`Error`] if there are more stacks than can be numbered.
    pub fn places<'p>(&self, profile: &'p Profile) -> Result<Places<'p>, Error> {
        let kept = self.keeps(profile);
        let shown = self.shown_tree(profile)?;
        let place = |node| match &shown {
            None => node,
            Some(shown) => shown.node(node),
        };
        let nodes = profile.locations.iter().map(|location| location.node);
        Ok(Places {
            nodes: nodes
                .map(|node| kept.node(node).then(|| place(node)))
                .collect(),
            call_tree: match shown {
                None => Cow::Borrowed(&profile.call_tree),
                Some(shown) => Cow::Owned(shown.call_tree),
            },
        })
    }

    /// Whether it leaves all rows.
    #[must_use]
    pub fn keeps_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Which nodes' rows are shown.
    fn keeps(&self, profile: &Profile) -> Kept {
        if self.keeps_all() {
            return Kept(None);
        }
        let frames = profile.frames.as_slice().iter();
        let frames: Vec<[bool; 2]> = frames.map(|frame| self.matches(profile, *frame)).collect();
        // Whether a frame of the stack is matched by what is included, and by what is excluded.
        let mut nodes = vec![[false; 2]; profile.call_tree.len()];
        for (node, parent, frame) in profile.call_tree.nodes() {
            let own = frames.get(frame.index()).copied().unwrap_or_default();
            let above = nodes[parent.index()];
            nodes[node.index()] = [own[0] || above[0], own[1] || above[1]];
        }
        let needs_match = !self.include.is_empty();
        let kept = nodes
            .into_iter()
            .map(|[included, excluded]| (included || !needs_match) && !excluded);
        Kept(Some(kept.collect()))
    }

    /// Whether one of the patterns of what is included matches the frame.
    pub(crate) fn includes(&self, profile: &Profile, frame: Frame) -> bool {
        self.matches(profile, frame)[0]
    }

    fn matches(&self, profile: &Profile, frame: Frame) -> [bool; 2] {
        let function = profile.strings.text(frame.function);
        let file = profile.strings.text(frame.file);
        let module = (!frame.is_native).then(|| profile.metadata.search_paths.module(&file).name);
        [&self.include, &self.exclude].map(|patterns| {
            patterns.iter().any(|pattern| {
                pattern.is_match(&function)
                    || pattern.is_match(&file)
                    || module.as_deref().is_some_and(|name| pattern.is_match(name))
            })
        })
    }

    /// The call tree without hidden frames; `None` if none is hidden.
    fn shown_tree(&self, profile: &Profile) -> Result<Option<ShownTree>, Error> {
        if !self.hide_import_system && !self.hide_internals {
            return Ok(None);
        }
        let frames = profile.frames.as_slice().iter();
        let frames: Vec<Hiding> = frames.map(|frame| self.hiding(profile, *frame)).collect();
        let mut call_tree = CallTree::default();
        let mut nodes = vec![CallTree::<FrameId>::ROOT; profile.call_tree.len()];
        let mut has_ended = vec![false; profile.call_tree.len()];
        for (node, parent, frame) in profile.call_tree.nodes() {
            let above = nodes[parent.index()];
            let hiding = frames.get(frame.index()).copied().unwrap_or_default();
            let ended = has_ended[parent.index()] || hiding == Hiding::FromHereOn;
            has_ended[node.index()] = ended;
            nodes[node.index()] = if ended || hiding == Hiding::Frame {
                above
            } else {
                call_tree.intern(above, frame)?
            };
        }
        Ok(Some(ShownTree { call_tree, nodes }))
    }

    fn hiding(&self, profile: &Profile, frame: Frame) -> Hiding {
        let function = profile.strings.text(frame.function);
        let file = profile.strings.text(frame.file);
        if self.hide_import_system && is_import_system(&function, &file) {
            Hiding::FromHereOn
        } else if self.hide_internals && is_irrelevant(&function, &file) {
            Hiding::Frame
        } else {
            Hiding::Nothing
        }
    }
}

/// What of a stack a frame hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Hiding {
    #[default]
    Nothing,
    /// Itself.
    Frame,
    /// Itself, and all that it calls.
    FromHereOn,
}

/// The stacks that a filter leaves, and which of them each location has.
#[derive(Debug, Clone)]
pub struct Places<'p> {
    call_tree: Cow<'p, CallTree<FrameId>>,
    nodes: Vec<Option<NodeId>>,
}

impl<'p> Places<'p> {
    /// The stacks, without hidden frames.
    #[must_use]
    pub fn call_tree(&self) -> &CallTree<FrameId> {
        &self.call_tree
    }

    /// The stack of a location as it is shown; `None` if the filter leaves it out.
    #[must_use]
    pub fn node(&self, location: LocationId) -> Option<NodeId> {
        self.nodes.get(location.index()).copied().flatten()
    }

    pub(crate) fn into_call_tree(self) -> Cow<'p, CallTree<FrameId>> {
        self.call_tree
    }
}

/// Nodes whose rows are shown: all, or those that are marked.
struct Kept(Option<Vec<bool>>);

impl Kept {
    fn node(&self, node: NodeId) -> bool {
        match &self.0 {
            None => true,
            Some(kept) => kept.get(node.index()).copied().unwrap_or(false),
        }
    }
}

/// A call tree without hidden frames, and which of its nodes stands for each node of the whole one.
struct ShownTree {
    call_tree: CallTree<FrameId>,
    nodes: Vec<NodeId>,
}

impl ShownTree {
    fn node(&self, node: NodeId) -> NodeId {
        self.nodes.get(node.index()).copied().unwrap_or_default()
    }
}
