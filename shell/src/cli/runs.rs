//! `holon runs`: temporary runs that have been, and how they stand.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::TemporaryRunSummary;
use holon_platform::Environment;
use holon_text::moment;
use serde_json::json;

use super::exit::Exit;
use super::output::{self, Failure};
use super::spending;
use crate::home::Home;
use crate::settings::find_home;
use crate::settings::quoted;
use crate::temporary_runs::{self, RunError, TemporaryRun, WAITING_FOR_OPERATOR};

/// Most runs that one command reads.
const MOST: u32 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum RunsCommand {
    /// List temporary runs, the one that changed last first
    List(ListArgs),
    /// Show one temporary run
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Show this many runs, at most 1000
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(MOST)))]
    runs: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Show this run: its name, or the beginning of it
    run: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn runs(home: Option<PathBuf>, command: RunsCommand) -> Result<Exit, Failure> {
    let home = find_home(home, &Environment::of_process())?;
    match command {
        RunsCommand::List(args) => list(&home, &args),
        RunsCommand::Show(args) => show(&home, &args),
    }
}

fn list(home: &Home, args: &ListArgs) -> Result<Exit, Failure> {
    let names = temporary_runs::names(home);
    let more = names.len() > args.runs as usize;
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for name in names.into_iter().take(args.runs as usize) {
        match TemporaryRun::open(home, &name) {
            Ok(run) => runs.push(run.summary()),
            // One that ended before it began has nothing to show.
            Err(RunError::Empty { .. }) => {}
            Err(error) => unreadable.push((name, output::said_once(&error.into()))),
        }
    }
    if args.json {
        let unreadable: Vec<_> =
            unreadable.iter().map(|(run, problem)| json!({ "run": run, "problem": problem })).collect();
        output::document(&json!({ "ok": true, "runs": runs, "unreadable": unreadable, "more": more }))?;
        return Ok(Exit::Completed);
    }
    if runs.is_empty() {
        output::line("no temporary run")?;
    } else {
        let heads = ["RUN", "BEGAN", "STATE", "SPENT", "FOLDER", "PROMPT"];
        let rows = runs.iter().map(|run| {
            let prompt = run.prompt.clone().unwrap_or_default();
            let (spent, began) = (spending::in_short(run.spent), moment::relative(run.began_at));
            vec![run.run.to_string(), began, run.state.clone(), spent, run.folder.clone(), prompt]
        });
        output::list(&heads, rows)?;
    }
    for (run, problem) in &unreadable {
        output::note(&format!("holon: {run} can't be read: {problem}"));
    }
    Ok(Exit::Completed)
}

fn show(home: &Home, args: &ShowArgs) -> Result<Exit, Failure> {
    let run = temporary_runs::named(home, &args.run).map_err(failure)?;
    let line = run.summary();
    output::shown(&line, args.json, || {
        let row = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
        let mut rows = vec![row("run", line.run.as_str()), row("state", &line.state)];
        rows.extend(line.waiting_for.iter().map(|waits| row("waits for", waits)));
        rows.extend([
            row("began", &moment::relative(line.began_at)),
            row("folder", &line.folder),
            row("prompt", line.prompt.as_deref().unwrap_or("none")),
            row("spent", &spending::in_short(line.spent)),
            row("ledger", &line.ledger),
        ]);
        output::table(&rows)?;
        let name = &line.run;
        match line.state.as_str() {
            "completed" => output::hint("go on", &format!("holon run --continue={name} \"…\"")),
            WAITING_FOR_OPERATOR => output::hint("answer", &resume(&line)),
            "in_progress" => {}
            "budget_exhausted" if run.terms.budget.is_some() => {
                output::hint("go on", &format!("holon run --resume {name} --budget MORE"));
            }
            _ => output::hint("go on", &format!("holon run --resume {name}")),
        }
        let run_home = quoted(&run.home.root().display().to_string());
        output::note(&format!("  look: holon --home {run_home} transcript"));
        Ok(())
    })
}

/// The command that answers it.
pub(super) fn resume(run: &TemporaryRunSummary) -> String {
    format!("holon run --resume {} \"…\"", run.run)
}

pub(super) fn failure(error: RunError) -> Failure {
    let list = "holon runs list";
    match &error {
        RunError::Unknown { .. } | RunError::Empty { .. } => Failure::new(Exit::NotFound, error).hint(list),
        RunError::Several { .. } => Failure::usage(error).hint(list),
        RunError::Nothing { .. } => Failure::new(Exit::NotFound, error).hint("holon run \"…\""),
        RunError::Name(_) => Failure::usage(error),
        RunError::Ledger(_) => error.into(),
    }
}
