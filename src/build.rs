//! `build`: a page of each capture, several captures side by side.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use memreport_render::aggregate::{Profile, Question, Selection};
use memreport_render::{FirstView, Html, Output, Units, format_bytes, format_count};

use crate::cli::{BuildArgs, ReadArgs, TOP};
use crate::hints::say_error;
use crate::output;
use crate::progress::say;
use crate::reading::{Outcome, outcome, read_with};
use crate::run::{exported, refuse_capture, statistics};

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    let pages = pages(args)?;
    refuse_equal_places(args, &pages)?;
    if let Some(folder) = args.output.as_ref().filter(|path| output::is_folder(path)) {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    if let ([capture], [page]) = (&args.captures[..], &pages[..]) {
        return one(args, &args.read, capture, page);
    }
    several(args, &pages)
}

/// Where the page of each capture goes.
fn pages(args: &BuildArgs) -> Result<Vec<PathBuf>> {
    let is_only = args.captures.len() == 1;
    if !is_only && args.also.is_given() {
        bail!("other outputs are of one capture: name one only, or let them be");
    }
    match &args.output {
        Some(path) if output::is_folder(path) => {
            let name = |capture: &PathBuf| path.join(output::default_name(capture));
            Ok(args.captures.iter().map(name).collect())
        }
        Some(path) if is_only => Ok(vec![path.clone()]),
        Some(path) => bail!(
            "{} is no folder, which several pages need: make it, or end its name with /",
            path.display()
        ),
        None => {
            let path = |capture: &PathBuf| output::default_path(capture, args.force);
            args.captures.iter().map(path).collect()
        }
    }
}

/// No output takes the place of a capture or of another output.
fn refuse_equal_places(args: &BuildArgs, pages: &[PathBuf]) -> Result<()> {
    let mut places = HashMap::new();
    let outputs = pages.iter().chain(args.also.files());
    for path in outputs {
        for capture in &args.captures {
            refuse_capture(capture, path)?;
        }
        if places.insert(output::place(path), path).is_some() {
            bail!("two outputs have the same place: {}", path.display());
        }
    }
    let inputs = args.captures.iter().filter(|path| *path == Path::new("-"));
    if inputs.count() > 1 {
        bail!("standard input is one capture only");
    }
    Ok(())
}

/// Makes the pages, so many at a time as jobs were asked for. A capture that cannot be read keeps none of the
/// others from its page.
fn several(args: &BuildArgs, pages: &[PathBuf]) -> Result<Outcome> {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let n_jobs = args.jobs.unwrap_or(n_cores.div_ceil(2));
    let read = ReadArgs {
        // Bars of several captures would overwrite each other.
        no_bar: n_jobs > 1,
        name_captures: true,
        ..args.read.clone()
    };
    let queue = Mutex::new(args.captures.iter().zip(pages));
    let next = || queue.lock().ok()?.next();
    let work = || {
        let mut outcomes = Vec::new();
        while let Some((capture, page)) = next() {
            let outcome = one(args, &read, capture, page);
            outcomes.push(outcome.with_context(|| capture.display().to_string()));
        }
        outcomes
    };
    let outcomes: Vec<Result<Outcome>> = thread::scope(|scope| {
        let jobs: Vec<_> = (0..n_jobs.min(pages.len()))
            .map(|_| scope.spawn(work))
            .collect();
        let ended = jobs.into_iter().map(|job| {
            job.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ended.flatten().collect()
    });
    let mut worst = Outcome::Done;
    let mut n_failed = 0;
    for outcome in outcomes {
        match outcome {
            Ok(Outcome::Done) => {}
            Ok(outcome) => worst = outcome,
            Err(error) => {
                say_error(&error);
                n_failed += 1;
            }
        }
    }
    match n_failed {
        0 => Ok(worst),
        n => Err(anyhow!("{n} of {} captures have no page", pages.len())),
    }
}

/// Makes the page of one capture, and the other outputs.
fn one(args: &BuildArgs, read: &ReadArgs, capture: &Path, page: &Path) -> Result<Outcome> {
    let (first_view, question) = if args.leaks {
        (FirstView::Leaks, Question::Leaks)
    } else if args.temporary_allocations {
        (FirstView::Temporary, Question::Temporary { threshold: 1 })
    } else {
        (FirstView::Peak, Question::Peak)
    };
    let selection = Selection::default().asking(question);
    let selection = (question != Question::Peak).then_some(selection);
    let html = Html {
        first_view,
        max_len: args.max_html_size,
    };
    let mut others: Vec<(&Path, Box<dyn Output>)> = Vec::new();
    for (format, path) in args.also.exports() {
        others.push((path, exported(format, selection.clone(), true)));
    }
    if let Some(path) = &args.also.stats {
        let as_json = path.extension().is_some_and(|end| end == "json");
        others.push((path, statistics(as_json, TOP, Units::default())));
    }

    let profile = read_with(capture, read, question, args.source.into())?;
    let made = html.page(&profile)?;
    // All of them are written before the first replaces anything.
    let mut written = vec![output::write_with(page, &|out| made.write(out))?];
    for (path, output) in &others {
        written.push(output::write(output.as_ref(), &profile, path)?);
    }
    written.into_iter().try_for_each(output::Written::publish)?;
    if !read.quiet {
        let mut summary = summary(&profile, page);
        if let Some(folded) = &made.folded {
            summary = format!("{summary}\nnote: {folded} (--max-html-size)");
        }
        say(&summary);
    }
    Ok(outcome(read, &[&profile]))
}

fn summary(profile: &Profile, page: &Path) -> String {
    let allocations = if profile.is_aggregated {
        String::new()
    } else {
        format!(", {} allocations", format_count(profile.counts.allocations))
    };
    format!(
        "{}: peak {}, {} left over{}",
        page.display(),
        format_bytes(profile.slices.peak(), Units::Iec),
        format_bytes(profile.slices.heap.last().copied().unwrap_or(0), Units::Iec),
        allocations,
    )
}
