//! `holon trigger`: the address at which other systems wake an agent.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::{Control, TriggerSnapshot};
use holon_core::agent::external_trigger::ExternalTrigger;

use holon_text::moment::near;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::output::{self, Failure};

#[derive(Debug, Subcommand)]
pub(super) enum TriggerCommand {
    /// Show the address, and how often other systems have used it
    Show(TriggerArgs),
    /// Replace the address; the old one stops working
    Rotate(TriggerArgs),
    /// Revoke the address until the next rotation
    Revoke(TriggerArgs),
}

#[derive(Debug, Args)]
pub(super) struct TriggerArgs {
    #[command(flatten)]
    whom: Whom,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn trigger(home: Option<PathBuf>, command: TriggerCommand) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        match command {
            TriggerCommand::Show(args) => ending.or(show(&cli, args)).await,
            TriggerCommand::Rotate(args) => ending.or(rotate(&cli, args)).await,
            TriggerCommand::Revoke(args) => ending.or(revoke(&cli, args)).await,
        }
    })
}

async fn show(cli: &ClientContext, args: TriggerArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.triggers(&agent).await?;
    output::shown(&answer, args.json, || {
        if answer.triggers.is_empty() {
            output::line(&format!("{agent} has no trigger yet: holon trigger rotate {agent}"))?;
        }
        answer.triggers.iter().try_for_each(print)
    })
}

async fn rotate(cli: &ClientContext, args: TriggerArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.rotate_trigger(&agent).await?;
    output::shown(&answer, args.json, || print(&answer.trigger))
}

async fn revoke(cli: &ClientContext, args: TriggerArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.revoke_trigger(&agent).await?;
    output::shown(&answer, args.json, || print(&answer.trigger))
}

fn print(snapshot: &TriggerSnapshot) -> io::Result<()> {
    let trigger = &snapshot.trigger;
    let mut rows = vec![
        vec!["trigger".to_owned(), trigger.external_trigger_id.to_string()],
        vec!["status".to_owned(), status(trigger)],
    ];
    rows.extend(snapshot.trigger_url.as_ref().map(|url| vec!["address".to_owned(), url.clone()]));
    let last =
        trigger.last_delivered_at.map(|last| format!(", the last at {}", near(last))).unwrap_or_default();
    rows.push(vec!["deliveries".to_owned(), format!("{}{last}", trigger.delivery_count)]);
    output::table(&rows)
}

fn status(trigger: &ExternalTrigger) -> String {
    let (word, since) = match trigger.revoked_at {
        None => ("active", trigger.created_at),
        Some(revoked) => ("revoked", revoked),
    };
    format!("{word} since {}, generation {}", near(since), trigger.generation)
}
