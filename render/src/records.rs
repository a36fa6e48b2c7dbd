//! Records of a capture as JSON, a line each.

use memreport_aggregate::ingest::capture::{AggregatedRecord, Header, Record};
use memreport_aggregate::ingest::{AnyRecord, RecordAt};
use serde_json::{Value, json};

fn header_fields(header: &Header) -> Value {
    let texts = |list: &[Vec<u8>]| list.iter().map(|bytes| text(bytes)).collect::<Vec<_>>();
    json!({
        "version": header.version.number(),
        "python_version": header.python_version.map(|version| version.to_string()),
        "native_traces": header.native_traces,
        "n_allocations": header.n_allocations,
        "n_frames": header.n_frames,
        "start_time_ms": header.start_time_ms,
        "end_time_ms": header.end_time_ms,
        "command_line": text(&header.command_line),
        "pid": header.pid,
        "main_thread_id": header.main_thread_id,
        "skipped_frames_on_main_thread": header.skipped_frames_on_main_thread,
        "python_allocator": header.python_allocator.name(),
        "trace_python_allocators": header.trace_python_allocators,
        "track_object_lifetimes": header.track_object_lifetimes,
        "libdest": text(&header.libdest),
        "site_packages": texts(&header.site_packages),
        "sys_path": texts(&header.sys_path),
    })
}

/// A record as JSON: `offset`, `record` (its name), `thread`, and its fields.
#[must_use]
pub fn record_json(at: &RecordAt<'_>) -> Value {
    let (name, fields) = match &at.record {
        AnyRecord::Header(header) => ("HEADER", header_fields(header)),
        AnyRecord::Event(record) => (record.name(), event_fields(record)),
        AnyRecord::Aggregated(record) => (record.name(), aggregated_fields(record)),
    };
    let mut object = json!({ "offset": at.offset, "record": name, "thread": at.thread_id });
    if let (Value::Object(all), Value::Object(fields)) = (&mut object, fields) {
        all.extend(fields);
    }
    object
}

fn event_fields(record: &Record<'_>) -> Value {
    match record {
        Record::Allocation(a) => json!({
            "allocator": a.allocator.name(), "address": hex(a.address), "size": a.size, "native_id": a.native_id,
        }),
        Record::CodePush(push) => json!({
            "code_id": push.code_id, "instruction_offset": push.instruction_offset, "is_entry": push.is_entry,
        }),
        Record::FramePush(id) => json!({ "frame_id": id }),
        Record::FramePop(count) => json!({ "count": count }),
        Record::FrameIndex(frame) => json!({
            "frame_id": frame.id, "function": text(frame.function), "file": text(frame.file), "line": frame.line,
            "is_entry": frame.is_entry,
        }),
        Record::CodeObject(code) => json!({
            "code_id": code.id, "function": text(code.function), "file": text(code.file),
            "first_line": code.first_line, "line_table_size": code.line_table.len(),
        }),
        Record::ThreadName(name) => json!({ "name": text(name) }),
        Record::Memory(memory) => json!({ "time_ms": memory.time_ms, "rss": memory.rss }),
        Record::NativeTrace(trace) => json!({
            "instruction_pointer": hex(trace.instruction_pointer), "parent": trace.parent,
        }),
        Record::SegmentHeader(image) => json!({
            "file": text(image.file), "address": hex(image.address), "n_segments": image.n_segments,
        }),
        Record::Segment(segment) => json!({
            "virtual_address": hex(segment.virtual_address), "size": segment.size,
        }),
        Record::Object(event) => json!({
            "address": hex(event.address), "created": event.created, "native_id": event.native_id,
        }),
        // The thread itself is all that a context switch has; the others have nothing.
        _ => json!({}),
    }
}

fn aggregated_fields(record: &AggregatedRecord<'_>) -> Value {
    match record {
        AggregatedRecord::Snapshot(snapshot) => json!({
            "time_ms": snapshot.time_ms, "rss": snapshot.rss, "heap": snapshot.heap,
        }),
        AggregatedRecord::Allocation(row) => json!({
            "thread": row.thread_id, "allocator": row.allocator.name(), "native_id": row.native_id, "node": row.node,
            "generation": row.generation, "peak_allocations": row.peak_allocations, "peak_bytes": row.peak_bytes,
            "leaked_allocations": row.leaked_allocations, "leaked_bytes": row.leaked_bytes,
        }),
        AggregatedRecord::Node(node) => json!({ "frame_id": node.frame_id, "parent": node.parent }),
        AggregatedRecord::CodeFrame(frame) => json!({
            "frame_id": frame.frame_id, "code_id": frame.push.code_id,
            "instruction_offset": frame.push.instruction_offset, "is_entry": frame.push.is_entry,
        }),
        AggregatedRecord::SurvivingObject(object) => json!({
            "address": hex(object.address), "native_id": object.native_id,
        }),
        AggregatedRecord::Frame(frame) => event_fields(&Record::FrameIndex(*frame)),
        AggregatedRecord::CodeObject(code) => event_fields(&Record::CodeObject(*code)),
        AggregatedRecord::NativeTrace(trace) => event_fields(&Record::NativeTrace(*trace)),
        AggregatedRecord::SegmentHeader(image) => event_fields(&Record::SegmentHeader(*image)),
        AggregatedRecord::Segment(segment) => event_fields(&Record::Segment(*segment)),
        AggregatedRecord::ThreadName(name) => event_fields(&Record::ThreadName(name)),
        _ => json!({}),
    }
}

/// Addresses are text: no number of JavaScript's holds 64 bits.
fn hex(address: u64) -> String {
    format!("{address:#x}")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
