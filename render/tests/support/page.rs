//! The tables inside the page, read by their description and not by the code that writes them.

use std::collections::BTreeMap;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::html::{Element, elements};

/// The sections, in the order of the page; the last may be left out.
const SECTIONS: [&str; 8] = [
    "CODE", "SNAP", "STRS", "FRAM", "NODE", "LOCS", "ROWS", "TEMP",
];

type Reader = fn(&mut Page, &mut Columns<'_>);

/// The end of a row that never ends.
pub(crate) const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) elements: Vec<Element>,
    pub(crate) meta: Value,
    /// The viewer's script.
    pub(crate) code: String,
    /// Of the sections, uncompressed.
    pub(crate) lengths: Vec<(&'static str, usize)>,
    /// Milliseconds since the start, RSS, heap: at each snapshot.
    pub(crate) snapshots: Vec<(i64, u64, u64)>,
    /// Highest heap, and after how many events: in each slice.
    pub(crate) slices: Vec<(u64, u64)>,
    pub(crate) strings: Vec<String>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) locations: Vec<Location>,
    pub(crate) rows: Vec<Row>,
    /// Temporary allocations of each location: how many, and bytes.
    pub(crate) temporaries: Option<Vec<(u64, u64)>>,
    /// All allocations that were made, in a page of two captures.
    pub(crate) made: Option<Vec<(u64, u64)>>,
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) function: usize,
    pub(crate) file: usize,
    pub(crate) line: u64,
    pub(crate) source: usize,
    pub(crate) flags: u8,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) parent: usize,
    pub(crate) depth: usize,
    pub(crate) frame: usize,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) node: usize,
    pub(crate) thread: usize,
    pub(crate) allocator: usize,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) start: u64,
    pub(crate) location: usize,
    pub(crate) end: u64,
    pub(crate) allocations: u64,
    pub(crate) bytes: u64,
}

impl Page {
    pub(crate) fn new(page: &str) -> Self {
        let elements = elements(page);
        let sections = sections(&elements);
        let mut page = Self::empty(meta(&elements));
        let names = sections.iter().map(|(name, _)| name.as_str());
        assert!(SECTIONS.into_iter().take(sections.len()).eq(names));
        assert!(sections.len() + 1 >= SECTIONS.len(), "a section is missing");
        let lengths = SECTIONS.into_iter().zip(&sections);
        page.lengths = lengths
            .map(|(name, (_, bytes))| (name, bytes.len()))
            .collect();
        let readers = [
            Self::read_code,
            Self::read_snapshots,
            Self::read_strings,
            Self::read_frames,
            Self::read_nodes,
            Self::read_locations,
            Self::read_rows,
            Self::read_temporaries,
        ];
        for ((name, bytes), read) in sections.iter().zip(readers) {
            page.read(name, bytes, read);
        }
        page.elements = elements;
        page
    }

    /// A page of two captures, as it is of either of them. Locations are nodes; `whole` of META is all of it.
    pub(crate) fn of_two(page: &str) -> [Self; 2] {
        let elements = elements(page);
        let meta = meta(&elements);
        let sections: BTreeMap<_, _> = sections(&elements).into_iter().collect();
        let lengths = sections.iter().map(|(name, bytes)| (name, bytes.len()));
        assert_eq!(meta["sections"], json!(lengths.collect::<BTreeMap<_, _>>()));
        [0, 1].map(|side| {
            let mut facts = meta["captures"][side].clone();
            for count in ["strings", "frames", "nodes"] {
                facts["counts"][count] = meta["counts"][count].clone();
            }
            facts["counts"]["locations"] = meta["counts"]["nodes"].clone();
            facts["whole"] = meta.clone();
            let mut page = Self::empty(facts);
            for (name, read) in [
                ("CODE", Self::read_code as Reader),
                ("SNAP", Self::read_snapshots),
                ("STRS", Self::read_strings),
                ("FRAM", Self::read_frames),
                ("NODE", Self::read_nodes),
                ("ROWS", Self::read_rows),
                ("TEMP", Self::read_temporaries),
                ("MADE", Self::read_made),
            ] {
                let of_side = sections.get(&format!("{name}{side}"));
                if let Some(bytes) = of_side.or_else(|| sections.get(name)) {
                    page.read(name, bytes, read);
                }
            }
            assert_eq!(page.temporaries.is_some(), page.made.is_some());
            page.locations = (0..page.nodes.len())
                .map(|node| Location {
                    node,
                    thread: 0,
                    allocator: 0,
                })
                .collect();
            page.elements.clone_from(&elements);
            page
        })
    }

