//! `holon telemetry export`: traces of the past, made of the ledger.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use holon_facts::{AgentId, EventSeq, Wall};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_platform::Environment;

use super::exit::Exit;
use super::output::Failure;
use super::setup::known_secrets;
use crate::settings::{Settings, find_home};
use crate::telemetry::{Contents, Fold, Resource, document, of_ledger};

#[derive(Debug, Subcommand)]
pub(super) enum TelemetryCommand {
    /// Print the traces of ended turns and waits as lines of OTLP in JSON
    Export(ExportArgs),
}

#[derive(Debug, Args)]
pub(super) struct ExportArgs {
    /// Begin with turns that ended at this time or later, for example 2026-11-27T00:00:00Z [default: the first]
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Export only the turns of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Accept --json like every command; an export is always lines of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn telemetry(home: Option<PathBuf>, command: TelemetryCommand) -> Result<Exit, Failure> {
    match command {
        TelemetryCommand::Export(args) => export(home, &args),
    }
}

fn export(home: Option<PathBuf>, args: &ExportArgs) -> Result<Exit, Failure> {
    let since = match &args.since {
        None => Wall(i64::MIN),
        Some(text) => Wall::parse(text).ok_or_else(|| {
            Failure::usage(anyhow!("--since {text} is no time")).hint("--since 2026-11-27T00:00:00Z")
        })?,
    };
    let named = args.agent.as_deref().map(AgentId::new).transpose().map_err(Failure::usage)?;
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    let place = home.ledger();
    if place.is_absent() {
        place.check_end()?;
        let error = anyhow!("there is no ledger at {place}");
        return Err(Failure::new(Exit::NotFound, error).hint("holon daemon start, which makes one"));
    }
    let reader = Arc::new(place.reader()?);
    let settings = Settings::load(&home.config(), &environment)?;
    let contents = if settings.telemetry.include_content {
        Contents::of(of_ledger(&reader, known_secrets(&home, &environment)))
    } else {
        Contents::default()
    };
    let agents = match named {
        Some(agent) => vec![agent],
        None => reader.agents()?.into_iter().map(|row| row.agent).collect(),
    };
    let mut out = BufWriter::new(io::stdout().lock());
    for agent in agents {
        of_agent(&reader, Fold::of(agent.clone(), contents.clone()), &agent, since, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Completed)
}

fn of_agent(
    reader: &Reader,
    mut fold: Fold,
    agent: &AgentId,
    since: Wall,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let last =
        reader.last_event(agent).map_err(|error| match matches!(error, LedgerError::NoAgent { .. }) {
            true => Failure::new(Exit::NotFound, error).hint("holon agent list"),
            false => Failure::from(error),
        })?;
    let resource = Resource::default();
    for record in reader.records(agent, EventSeq(0), last)? {
        for trace in fold.next(&record?).into_iter().filter(|trace| trace.ended_at() >= since) {
            let spans = trace.spans.iter().map(|span| (&trace.id, span));
            writeln!(out, "{}", document(&resource, spans))?;
        }
    }
    Ok(())
}
