//! What kind of frame a frame is: of the program, or machinery around it.

/// C functions of CPython that make calls, and nothing else.
const CALLING_FUNCTIONS: [&str; 19] = [
    "PyObject_Call",
    "call_function",
    "classmethoddescr_call",
    "cmpwrapper_call",
    "do_call_core",
    "fast_function",
    "function_call",
    "function_code_fastcall",
    "instance_call",
    "instancemethod_call",
    "methoddescr_call",
    "proxy_call",
    "slot_tp_call",
    "trace_call_function",
    "type_call",
    "weakref_call",
    "wrap_call",
    "wrapper_call",
    "wrapperdescr_call",
];

/// Folders, or parts of paths, of CPython's own sources.
const SOURCE_FOLDERS: [&str; 5] = ["Include", "Objects", "Modules", "Python", "cpython"];

/// Whether the frame belongs to the interpreter's machinery of calling.
///
/// Source: `semantics.md`, section 12.2
#[must_use]
pub fn is_cpython_internal(function: &str, file: &str) -> bool {
    let named = function.contains("PyEval_EvalFrameEx")
        || function.contains("_PyEval_EvalFrameDefault")
        || (function.starts_with("_TAIL_CALL_") && function.contains(".llvm."))
        || function.starts_with("PyEval")
        || function.starts_with("_Py")
        || function.to_lowercase().contains("vectorcall")
        || CALLING_FUNCTIONS.contains(&function)
        || file.contains("Objects/call.c");
    named && is_cpython_source(file)
}

/// Whether a folder's name is followed, anywhere later, by a C file's ending.
fn is_cpython_source(file: &str) -> bool {
    let ends = [".c", ".h", ".|"];
    SOURCE_FOLDERS.iter().any(|folder| {
        file.find(folder).is_some_and(|at| {
            let rest = file.get(at + folder.len()..).unwrap_or_default();
            ends.iter().any(|end| rest.ends_with(end))
        })
    })
}

/// Whether the frame imports modules.
#[must_use]
pub fn is_import_system(function: &str, file: &str) -> bool {
    file.contains("frozen importlib")
        || (["import_name", "import_from", "import_all_from"].contains(&function)
            && file.ends_with("ceval.c"))
}

/// Whether hiding the frame loses nothing that a reader of the program would look for.
#[must_use]
pub fn is_irrelevant(function: &str, file: &str) -> bool {
    file.ends_with("runpy.py") || file == "<frozen runpy>" || is_cpython_internal(function, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machinery_is_told_from_the_program() {
        assert!(is_irrelevant("run_module", "/usr/lib/python3.11/runpy.py"));
        assert!(is_irrelevant("_run_code", "<frozen runpy>"));
        assert!(is_irrelevant(
            "_PyEval_EvalFrameDefault",
            "/build/Python/ceval.c"
        ));
        assert!(is_irrelevant(
            "method_vectorcall",
            "/build/Objects/classobject.c"
        ));
        assert!(!is_irrelevant("_PyEval_EvalFrameDefault", "app.py"));
        assert!(!is_irrelevant("list_resize", "/build/Objects/listobject.c"));
        assert!(!is_irrelevant("main", "app.py"));
    }

    #[test]
    fn imports_are_known_by_their_files() {
        assert!(is_import_system(
            "_find_and_load",
            "<frozen importlib._bootstrap>"
        ));
        assert!(is_import_system("import_name", "/build/Python/ceval.c"));
        assert!(!is_import_system("import_name", "app.py"));
    }
}