    fn empty(meta: Value) -> Self {
        Self {
            lengths: Vec::new(),
            meta,
            code: String::new(),
            snapshots: Vec::new(),
            slices: Vec::new(),
            strings: Vec::new(),
            frames: Vec::new(),
            nodes: Vec::new(),
            locations: Vec::new(),
            rows: Vec::new(),
            temporaries: None,
            made: None,
            elements: Vec::new(),
        }
    }

    fn read(&mut self, name: &str, bytes: &[u8], read: Reader) {
        let mut columns = Columns(bytes);
        read(self, &mut columns);
        assert!(columns.0.is_empty(), "{name} is longer than its columns");
    }

    fn count(&self, of: &str) -> usize {
        let count = self.meta["counts"][of].as_u64().expect("a count");
        usize::try_from(count).expect("a count")
    }

    fn read_code(&mut self, columns: &mut Columns<'_>) {
        let code = columns.take(columns.0.len()).to_vec();
        self.code = String::from_utf8(code).expect("the script is UTF-8");
    }

    fn read_snapshots(&mut self, columns: &mut Columns<'_>) {
        let n = self.count("snapshots");
        let unsigned = |value: i64| value.cast_unsigned();
        let times = columns.signed_deltas(n);
        let rss = columns.signed_deltas(n).into_iter().map(unsigned);
        let heap = columns.signed_deltas(n).into_iter().map(unsigned);
        let peaks = columns.signed_deltas(n + 1).into_iter().map(unsigned);
        let moments = running(columns.column(n + 1));
        let at_snapshots = times.into_iter().zip(rss).zip(heap);
        self.snapshots = at_snapshots.map(|((a, b), c)| (a, b, c)).collect();
        self.slices = peaks.zip(moments).collect();
    }

    fn read_strings(&mut self, columns: &mut Columns<'_>) {
        let lengths = columns.indices(self.count("strings"));
        let text = |length| String::from_utf8(columns.take(length).to_vec()).expect("UTF-8");
        self.strings = lengths.into_iter().map(text).collect();
    }

    fn read_frames(&mut self, columns: &mut Columns<'_>) {
        let n = self.count("frames");
        let functions = columns.indices(n);
        let files = columns.indices(n);
        let lines = columns.column(n);
        let sources = columns.indices(n);
        let flags = columns.take(n);
        self.frames = (0..n)
            .map(|i| Frame {
                function: functions[i],
                file: files[i],
                line: lines[i],
                source: sources[i],
                flags: flags[i],
            })
            .collect();
    }

    fn read_nodes(&mut self, columns: &mut Columns<'_>) {
        let n = self.count("nodes");
        let climbs = columns.indices(n - 1);
        let mut frames = columns.indices(n).into_iter();
        let frame = frames.next().expect("there is a root");
        self.nodes.push(Node {
            parent: 0,
            depth: 0,
            frame,
        });
        for (climb, frame) in climbs.into_iter().zip(frames) {
            let mut parent = self.nodes.len() - 1;
            for _ in 0..climb {
                assert!(parent > 0, "a second root");
                parent = self.nodes[parent].parent;
            }
            let depth = self.nodes[parent].depth + 1;
            self.nodes.push(Node {
                parent,
                depth,
                frame,
            });
        }
    }

    fn read_locations(&mut self, columns: &mut Columns<'_>) {
        let n = self.count("locations");
        let nodes = running(columns.column(n)).into_iter().map(index);
        let (threads, allocators) = (columns.indices(n), columns.indices(n));
        self.locations = nodes
            .zip(threads.into_iter().zip(allocators))
            .map(|(node, (thread, allocator))| Location {
                node,
                thread,
                allocator,
            })
            .collect();
    }

