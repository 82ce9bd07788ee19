//! `holon mcp serve`: the runtime as a server of the protocol, for one client on standard input and output.

use std::path::PathBuf;

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
    ClientContext::serve_lines(home, start, move |runtime| Ok(Server::for_one(runtime, read_only)))
}
