//! `holon timer`: what wakes an agent at a time.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use holon_core::Millis;
use holon_core::agent::timer::{Misfire, TimerStatus};
use holon_core::ids::TimerId;
use holon_text::time;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::output::{self, Failure};
use super::through::{Through, incomplete, number, text};
use crate::client::Ask;
use crate::present;

#[derive(Debug, Subcommand)]
pub(super) enum TimerCommand {
    /// Those that will fire and those that ended lately
    List(ListArgs),
    /// Wake an agent after a while, once or again and again
    Add(AddArgs),
    /// End a timer
    Cancel(CancelArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only timers that stand like this
    #[arg(long, value_parser = PossibleValuesParser::new(TimerStatus::ALL.iter().map(|status| status.name())))]
    status: Option<String>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// Until it fires for the first time, for example 90s, 10m or 1h30m
    #[arg(value_parser = duration)]
    after: Millis,
    /// What the agent is told when it fires
    summary: Option<String>,
    /// Fire again and again, so much later each time
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    every: Option<Millis>,
    /// What becomes of several occurrences that were missed: the last one fires, none, or all (at most 100)
    #[arg(long, default_value = Misfire::Once.name())]
    #[arg(value_parser = PossibleValuesParser::new(Misfire::ALL.iter().map(|misfire| misfire.name())))]
    misfire: String,
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CancelArgs {
    /// The timer, for example timer_2
    timer: TimerId,
    /// The agent [default: the runtime's own, mostly `main`]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[arg(long)]
    json: bool,
}

pub(super) fn timer(home: Option<PathBuf>, command: TimerCommand) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        match command {
            TimerCommand::List(args) => ending.or(list(&through, args)).await,
            TimerCommand::Add(args) => ending.or(add(&through, args)).await,
            TimerCommand::Cancel(args) => ending.or(cancel(&through, args)).await,
        }
    })
}

async fn list(through: &Through, args: ListArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let ask = Ask::get(&format!("/agents/{agent}/timers"), &[("status", args.status)]);
    let answer = through.client.ask(&ask).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let timers = answer.get("timers").and_then(Value::as_array).ok_or_else(|| incomplete("timers"))?;
    if timers.is_empty() {
        output::line(&format!("{agent} has no timers"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["TIMER", "STATUS", "NEXT", "EVERY", "FIRED", "SUMMARY"];
    let mut rows = vec![heads.map(ToOwned::to_owned).to_vec()];
    rows.extend(timers.iter().map(|timer| {
        let every = number(timer, "/interval_ms");
        vec![
            text(timer, "/timer_id").to_owned(),
            text(timer, "/status").to_owned(),
            or_none(text(timer, "/next_fire_at").chars().take(19).collect()),
            if every == 0 { "-".to_owned() } else { time::exactly(Millis(every)) },
            number(timer, "/fire_count").to_string(),
            or_none(present::one_line(text(timer, "/summary"))),
        ]
    }));
    output::table(&rows)?;
    Ok(Exit::Completed)
}

async fn add(through: &Through, args: AddArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let mut body = Map::new();
    body.insert("duration_ms".to_owned(), json!(args.after));
    body.insert("misfire".to_owned(), json!(args.misfire));
    body.extend(args.every.map(|every| ("interval_ms".to_owned(), json!(every))));
    body.extend(args.summary.map(|summary| ("summary".to_owned(), json!(summary))));
    let ask = Ask::post(&format!("/control/agents/{agent}/timers"), &body)?;
    let answer = through.client.ask(&ask).await?;
    if args.json {
        output::document(&answer)?;
    } else {
        let timer = answer.get("timer").ok_or_else(|| incomplete("timer"))?;
        output::line(&format!("{} fires at {}", text(timer, "/timer_id"), text(timer, "/next_fire_at")))?;
    }
    Ok(Exit::Completed)
}

async fn cancel(through: &Through, args: CancelArgs) -> Result<Exit, Failure> {
    let agent = through.agent(args.agent.as_deref()).await?;
    let path = format!("/control/agents/{agent}/timers/{}/cancel", args.timer);
    let answer = through.client.ask(&Ask::post(&path, &json!({}))?).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    let changed = answer.get("changed") == Some(&Value::Bool(true));
    let already = if changed { "" } else { " already" };
    output::line(&format!("{} is {}{already}", args.timer, text(&answer, "/timer/status")))?;
    Ok(Exit::Completed)
}

fn or_none(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// A number with its unit, or several: `90s`, `10m`, `1h30m`, `2 days`.
fn duration(text: &str) -> Result<Millis, String> {
    let read: SignedDuration = text
        .parse()
        .map_err(|_| "expected a number with its unit, for example 90s, 10m or 1h30m".to_owned())?;
    u64::try_from(read.as_millis()).map(Millis).map_err(|_| "expected a time that lies ahead".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let read = |text| duration(text).map(|millis| millis.0);
        assert_eq!(read("90s"), Ok(90_000));
        assert_eq!(read("1h30m"), Ok(5_400_000));
        assert_eq!(read("2 hours"), Ok(7_200_000));
        assert_eq!(read("250ms"), Ok(250));
        assert!(read("90").is_err() && read("-5m").is_err() && read("soon").is_err() && read("").is_err());
    }
}