    fn read_rows(&mut self, columns: &mut Columns<'_>) {
        let per_tick = columns.indices(2 * self.slices.len());
        let mut starts = Vec::new();
        let mut locations = Vec::new();
        for (tick, &n) in (0..).zip(&per_tick) {
            starts.extend(std::iter::repeat_n(tick, n));
            locations.extend(running(columns.column(n)));
        }
        let n = starts.len();
        let durations = columns.column(n);
        let allocations = columns.column(n);
        let bytes = columns.column(n);
        self.rows = (0..n)
            .map(|i| Row {
                start: starts[i],
                location: index(locations[i]),
                end: if durations[i] == 0 {
                    NEVER
                } else {
                    starts[i] + durations[i]
                },
                allocations: allocations[i],
                bytes: bytes[i],
            })
            .collect();
    }

    fn read_temporaries(&mut self, columns: &mut Columns<'_>) {
        self.temporaries = Some(self.read_sums(columns));
    }

    fn read_made(&mut self, columns: &mut Columns<'_>) {
        self.made = Some(self.read_sums(columns));
    }

    fn read_sums(&self, columns: &mut Columns<'_>) -> Vec<(u64, u64)> {
        let n = self.count("locations");
        let allocations = columns.column(n);
        allocations.into_iter().zip(columns.column(n)).collect()
    }

    /// Function, file and line of a frame.
    pub(crate) fn frame_text(&self, frame: usize) -> (&str, &str, u64) {
        let Frame {
            function,
            file,
            line,
            ..
        } = self.frames[frame];
        (&self.strings[function], &self.strings[file], line)
    }

    /// The frames of a node, outermost first, without the root's.
    pub(crate) fn stack(&self, node: usize) -> Vec<(&str, &str, u64)> {
        let above = |&node: &usize| Some(self.nodes[node].parent);
        let nodes = std::iter::successors(Some(node), above).take_while(|&node| node != 0);
        let mut stack: Vec<_> = nodes
            .map(|node| self.frame_text(self.nodes[node].frame))
            .collect();
        stack.reverse();
        stack
    }

    /// The policy names the hashes of the exact bytes between the tags and of the viewer that is packed in
    /// the page, and allows no request.
    pub(crate) fn check_policy(&self) {
        let policy = self
            .elements
            .iter()
            .find(|e| e.attribute("http-equiv").as_deref() == Some("Content-Security-Policy"))
            .and_then(|e| e.attribute("content"))
            .expect("there is a policy");
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let text_of = |name: &str| {
            let mut elements = self.elements.iter().filter(|e| e.name == name);
            hash(&elements.next().expect("an element").text)
        };
        let directives: Vec<&str> = policy.split("; ").collect();
        let expected = [
            "default-src 'none'".to_owned(),
            format!("script-src {} {}", text_of("script"), hash(&self.code)),
            format!("style-src {}", text_of("style")),
            "img-src blob: data:".to_owned(),
            "base-uri 'none'".to_owned(),
            "form-action 'none'".to_owned(),
        ];
        assert_eq!(directives, expected);
        let styles = self.elements.iter().filter(|e| e.name == "style").count();
        let inline = self.elements.iter().any(|e| e.attribute("style").is_some());
        assert!(styles == 1 && !inline, "the policy would block it");
    }

    /// Bytes of the page but META and the tables: markup, style, and the two scripts, of which one is packed.
    pub(crate) fn everything_but_data(&self, text: &str) -> usize {
        let is_data = |script: &&Element| {
            let section = script.attribute("data-section");
            let is_script = script.attribute("type").as_deref() == Some("module");
            !is_script && section.as_deref() != Some("CODE")
        };
        let data = scripts(&self.elements).filter(is_data);
        text.len() - data.map(|script| script.text.len()).sum::<usize>()
    }

