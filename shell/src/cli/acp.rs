//! `holon acp`: agents of the runtime inside of an editor, on standard input and output.

use std::path::PathBuf;

use clap::Args;
use holon_acp::Server;
use holon_facts::AgentId;

use super::client_context::{Autostart, ClientContext};
use super::exit::Exit;
use super::output::Failure;

#[derive(Debug, Args)]
pub(super) struct AcpArgs {
    /// Let every new session be with this agent [default: each has an agent of its own]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    start: Autostart,
}

pub(super) fn acp(home: Option<PathBuf>, args: AcpArgs) -> Result<Exit, Failure> {
    let AcpArgs { agent, start } = args;
    let agent = agent.as_deref().map(AgentId::new).transpose().map_err(Failure::usage)?;
    ClientContext::serve_lines(home, start, move |runtime| Server::new(runtime, agent))
}
