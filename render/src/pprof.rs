//! pprof's format: gzipped protocol buffers.

mod message;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use memreport_aggregate::ingest::{FrameId, NodeId, StringId, ThreadId};
use memreport_aggregate::{Profile, Question, Row, Selected, Selection};
use prost::Message;
use rustc_hash::FxHashMap;

use crate::doubts::doubts;
use crate::selection::{left_out, question_name};
use crate::stacks::{NO_STACK, Numbering, thread_label};
use crate::units::Units;
use crate::{Error, Output};
use message as proto;

/// A profile for `go tool pprof` and other readers of its format.
///
/// * Shape: a sample for each stack and, if threads are split, thread, which is a label. Values of a sample:
///   allocations and bytes ever made by the whole run (`alloc_objects`, `alloc_space`), then of the view:
///   `inuse_`, `leaked_` or `temporary_`, again `objects` and `space`; the last is the default. Of an
///   aggregated capture, the last two are all. Stacks are innermost first, whichever way they are shown
/// * Mappings are the program, then files of native code whose functions are not known. Frames have no
///   addresses
/// * Comments say what is shown, what a filter left out, and what is doubtful
/// * Errors: numbers from 2^63 on have no place in this format
/// * Source: `profile.proto` of github.com/google/pprof
#[derive(Debug, Clone, Default)]
pub struct Pprof {
    /// What is shown.
    pub selection: Selection,
}

impl Output for Pprof {
    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<(), Error> {
        let selected = self.selection.of(profile)?;
        let made = if profile.is_aggregated {
            None
        } else {
            Some(self.selection.made(profile)?)
        };
        let message = Builder::new(profile).build(&selected, made.as_ref())?;
        let mut gz = GzEncoder::new(out, Compression::default());
        gz.write_all(&message.encode_to_vec())?;
        gz.finish()?;
        Ok(())
    }
}

/// What samples are told apart by.
type Key = (NodeId, Option<ThreadId>);

/// The tables of a profile as they fill.
struct Builder<'p> {
    profile: &'p Profile,
    strings: Strings,
    names: FxHashMap<StringId, i64>,
    /// Functions by name and file, both numbers of strings.
    functions: Numbering<(i64, i64)>,
    locations: Numbering<FrameId>,
    /// Files, as numbers of strings.
    mappings: Numbering<i64>,
    lines: Vec<proto::Location>,
}

impl<'p> Builder<'p> {
    fn new(profile: &'p Profile) -> Self {
        let mut strings = Strings::default();
        strings.number("");
        let mut mappings = Numbering::default();
        let program = profile.metadata.command_line.as_str();
        mappings.number(strings.number(program));
        Self {
            profile,
            strings,
            names: FxHashMap::default(),
            functions: Numbering::default(),
            locations: Numbering::default(),
            mappings,
            lines: Vec::new(),
        }
    }

