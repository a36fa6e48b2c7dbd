//! What the unit tests of the aggregated stream share.

use crate::header::{FileFormat, Header, PythonAllocator, PythonVersion};
use crate::version::Version;

/// Header of an aggregated capture of this version, with nothing in the fields that it lacks.
pub(super) fn header(version: i32, native_traces: bool) -> Header {
    let version = Version::new(version).unwrap();
    Header {
        version,
        python_version: version.has_code_objects().then_some(PythonVersion {
            major: 3,
            minor: 13,
        }),
        native_traces,
        file_format: FileFormat::Aggregated,
        n_allocations: 0,
        n_frames: 0,
        start_time_ms: 1_700_000_000_000,
        end_time_ms: 1_700_000_000_050,
        command_line: b"a.py".to_vec(),
        pid: 77,
        main_thread_id: Some(1),
        skipped_frames_on_main_thread: 0,
        python_allocator: PythonAllocator::Pymalloc,
        trace_python_allocators: version.has_trace_python_allocators().then_some(false),
        track_object_lifetimes: false,
        libdest: Vec::new(),
        site_packages: Vec::new(),
        sys_path: Vec::new(),
    }
}
