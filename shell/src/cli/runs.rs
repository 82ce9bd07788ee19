//! `holon runs`: temporary runs that have been, and how they stand.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_core::summary::SchedulingPosture;
use holon_core::view::RunVerdict;
use holon_core::view::standing::Standing;
use holon_facts::price::Amount;
use holon_facts::{AgentId, Wall};
use holon_platform::Environment;
use holon_text::moment;
use serde::Serialize;
use serde_json::json;

use super::earlier_run::{self, EarlierRun};
use super::exit::Exit;
use super::output::{self, Failure};
use super::spending;
use crate::home::Home;
use crate::settings::quoted;
use holon_present as present;

/// Most runs that one command reads.
const MOST: u32 = 1_000;
/// Newest runs among which those that ask are looked for.
const LOOKED_THROUGH: usize = 64;
/// The state of a run that asks.
const WAITING_FOR_OPERATOR: &str = "waiting_for_operator";

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

/// A run as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct RunLine {
    pub(super) run: AgentId,
    /// `in_progress`, `killed`, `ended`, or the verdict.
    state: String,
    began_at: Wall,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<Wall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) waiting_for: Option<String>,
    spent: Amount,
    folder: String,
    /// One line of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
    ledger: PathBuf,
}

pub(super) fn runs(home: Option<PathBuf>, command: RunsCommand) -> Result<Exit, Failure> {
    let home = Home::find(home, &Environment::of_process())?;
    match command {
        RunsCommand::List(args) => list(&home, &args),
        RunsCommand::Show(args) => show(&home, &args),
    }
}

fn list(home: &Home, args: &ListArgs) -> Result<Exit, Failure> {
    let names = earlier_run::names(home);
    let more = names.len() > args.runs as usize;
    let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
    for name in names.into_iter().take(args.runs as usize) {
        match EarlierRun::open(home, &name) {
            Ok(run) => runs.push(RunLine::of(&run)),
            // One that ended before it began has nothing to show.
            Err(failure) if failure.exit == Exit::NotFound => {}
            Err(failure) => unreadable.push((name, output::said_once(&failure.error))),
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
        let heads = ["RUN", "BEGAN", "STATE", "SPENT", "FOLDER", "PROMPT"].map(ToOwned::to_owned).to_vec();
        let rows = runs.iter().map(|run| {
            let prompt = run.prompt.clone().unwrap_or_default();
            let (spent, began) = (spending::in_short(run.spent), moment::relative(run.began_at));
            vec![run.run.to_string(), began, run.state.clone(), spent, run.folder.clone(), prompt]
        });
        output::table(&std::iter::once(heads).chain(rows).collect::<Vec<_>>())?;
    }
    for (run, problem) in &unreadable {
        output::note(&format!("holon: {run} can't be read: {problem}"));
    }
    Ok(Exit::Completed)
}

/// The newest runs that wait for an answer, the one that waits longest first. A run that can't be read is left to `runs list`.
pub(super) fn that_ask(home: &Home) -> Vec<RunLine> {
    let names = earlier_run::names(home).into_iter().take(LOOKED_THROUGH);
    let runs = names.filter_map(|name| EarlierRun::open(home, &name).ok());
    let lines = runs.map(|run| RunLine::of(&run));
    let mut asking: Vec<RunLine> = lines.filter(|line| line.state == WAITING_FOR_OPERATOR).collect();
    asking.sort_by_key(|line| line.since);
    asking
}

fn show(home: &Home, args: &ShowArgs) -> Result<Exit, Failure> {
    let run = earlier_run::named(home, &args.run)?;
    let line = RunLine::of(&run);
    output::shown(&line, args.json, || {
        let row = |name: &str, value: &str| vec![name.to_owned(), value.to_owned()];
        let mut rows = vec![row("run", line.run.as_str()), row("state", &line.state)];
        rows.extend(line.waiting_for.iter().map(|waits| row("waits for", waits)));
        rows.extend([
            row("began", &moment::relative(line.began_at)),
            row("folder", &line.folder),
            row("prompt", line.prompt.as_deref().unwrap_or("none")),
            row("spent", &spending::in_short(line.spent)),
            row("ledger", &line.ledger.display().to_string()),
        ]);
        output::table(&rows)?;
        let name = &line.run;
        match line.state.as_str() {
            "completed" => output::hint("go on", &format!("holon run --continue={name} \"…\"")),
            WAITING_FOR_OPERATOR => output::hint("answer", &line.resume()),
            "in_progress" => {}
            _ => output::hint("go on", &format!("holon run --resume {name}")),
        }
        let run_home = quoted(&run.home.root().display().to_string());
        output::note(&format!("  look: holon --home {run_home} transcript"));
        Ok(())
    })
}

impl RunLine {
    fn of(run: &EarlierRun) -> Self {
        let prompt = run.first_prompt.as_ref().map(|message| present::one_line(message.body.text.preview()));
        Self {
            run: run.agent.clone(),
            state: state(run),
            began_at: run.began,
            since: run.standing.as_ref().map(|standing| standing.since),
            waiting_for: run.standing.as_ref().and_then(|standing| standing.waiting_for.clone()),
            spent: run.spent.total,
            folder: run.folder().display().to_string(),
            prompt,
            ledger: run.ledger(),
        }
    }

    /// The command that answers it.
    pub(super) fn resume(&self) -> String {
        format!("holon run --resume {} \"…\"", self.run)
    }
}

fn state(run: &EarlierRun) -> String {
    match &run.standing {
        _ if run.in_progress => "in_progress".to_owned(),
        Some(Standing { verdict: Some(RunVerdict::Stopped), .. }) => "ended".to_owned(),
        Some(Standing { verdict: Some(verdict), .. }) => verdict.to_string(),
        Some(Standing {
            posture: SchedulingPosture::ActiveTurn | SchedulingPosture::HasQueuedInput, ..
        }) => "killed".to_owned(),
        Some(Standing { posture, .. }) => posture.to_string(),
        None => "unknown".to_owned(),
    }
}
