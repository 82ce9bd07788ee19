//! `holon agent bundle` and `holon bundle`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use holon_api::Control as _;
use holon_facts::EventSeq;
use holon_law::replay::Again;
use holon_ledger::error::LedgerError;
use holon_platform::build;
use serde_json::{Value, json};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};
use super::setup::known_secrets;
use super::size::size;
use crate::archive::{ArchiveError, DraftError};
use crate::bundle::{self, Description, LookError, MakeError, Redact, Request};
use crate::ledger_check::replayed;
use crate::settings::Settings;

#[derive(Debug, Args)]
pub(super) struct BundleArgs {
    /// Bundle what this agent did
    #[arg(value_name = "AGENT")]
    name: String,
    /// Begin with this event [default: the first]
    #[arg(long, value_name = "EVENT")]
    from: Option<u64>,
    /// End with this event [default: the last]
    #[arg(long, value_name = "EVENT")]
    to: Option<u64>,
    /// Leave out texts and paths, texts alone, or nothing but secrets
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Level::Strict)]
    redact: Level,
    /// Make this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Strict,
    Texts,
    None,
}

#[derive(Debug, Subcommand)]
pub(super) enum BundleCommand {
    /// Show what is in a bundle
    Inspect(FileArgs),
    /// Check that a bundle is whole and that its records fold and break no law
    Verify(FileArgs),
    /// Make the decisions of a bundle again, and compare byte for byte
    Replay {
        #[command(flatten)]
        file: FileArgs,
        /// Replay decisions of other builds too, to show where this build differs
        #[arg(long)]
        all_builds: bool,
    },
}

#[derive(Debug, Args)]
pub(super) struct FileArgs {
    /// Read this bundle
    file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn agent_bundle(home: Option<PathBuf>, args: BundleArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move { ending.or(make(&cli, args)).await })
}

async fn make(cli: &ClientContext, args: BundleArgs) -> Result<Exit, Failure> {
    let named = cli.agent(Some(&args.name)).await?;
    // A second name is of the same agent.
    let status = cli.client.status(&named).await?;
    let agent = status.summary.agent_id.clone();
    let why = serde_json::to_value(&cli.client.why(&agent).await?)?;
    let secrets = known_secrets(cli.home(), &cli.environment).with_shapes(true);
    let reader = cli.home().ledger().reader()?;
    let key = std::fs::read(cli.home().trigger_key()).unwrap_or_default();
    let request = Request {
        reader: &reader,
        agent: &agent,
        from: args.from.map(EventSeq),
        to: args.to.map(EventSeq),
        redact: match args.redact {
            Level::Strict => Redact::Strict,
            Level::Texts => Redact::Texts,
            Level::None => Redact::None,
        },
        key: &key,
        secrets: Arc::new(secrets),
        config: configuration(cli)?,
        why,
        file: &args.output,
    };
    let made = bundle::make(&request).map_err(not_made)?;
    if args.json {
        output::document(&made)?;
        return Ok(Exit::Completed);
    }
    output::line(&format!(
        "{}: {}, {}",
        made.path.display(),
        size(made.size_bytes),
        told(&made.description)
    ))?;
    if args.redact == Level::None {
        output::note(
            "holon: it has what every agent of this home was asked, answered and did: read it before you give it away",
        );
    }
    Ok(Exit::Completed)
}

/// Every key with its value and its origin, as `config list` shows it, without what commands get by choice.
fn configuration(cli: &ClientContext) -> Result<Value, Failure> {
    let (settings, problems) = Settings::survey(&cli.home().config(), &cli.environment)?;
    let kept =
        settings.entries().into_iter().filter(|entry| !entry.key.starts_with("execution.environment."));
    Ok(json!({ "values": kept.collect::<Vec<_>>(), "problems": problems }))
}

fn not_made(error: MakeError) -> Failure {
    match &error {
        MakeError::Draft(DraftError::Exists { .. } | DraftError::Busy { .. }) => {
            Failure::new(Exit::RefusedByState, error).hint("another name")
        }
        MakeError::Range { from, to, last, .. } if from > to && from <= last => Failure::usage(error),
        MakeError::Range { .. } => Failure::new(Exit::NotFound, error)
            .hint("holon tail --level debug, which shows events with their numbers"),
        MakeError::Ledger(LedgerError::NoAgent { .. }) => {
            Failure::new(Exit::NotFound, error).hint("holon agent list")
        }
        MakeError::Draft(_)
        | MakeError::Ledger(_)
        | MakeError::Write(_)
        | MakeError::Export(_)
        | MakeError::Recorder(_) => Failure::from(error).hint("holon ledger verify"),
    }
}

fn told(about: &Description) -> String {
    let level = match about.redact {
        Redact::Strict => "without texts and paths",
        Redact::Texts => "without texts",
        Redact::None => "with texts",
    };
    let again = match (&about.recorder.differs, about.recorder.folded_calls) {
        (Some(differs), _) => {
            format!(
                "; decisions of that runtime and earlier ones can't be made again without texts ({differs})"
            )
        }
        (None, 0) => String::new(),
        (None, folded) => format!("; {folded} calls of earlier runtimes can't be made again"),
    };
    format!(
        "events {} to {} of {} {level}, with {} records of the home and {} calls{again}",
        about.from, about.to, about.agent_id, about.recorder.records, about.recorder.calls
    )
}

pub(super) fn bundle(command: BundleCommand) -> Result<Exit, Failure> {
    match command {
        BundleCommand::Inspect(args) => {
            let looked = bundle::inspect(&args.file).map_err(unreadable)?;
            output::shown(&looked, args.json, || {
                let about = &looked.description;
                output::line(&format!("{}, by {}", told(about), about.build))?;
                let on = &about.environment;
                output::line(&format!("made on {} {} ({})", on.os, on.kernel, on.arch))?;
                looked
                    .files
                    .iter()
                    .try_for_each(|(name, bytes)| output::line(&format!("{:>9}  {name}", size(*bytes))))
            })
        }
        BundleCommand::Verify(args) => {
            let found = bundle::verify(&args.file).map_err(unreadable)?;
            output::shown(&found, args.json, || {
                output::line(&format!(
                    "in order: {} records of the agent, {} of all {} agents fold and break no law, {} texts",
                    found.records, found.judged, found.agents, found.texts
                ))
            })
        }
        BundleCommand::Replay { file, all_builds } => replay(&file.file, all_builds, file.json),
    }
}

fn replay(file: &Path, all_builds: bool, json: bool) -> Result<Exit, Failure> {
    let again = if all_builds { Again::Every } else { Again::Build(build::id().to_owned()) };
    let (about, report) = bundle::replay(file, again).map_err(unreadable)?;
    let exit = output::shown(&report, json, || output::line(&replayed(&report)))?;
    if report.calls == 0 && about.build != build::id() {
        let error =
            anyhow!("no decision was made again: the bundle is by {}, this is {}", about.build, build::id());
        return Err(Failure::new(Exit::RefusedByState, error).hint("that build, or --all-builds"));
    }
    Ok(exit)
}

pub(super) fn unreadable(error: LookError) -> Failure {
    match &error {
        LookError::Archive(ArchiveError::Read { .. }) => Failure::new(Exit::NotFound, error),
        LookError::Archive(ArchiveError::NotOne { .. }) => {
            Failure::usage(error).hint("a file that holon agent bundle has made")
        }
        LookError::Newer { .. } => Failure::usage(error).hint("that build, or a newer one"),
        LookError::Archive(_)
        | LookError::Wrong { .. }
        | LookError::Import { .. }
        | LookError::Temporary(_) => Failure::from(error),
    }
}
