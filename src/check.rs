//! The command `check`: rules from where they are typed, the captures, and every output of the result.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use memreport_render::aggregate::{Check, DiffOptions, Profile, Question, Rule};
use memreport_render::{CheckForm, CheckReport, Units, doubts};

use crate::cli::{CheckArgs, CheckReportsArgs, RulesArgs};
use crate::progress::say;
use crate::reading::{Outcome, outcome, read};
use crate::run::refuse_capture;
use crate::{github, output, screen};

pub(crate) fn check(args: &CheckArgs) -> Result<Outcome> {
    let wanted = wanted(args)?;
    let check = Check {
        rules: rules(&args.rules, args.read.quiet)?,
        n_stacks: args.num_stacks,
        options: DiffOptions {
            exact: false,
            strip_prefixes: args.rules.strip_prefix.clone(),
        },
    };
    let baseline = args.rules.baseline.as_deref();
    let question = Question::default();
    let base = baseline.map(|path| read(path, &args.read, question));
    let base = base.transpose()?;
    let profile = read(&args.capture, &args.read, question)?;
    let checked = check.of(&profile, base.as_ref())?;

    let doubts = said_doubts(&profile, base.as_ref());
    let name = args.name.clone();
    let baseline = baseline.map(file_name);
    let report = CheckReport {
        checked: &checked,
        name: &name.unwrap_or_else(|| file_name(&args.capture)),
        baseline: baseline.as_deref(),
        doubts: &doubts,
        units: Units::from(&args.units),
    };
    write(&report, &wanted, args.reports.github)?;
    if !checked.passed() {
        return Ok(Outcome::LimitBroken);
    }
    let profiles: Vec<&Profile> = [Some(&profile), base.as_ref()]
        .into_iter()
        .flatten()
        .collect();
    Ok(outcome(&args.read, &profiles))
}

/// The outputs that are asked for, with their places.
fn wanted(args: &CheckArgs) -> Result<Vec<(CheckForm<'static>, &Path)>> {
    let CheckReportsArgs {
        json,
        markdown,
        junit,
        benchmark_json,
        bencher,
        github,
    } = &args.reports;
    let files = [
        (CheckForm::Json, json),
        (CheckForm::Markdown { budget: None }, markdown),
        (CheckForm::Junit, junit),
        (CheckForm::Benchmark, benchmark_json),
        (CheckForm::Bencher, bencher),
    ];
    let files = files.into_iter();
    let wanted: Vec<_> = files
        .filter_map(|(form, path)| Some((form, path.as_deref()?)))
        .collect();
    let inputs = [Some(&args.capture), args.rules.baseline.as_ref()];
    if inputs
        .iter()
        .flatten()
        .filter(|path| is_stdout(path))
        .count()
        > 1
    {
        bail!("standard input is one capture only");
    }
    let mut places = HashSet::new();
    for (_, path) in &wanted {
        for input in inputs.into_iter().flatten() {
            refuse_capture(input, path)?;
        }
        if !places.insert(output::place(path)) {
            bail!("two outputs have the same place: {}", path.display());
        }
        if *github && is_stdout(path) {
            bail!("--github writes to standard output: another output cannot go there");
        }
    }
    Ok(wanted)
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The rules of the command line and of the file; where none is on growth, the default ones.
fn rules(args: &RulesArgs, is_quiet: bool) -> Result<Vec<Rule>> {
    let typed = [&args.limit, &args.alert, &args.growth, &args.growth_alert];
    let mut rules: Vec<Rule> = typed.into_iter().flatten().cloned().collect();
    if let Some(path) = &args.config {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let of_file = Rule::of_config(&text);
        rules.extend(of_file.with_context(|| path.display().to_string())?);
    }
    if rules.is_empty() && args.baseline.is_none() {
        bail!("there is nothing to check: give a --limit, an --alert or a --baseline");
    }
    let is_growth_limit = |rule: &Rule| rule.is_on_growth() && rule.is_limit();
    if args.baseline.is_none() {
        let n_rules = rules.len();
        rules.retain(|rule| !rule.is_on_growth());
        if rules.len() < n_rules && !is_quiet {
            say("note: rules on growth are left out: there is no --baseline");
        }
    } else if !rules.iter().any(is_growth_limit) {
        rules.extend(Rule::default_growths()?);
    }
    Ok(rules)
}

fn said_doubts(profile: &Profile, base: Option<&Profile>) -> Vec<String> {
    let of_base = base.map(doubts).unwrap_or_default().into_iter();
    let of_base = of_base.map(|doubt| format!("in the baseline: {doubt}"));
    doubts(profile).into_iter().chain(of_base).collect()
}

fn file_name(path: &Path) -> String {
    if is_stdout(path) {
        return "standard input".to_owned();
    }
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Writes all outputs before the first replaces anything; then what is read where the command runs.
fn write(report: &CheckReport<'_>, wanted: &[(CheckForm<'_>, &Path)], github: bool) -> Result<()> {
    let stdout = Path::new("-");
    let written: Vec<_> = wanted
        .iter()
        .map(|(form, path)| output::write_with(path, &|out| report.write(*form, out)))
        .collect::<Result<_>>()?;
    written.into_iter().try_for_each(output::Written::publish)?;
    let columns = screen::columns(stdout);
    if github {
        github::add_to_summary(report)?;
        let (workspace, folder) = (github::workspace(), github::folder());
        let form = CheckForm::Github {
            columns,
            workspace: workspace.as_deref(),
            folder: folder.as_deref(),
        };
        output::write_with(stdout, &|out| report.write(form, out))?.publish()?;
    } else if !wanted.iter().any(|(_, path)| is_stdout(path)) {
        let form = CheckForm::Text { columns };
        output::write_with(stdout, &|out| report.write(form, out))?.publish()?;
    }
    io::stdout().flush()?;
    Ok(())
}
