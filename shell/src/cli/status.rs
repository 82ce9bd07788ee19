//! `holon status` and `holon why`: one agent, in short and explained.

use std::path::PathBuf;

use clap::Args;
use holon_api::Control;

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

pub(super) fn status(home: Option<PathBuf>, args: StatusArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let answer = cli.client.status(&agent).await?;
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
