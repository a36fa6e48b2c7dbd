//! One function a command.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use memreport_ingest::native::SymbolOptions;
use memreport_ingest::{Container, Counters, Inspection, Source, for_each_record, inspect};
use memreport_render::aggregate::{Options, Profile, Question, Selection, read_profile};
use memreport_render::{
    FirstView, Html, Json, Output, Speedscope, StatsJson, StatsMarkdown, StatsText, Summary, Table,
    Tree, Units, doubts, format_bytes, format_count, format_duration, record_json,
};
use serde_json::json;

use crate::cli::{BuildArgs, ExportArgs, Format, InfoArgs, ReadArgs, RecordsArgs, StatsArgs};
use crate::cli::{SummaryArgs, TableArgs, TreeArgs, WrittenArgs};
use crate::output;
use crate::progress::{say, with_bar};
use crate::screen;

/// How a command ended that gave what was asked for.
pub(crate) enum Outcome {
    Done,
    /// From a capture that is damaged or truncated, and that was not allowed.
    FromDamagedCapture,
}

pub(crate) fn build(args: &BuildArgs) -> Result<Outcome> {
    let page = match &args.output {
        Some(path) => path.clone(),
        None => output::default_path(&args.read.capture, args.force)?,
    };
    let (first_view, question) = if args.leaks {
        (FirstView::Leaks, Question::Leaks)
    } else {
        (FirstView::Peak, Question::Peak)
    };
    let html = Html { first_view };
    let selection = Selection::default().asking(question);
    let speedscope = Speedscope { selection };
    let json = Json { temporal: true };
    let mut wanted: Vec<(&Path, &dyn Output)> = vec![(&page, &html)];
    wanted.extend(
        args.speedscope
            .iter()
            .map(|path| (path.as_path(), &speedscope as &dyn Output)),
    );
    wanted.extend(
        args.json
            .iter()
            .map(|path| (path.as_path(), &json as &dyn Output)),
    );
    let mut places = HashSet::new();
    for (path, _) in &wanted {
        refuse_capture(&args.read, path)?;
        if !places.insert(output::place(path)) {
            bail!("two outputs have the same place: {}", path.display());
        }
    }

    let profile = read(&args.read, question)?;
    // All of them are written before the first replaces anything.
    let written: Vec<_> = wanted
        .iter()
        .map(|(path, output)| output::write(*output, &profile, path))
        .collect::<Result<_>>()?;
    written.into_iter().try_for_each(output::Written::publish)?;
    if !args.read.quiet {
        say(&page_summary(&profile, &page));
    }
    Ok(outcome(&args.read, &profile))
}

pub(crate) fn export(args: &ExportArgs) -> Result<Outcome> {
    refuse_capture(&args.read, &args.output)?;
    let output: Box<dyn Output> = match args.format {
        Format::Json if args.selection.is_given() => {
            bail!("--format json always holds everything; options of selection do not apply to it")
        }
        Format::Json => Box::new(Json {
            temporal: args.temporal,
        }),
        Format::Speedscope => Box::new(Speedscope {
            selection: args.selection.selection()?,
        }),
    };
    let profile = read(&args.read, args.selection.question())?;
    output::write(output.as_ref(), &profile, &args.output)?.publish()?;
    Ok(outcome(&args.read, &profile))
}

pub(crate) fn stats(args: &StatsArgs) -> Result<Outcome> {
    refuse_capture(&args.read, &args.written.output)?;
    let budget = args.written.budget;
    if budget.is_some() && !args.written.markdown {
        bail!("--budget needs --markdown");
    }
    let profile = read(&args.read, Question::default())?;
    let top = args.num_largest;
    let units = Units::from(&args.written.units);
    let output: Box<dyn Output> = if args.written.json {
        Box::new(StatsJson { top })
    } else if args.written.markdown {
        Box::new(StatsMarkdown { top, units, budget })
    } else {
        Box::new(StatsText { top, units })
    };
    output::write(output.as_ref(), &profile, &args.written.output)?.publish()?;
    Ok(outcome(&args.read, &profile))
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
    write_selected(&args.read, &tree.selection, &tree, &form.written.output)
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
    write_selected(&args.read, &table.selection, &table, &args.output)
}

/// Reads the capture and writes what is selected of it.
fn write_selected(
    args: &ReadArgs,
    selection: &Selection,
    output: &dyn Output,
    path: &Path,
) -> Result<Outcome> {
    refuse_capture(args, path)?;
    let profile = read(args, selection.question)?;
    output::write(output, &profile, path)?.publish()?;
    Ok(outcome(args, &profile))
}

pub(crate) fn info(args: &InfoArgs) -> Result<Outcome> {
    let inspection = inspect(open(&args.capture)?)?;
    let text = if args.json {
        info_json(&inspection)
    } else {
        info_text(&inspection)
    };
    writeln!(io::stdout(), "{text}").context("cannot write to standard output")?;
    Ok(Outcome::Done)
}

/// A capture cannot be made again; no output takes its place.
fn refuse_capture(args: &ReadArgs, output: &Path) -> Result<()> {
    let is_file = args.capture != Path::new("-");
    if is_file && output::place(output) == output::place(&args.capture) {
        bail!("{} is the capture itself", output.display());
    }
    Ok(())
}

