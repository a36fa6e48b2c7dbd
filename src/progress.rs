//! What is shown on the error stream while a capture is read.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memreport_ingest::Counters;

/// How often the bar is drawn.
const INTERVAL: Duration = Duration::from_millis(100);

/// Prints a line on the error stream.
pub(crate) fn say(line: &str) {
    // When nobody reads the error stream there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Runs `work` with a bar that follows `counters`, if the error stream is a terminal.
pub(crate) fn with_bar<T>(
    quiet: bool,
    size: Option<u64>,
    counters: &Arc<Counters>,
    work: impl FnOnce() -> T,
) -> T {
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        bar(size)
    };
    if bar.is_hidden() {
        return work();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let drawing = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let records = counters.records.load(Ordering::Relaxed);
                bar.set_message(format!("{:.1} M records", approximate_millions(records)));
                bar.set_position(counters.bytes_read.load(Ordering::Relaxed));
                thread::park_timeout(INTERVAL);
            }
            bar.finish_and_clear();
        });
        let result = work();
        done.store(true, Ordering::Relaxed);
        drawing.thread().unpark();
        result
    })
}

#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
fn approximate_millions(n: u64) -> f64 {
    n as f64 / 1e6
}

fn bar(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr());
    let template = if size.is_some() {
        "reading {bar:30} {bytes} of {total_bytes}, {msg}, {eta} left"
    } else {
        "reading {spinner} {bytes}, {msg}"
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
