//! Rebuilds when the viewer changes: `include_dir` does not see files that are added.

fn main() {
    println!("cargo::rerun-if-changed=../web-assets");
}
