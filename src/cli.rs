//! What can be typed.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use memreport_ingest::SourceFiles;
use memreport_render::aggregate::{
    Error as AggregateError, FaultyText, Filter, Moment, Question, Rule, Selection, Severity,
};
use memreport_render::{Extent, Form, FunctionOrder, TableFormat, Units};

/// Reports from captures of the memray profiler.
///
/// A capture is a file that `memray run` wrote, or `-` for standard input; gzip and LZ4 are
/// recognised by content. A profile that `memreport slim` saved is taken in its place.
#[derive(Debug, Parser)]
#[command(version, about, long_about, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  memreport build out.bin -o report.html         the report, a page to open in a browser
  memreport build out.bin --leaks                the same, asking first what was left over
  memreport build *.bin -o reports/              a page of each, several side by side
  memreport build out.bin --csv a.csv --stats a.json   the page and other outputs, reading once
  memreport export out.bin --format speedscope   for https://www.speedscope.app
  memreport stats out.bin --json                 totals and top locations, as memray's stats --json
  memreport summary out.bin                      which functions hold the memory, in the terminal
  memreport tree out.bin --leaks                 which calls lead to what was left over
  memreport table out.bin -o table.html          a row for each stack, to sort and search
  memreport diff old.bin new.bin                 what changed, and where
  memreport diff old.bin new.bin -o diff.html    the same as a page
  memreport check out.bin --limit 'peak<512MiB'  whether it needs more than it may, for CI
  memreport slim out.bin -o base.mrp             the profile, to keep and to make all of the above from
  memreport info out.bin                         what the capture is

Exit codes:
  0  done
  1  a limit of check is broken
  2  bad usage, or input that cannot be read
  3  done, but from a damaged or truncated capture (--allow-truncated makes it 0)";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the HTML report: heap over time, and flame graphs of any range of it
    Build(BuildArgs),
    /// Write the profile in another format
    Export(ExportArgs),
    /// Show statistics of all allocations: sizes, allocators, locations, modules
    Stats(StatsArgs),
    /// Show which functions allocate, in a table that fits the terminal
    Summary(SummaryArgs),
    /// Show the heaviest paths of the call tree
    Tree(TreeArgs),
    /// Write a row for each stack: a page to sort and search, CSV or TSV
    Table(TableArgs),
    /// Show what changed between two captures: totals, functions, stacks. The ending of -o says the form: .html
    /// (a page that opens from disk), .md, .json or .txt
    Diff(DiffArgs),
    /// Check limits on what a run needs, or how much more than a baseline: a gate for CI
    Check(CheckArgs),
    /// Save the profile itself: small enough to keep, and read in place of the capture by all other commands
    Slim(SlimArgs),
    /// Show what a capture is, how it ended and what is recoverable, from its start and its end
    Info(InfoArgs),
    /// Print every record, a line of JSON each, with its byte offset
    Records(RecordsArgs),
}

