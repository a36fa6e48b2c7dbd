//! What keeps two captures from being compared figure by figure.

use memreport_aggregate::Profile;

/// Clauses on what keeps base and new from being compared, without capital and full stop; none for captures
/// that were made alike.
#[must_use]
pub fn cautions(profiles: [&Profile; 2]) -> Vec<String> {
    let metadata = profiles.map(|profile| &profile.metadata);
    let only = |has: [bool; 2]| match has {
        [true, false] => Some(("base", "new")),
        [false, true] => Some(("new", "base")),
        _ => None,
    };
    let mut cautions = Vec::new();
    let traced = metadata.map(|of| of.trace_python_allocators == Some(true));
    if let Some((side, other)) = only(traced) {
        cautions.push(format!(
            "Python's own allocators were traced in {side} only: its blocks are Python's objects, those of {other} are \
             the pools that hold them, and neither bytes nor counts of the two compare"
        ));
    }
    let [base, new] = metadata.map(|of| &*of.python_allocator);
    if base != new {
        cautions.push(format!(
            "Python's allocator is {base} in base and {new} in new: what one takes from its pools, another asks the \
             system for, so bytes and counts of Python's objects need not compare"
        ));
    }
    if let Some((side, other)) = only(metadata.map(|of| of.has_native_traces)) {
        cautions.push(format!(
            "native frames are in {side} only: stacks with them match none of {other}"
        ));
    }
    if let Some((side, _)) = only(profiles.map(|profile| profile.is_aggregated)) {
        cautions.push(format!(
            "{side} holds only sums (memray run --aggregate): its peak and what it left over at the end are known, \
             nothing in between"
        ));
    }
    let minor = metadata.map(|of| of.python.map(|version| (version.major, version.minor)));
    if let [Some(base), Some(new)] = minor
        && base != new
    {
        cautions.push(format!(
            "Python is {}.{} in base and {}.{} in new: what the interpreter itself takes differs from version to version",
            base.0, base.1, new.0, new.1
        ));
    }
    cautions
}
