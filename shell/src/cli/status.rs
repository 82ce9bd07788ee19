//! `holon status` and `holon why`: one agent, in short and explained.

use std::path::PathBuf;

use clap::Args;
use holon_api::{AgentStatus, Control, Document, RecentQuery};
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
                        Document::from(cli.client.state(&agent, query).await?.agent.clone())
                    }
                    None => cli.client.status(&agent).await?,
                };
                output::shown(&answer, args.json, || output::table(&summary(&answer)))
            })
            .await
    })
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
