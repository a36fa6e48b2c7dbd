//! The header of a capture: who was traced, how, and when.

use nom::Parser;
use nom::bytes::streaming::tag;
use nom::combinator::map;
use nom::number::streaming::{le_i32, le_i64, le_u8, le_u32, le_u64};

use crate::error::{Error, PResult};
use crate::varint::{cstr, put_cstr};
use crate::version::Version;

const MAGIC: &[u8] = b"memray\0";

/// Milliseconds since the epoch between which a start or end time is believed: 2000 to 2199. With
/// the fields of a 32-bit capture in the wrong places, one of the times never falls in here.
const PLAUSIBLE_TIMES: std::ops::Range<i64> = 946_684_800_000..7_258_118_400_000;

/// What the header says.
///
/// * Units: times in milliseconds since 1970-01-01 UTC
/// * Strings are the bytes of the file; they are normally UTF-8
/// * Fields that the format version lacks are `None`, or empty for lists
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Format version.
    pub version: Version,
    /// Python that memray was compiled for, from format 12 on.
    pub python_version: Option<PythonVersion>,
    /// Whether allocations carry native stacks.
    pub native_traces: bool,
    /// Whether the file holds every record or sums.
    pub file_format: FileFormat,
    /// Number of allocation and deallocation records, or 0 if the capture was not closed.
    pub n_allocations: u64,
    /// Number of frames, or 0 if the capture was not closed; always 0 from format 12 on.
    pub n_frames: u64,
    /// When tracking started.
    pub start_time_ms: i64,
    /// When tracking ended; about the start time if the capture was not closed.
    pub end_time_ms: i64,
    /// Arguments of the traced program, joined by spaces.
    pub command_line: Vec<u8>,
    /// Process id.
    pub pid: i32,
    /// The thread that started tracking, from format 9 on.
    pub main_thread_id: Option<u64>,
    /// How many outermost Python frames of that thread lie above the one that started tracking.
    pub skipped_frames_on_main_thread: u64,
    /// Python's own allocator.
    pub python_allocator: PythonAllocator,
    /// Whether Python's own allocators were traced, from format 11 on.
    pub trace_python_allocators: Option<bool>,
    /// Whether creation and destruction of objects are recorded, from format 12 on.
    pub track_object_lifetimes: bool,
    /// Folder of the standard library, from format 13 on.
    pub libdest: Vec<u8>,
    /// Folders of installed packages, from format 13 on.
    pub site_packages: Vec<Vec<u8>>,
    /// Python's module search path, from format 13 on.
    pub sys_path: Vec<Vec<u8>>,
}

/// Whether a file holds every record or sums over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Every allocation and deallocation.
    AllAllocations,
    /// What was live at the peak and at the end, by location.
    Aggregated,
}

/// Version of Python, `major.minor`. Only these two are trustworthy in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonVersion {
    /// Number before the dot.
    pub major: u8,
    /// Number after the dot.
    pub minor: u8,
}

impl std::fmt::Display for PythonVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Python's own allocator, as the header numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the values of PYTHONMALLOC")]
pub enum PythonAllocator {
    Pymalloc,
    PymallocDebug,
    Malloc,
    Other,
    Mimalloc,
    MimallocDebug,
    /// A number that no released memray writes.
    Unknown(i32),
}

impl PythonAllocator {
    fn from_number(number: i32) -> Self {
        match number {
            1 => Self::Pymalloc,
            2 => Self::PymallocDebug,
            3 => Self::Malloc,
            4 => Self::Other,
            5 => Self::Mimalloc,
            6 => Self::MimallocDebug,
            n => Self::Unknown(n),
        }
    }

    fn number(self) -> i32 {
        match self {
            Self::Pymalloc => 1,
            Self::PymallocDebug => 2,
            Self::Malloc => 3,
            Self::Other => 4,
            Self::Mimalloc => 5,
            Self::MimallocDebug => 6,
            Self::Unknown(n) => n,
        }
    }

    /// The name that memray's reports give it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pymalloc => "pymalloc",
            Self::PymallocDebug => "pymalloc debug",
            Self::Malloc => "malloc",
            Self::Mimalloc => "mimalloc",
            Self::MimallocDebug => "mimalloc debug",
            Self::Other | Self::Unknown(_) => "unknown",
        }
    }
}

