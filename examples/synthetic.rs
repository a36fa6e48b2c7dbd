//! Makes a capture of any size whose report has about as many rows and tree nodes as asked for: to see how
//! the page behaves beyond what captures at hand have.
//!
//!     cargo run --release --example synthetic -- ROWS NODES > synthetic.bin
//!
//! The same numbers give the same bytes. Each allocation has a location, a start and an end of its own, so
//! nearly each becomes a row of the interval table: the worst case for the page's size.
#![allow(clippy::print_stderr, reason = "an example for people at a terminal")]

#[path = "../benches/support/synthetic.rs"]
mod synthetic;

use std::io::Write;

use synthetic::{Shape, capture};

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let (Some(Ok(rows)), Some(Ok(nodes))) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: synthetic ROWS NODES > synthetic.bin");
        std::process::exit(2);
    };
    std::io::stdout().write_all(&capture(Shape {
        rows,
        nodes,
        short_lived: 0,
    }))
}
