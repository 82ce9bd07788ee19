//! `holon mcp serve`: the runtime as a server of the protocol, for one client on standard input and output.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use holon_mcp_server::Server;

use crate::cli::client_context::{Autostart, ClientContext};
use crate::cli::exit::Exit;
use crate::cli::output::Failure;

#[derive(Debug, Args)]
pub(in crate::cli) struct ServeArgs {
    /// Offer only tools that change nothing
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    start: Autostart,
}

pub(super) fn serve(home: Option<PathBuf>, args: ServeArgs) -> Result<Exit, Failure> {
    let ServeArgs { read_only, start } = args;
    ClientContext::work_started(home, start, move |cli, ending| async move {
        let server = Arc::new(Server::for_one(cli.client.clone(), read_only)?);
        let served = holon_rpc::serve(server, BufReader::new(io::stdin()), io::stdout());
        tokio::select! {
            biased;
            // Agents live on, so there is nothing to give up.
            () = ending.wait() => {}
            served = served => served?,
        }
        Ok(Exit::Completed)
    })
}