impl Header {
    /// The byte that a capture with this header ends with, before any zero fill, if it was closed in
    /// good order; `None` in versions without trailer.
    #[must_use]
    pub fn trailer_byte(&self) -> Option<u8> {
        match (self.file_format, self.version.has_code_objects()) {
            (FileFormat::Aggregated, _) => Some(0x0f),
            (FileFormat::AllAllocations, true) => Some(0x01),
            (FileFormat::AllAllocations, false) => self.version.has_trailer().then_some(0x10),
        }
    }

    /// Reads the header at the start of a capture and returns it with the rest of the input, or
    /// `None` if the header goes on past the end of `input`.
    ///
    /// # Errors
    /// [`Error`] when the bytes are not a capture, or one of a version or machine that is not read.
    pub fn parse(input: &[u8]) -> Result<Option<(Self, &[u8])>, Error> {
        let known = input.len().min(MAGIC.len());
        if input.get(..known) != MAGIC.get(..known) {
            return Err(Error::NotACapture {
                found: printable(input.get(..known).unwrap_or_default()),
            });
        }
        let Ok((rest, version)) = version(input) else {
            return Ok(None);
        };
        let version = Version::readable(version)?;
        match fields(version, rest) {
            Ok((rest, header)) => header?.checked(input).map(|h| Some((h, rest))),
            Err(_) => Ok(None),
        }
    }

    /// Appends the header's bytes. Fields that the version lacks are left out.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let version = self.version;
        out.extend(MAGIC);
        out.extend(version.number().to_le_bytes());
        if version.has_code_objects() {
            let python = self
                .python_version
                .unwrap_or(PythonVersion { major: 0, minor: 0 });
            out.extend([0xf0, 0, python.minor, python.major]);
        }
        out.push(self.native_traces.into());
        if version.has_file_format() {
            out.push(u8::from(self.file_format == FileFormat::Aggregated));
        }
        out.extend(self.n_allocations.to_le_bytes());
        out.extend(self.n_frames.to_le_bytes());
        out.extend(self.start_time_ms.to_le_bytes());
        out.extend(self.end_time_ms.to_le_bytes());
        put_cstr(out, &self.command_line);
        out.extend(self.pid.to_le_bytes());
        if version.has_main_thread() {
            out.extend(self.main_thread_id.unwrap_or_default().to_le_bytes());
            out.extend(self.skipped_frames_on_main_thread.to_le_bytes());
        }
        let allocator = self.python_allocator.number().to_le_bytes();
        let width = if version.has_wide_python_allocator() {
            4
        } else {
            1
        };
        out.extend(allocator.iter().take(width));
        if version.has_trace_python_allocators() {
            out.push(u8::from(self.trace_python_allocators == Some(true)));
        }
        if version.has_code_objects() {
            out.push(self.track_object_lifetimes.into());
        }
        if version.has_search_paths() {
            put_cstr(out, &self.libdest);
            for list in [&self.site_packages, &self.sys_path] {
                list.iter().for_each(|path| put_cstr(out, path));
                out.push(0);
            }
        }
    }

    fn checked(self, input: &[u8]) -> Result<Self, Error> {
        let plausible =
            |(start, end)| PLAUSIBLE_TIMES.contains(&start) && PLAUSIBLE_TIMES.contains(&end);
        if plausible((self.start_time_ms, self.end_time_ms)) {
            return Ok(self);
        }
        // In a 32-bit capture both counters are four bytes shorter.
        let offset = match self.version {
            v if v.has_code_objects() => 25,
            v if v.has_file_format() => 21,
            _ => 20,
        };
        let narrow = input
            .get(offset..)
            .and_then(|at| times(at).ok())
            .map(|(_, times)| times);
        if narrow.is_some_and(plausible) {
            return Err(Error::ThirtyTwoBit);
        }
        let found = format!("{} to {}", self.start_time_ms, self.end_time_ms);
        Err(Error::BadHeader {
            field: "start_time to end_time",
            found,
        })
    }
}

fn version(input: &[u8]) -> PResult<'_, i32> {
    let (rest, (_, version)) = (tag(MAGIC), le_i32).parse(input)?;
    Ok((rest, version))
}

fn times(input: &[u8]) -> PResult<'_, (i64, i64)> {
    (le_i64, le_i64).parse(input)
}

