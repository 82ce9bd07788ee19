//! `holon wake`: a hint for an agent, which is no message until it is told.

use std::path::PathBuf;

use clap::Args;
use holon_api::{Control, Wake};
use holon_facts::ids::WaitId;

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct WakeArgs {
    /// Give the reason for the hint: its words are joined
    #[arg(required = true)]
    reason: Vec<String>,
    /// Add text for the model; without text, a model runs only if a wait matches the hint
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// Name the source of the hint; pending hints of one source are coalesced [default: operator]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// Name the subject of the hint
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Name the wait to wake, for example wait_1
    #[arg(long, value_name = "WAIT")]
    wait: Option<WaitId>,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn wake(home: Option<PathBuf>, args: WakeArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move { ending.or(send(&cli, args)).await })
}

async fn send(cli: &ClientContext, args: WakeArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let hint = Wake {
        reason: args.reason.join(" "),
        source: args.source,
        description: None,
        resource: args.resource,
        wait_id: args.wait,
        body: args.body,
        content_type: None,
        correlation_id: None,
        causation_id: None,
    };
    let answer = cli.client.wake(&agent, hint).await?;
    output::shown(&answer, args.json, || {
        output::line(&format!("the hint for {agent} is {}", answer.disposition))
    })
}