/// How whole captures are read.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReadArgs {
    /// Keep at most N memory snapshots; peaks stay exact [default: 10000]
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub(crate) max_memory_records: Option<usize>,

    /// Read the files of native frames and of source below DIR, for a capture made on another system
    #[arg(long, value_name = "DIR")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Look for the files of native frames, and their debug information, in DIR too
    #[arg(long, value_name = "DIR")]
    pub(crate) symbol_path: Vec<PathBuf>,

    /// Open no files of native frames; show them as module+0xoffset
    #[arg(long, conflicts_with_all = ["sysroot", "symbol_path"])]
    pub(crate) no_symbols: bool,

    /// Show memray's own frames too, those above the code that was traced
    #[arg(long)]
    pub(crate) show_memray_frames: bool,

    /// End with 0, not 3, when the capture is damaged or truncated
    #[arg(long)]
    pub(crate) allow_truncated: bool,

    /// No progress, no summary; warnings and errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Whether no progress is shown, though the rest is.
    #[arg(skip)]
    pub(crate) no_bar: bool,

    /// Whether what is said of a capture has its name, for there are several.
    #[arg(skip)]
    pub(crate) name_captures: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// The captures: files, or - for standard input. Several give a page each
    #[arg(required = true, value_name = "CAPTURE")]
    pub(crate) captures: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Show what was left over at the end, not the peak: first in the page and in speedscope's profiles; alone
    /// in csv, gprof2dot, collapsed and pprof; in JSON as its selection. Statistics are of everything
    #[arg(long, conflicts_with = "temporary_allocations")]
    pub(crate) leaks: bool,

    /// The same with what its own thread freed after at most one other allocation
    #[arg(long)]
    pub(crate) temporary_allocations: bool,

    /// Where the report goes, replacing what is there: a file, a folder, or - for standard output
    /// [default: the capture's name with .html, in this folder]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    /// Of several captures, read N at a time, each in its own memory [default: one for two cores]
    #[arg(short, long, value_name = "N", value_parser = parse_positive)]
    pub(crate) jobs: Option<usize>,

    /// Without -o, replace a file even if memreport did not write it
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Embed lines of source in the page, from the files as they are here now
    #[arg(long, value_enum, value_name = "FILES", default_value_t = SourceArg::None)]
    pub(crate) source: SourceArg,

    /// Fold small stacks and merge memory snapshots while the page is larger: bytes, or like 500k, 25M
    #[arg(long, value_name = "SIZE", default_value = "25M", value_parser = parse_size)]
    pub(crate) max_html_size: u64,

    // Last: its heading is that of all options after it.
    #[command(flatten)]
    pub(crate) also: AlsoArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum SourceArg {
    /// Names and line numbers only
    None,
    /// From files of Python frames whose names end in .py
    Py,
    /// From files of all frames, also of native ones
    All,
}

impl From<SourceArg> for SourceFiles {
    fn from(source: SourceArg) -> Self {
        match source {
            SourceArg::None => Self::None,
            SourceArg::Py => Self::Python,
            SourceArg::All => Self::All,
        }
    }
}

/// Outputs beside the page, as `export` and `stats` write them. All are written, or none.
#[derive(Debug, Args)]
#[command(next_help_heading = "Other outputs of the same reading")]
pub(crate) struct AlsoArgs {
    /// Write profiles for speedscope too
    #[arg(long, value_name = "FILE")]
    pub(crate) speedscope: Option<PathBuf>,

    /// Write everything as JSON too, as export --format json --temporal
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write a table of stacks too
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,

    /// Write call chains for gprof2dot too
    #[arg(long, value_name = "FILE")]
    pub(crate) gprof2dot: Option<PathBuf>,

    /// Write collapsed stacks for flame graph tools too
    #[arg(long, value_name = "FILE")]
    pub(crate) collapsed: Option<PathBuf>,

    /// Write a profile for pprof too
    #[arg(long, value_name = "FILE")]
    pub(crate) pprof: Option<PathBuf>,

    /// Write statistics too: JSON if FILE ends in .json, else text
    #[arg(long, value_name = "FILE")]
    pub(crate) stats: Option<PathBuf>,
}

