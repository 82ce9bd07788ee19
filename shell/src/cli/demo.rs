//! `holon demo`: the whole loop without a network or a key.

mod cluster;
#[cfg(test)]
mod tests;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use holon_core::tool::catalogue;
use holon_core::view::RunVerdict;
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, Config, Millis, Record};
use holon_law::replay::{Again, AuditReport};
use holon_ledger::Durability;
use holon_ledger::read::{self, Reader, VerifyReport};
use holon_models::{Providers, Tools, built_in};
use holon_platform::{Environment, build, entropy};
use serde_json::{Value, json};

use self::watched::Watched;
use super::conditions::Conditions;
use super::exit::Exit;
use super::interrupts;
use super::output::{self, Failure};
use super::run_request::{RunRequest, Target, Task, execution};
use super::session::{Means, Session};
use crate::activity::{Activity, TextSource};
use crate::driver::Observer;
use crate::home::Home;
use crate::ledger_check::{replayed, verified, verify};
use crate::live::LiveSink;
use crate::screen::Screen;
use crate::settings::{CommandSettings, CommandVariables, DefinedServers};
use crate::skills::Skills;
use crate::temporary_runs::Terms;
use holon_present::{Level, Presentation};

const PROMPT: &str = "The test in this folder fails. Find out why, repair it, and show that it passes.";

/// The project that the demo repairs.
const PROJECT: [(&str, &str); 3] = [
    ("AGENTS.md", include_str!("../../assets/demo-project/AGENTS.md")),
    ("greet.sh", include_str!("../../assets/demo-project/greet.sh")),
    ("test.sh", include_str!("../../assets/demo-project/test.sh")),
];

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Print only the outcome
    #[arg(long, short)]
    quiet: bool,
    /// Print every durable event under its number
    #[arg(long, short, conflicts_with_all = ["quiet", "json"])]
    verbose: bool,
    /// Print one JSON document: the report of the run and of the checked ledger
    #[arg(long)]
    json: bool,
    /// Start a runtime for the demo, and show it in the web console
    #[arg(long, conflicts_with_all = ["quiet", "verbose", "json"])]
    web: bool,
    /// Start a runtime for the demo, and show it in the terminal console
    #[arg(long, conflicts_with_all = ["quiet", "verbose", "json", "web"])]
    tui: bool,
    /// Play the demo on two nodes over a PostgreSQL of this machine; the one that works is killed in the middle
    #[arg(long, conflicts_with_all = ["quiet", "verbose", "json", "web", "tui"])]
    cluster: bool,
}

pub(super) fn demo(args: DemoArgs) -> Result<Exit, Failure> {
    let folder = std::env::temp_dir().join(format!("holon-demo-{}", entropy::name()?));
    if args.cluster {
        return cluster::play(&folder);
    }
    if args.web || args.tui {
        let watched = if args.web { Watched::Browser } else { Watched::Terminal };
        return watched::watch(&folder, watched);
    }
    played(&args, &folder)
}

/// The demo's scenario with a model that takes its time.
fn slowed(pace_ms: u64) -> anyhow::Result<Value> {
    let mut scenario: Value = serde_json::from_str(built_in::DEMO)?;
    for round in scenario["rounds"].as_array_mut().into_iter().flatten() {
        round["delay_ms"] = json!(pace_ms);
    }
    Ok(scenario)
}

