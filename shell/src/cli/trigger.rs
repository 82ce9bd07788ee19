//! `holon trigger`: the address at which other systems wake an agent.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::through::{Through, incomplete, number, text};
use crate::client::Ask;

#[derive(Debug, Subcommand)]
pub(super) enum TriggerCommand {
    /// The address, and what came through it
    Show(TriggerArgs),
    /// Another address takes its place, and the one before wakes nobody any more
    Rotate(TriggerArgs),
    /// No address wakes the agent any more, until it is rotated
    Revoke(TriggerArgs),
}

#[derive(Debug, Args)]
pub(super) struct TriggerArgs {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

pub(super) fn trigger(home: Option<PathBuf>, command: TriggerCommand) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        match command {
            TriggerCommand::Show(args) => ending.or(show(&through, args)).await,
            TriggerCommand::Rotate(args) => ending.or(change(&through, args, "rotate")).await,
            TriggerCommand::Revoke(args) => ending.or(change(&through, args, "revoke")).await,
        }
    })
}

async fn show(through: &Through, args: TriggerArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let answer = through.client.ask(&Ask::get(&format!("/control/agents/{agent}/triggers"), &[])).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let triggers = answer.get("triggers").and_then(Value::as_array).ok_or_else(|| incomplete("triggers"))?;
    if triggers.is_empty() {
        output::line(&format!("{agent} has no trigger yet: holon trigger rotate --agent {agent}"))?;
    }
    triggers.iter().try_for_each(print)?;
    Ok(Exit::Completed)
}

async fn change(through: &Through, args: TriggerArgs, change: &str) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let path = format!("/control/agents/{agent}/triggers/{change}");
    let answer = through.client.ask(&Ask::post(&path, &json!({}))?).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    print(answer.get("trigger").ok_or_else(|| incomplete("trigger"))?)?;
    Ok(Exit::Completed)
}

fn print(trigger: &Value) -> Result<(), Failure> {
    let mut rows = vec![
        ["trigger", text(trigger, "/external_trigger_id")].map(ToOwned::to_owned).to_vec(),
        vec!["status".to_owned(), status(trigger)],
    ];
    if let Some(url) = trigger.get("trigger_url").and_then(Value::as_str) {
        rows.push(vec!["address".to_owned(), url.to_owned()]);
    }
    let last = text(trigger, "/last_delivered_at");
    let last = if last.is_empty() { String::new() } else { format!(", the last at {last}") };
    rows.push(vec!["deliveries".to_owned(), format!("{}{last}", number(trigger, "/delivery_count"))]);
    output::table(&rows)?;
    Ok(())
}

fn status(trigger: &Value) -> String {
    let generation = number(trigger, "/generation");
    let (word, since) = match text(trigger, "/revoked_at") {
        "" => ("active", text(trigger, "/created_at")),
        revoked => ("revoked", revoked),
    };
    format!("{word} since {since}, generation {generation}")
}
