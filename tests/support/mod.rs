//! What the test programs share: the captures with what memray says of them, and the comparison.
#![allow(dead_code, reason = "each test program uses its own part of this")]

pub(crate) mod captures;
pub(crate) mod figures;
pub(crate) mod node;
pub(crate) mod pprof;
pub(crate) mod profiles;
