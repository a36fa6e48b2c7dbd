//! One function a command.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use memreport_ingest::{Counters, for_each_record, inspect};
use memreport_render::aggregate::{
    DiffOptions, Error as AggregateError, Profile, Question, Saved, Selection,
};
use memreport_render::{
    Collapsed, Csv, DiffReport, FirstView, Gprof2dot, Html, Json, Output, Pprof, Slim, Speedscope,
    StatsJson, StatsMarkdown, StatsText, Summary, Table, Tree, Units, format_bytes, format_count,
    inspection_json, inspection_text, record_json, saved_json, saved_text,
};

use crate::cli::{
    BuildArgs, DiffArgs, ExportArgs, Format, InfoArgs, ReadArgs, RecordsArgs, StatsArgs, TOP,
};
use crate::cli::{SlimArgs, SummaryArgs, TableArgs, TreeArgs, WrittenArgs};
use crate::output;
use crate::progress::say;
use crate::reading::{Outcome, open, outcome, read, read_saved, read_with};
use crate::saved::SavedRefusal;
use crate::screen;

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    let page = match &args.output {
        Some(path) => path.clone(),
        None => output::default_path(&args.capture, args.force)?,
    };
    let (first_view, question) = if args.leaks {
        (FirstView::Leaks, Question::Leaks)
    } else if args.temporary_allocations {
        (FirstView::Temporary, Question::Temporary { threshold: 1 })
    } else {
        (FirstView::Peak, Question::Peak)
    };
    let selection = Selection::default().asking(question);
    let selection = (question != Question::Peak).then_some(selection);
    let mut wanted: Vec<(&Path, Box<dyn Output>)> = vec![(&page, Box::new(Html { first_view }))];
    for (format, path) in args.also.exports() {
        wanted.push((path, exported(format, selection.clone(), true)));
    }
    if let Some(path) = &args.also.stats {
        let as_json = path.extension().is_some_and(|end| end == "json");
        wanted.push((path, statistics(as_json, TOP, Units::default())));
    }
    let mut places = HashSet::new();
    for (path, _) in &wanted {
        refuse_capture(&args.capture, path)?;
        if !places.insert(output::place(path)) {
            bail!("two outputs have the same place: {}", path.display());
        }
    }

    let profile = read_with(&args.capture, &args.read, question, args.source.into())?;
    // All of them are written before the first replaces anything.
    let written: Vec<_> = wanted
        .iter()
        .map(|(path, output)| output::write(output.as_ref(), &profile, path))
        .collect::<Result<_>>()?;
    written.into_iter().try_for_each(output::Written::publish)?;
    if !args.read.quiet {
        say(&page_summary(&profile, &page));
    }
    Ok(outcome(&args.read, &[&profile]))
}

pub(crate) fn export(args: &ExportArgs) -> Result<Outcome> {
    refuse_capture(&args.capture, &args.output)?;
    if args.selection.inverted && args.format.has_fixed_order() {
        bail!("--inverted does not apply to this format, whose stacks are always innermost first");
    }
    if args.temporal && !matches!(args.format, Format::Json) {
        bail!("--temporal applies to --format json only");
    }
    let selection = args.selection.selection()?;
    let selection = args.selection.is_given().then_some(selection);
    let output = exported(args.format, selection, args.temporal);
    let profile = read(&args.capture, &args.read, args.selection.question())?;
    output::write(output.as_ref(), &profile, &args.output)?.publish()?;
    Ok(outcome(&args.read, &[&profile]))
}

/// The peak or, if there is one, a selection in a format. JSON holds both, and with `temporal` sections over
/// time.
fn exported(format: Format, selection: Option<Selection>, temporal: bool) -> Box<dyn Output> {
    let shown = selection.clone().unwrap_or_default();
    match format {
        Format::Json => Box::new(Json {
            temporal,
            selection,
        }),
        Format::Speedscope => Box::new(Speedscope { selection: shown }),
        Format::Csv => Box::new(Csv { selection: shown }),
        Format::Gprof2dot => Box::new(Gprof2dot { selection: shown }),
        Format::Collapsed => Box::new(Collapsed { selection: shown }),
        Format::Pprof => Box::new(Pprof { selection: shown }),
    }
}

fn statistics(as_json: bool, top: usize, units: Units) -> Box<dyn Output> {
    if as_json {
        Box::new(StatsJson { top })
    } else {
        Box::new(StatsText { top, units })
    }
}

pub(crate) fn stats(args: &StatsArgs) -> Result<Outcome> {
    refuse_capture(&args.capture, &args.written.output)?;
    let budget = args.written.budget;
    if budget.is_some() && !args.written.markdown {
        bail!("--budget needs --markdown");
    }
    let profile = read(&args.capture, &args.read, Question::default())?;
    let top = args.num_largest;
    let units = Units::from(&args.written.units);
    let output = if args.written.markdown {
        Box::new(StatsMarkdown { top, units, budget })
    } else {
        statistics(args.written.json, top, units)
    };
    output::write(output.as_ref(), &profile, &args.written.output)?.publish()?;
    Ok(outcome(&args.read, &[&profile]))
}

pub(crate) fn summary(args: &SummaryArgs) -> Result<Outcome> {
    if args.selection.inverted {
        bail!("--inverted does not apply to a list of functions");
    }
    check_budget(&args.form.written)?;
    let form = &args.form;
    let summary = Summary {
        selection: args.selection.selection()?,
        order: args.sort.into(),
        extent: form.extent(),
        units: Units::from(&form.written.units),
        form: form.form(screen::columns(&form.written.output)),
    };
    write_selected(
        &args.capture,
        &args.read,
        &summary.selection,
        &summary,
        &form.written.output,
    )
}