/// The demo without a console, in this process.
fn played(args: &DemoArgs, folder: &Path) -> Result<Exit, Failure> {
    let project = folder.join("project");
    copy_project(&project)?;
    let home = Home::at(folder.join("home"));
    let ledger = home.ledger_file();
    if !args.json && !args.quiet {
        output::line(&format!("A small broken project: {}", project.display()))?;
        output::line(&format!("The prompt: {PROMPT}\n"))?;
    }
    let texts = TextSource::default();
    let observer = observer(args, &texts);
    let request = RunRequest {
        home,
        agent: AgentId::new("demo")?,
        target: Target::Temporary,
        template: None,
        conditions: Conditions::default(),
        terms: Terms::default(),
        images: Vec::new(),
        skills: Vec::new(),
        execution: execution(&project, &project)?,
        folder_asked_for: true,
        own_terms: false,
        environment: Environment::of_process(),
        idle_limit: Millis::seconds(60),
        wait_for_tasks: true,
        screen: Screen::quiet(),
        observer,
        input: None,
        texts,
        live: LiveSink::nobody(),
    };
    let session = Session { request, means: means()?, keep_runs: None, live: LiveSink::nobody() };
    let task = Task::Prompt(PROMPT.to_owned());
    let report = interrupts::block_on(|ending| Box::pin(session.run(&task, ending)))?;
    if args.json {
        let checked = check(&ledger)?;
        output::document(&json!({
            "project": project, "report": report, "verified": checked.verified, "replayed": checked.replayed,
        }))?;
        return Ok(report.verdict.into());
    }
    output::line("")?;
    if let Some(text) = &report.final_text {
        output::answer(text)?;
    }
    let changed = if report.changed_files.is_empty() { "nothing" } else { &report.changed_files.join(", ") };
    output::line(&format!("{}: {} rounds, changed {changed}", report.verdict, report.rounds))?;
    let checked = check(&ledger)?;
    output::line(&format!("Ledger {}", verified(&checked.verified)))?;
    output::line(&format!("Replay {}", replayed(&checked.replayed)))?;
    if report.verdict != RunVerdict::Completed {
        return Ok(report.verdict.into());
    }
    let next = "Next: HOLON_MODEL=local/… holon run \"…\"";
    output::line(&format!("Everything stays in {} to look at. {next}", folder.display()))?;
    Ok(Exit::Completed)
}

/// The scripted model, and nothing of the user.
fn means() -> anyhow::Result<Means> {
    Ok(Means {
        config: Config::new(vec![ModelRef::new("scripted/demo")?]),
        durability: Durability::Full,
        commands: CommandSettings::default(),
        confinement: None,
        secrets: Vec::new(),
        redact_token_shapes: true,
        variables: CommandVariables::default(),
        skills: Skills::default(),
        providers: Providers::new(vec![built_in::scripted()], Tools::new(catalogue())),
        servers: DefinedServers::default(),
    })
}

fn copy_project(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).with_context(|| format!("{} can't be created", folder.display()))?;
    for (name, text) in PROJECT {
        let path: PathBuf = folder.join(name);
        fs::write(&path, text).with_context(|| format!("{} can't be written", path.display()))?;
    }
    Ok(())
}

/// Nothing, every event, or the story as a run shows it.
fn observer(args: &DemoArgs, texts: &TextSource) -> Observer {
    if args.quiet || args.json {
        return Box::new(|_| {});
    }
    if args.verbose {
        return Box::new(event);
    }
    let mut activity = Activity::new(Screen::stdout(), texts.clone());
    Box::new(move |record| activity.see(record))
}

/// Each durable event under its number, with what it means for people where that is more than its name.
fn event(record: &Record) {
    let told = Presentation::of(record);
    let shown = if Level::Verbose.shows(told.visibility) {
        told.text().replace('\n', "\n      ")
    } else {
        told.source_event_kind.to_owned()
    };
    match output::line(&format!("{:>4}  {shown}", record.event_seq.0)) {
        Ok(()) | Err(_) => {}
    }
}

/// What the ledger says of itself afterwards.
struct Checked {
    verified: VerifyReport,
    replayed: AuditReport,
}

fn check(path: &Path) -> Result<Checked, Failure> {
    let reader = Reader::open(path)?;
    let verified = verify(&reader)?;
    let replayed = read::replay(&reader, Again::Build(build::id().to_owned()))?;
    Ok(Checked { verified, replayed })
}
