//! `holon ledger fork`: another agent from a past point, through the runtime of the home.

use std::path::PathBuf;

use clap::Args;
use holon_api::{Control, ForkAgent};
use holon_facts::{AgentId, EventSeq};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct ForkArgs {
    /// Copy the log of this agent
    from: String,
    /// Name the new agent
    to: String,
    /// Copy up to this event, or to the end of the step before it [default: all events]
    #[arg(long, value_name = "EVENT_SEQ")]
    at: Option<u64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn fork(home: Option<PathBuf>, args: ForkArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move { ending.or(ask(&cli, args)).await })
}

async fn ask(cli: &ClientContext, args: ForkArgs) -> Result<Exit, Failure> {
    let from = AgentId::new(&args.from).map_err(Failure::usage)?;
    let to = AgentId::new(&args.to).map_err(Failure::usage)?;
    let body = ForkAgent { agent_id: to.clone(), event_seq: args.at.map(EventSeq) };
    let forked = cli.client.fork(&from, body).await?;
    if args.json {
        output::document(&forked)?;
    } else {
        output::line(&format!("{to} begins as {from} was at event {}", forked.event_seq))?;
        output::hint("try", &format!("holon why {to}"));
    }
    Ok(Exit::Completed)
}