pub(crate) fn records(args: &RecordsArgs) -> Result<Outcome> {
    let source = open(&args.capture)?;
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

fn open(capture: &Path) -> Result<Source> {
    if capture == Path::new("-") {
        return Ok(Source::stdin());
    }
    Ok(Source::open(capture)?)
}

/// Reads the capture so that it can answer `question`, and says what is doubtful about it.
fn read(args: &ReadArgs, question: Question) -> Result<Profile> {
    let source = open(&args.capture)?;
    let symbols = SymbolOptions {
        sysroot: args.sysroot.clone(),
        symbol_paths: args.symbol_path.clone(),
        enabled: !args.no_symbols,
    };
    let defaults = Options::default();
    let options = Options {
        symbols,
        max_memory_records: args.max_memory_records,
        temporary_threshold: match question {
            Question::Temporary { threshold } => threshold.max(defaults.temporary_threshold),
            _ => defaults.temporary_threshold,
        },
        ..defaults
    };
    let counters = Arc::new(Counters::default());
    let size = source.size();
    let profile = with_bar(args.quiet, size, &counters, || {
        read_profile(source, &options, &counters)
    })?;
    if profile.is_aggregated && !args.quiet {
        say(
            "note: the capture holds only sums (memray run --aggregate): ranges of time, temporary allocations and \
             statistics are not in it",
        );
    }
    for doubt in doubts(&profile) {
        say(&format!("warning: {doubt}"));
    }
    Ok(profile)
}

fn outcome(args: &ReadArgs, profile: &Profile) -> Outcome {
    let doubtful = profile.warnings.iter().any(|w| w.kind.casts_doubt());
    if (profile.ending.is_complete() && !doubtful) || args.allow_truncated {
        Outcome::Done
    } else {
        Outcome::FromDamagedCapture
    }
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

fn container_names(inspection: &Inspection) -> Vec<&'static str> {
    let name = |container: &Container| match container {
        Container::Gzip => "gzip",
        Container::Lz4 => "LZ4",
    };
    inspection.containers.iter().map(name).collect()
}

fn info_json(inspection: &Inspection) -> String {
    let metadata = &inspection.metadata;
    let document = json!({
        "format": metadata.format,
        "memray": metadata.memray,
        "python": metadata.python.map(|version| version.to_string()),
        "file_format": file_format(inspection),
        "containers": container_names(inspection),
        "size": inspection.size,
        "command_line": metadata.command_line,
        "pid": metadata.pid,
        "start_time_ms": metadata.start_time_ms,
        "end_time_ms": metadata.end_time_ms,
        "python_allocator": metadata.python_allocator,
        "trace_python_allocators": metadata.trace_python_allocators,
        "has_native_traces": metadata.has_native_traces,
        "main_thread_id": metadata.main_thread_id,
        "closed": inspection.was_closed(),
        "total_allocations": inspection.n_allocations,
    });
    format!("{document:#}")
}

fn file_format(inspection: &Inspection) -> &'static str {
    use memreport_ingest::capture::FileFormat;
    match inspection.file_format {
        FileFormat::AllAllocations => "ALL_ALLOCATIONS",
        FileFormat::Aggregated => "AGGREGATED_ALLOCATIONS",
    }
}

fn info_text(inspection: &Inspection) -> String {
    let metadata = &inspection.metadata;
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let wrapped = container_names(inspection);
    let wrapped = if wrapped.is_empty() {
        "none".to_owned()
    } else {
        wrapped.join(", ")
    };
    let duration = metadata
        .end_time_ms
        .saturating_sub(metadata.start_time_ms)
        .max(0)
        .cast_unsigned();
    let ended = if inspection.was_closed() {
        format!("in good order, after {}", format_duration(duration))
    } else {
        "not closed: the process was killed, or is still running".to_owned()
    };
    let facts = [
        ("Command", metadata.command_line.clone()),
        ("Process", metadata.pid.to_string()),
        (
            "Format",
            format!("{} (memray {})", metadata.format, metadata.memray),
        ),
        (
            "Python",
            metadata
                .python
                .map_or("not recorded".to_owned(), |version| version.to_string()),
        ),
        (
            "Holds",
            match file_format(inspection) {
                "ALL_ALLOCATIONS" => "every allocation".to_owned(),
                _ => "sums of the peak and of the end (--aggregate)".to_owned(),
            },
        ),
        ("Compression", wrapped),
        (
            "File size",
            inspection
                .size
                .map_or("unknown".to_owned(), |size| format_bytes(size, Units::Iec)),
        ),
        ("Ended", ended),
        (
            "Records",
            match inspection.n_allocations {
                0 => "not counted in the header".to_owned(),
                n => format!("{} allocations and deallocations", format_count(n)),
            },
        ),
        ("Allocator", metadata.python_allocator.to_owned()),
        (
            "Python allocators traced",
            metadata
                .trace_python_allocators
                .map_or("not recorded".to_owned(), yes_no),
        ),
        ("Native stacks", yes_no(metadata.has_native_traces)),
    ];
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts
        .map(|(name, value)| format!("{name:width$}  {value}"))
        .join("\n")
}