    fn build(
        mut self,
        selected: &Selected<'_>,
        made: Option<&Selected<'_>>,
    ) -> Result<proto::Profile, Error> {
        let prefix = match selected.question() {
            Question::Peak => "inuse",
            Question::Leaks => "leaked",
            Question::Temporary { .. } => "temporary",
        };
        let prefixes = made.map(|_| "alloc").into_iter().chain([prefix]);
        let sample_type: Vec<proto::ValueType> = prefixes
            .flat_map(|prefix| [(prefix, "objects", "count"), (prefix, "space", "bytes")])
            .map(|(prefix, what, unit)| self.value_type(&format!("{prefix}_{what}"), unit))
            .collect();
        let default_sample_type = sample_type.last().map_or(0, |last| last.r#type);
        let sample = self.samples(selected, made)?;
        let comments = comments(selected, made);
        let comment = comments.iter().map(|text| self.strings.number(text));
        let comment = comment.collect();
        let metadata = &self.profile.metadata;
        let duration = metadata.end_time_ms.saturating_sub(metadata.start_time_ms);
        Ok(proto::Profile {
            sample_type,
            sample,
            mapping: self.mapping_messages(),
            location: self.lines,
            function: function_messages(&self.functions),
            string_table: self.strings.texts,
            time_nanos: metadata.start_time_ms.saturating_mul(1_000_000),
            duration_nanos: duration.max(0).saturating_mul(1_000_000),
            comment,
            default_sample_type,
        })
    }

    fn value_type(&mut self, name: &str, unit: &str) -> proto::ValueType {
        proto::ValueType {
            r#type: self.strings.number(name),
            unit: self.strings.number(unit),
        }
    }

    /// Samples in the order of the first allocations of their stacks.
    fn samples(
        &mut self,
        selected: &Selected<'_>,
        made: Option<&Selected<'_>>,
    ) -> Result<Vec<proto::Sample>, Error> {
        let mut keys = Numbering::<Key>::default();
        let mut values: Vec<Vec<i64>> = Vec::new();
        let parts: Vec<&Selected<'_>> = made.into_iter().chain([selected]).collect();
        for (part, view) in parts.iter().enumerate() {
            for row in view.by_stack() {
                let number = keys.number(key(view, &row));
                if number == values.len() {
                    values.push(vec![0; 2 * parts.len()]);
                }
                let own = values.get_mut(number).and_then(|v| v.get_mut(2 * part..));
                if let Some([objects, space, ..]) = own {
                    *objects = signed(row.tally.allocations)?;
                    *space = signed(row.tally.bytes)?;
                }
            }
        }
        let samples = keys.things().iter().zip(values);
        let samples = samples.map(|(&(node, thread), value)| proto::Sample {
            location_id: self.stack(selected, node),
            value,
            label: thread
                .and_then(|thread| self.thread(thread))
                .into_iter()
                .collect(),
        });
        Ok(samples.collect())
    }

    /// Numbers of the locations of a stack, innermost first.
    fn stack(&mut self, selected: &Selected<'_>, node: NodeId) -> Vec<u64> {
        if node == NodeId(0) {
            return vec![self.location(FrameId(0))];
        }
        let frames = selected.stack(node);
        frames.map(|frame| self.location(frame)).collect()
    }

    /// The number of the location of a frame; frame 0 stands for allocations without stack.
    fn location(&mut self, id: FrameId) -> u64 {
        let number = self.locations.number(id);
        let location_id = id_of(number);
        if number < self.lines.len() {
            return location_id;
        }
        let frame = self.profile.frames.get(id);
        let function = if id == FrameId(0) {
            self.strings.number(NO_STACK)
        } else {
            self.name(frame.function)
        };
        let file = self.name(frame.file);
        // Of native code without symbols the file is the image's own.
        let is_image = frame.is_native
            && frame.line == 0
            && self.profile.strings.text(frame.function).contains("+0x");
        let mapping = if is_image {
            self.mappings.number(file)
        } else {
            0
        };
        self.lines.push(proto::Location {
            id: location_id,
            mapping_id: id_of(mapping),
            line: vec![proto::Line {
                function_id: id_of(self.functions.number((function, file))),
                line: frame.line.into(),
            }],
        });
        location_id
    }

    fn name(&mut self, id: StringId) -> i64 {
        let Self {
            profile,
            strings,
            names,
            ..
        } = self;
        *names
            .entry(id)
            .or_insert_with(|| strings.number(&profile.strings.text(id)))
    }

    fn thread(&mut self, id: ThreadId) -> Option<proto::Label> {
        let thread = self.profile.threads.get(id.index())?;
        let label = thread_label(self.profile, thread);
        Some(proto::Label {
            key: self.strings.number("thread"),
            str: self.strings.number(&label),
        })
    }

    fn mapping_messages(&self) -> Vec<proto::Mapping> {
        let files = self.mappings.things().iter().enumerate();
        files
            .map(|(number, &filename)| proto::Mapping {
                id: id_of(number),
                filename,
                // All names that there are are here: readers need not look for more.
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            })
            .collect()
    }
}

fn function_messages(functions: &Numbering<(i64, i64)>) -> Vec<proto::Function> {
    let functions = functions.things().iter().enumerate();
    functions
        .map(|(number, &(name, filename))| proto::Function {
            id: id_of(number),
            name,
            system_name: name,
            filename,
        })
        .collect()
}

fn key(view: &Selected<'_>, row: &Row) -> Key {
    (row.node, view.split_threads().then_some(row.thread))
}

fn comments(selected: &Selected<'_>, made: Option<&Selected<'_>>) -> Vec<String> {
    let range = if selected.is_whole_run() {
        "the whole run"
    } else {
        "a range of the run; alloc_objects and alloc_space are of the whole run"
    };
    let question = question_name(selected.question());
    let mut comments = vec![
        concat!("memreport ", env!("CARGO_PKG_VERSION")).to_owned(),
        format!("{question} of {range}"),
    ];
    let left_out = |view| left_out(view, Units::Iec);
    comments.extend(left_out(selected).map(|text| format!("{question}: {text}")));
    comments.extend(
        made.and_then(left_out)
            .map(|text| format!("allocations made: {text}")),
    );
    comments.extend(doubts(selected.profile()));
    comments
}

/// A value as the format has it.
fn signed(value: u64) -> Result<i64, Error> {
    i64::try_from(value).map_err(|_| Error::TooLarge { value })
}

/// Numbers of things start at 1 in this format.
fn id_of(number: usize) -> u64 {
    number as u64 + 1
}

/// The table of strings; the first is empty.
#[derive(Default)]
struct Strings {
    numbers: FxHashMap<String, i64>,
    texts: Vec<String>,
}

impl Strings {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = i64::try_from(self.texts.len()).unwrap_or(0);
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }
}