/// The fields after the version. The outer result asks for more input, the inner one refuses.
fn fields(version: Version, input: &[u8]) -> PResult<'_, Result<Header, Error>> {
    let (input, python_version) = if_has(version.has_code_objects(), python_version, input)?;
    let (input, native_traces) = flag(input)?;
    let (input, file_format) = if_has(version.has_file_format(), le_u8, input)?;
    let (input, (n_allocations, n_frames)) = (le_u64, le_u64).parse(input)?;
    let (input, (start_time_ms, end_time_ms)) = times(input)?;
    let (input, (command_line, pid)) = (cstr, le_i32).parse(input)?;
    let (input, main_thread) = if_has(version.has_main_thread(), (le_u64, le_u64), input)?;
    let (input, python_allocator) = if version.has_wide_python_allocator() {
        le_i32(input)?
    } else {
        map(le_u8, i32::from).parse(input)?
    };
    let (input, trace_python_allocators) =
        if_has(version.has_trace_python_allocators(), flag, input)?;
    let (input, track_object_lifetimes) = if_has(version.has_code_objects(), flag, input)?;
    let (input, paths) = if_has(version.has_search_paths(), (cstr, list, list), input)?;

    let file_format = match file_format.unwrap_or(0) {
        0 => FileFormat::AllAllocations,
        1 => FileFormat::Aggregated,
        n => {
            let error = Error::BadHeader {
                field: "file_format",
                found: n.to_string(),
            };
            return Ok((input, Err(error)));
        }
    };
    let (libdest, site_packages, sys_path) = paths.unwrap_or_default();
    let header = Header {
        version,
        python_version,
        native_traces,
        file_format,
        n_allocations,
        n_frames,
        start_time_ms,
        end_time_ms,
        command_line: command_line.to_vec(),
        pid,
        main_thread_id: main_thread.map(|(id, _)| id),
        skipped_frames_on_main_thread: main_thread.map_or(0, |(_, skipped)| skipped),
        python_allocator: PythonAllocator::from_number(python_allocator),
        trace_python_allocators,
        track_object_lifetimes: track_object_lifetimes.unwrap_or(false),
        libdest: libdest.to_vec(),
        site_packages,
        sys_path,
    };
    Ok((input, Ok(header)))
}

/// Runs a field's parser if the version has that field.
fn if_has<'a, T, P>(has: bool, mut field: P, input: &'a [u8]) -> PResult<'a, Option<T>>
where
    P: Parser<&'a [u8], Output = T, Error = crate::error::Fault<'a>>,
{
    if !has {
        return Ok((input, None));
    }
    let (rest, value) = field.parse(input)?;
    Ok((rest, Some(value)))
}

fn flag(input: &[u8]) -> PResult<'_, bool> {
    map(le_u8, |byte| byte != 0).parse(input)
}

/// `PY_VERSION_HEX`: a byte each for major, minor, micro, level.
fn python_version(input: &[u8]) -> PResult<'_, PythonVersion> {
    map(le_u32, |hex| {
        let [_, _, minor, major] = hex.to_le_bytes();
        PythonVersion { major, minor }
    })
    .parse(input)
}

/// Strings up to an empty one.
fn list(mut input: &[u8]) -> PResult<'_, Vec<Vec<u8>>> {
    let mut strings = Vec::new();
    loop {
        let (rest, string) = cstr(input)?;
        input = rest;
        if string.is_empty() {
            return Ok((input, strings));
        }
        strings.push(string.to_vec());
    }
}

