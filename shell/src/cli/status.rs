//! `holon status` and `holon why`: one agent, in short and explained.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_api::{AgentStatus, ClientError, Code, Control, Document, RecentQuery};
use holon_facts::EventSeq;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::explained::{explanation, summary};
use super::output::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) whom: Whom,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AtArgs {
    #[command(flatten)]
    status: StatusArgs,
    /// Show the state right after this event
    #[arg(long, value_name = "EVENT")]
    at: Option<u64>,
}

pub(super) fn status(home: Option<PathBuf>, args: AtArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let AtArgs { status: args, at } = args;
                let agent = cli.agent(args.whom.name()).await?;
                let answer: Document<AgentStatus> = match at.map(EventSeq) {
                    Some(at) => {
                        let query = RecentQuery { at_seq: Some(at), recent: Some(0) };
                        let state =
                            cli.client.state(&agent, query).await.map_err(|error| beyond(at, error))?;
                        Document::from(state.agent.clone())
                    }
                    None => cli.client.status(&agent).await?,
                };
                output::shown(&answer, args.json, || output::table(&summary(&answer)))
            })
            .await
    })
}

/// A refusal of the moment names the option, as it was typed.
fn beyond(at: EventSeq, error: ClientError) -> Failure {
    let ClientError::Refused { body, .. } = &error else { return error.into() };
    let is_at = body.code == Code::InvalidQuery.name() && body.detail("field") == Some("at_seq");
    let Some(last) =
        body.details.as_ref().and_then(|details| details.get("last_event_seq")).filter(|_| is_at)
    else {
        return error.into();
    };
    let wrong = anyhow!("--at {at}: the events of this agent go from 1 to {last}");
    Failure::usage(wrong).hint(format!("holon status --at {last}"))
}

pub(super) fn why(home: Option<PathBuf>, args: StatusArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let answer = cli.client.why(&agent).await?;
                output::shown(&answer, args.json, || output::table(&explanation(&answer)))
            })
            .await
    })
}
