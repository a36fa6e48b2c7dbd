//! memreport
use memreport_aggregate::{Options, read_profile};
use memreport_ingest::{Counters, Source};
use memreport_render::{Json, Output, Speedscope};
use std::sync::Arc;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    let p = match read_profile(
        Source::open(std::path::Path::new(&args[2])).unwrap(),
        &Options::default(),
        &Arc::new(Counters::default()),
    ) {
        Ok(p) => p,
        Err(e) => {
            eprintln!("{e:?}");
            std::process::exit(2)
        }
    };
    if args[1] == "time" {
        eprintln!(
            "{:?} rows {} locs {} slices {} peak {} {:?}",
            t.elapsed(),
            p.intervals.len(),
            p.locations.len(),
            p.slices.len(),
            p.slices.peak(),
            p.counts
        );
        return;
    }
    let mut out = std::io::BufWriter::new(std::io::stdout());
    if args.iter().any(|a| a == "speedscope") {
        Speedscope::default().write(&p, &mut out).unwrap();
    } else {
        Json { temporal: true }.write(&p, &mut out).unwrap();
    }
}