fn printable(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters, times, command line and process id, which every version has.
    const COMMON: &[u8] = b"\x03\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x80\
        \x00\x68\xe5\xcf\x8b\x01\0\0\x32\x68\xe5\xcf\x8b\x01\0\0\
        a.py \xff\0\x4d\0\0\0";
    /// Main thread and how many of its frames to skip.
    const THREAD: &[u8] = b"\x05\0\0\0\0\0\0\x70\x01\0\0\0\0\0\0\0";

    /// A header of each readable version, by hand.
    fn literal(version: i32) -> Vec<u8> {
        let parts: &[&[u8]] = match version {
            6 => &[b"memray\0\x06\0\0\0\x01", COMMON, b"\x02\0\0\0"],
            7 => &[b"memray\0\x07\0\0\0\x01", COMMON, b"\x02\0\0\0"],
            8 => &[b"memray\0\x08\0\0\0\x01", COMMON, b"\x02"],
            9 => &[b"memray\0\x09\0\0\0\x01", COMMON, THREAD, b"\x02"],
            10 => &[b"memray\0\x0a\0\0\0\x01\x01", COMMON, THREAD, b"\x02"],
            11 => &[b"memray\0\x0b\0\0\0\x01\x01", COMMON, THREAD, b"\x02\x01"],
            12 => &[
                b"memray\0\x0c\0\0\0\xf0\x00\x0d\x03\x01\x01",
                COMMON,
                THREAD,
                b"\x02\x01\x01",
            ],
            13 => &[
                b"memray\0\x0d\0\0\0\xf0\x00\x0d\x03\x01\x01",
                COMMON,
                THREAD,
                b"\x02\x01\x01/l\0/s\0/t\0\0/p\0\0",
            ],
            _ => unreachable!(),
        };
        parts.concat()
    }

    /// What [`literal`] says, without what the version lacks.
    fn expected(version: i32) -> Header {
        let has = |since| version >= since;
        let paths = |list: &[&[u8]]| match has(13) {
            true => list.iter().map(|path| path.to_vec()).collect(),
            false => Vec::new(),
        };
        Header {
            version: Version::new(version).unwrap(),
            python_version: has(12).then_some(PythonVersion {
                major: 3,
                minor: 13,
            }),
            native_traces: true,
            file_format: match has(10) {
                true => FileFormat::Aggregated,
                false => FileFormat::AllAllocations,
            },
            n_allocations: 3,
            n_frames: 0x8000_0000_0000_0002,
            start_time_ms: 1_700_000_000_000,
            end_time_ms: 1_700_000_000_050,
            command_line: b"a.py \xff".to_vec(),
            pid: 77,
            main_thread_id: has(9).then_some(0x7000_0000_0000_0005),
            skipped_frames_on_main_thread: u64::from(has(9)),
            python_allocator: PythonAllocator::PymallocDebug,
            trace_python_allocators: has(11).then_some(true),
            track_object_lifetimes: has(12),
            libdest: paths(&[b"/l"]).concat(),
            site_packages: paths(&[b"/s", b"/t"]),
            sys_path: paths(&[b"/p"]),
        }
    }

    /// Header of version 9 with these times.
    fn with_times(start: i64, end: i64) -> Vec<u8> {
        let mut bytes = literal(9);
        bytes.splice(28..36, start.to_le_bytes());
        bytes.splice(36..44, end.to_le_bytes());
        bytes
    }

    /// A header of a 32-bit process, whose counters and thread take four bytes each.
    fn narrow(start: &[u8], end: &[u8]) -> Vec<u8> {
        let counters = b"\x03\0\0\0\x02\0\0\0".as_slice();
        let times = b"\x00\x68\xe5\xcf\x8b\x01\0\0\x32\x68\xe5\xcf\x8b\x01\0\0";
        let common = b"/usr/bin/script.py -v\0\x4d\0\0\0";
        let records = [0; 64];
        [start, counters, times, common, end, &records].concat()
    }

    fn error(input: &[u8]) -> Error {
        Header::parse(input).unwrap_err()
    }

    #[test]
    fn headers_of_every_version_have_known_bytes() {
        for version in 6..=13 {
            let bytes = literal(version);
            let input = [&bytes, b"rest".as_slice()].concat();
            let (header, rest) = Header::parse(&input).unwrap().unwrap();
            assert_eq!(header, expected(version));
            assert_eq!(rest, b"rest");
            let mut written = Vec::new();
            header.write(&mut written);
            assert_eq!(written, bytes, "version {version}");
        }
    }

    #[test]
    fn every_cut_of_a_header_asks_for_more() {
        for version in 6..=13 {
            let bytes = literal(version);
            for len in 0..bytes.len() {
                let parsed = Header::parse(&bytes[..len]);
                assert_eq!(parsed, Ok(None), "{len} bytes of version {version}");
            }
        }
    }

    #[test]
    fn the_micro_version_of_python_is_ignored() {
        let mut bytes = literal(12);
        bytes[12] = 0x0d;
        let (header, _) = Header::parse(&bytes).unwrap().unwrap();
        assert_eq!(header, expected(12));
        assert_eq!(header.python_version.unwrap().to_string(), "3.13");
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let mut bytes = literal(8);
        bytes[11] = 0x80;
        assert_eq!(Header::parse(&bytes).unwrap().unwrap().0, expected(8));
    }

    #[test]
    fn python_allocators_have_numbers() {
        let names = [
            "unknown",
            "pymalloc",
            "pymalloc debug",
            "malloc",
            "unknown",
            "mimalloc",
            "mimalloc debug",
            "unknown",
        ];
        for (number, name) in (0_u8..).zip(names) {
            let mut bytes = literal(8);
            *bytes.last_mut().unwrap() = number;
            let (header, _) = Header::parse(&bytes).unwrap().unwrap();
            assert_eq!(header.python_allocator.name(), name);
            assert_eq!(header.python_allocator.number(), number.into());
        }
    }

    #[test]
    fn other_files_are_no_captures() {
        for bytes in [&b"\x7fELF"[..], b"memrax", b"memray\n", b"m\0"] {
            assert!(matches!(error(bytes), Error::NotACapture { .. }));
        }
        let found = "\"\\x04\\\"M\\x18@@\\xc0\"".to_owned();
        assert_eq!(
            error(b"\x04\"M\x18@@\xc0 and more"),
            Error::NotACapture { found }
        );
    }

    #[test]
    fn versions_out_of_reach_are_refused_by_direction() {
        let refused = |version: [u8; 4]| error(&[MAGIC, &version].concat());
        assert_eq!(refused([14, 0, 0, 0]), Error::TooNew { version: 14 });
        assert_eq!(refused([5, 0, 0, 0]), Error::TooOld { version: 5 });
        assert_eq!(refused([0xff; 4]), Error::TooOld { version: -1 });
        for version in 6..=13_u8 {
            let expected = Error::BigEndian {
                version: version.into(),
            };
            assert_eq!(refused([0, 0, 0, version]), expected);
        }
    }

    #[test]
    fn an_unknown_file_format_is_refused() {
        for (version, offset) in [(10, 12), (13, 16)] {
            let mut bytes = literal(version);
            bytes[offset] = 2;
            let expected = Error::BadHeader {
                field: "file_format",
                found: "2".to_owned(),
            };
            assert_eq!(error(&bytes), expected);
        }
    }

    #[test]
    fn implausible_times_are_refused() {
        let good = 1_700_000_000_000;
        let out_of_range = [0, -1, 946_684_799_999, 7_258_118_400_000, i64::MAX];
        for time in out_of_range {
            for (start, end) in [(time, good), (good, time)] {
                let expected = Error::BadHeader {
                    field: "start_time to end_time",
                    found: format!("{start} to {end}"),
                };
                assert_eq!(error(&with_times(start, end)), expected);
            }
        }
    }

    #[test]
    fn times_may_run_backwards_within_two_centuries() {
        let bytes = with_times(7_258_118_399_999, 946_684_800_000);
        let (header, _) = Header::parse(&bytes).unwrap().unwrap();
        assert!(header.end_time_ms < header.start_time_ms);
    }

    #[test]
    fn captures_of_32_bit_processes_are_refused_as_such() {
        let thread = b"\x05\0\0\0\x01\0\0\0".as_slice();
        let python = b"\xf0\0\x0c\x03".as_slice();
        let start = |version: u8, fields: &[u8]| [MAGIC, &[version, 0, 0, 0], fields].concat();
        let cases = [
            narrow(&start(6, b"\0"), b"\x01\0\0\0"),
            narrow(&start(7, b"\0"), b"\x01\0\0\0"),
            narrow(&start(8, b"\0"), b"\x01"),
            narrow(&start(9, b"\0"), &[thread, b"\x01"].concat()),
            narrow(&start(10, b"\0\0"), &[thread, b"\x01"].concat()),
            narrow(&start(11, b"\0\0"), &[thread, b"\x01\0"].concat()),
            narrow(
                &start(12, &[python, b"\0\0"].concat()),
                &[thread, b"\x01\0\0"].concat(),
            ),
            narrow(
                &start(13, &[python, b"\0\0"].concat()),
                &[thread, b"\x01\0\0/l\0/s\0\0/p\0\0"].concat(),
            ),
        ];
        for (bytes, version) in cases.iter().zip(6..) {
            assert_eq!(error(bytes), Error::ThirtyTwoBit, "version {version}");
        }
    }
}