pub(crate) fn tree(args: &TreeArgs) -> Result<Outcome> {
    check_budget(&args.form.written)?;
    let form = &args.form;
    let tree = Tree {
        selection: args.selection.selection()?,
        extent: form.extent(),
        units: Units::from(&form.written.units),
        form: form.form(screen::columns(&form.written.output)),
    };
    write_selected(
        &args.capture,
        &args.read,
        &tree.selection,
        &tree,
        &form.written.output,
    )
}

fn check_budget(written: &WrittenArgs) -> Result<()> {
    if written.budget.is_some() && !written.markdown && !written.json {
        bail!("--budget needs --markdown or --json");
    }
    Ok(())
}

pub(crate) fn table(args: &TableArgs) -> Result<Outcome> {
    if args.selection.inverted {
        bail!("--inverted does not apply to a table of stacks");
    }
    let Some(format) = args.format() else {
        bail!(
            "{} does not end in .html, .csv or .tsv: say which with --format",
            args.output.display()
        );
    };
    let table = Table {
        selection: args.selection.selection()?,
        format,
        units: Units::from(&args.units),
    };
    write_selected(
        &args.capture,
        &args.read,
        &table.selection,
        &table,
        &args.output,
    )
}

/// Reads the capture and writes what is selected of it.
fn write_selected(
    capture: &Path,
    args: &ReadArgs,
    selection: &Selection,
    output: &dyn Output,
    path: &Path,
) -> Result<Outcome> {
    refuse_capture(capture, path)?;
    let profile = read(capture, args, selection.question)?;
    output::write(output, &profile, path)?.publish()?;
    Ok(outcome(args, &[&profile]))
}

pub(crate) fn diff(args: &DiffArgs) -> Result<Outcome> {
    if args.selection.inverted || args.selection.split_threads {
        bail!("--inverted and --split-threads do not apply to what changed");
    }
    let form = &args.form;
    check_budget(&form.written)?;
    let path = &form.written.output;
    let captures = [&args.base, &args.new];
    if captures.iter().all(|capture| *capture == Path::new("-")) {
        bail!("standard input is one capture only");
    }
    for capture in captures {
        refuse_capture(capture, path)?;
    }
    let report = DiffReport {
        selection: args.selection.selection()?,
        made: args.allocations,
        options: DiffOptions {
            exact: args.exact,
            strip_prefixes: args.strip_prefix.clone(),
        },
        names: captures.map(|capture| capture.display().to_string()),
        extent: form.extent(),
        units: Units::from(&form.written.units),
        form: form.form(screen::columns(path)),
    };
    let [base, new] = captures.map(|capture| read(capture, &args.read, report.selection.question));
    let (base, new) = (base?, new?);
    output::write_with(path, &|out| report.write([&base, &new], out))?.publish()?;
    Ok(outcome(&args.read, &[&base, &new]))
}

pub(crate) fn slim(args: &SlimArgs) -> Result<Outcome> {
    refuse_capture(&args.capture, &args.output)?;
    let threshold = args.temporary_allocation_threshold.into();
    let question = Question::Temporary { threshold };
    let saved = read_saved(&args.capture, &args.read, question, args.source.into())?;
    let Saved { origin, profile } = saved;
    if !profile.is_aggregated && threshold > profile.temporaries.threshold() {
        let known = profile.temporaries.threshold();
        return Err(AggregateError::ThresholdTooLarge { threshold, known }.into());
    }
    output::write(&Slim { origin }, &profile, &args.output)?.publish()?;
    Ok(outcome(&args.read, &[&profile]))
}

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    let mut source = open(&args.capture)?;
    let start = source.start()?;
    let text = if Saved::is_saved(&start) {
        let saved = Saved::read(source.unwrapped()?)?;
        if args.json {
            format!("{:#}", saved_json(&saved))
        } else {
            saved_text(&saved)
        }
    } else if Html::is_report(&start) {
        bail!(SavedRefusal::Report);
    } else {
        let inspection = inspect(source)?;
        if args.json {
            format!("{:#}", inspection_json(&inspection))
        } else {
            inspection_text(&inspection)
        }
    };
    writeln!(io::stdout(), "{text}").context("cannot write to standard output")?;
    Ok(Outcome::Done)
}

/// A capture cannot be made again; no output takes its place.
pub(crate) fn refuse_capture(capture: &Path, output: &Path) -> Result<()> {
    let is_file = capture != Path::new("-");
    if is_file && output::place(output) == output::place(capture) {
        bail!("{} is the capture itself", output.display());
    }
    Ok(())
}

pub(crate) fn records(args: &RecordsArgs) -> Result<Outcome> {
    let mut source = open(&args.capture)?;
    let start = source.start()?;
    if Saved::is_saved(&start) {
        bail!(SavedRefusal::NoRecords);
    }
    if Html::is_report(&start) {
        bail!(SavedRefusal::Report);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let ending = for_each_record(source, &Arc::new(Counters::default()), |at| {
        writeln!(out, "{}", record_json(&at))
    })?;
    out.flush().context("cannot write to standard output")?;
    if ending.is_complete() {
        return Ok(Outcome::Done);
    }
    say(&format!("warning: {ending}"));
    Ok(if args.allow_truncated {
        Outcome::Done
    } else {
        Outcome::FromDamagedCapture
    })
}

fn page_summary(profile: &Profile, page: &Path) -> String {
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
