//! `holon agent rename` and `holon agent describe`: how people name and list an agent.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_api::{Control, Describe, LabelReply, Rename};
use holon_facts::AgentId;
use holon_facts::label::{AgentLabel, Description};

use super::client_context::ClientContext;
use super::exit::Exit;
use super::output::{self, Failure};

#[derive(Debug, Args)]
pub(super) struct RenameArgs {
    /// Rename this agent
    agent: String,
    /// Set this second name: a-z, 0-9 and '-'; the agent's own id removes the second name
    #[arg(value_name = "NAME")]
    new_name: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct DescribeArgs {
    /// Describe this agent
    agent: String,
    /// Describe in one line what it is for: the words are joined, at most 200 characters
    #[arg(value_name = "TEXT", required_unless_present = "clear", conflicts_with = "clear")]
    text: Vec<String>,
    /// Remove its description
    #[arg(long)]
    clear: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn rename(home: Option<PathBuf>, args: RenameArgs) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(Some(&args.agent)).await?;
                let name = AgentId::new(&args.new_name).map_err(|error| {
                    Failure::usage(anyhow!("a name has the form of an agent id; {error}"))
                        .hint(format!("holon agent describe {agent} \"…\" takes any text"))
                })?;
                let reply = cli.client.rename(&agent, Rename { name: Some(name) }).await?;
                output::shown(&reply, args.json, || output::line(&renamed(&reply)))
            })
            .await
    })
}

pub(super) fn describe(home: Option<PathBuf>, args: DescribeArgs) -> Result<Exit, Failure> {
    let text = (!args.clear).then(|| Description::new(&args.text.join(" ")));
    let description = text.transpose().map_err(Failure::usage)?;
    ClientContext::work(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(Some(&args.agent)).await?;
                let reply = cli.client.describe(&agent, Describe { description }).await?;
                output::shown(&reply, args.json, || output::line(&described(&reply)))
            })
            .await
    })
}

fn renamed(reply: &LabelReply) -> String {
    let LabelReply { agent_id, changed, label, .. } = reply;
    match (&label.name, changed) {
        (Some(name), true) => format!("{agent_id} is called {name} from now on; its id stays"),
        (Some(name), false) => format!("{agent_id} is called {name} already"),
        (None, true) => format!("{agent_id} has its id as its only name again"),
        (None, false) => format!("{agent_id} has its id as its only name already"),
    }
}

fn described(reply: &LabelReply) -> String {
    let LabelReply { agent_id, changed, label: AgentLabel { description, .. }, .. } = reply;
    match (description, changed) {
        (Some(description), true) => format!("{agent_id}: {description}"),
        (Some(description), false) => format!("{agent_id} is described so already: {description}"),
        (None, true) => format!("{agent_id} has no description any more"),
        (None, false) => format!("{agent_id} has no description"),
    }
}
