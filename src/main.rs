//! The `memreport` command: reports from captures of the memray profiler.

mod build;
mod check;
mod cli;
#[cfg(test)]
mod documented;
mod github;
mod hints;
mod output;
mod progress;
mod reading;
mod run;
mod saved;
mod screen;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::reading::Outcome;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Build(args) => build::build(args),
        Command::Export(args) => run::export(args),
        Command::Stats(args) => run::stats(args),
        Command::Summary(args) => run::summary(args),
        Command::Tree(args) => run::tree(args),
        Command::Table(args) => run::table(args),
        Command::Diff(args) => run::diff(args),
        Command::Check(args) => check::check(args),
        Command::Slim(args) => run::slim(args),
        Command::Info(args) => run::info(args),
        Command::Records(args) => run::records(args),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::LimitBroken) => ExitCode::FAILURE,
        Ok(Outcome::FromDamagedCapture) => ExitCode::from(3),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            hints::say_error(&error);
            ExitCode::from(2)
        }
    }
}
