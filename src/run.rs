//! One function a command.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use memreport_ingest::{Counters, for_each_record, inspect};
use memreport_render::aggregate::{
    DiffOptions, Error as AggregateError, Profile, Question, Saved, Selection,
};
use memreport_render::{
    Collapsed, Csv, DiffPage, DiffReport, Error as RenderError, Gprof2dot, Html, Json, Output,
    Pprof, Slim, Speedscope, StatsJson, StatsMarkdown, StatsText, Summary, Table, Tree, Units,
    cautions, inspection_json, inspection_text, record_json, saved_json, saved_text,
};

use crate::cli::{
    DiffArgs, DiffForm, ExportArgs, Format, InfoArgs, ReadArgs, RecordsArgs, StatsArgs,
};
use crate::cli::{SlimArgs, SummaryArgs, TableArgs, TreeArgs, WrittenArgs};
use crate::output;
use crate::progress::say;
use crate::reading::{Outcome, open, outcome, read, read_saved};
use crate::saved::SavedRefusal;
use crate::screen;

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
pub(crate) fn exported(
    format: Format,
    selection: Option<Selection>,
    temporal: bool,
) -> Box<dyn Output> {
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

pub(crate) fn statistics(as_json: bool, top: usize, units: Units) -> Box<dyn Output> {
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
    let path = &args.form.written.output;
    let captures = [&args.base, &args.new];
    if captures.iter().all(|capture| *capture == Path::new("-")) {
        bail!("standard input is one capture only");
    }
    for capture in captures {
        refuse_capture(capture, path)?;
    }
    let selection = args.selection.selection()?;
    let question = selection.question;
    let options = DiffOptions {
        exact: args.exact,
        strip_prefixes: args.strip_prefix.clone(),
    };
    let names = captures.map(|capture| capture.display().to_string());
    let units = Units::from(&args.form.written.units);
    let report: Box<DiffWriter> = match args.form() {
        None => bail!(
            "{} does not end in .html, .md, .json or .txt, which say the form: name another file, or say --markdown or \
             --json",
            path.display()
        ),
        Some(DiffForm::Page) => {
            if args.form.written.budget.is_some() || args.form.num_rows.is_some() {
                bail!("-n and --budget do not apply to the page, which has all rows");
            }
            let page = DiffPage {
                selection,
                made: args.allocations,
                options,
                names,
                units,
            };
            Box::new(move |profiles, out| page.write(profiles, out))
        }
        Some(DiffForm::Report(form)) => {
            check_budget(&form.written)?;
            let report = DiffReport {
                selection,
                made: args.allocations,
                options,
                names,
                extent: form.extent(),
                units,
                form: form.form(screen::columns(path)),
            };
            Box::new(move |profiles, out| report.write(profiles, out))
        }
    };
    let [base, new] = captures.map(|capture| read(capture, &args.read, question));
    let (base, new) = (base?, new?);
    if !args.read.quiet {
        for caution in cautions([&base, &new]) {
            say(&format!("note: {caution}"));
        }
    }
    output::write_with(path, &|out| report([&base, &new], out))?.publish()?;
    Ok(outcome(&args.read, &[&base, &new]))
}

/// What writes a diff of two profiles.
type DiffWriter = dyn Fn([&Profile; 2], &mut dyn Write) -> Result<(), RenderError>;

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
