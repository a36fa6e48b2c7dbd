//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Reports from captures of the memray profiler.
///
/// A capture is a file that `memray run` wrote, or `-` for standard input; gzip and LZ4 are
/// recognised by content.
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
  memreport export out.bin --format speedscope   for https://www.speedscope.app
  memreport info out.bin                         what the capture is

Exit codes:
  0  done
  2  bad usage, or input that cannot be read
  3  done, but from a damaged or truncated capture (--allow-truncated makes it 0)";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the HTML report: heap over time, and flame graphs of any range of it
    Build(BuildArgs),
    /// Write the profile in another format
    Export(ExportArgs),
    /// Show what a capture is, how it ended and what is recoverable, from its start and its end
    Info(InfoArgs),
    /// Print every record, a line of JSON each, with its byte offset
    Records(RecordsArgs),
}

/// What all commands that read a whole capture take.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The capture: a file, or - for standard input
    pub(crate) capture: PathBuf,

    /// Keep at most N memory snapshots; peaks stay exact
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = parse_positive)]
    pub(crate) max_memory_records: usize,

    /// Read the files of native frames below DIR, for a capture made on another system
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

    /// Show what was left over at the end first, not the peak
    #[arg(long)]
    pub(crate) leaks: bool,

    /// No progress, no summary; warnings and errors only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,

    /// Where the report goes, replacing what is there; - for standard output
    /// [default: the capture's name with .html, in this folder]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Without -o, replace a file even if memreport did not write it
    #[arg(short, long)]
    pub(crate) force: bool,

    /// Write profiles for speedscope too
    #[arg(long, value_name = "FILE")]
    pub(crate) speedscope: Option<PathBuf>,

    /// Write the profile as JSON too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
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
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// Everything, exact; documented in render/SCHEMA.md
    Json,
    /// Profiles for <https://www.speedscope.app>
    Speedscope,
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

fn parse_positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(n) => Ok(n),
        Err(error) => Err(error.to_string()),
    }
}
