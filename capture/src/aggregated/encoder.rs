//! Records to bytes, for tests and for tools that make aggregated captures.

use super::{AggregatedRecord, allocation, frame, object, snapshot};
use crate::delta::Deltas;
use crate::header::Header;
use crate::record::{code_object, native, thread};
use crate::version::Version;

/// Writes an aggregated capture, record by record, in the version that its header names.
#[derive(Debug, Clone)]
pub struct AggregatedEncoder {
    version: Version,
    native_traces: bool,
    deltas: Deltas,
    bytes: Vec<u8>,
}

impl AggregatedEncoder {
    /// Starts a capture with this header, which should say that the capture is aggregated.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        Self {
            version: header.version,
            native_traces: header.native_traces,
            deltas: Deltas::default(),
            bytes,
        }
    }

    /// Appends a record. Returns `false`, writing nothing, if the version does not know it, or has
    /// no room for the number of its parent.
    ///
    /// Addresses of objects are kept in units of eight bytes; lower bits are lost.
    pub fn push(&mut self, record: &AggregatedRecord<'_>) -> bool {
        use AggregatedRecord as R;
        let out = &mut self.bytes;
        let deltas = &mut self.deltas;
        let by_code = self.version.has_code_objects();
        match record {
            R::Snapshot(record) => snapshot::put_snapshot(out, record),
            R::Allocation(record) => {
                let Some(number) = record.allocator.number(self.version) else {
                    return false;
                };
                allocation::put_allocation(out, record, number);
            }
            R::Node(node) if by_code => frame::put_node(out, node),
            R::Node(node) => {
                let Ok(parent) = u32::try_from(node.parent) else {
                    return false;
                };
                frame::put_node_struct(out, node.frame_id, parent);
            }
            R::Frame(record) if !by_code => frame::put_frame_struct(out, record),
            R::CodeFrame(record) if by_code => frame::put_code_frame(out, record),
            R::CodeObject(code) if by_code => code_object::put_code_object(out, code, deltas),
            R::SurvivingObject(record) if by_code => {
                object::put_surviving_object(out, record, self.native_traces);
            }
            R::Frame(_) | R::CodeFrame(_) | R::CodeObject(_) | R::SurvivingObject(_) => {
                return false;
            }
            R::NativeTrace(trace) => native::put_native_trace(out, trace, deltas),
            R::MemoryMapStart => out.push(6),
            R::SegmentHeader(header) => native::put_segment_header(out, header),
            R::Segment(segment) => native::put_segment(out, segment),
            R::ThreadName(name) => thread::put_thread_name(out, name),
            R::ContextSwitch(id) => thread::put_context_switch(out, *id),
            R::Trailer => out.push(15),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregated::testing::header;
    use crate::aggregated::{AggregatedAllocation, CodeFrame, PythonNode, SurvivingObject};
    use crate::allocator::Allocator;
    use crate::record::{CodeObject, CodePush, FrameIndex, Segment};
    use AggregatedRecord as R;

    const OBJECT: R<'_> = R::SurvivingObject(SurvivingObject {
        address: 23,
        native_id: 3,
    });

    /// What pushing `records` appends to a header, and the last answer.
    fn push(version: i32, native_traces: bool, records: &[R<'_>]) -> (Vec<u8>, bool) {
        let mut encoder = AggregatedEncoder::new(&header(version, native_traces));
        let start = encoder.bytes().len();
        let mut known = true;
        for record in records {
            known = encoder.push(record);
        }
        (encoder.finish().split_off(start), known)
    }

    #[test]
    fn a_capture_starts_with_its_header() {
        for version in 10..=13 {
            let header = header(version, true);
            let bytes = AggregatedEncoder::new(&header).finish();
            assert_eq!(Header::parse(&bytes), Ok(Some((header, &[][..]))));
        }
    }

    #[test]
    fn records_that_a_version_lacks_are_not_written() {
        let frame = FrameIndex {
            id: 1,
            function: b"",
            file: b"",
            line: 0,
            is_entry: true,
        };
        let code = CodeObject {
            id: 1,
            function: b"",
            file: b"",
            first_line: 0,
            line_table: b"",
        };
        let push_of_code = CodePush {
            code_id: 1,
            instruction_offset: 0,
            is_entry: true,
        };
        let code_frame = CodeFrame {
            frame_id: 0,
            push: push_of_code,
        };
        let far_node = PythonNode {
            frame_id: 0,
            parent: 1 << 32,
        };
        let of_10 = [R::Frame(frame)];
        let of_12 = [
            R::CodeFrame(code_frame),
            R::CodeObject(code),
            OBJECT,
            R::Node(far_node),
        ];
        for (records, versions, others) in [
            (&of_10[..], [10, 11], [12, 13]),
            (&of_12[..], [12, 13], [10, 11]),
        ] {
            for record in records {
                assert!(versions.iter().all(|&v| push(v, false, &[*record]).1));
                for version in others {
                    assert_eq!(push(version, false, &[*record]), (vec![], false));
                }
            }
        }
    }

    #[test]
    fn allocators_are_numbered_by_version() {
        let row = R::Allocation(AggregatedAllocation {
            thread_id: 1,
            allocator: Allocator::Malloc,
            native_id: 0,
            node: 0,
            generation: 0,
            peak_allocations: 0,
            leaked_allocations: 0,
            peak_bytes: 0,
            leaked_bytes: 0,
        });
        let number = |version| push(version, false, &[row]).0.get(9).copied();
        assert_eq!([10, 11, 12, 13].map(number), [1, 1, 6, 6].map(Some));
    }

    #[test]
    fn addresses_of_objects_are_rounded_down_to_eight() {
        assert_eq!(push(12, false, &[OBJECT]).0, [13, 2]);
        assert_eq!(push(13, true, &[OBJECT]).0, [13, 2, 3]);
    }

    #[test]
    fn records_without_state_have_one_layout() {
        let segment = R::Segment(Segment {
            virtual_address: 1,
            size: 2,
        });
        let records = [
            R::MemoryMapStart,
            segment,
            R::ContextSwitch(3),
            R::ThreadName(b"T\0U"),
            R::Trailer,
        ];
        let expected = b"\x06\x08\x01\0\0\0\0\0\0\0\x02\x0c\x03\0\0\0\0\0\0\0\x0aT\0\x0f";
        for version in 10..=13 {
            assert_eq!(push(version, false, &records), (expected.to_vec(), true));
        }
    }
}
