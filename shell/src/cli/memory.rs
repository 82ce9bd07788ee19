//! `holon memory`: what an agent remembers, as its own tools find it.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::{Control, MemoryIndex, MemoryQuery, MemoryStatus, MemoryTextQuery};
use holon_memory::Query;
use holon_text::moment::near;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::output::{self, Failure};
use holon_present as present;

#[derive(Debug, Subcommand)]
pub(super) enum MemoryCommand {
    /// Search memory files, notes, requests, answers, episodes and work items
    Search(SearchArgs),
    /// Print the text behind a reference
    Get(GetArgs),
    /// Show what a search covers, and whether the index is up to date
    Status(StatusArgs),
    /// Delete the index of the home and fill it again
    Reindex(StatusArgs),
}

#[derive(Debug, Args)]
pub(super) struct SearchArgs {
    /// Search for these words; no character has a special meaning
    #[arg(required = true)]
    words: Vec<String>,
    /// Print at most this many results
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50))]
    limit: u32,
    /// Search all workspaces, not the active one alone
    #[arg(long)]
    all_workspaces: bool,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// Name the reference, as a search printed it
    source_ref: String,
    /// Print at most this many characters
    #[arg(long, default_value_t = 12_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=50_000))]
    max_chars: u32,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    whom: Whom,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn memory(home: Option<PathBuf>, command: MemoryCommand) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        match command {
            MemoryCommand::Search(args) => ending.or(search(&cli, args)).await,
            MemoryCommand::Get(args) => ending.or(get(&cli, args)).await,
            MemoryCommand::Status(args) => ending.or(status(&cli, args)).await,
            MemoryCommand::Reindex(args) => ending.or(reindex(&cli, args)).await,
        }
    })
}

async fn search(cli: &ClientContext, args: SearchArgs) -> Result<Exit, Failure> {
    let query = args.words.join(" ");
    // A query that is none needs no runtime.
    Query::new(&query).map_err(Failure::usage)?;
    let agent = cli.agent(args.agent.as_deref()).await?;
    let query = MemoryQuery {
        query,
        limit: Some(args.limit),
        include_all_workspaces: args.all_workspaces.then_some(true),
    };
    let answer = cli.client.memory_search(&agent, query).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let found = &answer.found;
    if found.results.is_empty() {
        output::line(&format!("{agent} remembers nothing of this"))?;
    }
    for hit in &found.results {
        let source = &hit.source;
        let when = near(source.updated_at);
        output::line(&format!(
            "{}  {}  {when}  {}",
            source.source_ref,
            source.kind,
            present::one_line(&source.title)
        ))?;
        output::line(&format!("    {}", present::one_line(&hit.snippet)))?;
    }
    if let Some(note) = behind(&found.index) {
        output::prose(&format!("holon: {note}"));
    }
    Ok(Exit::Completed)
}

async fn get(cli: &ClientContext, args: GetArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let query = MemoryTextQuery { max_chars: Some(args.max_chars) };
    let answer = cli.client.memory_text((&agent, args.source_ref.as_str()), query).await?;
    output::shown(&answer, args.json, || output::line(&answer.text.content))?;
    if answer.text.truncated && !args.json {
        output::prose("holon: there is more of it: --max-chars");
    }
    Ok(Exit::Completed)
}

async fn status(cli: &ClientContext, args: StatusArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.memory_status(&agent).await?;
    output::shown(&answer, args.json, || show(&answer))
}

async fn reindex(cli: &ClientContext, args: StatusArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.memory_reindex(&agent).await?;
    output::shown(&answer, args.json, || show(&answer))
}

fn show(status: &MemoryStatus) -> io::Result<()> {
    output::line(&format!("{} documents of {}", status.documents, status.agent_id))?;
    for count in &status.by_kind {
        output::line(&format!("  {:<18} {}", count.kind, count.documents))?;
    }
    output::line(&format!("index: {} ({} bytes, all agents)", status.path, status.bytes))?;
    let state = behind(&status.index).unwrap_or_else(|| "the index is up to date".to_owned());
    output::line(&state)
}

/// What is not searched yet.
fn behind(index: &MemoryIndex) -> Option<String> {
    let MemoryIndex { state, indexed_through, ledger_position } = index;
    (state != "ready").then(|| {
        format!("the index is being filled: {indexed_through} of {ledger_position} records; what is newer is not found yet")
    })
}