impl AlsoArgs {
    /// Whether any of them is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.files().next().is_some()
    }

    /// All files that are asked for.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let exports = self.exports().map(|(_, file)| file);
        exports.chain(&self.stats)
    }

    /// Formats of `export` that are asked for, with their files.
    pub(crate) fn exports(&self) -> impl Iterator<Item = (Format, &PathBuf)> {
        let files = [
            (Format::Speedscope, &self.speedscope),
            (Format::Json, &self.json),
            (Format::Csv, &self.csv),
            (Format::Gprof2dot, &self.gprof2dot),
            (Format::Collapsed, &self.collapsed),
            (Format::Pprof, &self.pprof),
        ];
        let asked = files.into_iter();
        asked.filter_map(|(format, file)| Some((format, file.as_ref()?)))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// The format
    #[arg(long, value_enum)]
    pub(crate) format: Format,

    /// With the sections over time (json)
    #[arg(long)]
    pub(crate) temporal: bool,

    /// Where it goes, replacing what is there
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,

    // Last: its heading is that of all options after it.
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

/// What is shown: which question, over which range, of which stacks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// What was left over at the end of the range, not what was live at its peak
    #[arg(long, conflicts_with_all = ["temporary_allocations", "temporary_allocation_threshold"])]
    pub(crate) leaks: bool,

    /// What its own thread freed after at most one other allocation
    #[arg(long)]
    pub(crate) temporary_allocations: bool,

    /// The same, after at most N other allocations
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(0..=1000))]
    pub(crate) temporary_allocation_threshold: Option<u16>,

    /// From T on: seconds since the start, peak, rss-peak or end
    #[arg(long, value_name = "T")]
    pub(crate) from: Option<Moment>,

    /// Up to T
    #[arg(long, value_name = "T")]
    pub(crate) to: Option<Moment>,

    /// Only stacks with a frame whose function, file or module matches
    #[arg(long, value_name = "REGEX")]
    pub(crate) include: Vec<String>,

    /// Only stacks without such a frame
    #[arg(long, value_name = "REGEX")]
    pub(crate) exclude: Vec<String>,

    /// End stacks where they import modules
    #[arg(long)]
    pub(crate) hide_import_system: bool,

    /// Leave the interpreter's own machinery out of stacks
    #[arg(long)]
    pub(crate) hide_internals: bool,

    /// Keep threads apart
    #[arg(long)]
    pub(crate) split_threads: bool,

    /// Show stacks from the allocating function outwards
    #[arg(long)]
    pub(crate) inverted: bool,
}

impl Format {
    /// Whether its stacks have one order, whichever way they are shown.
    pub(crate) fn has_fixed_order(self) -> bool {
        match self {
            Self::Json | Self::Csv | Self::Gprof2dot | Self::Pprof => true,
            Self::Speedscope | Self::Collapsed => false,
        }
    }
}

impl SelectionArgs {
    pub(crate) fn question(&self) -> Question {
        let threshold = self.temporary_allocation_threshold.map(usize::from);
        match threshold.or(self.temporary_allocations.then_some(1)) {
            Some(threshold) => Question::Temporary { threshold },
            None if self.leaks => Question::Leaks,
            None => Question::Peak,
        }
    }

    pub(crate) fn selection(&self) -> Result<Selection, AggregateError> {
        let mut filter = Filter::new(&self.include, &self.exclude)?;
        filter.hide_import_system = self.hide_import_system;
        filter.hide_internals = self.hide_internals;
        Ok(Selection {
            question: self.question(),
            from: self.from,
            to: self.to,
            filter,
            split_threads: self.split_threads,
            inverted: self.inverted,
        })
    }

