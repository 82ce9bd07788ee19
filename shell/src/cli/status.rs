//! `holon status` and `holon why`: one agent, in short and explained.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::exit::Exit;
use super::explained::{explanation, summary};
use super::output::{self, Failure};
use super::through::{Through, Whom};
use crate::client::Ask;

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    pub(super) whom: Whom,
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn status(home: Option<PathBuf>, args: StatusArgs) -> Result<Exit, Failure> {
    read(home, args, "status", summary)
}

pub(super) fn why(home: Option<PathBuf>, args: StatusArgs) -> Result<Exit, Failure> {
    read(home, args, "why", explanation)
}

fn read(
    home: Option<PathBuf>,
    args: StatusArgs,
    what: &'static str,
    rows: fn(&Value) -> Vec<Vec<String>>,
) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        ending
            .or(async {
                let agent = through.agent(args.whom.name()).await?;
                let answer = through.client.ask(&Ask::get(&format!("/agents/{agent}/{what}"), &[])).await?;
                if args.json {
                    output::document(&answer)?;
                } else {
                    output::table(&rows(&answer))?;
                }
                Ok(Exit::Completed)
            })
            .await
    })
}