    /// What META has at this place in a list.
    pub(crate) fn name(&self, list: &str, at: usize) -> &str {
        self.meta[list][at].as_str().expect("a name")
    }
}

/// The script elements.
pub(crate) fn scripts(elements: &[Element]) -> impl Iterator<Item = &Element> {
    elements.iter().filter(|element| element.name == "script")
}

/// META.
fn meta(elements: &[Element]) -> Value {
    let meta = scripts(elements)
        .find(|element| element.attribute("id").as_deref() == Some("data-META"))
        .expect("there is META");
    serde_json::from_str(&meta.text).expect("META is JSON")
}

/// The names and bytes of the sections, of which each is base64 in parts, and one gzip stream.
fn sections(elements: &[Element]) -> Vec<(String, Vec<u8>)> {
    let mut sections: Vec<(String, Vec<String>)> = Vec::new();
    for element in scripts(elements) {
        let Some(name) = element.attribute("data-section") else {
            continue;
        };
        if sections.last().is_none_or(|(before, _)| *before != name) {
            assert!(sections.iter().all(|(before, _)| *before != name), "{name}");
            sections.push((name.clone(), Vec::new()));
        }
        let (_, parts) = sections.last_mut().expect("there is one");
        let number = element.attribute("data-part");
        assert_eq!(number, Some(parts.len().to_string()), "part of {name}");
        parts.push(element.text.clone());
    }
    let bytes = |parts: &[String]| {
        let compressed: Vec<u8> = parts.iter().flat_map(|part| base64(part)).collect();
        gunzip(&compressed)
    };
    sections
        .into_iter()
        .map(|(name, parts)| (name, bytes(&parts)))
        .collect()
}

/// Decodes base64 with padding.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    assert_eq!(text.len() % 4, 0, "base64 comes in fours");
    let digits = text.trim_end_matches('=');
    assert!(text.len() - digits.len() <= 2, "too much padding");
    let mut bytes = Vec::new();
    let (mut bits, mut n_bits) = (0_u32, 0);
    for digit in digits.chars() {
        let value = DIGITS.find(digit).expect("a digit of base64");
        bits = (bits << 6 | u32::try_from(value).expect("six bits")) & 0xffff;
        n_bits += 6;
        if n_bits >= 8 {
            n_bits -= 8;
            bytes.push((bits >> n_bits).to_le_bytes()[0]);
        }
    }
    bytes
}

fn gunzip(compressed: &[u8]) -> Vec<u8> {
    let mut decoder = GzDecoder::new(compressed);
    let mut bytes = Vec::new();
    decoder.read_to_end(&mut bytes).expect("one gzip stream");
    assert!(
        decoder.into_inner().is_empty(),
        "data after the gzip stream"
    );
    bytes
}

/// Sums up to each of the numbers.
fn running(steps: Vec<u64>) -> Vec<u64> {
    let sum = |sum: &mut u64, step: u64| {
        *sum += step;
        Some(*sum)
    };
    steps.into_iter().scan(0, sum).collect()
}

fn index(value: u64) -> usize {
    usize::try_from(value).expect("an index")
}

/// What is left of a section.
struct Columns<'a>(&'a [u8]);

impl<'a> Columns<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    /// A number in groups of seven bits, lowest first.
    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
        }
        panic!("a number does not end");
    }

    fn column(&mut self, n: usize) -> Vec<u64> {
        (0..n).map(|_| self.number()).collect()
    }

    fn indices(&mut self, n: usize) -> Vec<usize> {
        self.column(n).into_iter().map(index).collect()
    }

    /// Numbers by their signed distance from the one before; even codes are not negative.
    fn signed_deltas(&mut self, n: usize) -> Vec<i64> {
        let signed = |code: u64| {
            let half = (code >> 1).cast_signed();
            if code.is_multiple_of(2) {
                half
            } else {
                -half - 1
            }
        };
        let sum = |sum: &mut i64, code: u64| {
            *sum += signed(code);
            Some(*sum)
        };
        self.column(n).into_iter().scan(0, sum).collect()
    }
}