    /// Whether any of these options is there.
    pub(crate) fn is_given(&self) -> bool {
        self.question() != Question::Peak
            || self.from.is_some()
            || self.to.is_some()
            || !self.include.is_empty()
            || !self.exclude.is_empty()
            || [
                self.hide_import_system,
                self.hide_internals,
                self.split_threads,
                self.inverted,
            ]
            .contains(&true)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// Everything, exact; documented in render/SCHEMA.md
    Json,
    /// Profiles for <https://www.speedscope.app>
    Speedscope,
    /// A row a stack, as memray's transform csv
    Csv,
    /// Call chains for gprof2dot -f json, as memray's transform gprof2dot
    Gprof2dot,
    /// A line a stack, with its bytes, for flame graph tools
    Collapsed,
    /// Gzipped protocol buffers, for go tool pprof
    Pprof,
}

/// Entries in the lists of statistics.
pub(crate) const TOP: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Show the N locations and modules that allocate most
    #[arg(short = 'n', long, value_name = "N", default_value_t = TOP, value_parser = parse_positive)]
    pub(crate) num_largest: usize,

    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SummaryArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// What functions are ordered by, largest first
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = Sort::Own)]
    pub(crate) sort: Sort,

    #[command(flatten)]
    pub(crate) form: FormArgs,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    #[command(flatten)]
    pub(crate) form: FormArgs,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TableArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Where it goes, replacing what is there; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The format [default: that of FILE's ending; for standard output CSV]
    #[arg(long, value_enum)]
    pub(crate) format: Option<TableFormatArg>,

    #[command(flatten)]
    pub(crate) units: UnitsArgs,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TableFormatArg {
    /// A page that opens from disk
    Html,
    /// Values with commas between them
    Csv,
    /// Values with tabs between them
    Tsv,
}

impl TableArgs {
    /// The format that is asked for, or that the file's name tells.
    pub(crate) fn format(&self) -> Option<TableFormat> {
        let named = || {
            let ending = self.output.extension().and_then(|ending| ending.to_str());
            match ending.map(str::to_ascii_lowercase).as_deref() {
                Some("html" | "htm") => Some(TableFormat::Html),
                Some("csv") => Some(TableFormat::Csv),
                Some("tsv") => Some(TableFormat::Tsv),
                _ => (self.output == Path::new("-")).then_some(TableFormat::Csv),
            }
        };
        match self.format {
            Some(TableFormatArg::Html) => Some(TableFormat::Html),
            Some(TableFormatArg::Csv) => Some(TableFormat::Csv),
            Some(TableFormatArg::Tsv) => Some(TableFormat::Tsv),
            None => named(),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Sort {
    /// Bytes that they allocate themselves
    Own,
    /// Bytes that they and what they call allocate
    Total,
    /// Allocations that they and what they call make
    Count,
}

impl From<Sort> for FunctionOrder {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Own => Self::Own,
            Sort::Total => Self::Total,
            Sort::Count => Self::Count,
        }
    }
}

/// In what form, and how much of it, a report of many rows is written.
#[derive(Debug, Clone, Args)]
pub(crate) struct FormArgs {
    /// Show N rows at most [default: as many as make 40 lines; with --json or --budget, all]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_positive)]
    pub(crate) num_rows: Option<usize>,

    /// Show all rows
    #[arg(long, conflicts_with = "num_rows")]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) written: WrittenArgs,
}

/// What outputs take that people read, or agents for them.
#[derive(Debug, Clone, Args)]
pub(crate) struct WrittenArgs {
    /// As Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,

    /// As JSON; documented in render/SCHEMA.md
    #[arg(long)]
    pub(crate) json: bool,

    /// Write at most SIZE bytes of Markdown or JSON, like 8k or 1M: the largest rows, and how many are
    /// omitted with how many bytes
    #[arg(long, value_name = "SIZE", value_parser = parse_budget)]
    pub(crate) budget: Option<usize>,

    #[command(flatten)]
    pub(crate) units: UnitsArgs,

    /// Where it goes, replacing what is there
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
}

impl FormArgs {
    pub(crate) fn extent(&self) -> Extent {
        match self.num_rows {
            Some(n) => Extent::Rows(n),
            None if self.all || self.written.json || self.written.budget.is_some() => Extent::All,
            None => Extent::Screen,
        }
    }

    /// The form, in text of so many columns.
    pub(crate) fn form(&self, columns: usize) -> Form {
        let budget = self.written.budget;
        if self.written.markdown {
            Form::Markdown { budget }
        } else if self.written.json {
            Form::Json { budget }
        } else {
            Form::Text { columns }
        }
    }
}

/// What outputs for people take.
#[derive(Debug, Clone, Args)]
pub(crate) struct UnitsArgs {
    /// Show bytes in multiples of 1024 (iec) or of 1000 (si)
    #[arg(long, value_enum, value_name = "UNITS", default_value_t = UnitsArg::Iec)]
    pub(crate) units: UnitsArg,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum UnitsArg {
    /// KiB, MiB
    Iec,
    /// kB, MB
    Si,
}

impl From<&UnitsArgs> for Units {
    fn from(args: &UnitsArgs) -> Self {
        match args.units {
            UnitsArg::Iec => Self::Iec,
            UnitsArg::Si => Self::Si,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The capture to compare with: a file, or - for standard input
    pub(crate) base: PathBuf,

    /// The capture that is compared, from any machine, Python and format version
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Compare all allocations of the run, freed or not
    #[arg(long, conflicts_with_all = ["leaks", "temporary_allocations", "temporary_allocation_threshold", "from", "to"])]
    pub(crate) allocations: bool,

    /// Tell frames of one function apart by their lines
    #[arg(long)]
    pub(crate) exact: bool,

    /// Take files below DIR for modules imported from there, in either capture: what differs between machines
    #[arg(long, value_name = "DIR")]
    pub(crate) strip_prefix: Vec<String>,

    #[command(flatten)]
    pub(crate) form: FormArgs,

    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

/// What a diff is written as.
#[derive(Debug)]
pub(crate) enum DiffForm {
    /// The page.
    Page,
    /// What these arguments say.
    Report(FormArgs),
}

impl DiffArgs {
    /// The form that is asked for, or that the file's name tells; `None` if it tells none.
    pub(crate) fn form(&self) -> Option<DiffForm> {
        let mut form = self.form.clone();
        let WrittenArgs {
            markdown,
            json,
            output,
            ..
        } = &mut form.written;
        if !*markdown && !*json && output != Path::new("-") {
            let is_stream = output
                .metadata()
                .is_ok_and(|of| !of.is_file() && !of.is_dir());
            let ending = output.extension().and_then(|ending| ending.to_str());
            match ending.map(str::to_ascii_lowercase).as_deref() {
                _ if is_stream => {}
                Some("html" | "htm") => return Some(DiffForm::Page),
                Some("md" | "markdown") => *markdown = true,
                Some("json") => *json = true,
                Some("txt") => {}
                _ => return None,
            }
        }
        Some(DiffForm::Report(form))
    }
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Explain what is broken with N stacks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = parse_positive)]
    pub(crate) num_stacks: usize,

    /// What the run is called in outputs [default: the capture's file name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) units: UnitsArgs,

    #[command(flatten)]
    pub(crate) rules: RulesArgs,

    // Last: its heading is that of all options after it.
    #[command(flatten)]
    pub(crate) reports: CheckReportsArgs,
}

const CHECK_HELP: &str = "\
Rules:
  MEASURE<SIZE [in PATTERN]    less than SIZE; with <= at most SIZE
  MEASURE is
    peak         bytes live at the highest heap
    leaked       bytes left over at the end
    allocated    bytes allocated in all, freed or not
    allocations  how often it was allocated
    rss          largest resident set; the whole process's, so never in PATTERN
  SIZE is a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; allocations are a number alone
  PATTERN is a regular expression for the function, file or module of any frame of a stack
Growth:
  MEASURE[<SHARE% or SIZE] [in PATTERN]
  Broken by growth beyond both. With SHARE% alone, SIZE is 256KiB or 1000 allocations; with SIZE
  alone, it is broken by growth beyond that. Without a bound, it is <=5% or 256KiB.

Exit codes:
  0  no limit is broken; alerts may be
  1  a limit is broken
  2  bad usage, or input that cannot be read
  3  no limit is broken, but a capture is damaged or truncated (--allow-truncated makes it 0)";

/// What must hold of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
pub(crate) struct RulesArgs {
    /// Fail if this does not hold, like 'peak<512MiB' or 'leaked<1MB in mypkg'
    #[arg(long, value_name = "RULE", value_parser = parse_limit)]
    pub(crate) limit: Vec<Rule>,

    /// Warn if this does not hold
    #[arg(long, value_name = "RULE", value_parser = parse_alert)]
    pub(crate) alert: Vec<Rule>,

    /// Take rules from FILE too, TOML like memreport.toml in docs/ci.md; none is read without this option
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Compare with FILE: a capture, or a profile that slim saved
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Fail if more was added to the baseline's, like 'peak<10% or 1MiB' [default: peak and leaked]
    #[arg(long, value_name = "GROWTH", requires = "baseline", value_parser = parse_growth)]
    pub(crate) growth: Vec<Rule>,

    /// Warn if more was added
    #[arg(long, value_name = "GROWTH", requires = "baseline", value_parser = parse_growth_alert)]
    pub(crate) growth_alert: Vec<Rule>,

    /// Take files below DIR for modules imported from there, in either capture, as diff does
    #[arg(long, value_name = "DIR", requires = "baseline")]
    pub(crate) strip_prefix: Vec<String>,
}

/// What is written beside the text; all of it, or nothing.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reports (- for standard output, in place of the text)")]
pub(crate) struct CheckReportsArgs {
    /// Write JSON; documented in render/SCHEMA.md
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Write Markdown, short enough for a comment of a pull request
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,

    /// Write JUnit's XML, a test case for each rule
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write figures for github-action-benchmark (customSmallerIsBetter)
    #[arg(long, value_name = "FILE")]
    pub(crate) benchmark_json: Option<PathBuf>,

    /// Write figures for Bencher, in its metric format
    #[arg(long, value_name = "FILE")]
    pub(crate) bencher: Option<PathBuf>,

    /// In a GitHub action: annotate what is broken, at most 10, and add to the job summary
    #[arg(long)]
    pub(crate) github: bool,
}

fn parse_limit(text: &str) -> Result<Rule, FaultyText> {
    Rule::on_value(text, Severity::Limit)
}

fn parse_alert(text: &str) -> Result<Rule, FaultyText> {
    Rule::on_value(text, Severity::Alert)
}

fn parse_growth(text: &str) -> Result<Rule, FaultyText> {
    Rule::on_growth(text, Severity::Limit)
}

fn parse_growth_alert(text: &str) -> Result<Rule, FaultyText> {
    Rule::on_growth(text, Severity::Alert)
}

#[derive(Debug, Args)]
pub(crate) struct SlimArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Save lines of source too, from the files as they are here now, for build --source
    #[arg(long, value_enum, value_name = "FILES", default_value_t = SourceArg::None)]
    pub(crate) source: SourceArg,

    /// Look at temporary allocations freed after at most N other allocations, for the same option of reports
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u16).range(0..=1000))]
    pub(crate) temporary_allocation_threshold: u16,

    /// Where the profile goes, replacing what is there; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecordsArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    /// End with 0, not 3, when the capture is damaged or truncated
    #[arg(long)]
    pub(crate) allow_truncated: bool,
}

/// Smallest budget: what no total goes beyond.
const MIN_BUDGET: usize = 1000;

fn parse_budget(text: &str) -> Result<usize, String> {
    match usize::try_from(parse_size(text)?) {
        Ok(bytes) if bytes >= MIN_BUDGET => Ok(bytes),
        Ok(_) => Err(format!("it must be at least {MIN_BUDGET} bytes")),
        Err(_) => Err("it is too large".to_owned()),
    }
}

/// Bytes, in multiples of 1000 with k, M or G.
fn parse_size(text: &str) -> Result<u64, String> {
    let units = [
        ("k", 1000),
        ("K", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    let unit = units
        .iter()
        .find_map(|&(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let number: u64 = number
        .parse()
        .map_err(|_| "it must be a number of bytes, like 8000, 8k or 1M")?;
    number
        .checked_mul(unit)
        .ok_or_else(|| "it is too large".to_owned())
}

fn parse_positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(n) => Ok(n),
        Err(error) => Err(error.to_string()),
    }
}
