//! Records to bytes, for tests and for tools that make captures.

use crate::delta::Deltas;
use crate::header::Header;
use crate::record::{Record, allocation, code_object, frame, memory, native, object, thread};
use crate::version::{Stream, Version};

/// Writes a capture, record by record, in the version that its header names.
#[derive(Debug, Clone)]
pub struct Encoder {
    version: Version,
    native_traces: bool,
    start_time_ms: i64,
    deltas: Deltas,
    /// The current thread, which format 6 writes into each record.
    thread_id: u64,
    bytes: Vec<u8>,
}

impl Encoder {
    /// Starts a capture with this header.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        Self {
            version: header.version,
            native_traces: header.native_traces,
            start_time_ms: header.start_time_ms,
            deltas: Deltas::default(),
            thread_id: 0,
            bytes,
        }
    }

    /// Appends a record. Returns `false`, writing nothing, if the version does not know it.
    ///
    /// Formats 12 and later keep addresses in units of eight bytes; lower bits are lost.
    pub fn push(&mut self, record: &Record<'_>) -> bool {
        if self.version.stream() == Stream::Structs {
            return self.push_struct(record);
        }
        let out = &mut self.bytes;
        let deltas = &mut self.deltas;
        let prefixes = self.version.stream() == Stream::Prefixes;
        match record {
            Record::Allocation(a) => {
                let Some(number) = a.allocator.number(self.version) else {
                    return false;
                };
                if prefixes {
                    allocation::put_prefixes(out, a, number, self.native_traces, deltas);
                } else {
                    let native = self.native_traces && a.native_id != 0;
                    allocation::put_nibbles(out, a, number, native, deltas);
                }
            }
            Record::CodePush(push) if prefixes => frame::put_code_push(out, push),
            Record::CodeObject(code) if prefixes => code_object::put_code_object(out, code, deltas),
            Record::Object(event) if prefixes => {
                object::put_object(out, event, self.native_traces, deltas);
            }
            Record::FramePush(id) if !prefixes => frame::put_frame_push(out, *id, deltas),
            Record::FrameIndex(index) if !prefixes => frame::put_frame_index(out, index, deltas),
            Record::FramePop(count) => return put_pops(out, *count, prefixes),
            Record::ContextSwitch(id) => thread::put_context_switch(out, *id),
            Record::ThreadName(name) => thread::put_thread_name(out, name),
            Record::Memory(record) => {
                let tag = if prefixes { 2 } else { 11 };
                memory::put_memory_record(out, tag, record, self.start_time_ms);
            }
            Record::NativeTrace(trace) => native::put_native_trace(out, trace, deltas),
            Record::MemoryMapStart => out.push(6),
            Record::SegmentHeader(header) => native::put_segment_header(out, header),
            Record::Segment(segment) => native::put_segment(out, segment),
            Record::Trailer if prefixes => out.push(0x01),
            Record::Trailer if self.version.has_trailer() => out.push(0x10),
            _ => return false,
        }
        true
    }

    /// The same for format 6. A context switch writes nothing: later records name the thread.
    fn push_struct(&mut self, record: &Record<'_>) -> bool {
        let (out, thread_id) = (&mut self.bytes, self.thread_id);
        match record {
            Record::Allocation(a) => {
                let Some(number) = a.allocator.number(self.version) else {
                    return false;
                };
                allocation::put_structs(out, a, number, thread_id);
            }
            Record::FrameIndex(index) => frame::put_frame_index_struct(out, index),
            Record::FramePush(id) => frame::put_frame_push_struct(out, *id, thread_id),
            Record::FramePop(count) => frame::put_frame_pops_struct(out, *count, thread_id),
            Record::NativeTrace(trace) => native::put_native_trace_struct(out, trace),
            Record::MemoryMapStart => out.extend(5_u32.to_le_bytes()),
            Record::SegmentHeader(header) => native::put_segment_header_struct(out, header),
            Record::Segment(segment) => native::put_segment_struct(out, segment),
            Record::ThreadName(name) => thread::put_thread_name_struct(out, name, thread_id),
            Record::Memory(record) => memory::put_memory_record_struct(out, record),
            Record::ContextSwitch(id) => self.thread_id = *id,
            _ => return false,
        }
        true
    }

    /// The bytes so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The capture.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Pops of up to 16 frames a record.
