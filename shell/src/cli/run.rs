//! `holon run`: one prompt, to its end.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use holon_core::model::StopReason;
use holon_core::view::RunVerdict;
use holon_core::{AgentId, Record};

use super::exit::Exit;
use super::output::{self, Failure};
use super::session::{Session, Target, execution};
use crate::driver::Observer;
use crate::home::Home;
use crate::report::RunReport;
use crate::settings::credentials::Credentials;
use crate::settings::providers::Configured;
use crate::settings::{Environment, Settings};
use crate::{entropy, present};

/// Longest prompt that is read; the core's own bound is smaller.
const PROMPT_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The prompt; `-` reads it from standard input
    text: String,
    /// The model, as provider/model
    #[arg(long)]
    model: Option<String>,
    /// An agent that stays, in the ledger of the home; without it a temporary one
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Make the agent when there is none of that name
    #[arg(long, requires = "agent")]
    create_agent: bool,
    /// The folder that the agent works in [default: the current one]
    #[arg(long, value_name = "FOLDER")]
    workspace_root: Option<PathBuf>,
    /// Where its commands start, inside the workspace [default: the workspace]
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// How to print the outcome
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output_format: Format,
    /// The same as --output-format json
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Show no activity
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    StreamJson,
}

pub(super) fn run(home: Option<PathBuf>, args: RunArgs) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = Home::find(home, &environment)?;
    let format = if args.json { Format::Json } else { args.output_format };
    let mut settings = Settings::load(&home.config(), &environment)?;
    if let Some(model) = &args.model {
        settings.flag("--model", "model.default", model)?;
    }
    let mut config = settings.core_config()?;
    // Nobody waits for hours in front of a prompt: a turn that meets an outage fails at once.
    config.hold.on_outage = false;
    let credentials = Credentials::load(&home.credentials())?;
    let configured = Configured::new(&settings, &environment, &credentials);
    let providers = configured.providers();
    let secrets = providers.secrets().into_iter().chain(configured.secrets).collect();
    for model in &config.models {
        providers.check(model).map_err(Failure::usage)?;
    }
    let (home, agent, target) = target(&args, &home)?;
    let folder_asked_for = args.workspace_root.is_some() || args.cwd.is_some();
    let workspace = match args.workspace_root {
        Some(folder) => folder,
        None => std::env::current_dir().context("the current folder is gone")?,
    };
    let execution = execution(&workspace, args.cwd.as_deref().unwrap_or(&workspace))?;
    let prompt = prompt(&args.text)?;
    if prompt.len() as u64 > config.queue.body_bytes {
        let error = anyhow!("the prompt is {} bytes, the limit is {}", prompt.len(), config.queue.body_bytes);
        return Err(Failure::usage(error).hint("put it into a file and name the file in the prompt"));
    }
    let observer = observer(format, args.quiet);
    let durability = settings.durability;
    let session = Session {
        home,
        agent,
        target,
        execution,
        folder_asked_for,
        config,
        durability,
        environment,
        secrets,
        providers,
        observer,
    };
    let report = session.run(&prompt)?;
    print(&report, format)?;
    Ok(report.verdict.into())
}

/// Which agent in which home: a temporary one gets a home and a ledger of its own.
fn target(args: &RunArgs, home: &Home) -> Result<(Home, AgentId, Target), Failure> {
    let Some(name) = &args.agent else {
        let name = format!("run-{}", entropy::name()?);
        let agent = AgentId::new(&name)?;
        return Ok((home.run(&name), agent, Target::Temporary));
    };
    let agent = AgentId::new(name).map_err(Failure::usage)?;
    let target = if args.create_agent { Target::Created } else { Target::Existing };
    Ok((home.clone(), agent, target))
}

fn prompt(text: &str) -> Result<String, Failure> {
    if text != "-" {
        if text.trim().is_empty() {
            return Err(Failure::usage(anyhow!("the prompt is empty")));
        }
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(PROMPT_BYTES + 1).read_to_end(&mut bytes).context("standard input")?;
    if bytes.len() as u64 > PROMPT_BYTES {
        let error = anyhow!("the prompt on standard input is larger than {PROMPT_BYTES} bytes");
        return Err(Failure::usage(error).hint("put it into a file and name the file in the prompt"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::usage(anyhow!("the prompt on standard input is not UTF-8: {error}")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage(anyhow!("the prompt on standard input is empty")));
    }
    Ok(text)
}

/// What is shown while the run goes on.
fn observer(format: Format, quiet: bool) -> Observer {
    match format {
        Format::StreamJson => Box::new(|record: &Record| match record.json_line() {
            Ok(line) => shown(output::line(&line)),
            Err(error) => output::note(&format!("holon: {error}")),
        }),
        Format::Text if !quiet => Box::new(|record: &Record| {
            if let Some(line) = present::line(record) {
                output::note(&line);
            }
        }),
        Format::Text | Format::Json => Box::new(|_| {}),
    }
}

/// A reader that went away does not stop the run: its outcome is in the ledger and in the exit code.
fn shown(result: std::io::Result<()>) {
    match result {
        Ok(()) | Err(_) => {}
    }
}

fn print(report: &RunReport, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => output::line(&serde_json::to_string_pretty(report)?)?,
        Format::StreamJson => {
            let line = serde_json::json!({ "type": "run_finished", "payload": report });
            shown(output::line(&line.to_string()));
        }
        Format::Text => print_text(report)?,
    }
    Ok(())
}

fn print_text(report: &RunReport) -> Result<(), Failure> {
    if let Some(text) = &report.final_text {
        output::line(text)?;
    }
    if let Some(stop @ (StopReason::MaxOutput | StopReason::ContentFilter)) = report.stop_reason {
        output::note(&format!("holon: the model did not finish its answer ({stop})"));
    }
    if report.verdict != RunVerdict::Completed {
        let why = report.failure_artifact.as_ref().map_or_else(String::new, |failure| {
            format!(": {} ({})", failure.summary.preview(), failure.kind)
        });
        output::note(&format!("holon: {}{why}", report.verdict));
        output::note(&format!("  look: holon ledger export {}", report.ledger));
    }
    Ok(())
}