fn put_pops(out: &mut Vec<u8>, count: u32, prefixes: bool) -> bool {
    let mut left = count;
    while left > 0 {
        let step = left.min(16);
        left = left.saturating_sub(step);
        let n = u8::try_from(step.saturating_sub(1)).unwrap_or(15);
        out.push(if prefixes { 0x10 | n } else { 9 | (n << 4) });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::Allocator;
    use crate::record::{
        Allocation, CodeObject, CodePush, FrameIndex, NativeTrace, ObjectEvent, Segment,
    };

    /// Header of version 7, which fits the later ones too once it is read.
    const HEADER_7: &[u8] = b"memray\0\x07\0\0\0\x01\
        \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\
        \0\x68\xe5\xcf\x8b\x01\0\0\0\x68\xe5\xcf\x8b\x01\0\0\
        \0\x4d\0\0\0\x01\0\0\0";

    const MALLOC: Allocation = Allocation {
        address: 16,
        size: 100,
        allocator: Allocator::Malloc,
        native_id: 0,
    };

    fn header(version: i32, native_traces: bool) -> Header {
        let (header, _) = Header::parse(HEADER_7).unwrap().unwrap();
        Header {
            version: Version::new(version).unwrap(),
            native_traces,
            ..header
        }
    }

    /// What pushing `records` appends to a header, and the last answer.
    fn push(version: i32, native_traces: bool, records: &[Record<'_>]) -> (Vec<u8>, bool) {
        let mut encoder = Encoder::new(&header(version, native_traces));
        let start = encoder.bytes().len();
        let mut known = true;
        for record in records {
            known = encoder.push(record);
        }
        (encoder.finish().split_off(start), known)
    }

    #[test]
    fn a_capture_starts_with_its_header() {
        let encoder = Encoder::new(&header(7, true));
        assert_eq!(encoder.bytes(), HEADER_7);
        assert_eq!(encoder.finish(), HEADER_7);
    }

    #[test]
    fn records_that_a_version_lacks_are_not_written() {
        let code = CodeObject {
            id: 1,
            function: b"",
            file: b"",
            first_line: 0,
            line_table: b"",
        };
        let code_push = CodePush {
            code_id: 1,
            instruction_offset: 0,
            is_entry: true,
        };
        let object = ObjectEvent {
            address: 8,
            created: true,
            native_id: 0,
        };
        let index = FrameIndex {
            id: 1,
            function: b"",
            file: b"",
            line: 0,
            is_entry: true,
        };
        let aligned = Allocation {
            allocator: Allocator::AlignedAlloc,
            ..MALLOC
        };
        let cases = [
            (6, Record::Allocation(aligned)),
            (6, Record::Trailer),
            (6, Record::CodeObject(code)),
            (6, Record::CodePush(code_push)),
            (6, Record::Object(object)),
            (7, Record::Trailer),
            (11, Record::CodeObject(code)),
            (11, Record::CodePush(code_push)),
            (11, Record::Object(object)),
            (12, Record::FrameIndex(index)),
            (12, Record::FramePush(1)),
        ];
        for (version, record) in cases {
            assert_eq!(push(version, false, &[record]), (vec![], false));
        }
    }

    #[test]
    fn the_trailer_differs_by_version() {
        assert_eq!(push(8, false, &[Record::Trailer]), (vec![0x10], true));
        assert_eq!(push(11, false, &[Record::Trailer]), (vec![0x10], true));
        assert_eq!(push(12, false, &[Record::Trailer]), (vec![0x01], true));
    }

    #[test]
    fn pops_of_many_frames_take_several_records() {
        let bytes = |version, count| push(version, false, &[Record::FramePop(count)]).0;
        assert_eq!(bytes(11, 16), [0xf9]);
        assert_eq!(bytes(11, 40), [0xf9, 0xf9, 0x79]);
        assert_eq!(bytes(13, 17), [0x1f, 0x10]);
        assert_eq!(bytes(13, 0), []);
        let of_6 = |count| [&[8, 0, 0, 0][..], &[0; 8], &[count], &[0; 7]].concat();
        assert_eq!(bytes(6, 255), of_6(255));
        assert_eq!(bytes(6, 600), [of_6(255), of_6(255), of_6(90)].concat());
        assert_eq!(bytes(6, 0), []);
    }

    #[test]
    fn a_context_switch_of_format_6_shows_in_later_records_only() {
        let switch = Record::ContextSwitch(5);
        assert_eq!(push(6, false, &[switch]), (vec![], true));
        let name = Record::ThreadName(b"T");
        let expected = [
            &b"\x09\0\0\0\0\0\0\0\0\0\0\0T\0"[..],
            b"\x09\0\0\0\x05\0\0\0\0\0\0\0T\0",
        ];
        let (bytes, _) = push(6, false, &[name, switch, name]);
        assert_eq!(bytes, expected.concat());
    }

    #[test]
    fn allocators_are_numbered_by_version() {
        let record = [Record::Allocation(MALLOC)];
        assert_eq!(push(11, false, &record).0, [0x11, 0x20, 0x64]);
        assert_eq!(push(12, false, &record).0, [0xfe, 0x04, 0x64]);
    }

    #[test]
    fn native_stacks_need_a_native_capture() {
        let record = [Record::Allocation(Allocation {
            native_id: 3,
            ..MALLOC
        })];
        assert_eq!(push(11, false, &record).0, [0x11, 0x20, 0x64]);
        assert_eq!(push(11, true, &record).0, [0x12, 0x20, 0x64, 0x06]);
        assert_eq!(push(12, false, &record).0, [0xfe, 0x04, 0x64]);
        assert_eq!(push(12, true, &record).0, [0xfe, 0x04, 0x06, 0x64]);
    }

    #[test]
    fn native_stacks_of_allocations_and_traces_step_from_one_another() {
        let trace = Record::NativeTrace(NativeTrace {
            instruction_pointer: 1,
            parent: 2,
        });
        let malloc = Record::Allocation(Allocation {
            native_id: 3,
            ..MALLOC
        });
        let records = [trace, malloc, trace];
        let traces = ([5, 0x02, 0x04], [5, 0x00, 0x01]);
        for (version, malloc) in [
            (11, [0x12, 0x20, 0x64, 0x02]),
            (12, [0xfe, 0x04, 0x02, 0x64]),
        ] {
            let expected = [&traces.0[..], &malloc, &traces.1].concat();
            assert_eq!(push(version, true, &records), (expected, true));
        }
    }

    #[test]
    fn later_formats_round_addresses_down_to_eight_and_name_known_ones() {
        let at = |address| Record::Allocation(Allocation { address, ..MALLOC });
        let (bytes, _) = push(13, false, &[at(23), at(16), at(24), at(16)]);
        let expected = [0xfe, 0x04, 0x64, 0x86, 0x64, 0xfe, 0x02, 0x64, 0x8e, 0x64];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn records_without_state_have_one_layout() {
        let segment = Record::Segment(Segment {
            virtual_address: 1,
            size: 2,
        });
        let records = [Record::MemoryMapStart, segment, Record::ThreadName(b"T")];
        let expected = b"\x06\x08\x01\0\0\0\0\0\0\0\x02\x0aT\0";
        assert_eq!(push(7, false, &records).0, expected);
        assert_eq!(push(13, false, &records).0, expected);
    }

    #[test]
    fn strings_end_at_a_nul_inside() {
        let (bytes, _) = push(13, false, &[Record::ThreadName(b"a\0b")]);
        assert_eq!(bytes, b"\x0aa\0");
    }
}
