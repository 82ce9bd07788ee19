//! `holon timer`: what wakes an agent at a time.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use holon_api::{Control, CreateTimer, TimersQuery};
use holon_facts::Millis;
use holon_facts::ids::TimerId;
use holon_facts::timer::{DURATION, Misfire, TimerStatus};
use holon_text::{moment, time};
use jiff::{Span, SpanRelativeTo};

use super::client_context::{ClientContext, Whom, one_of};
use super::exit::Exit;
use super::output::{self, Failure};
use holon_present as present;

#[derive(Debug, Subcommand)]
pub(super) enum TimerCommand {
    /// List armed and recently ended timers
    List(ListArgs),
    /// Create a timer that wakes an agent once or repeatedly
    Add(AddArgs),
    /// Cancel a timer
    Cancel(CancelArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    whom: Whom,
    /// List only timers with this status
    #[arg(long, value_parser = one_of(TimerStatus::ALL))]
    status: Option<TimerStatus>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AddArgs {
    /// Fire after this duration, for example 90s, 10m, 1h30m or 2d
    #[arg(value_parser = duration)]
    after: Millis,
    /// Deliver this text when it fires: its words are joined
    summary: Vec<String>,
    /// Fire again after each such interval
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    every: Option<Millis>,
    /// Choose what several missed occurrences do: the last one fires, none, or all (at most 100)
    #[arg(long, default_value = Misfire::Once.name(), value_parser = one_of(Misfire::ALL))]
    misfire: Misfire,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct CancelArgs {
    /// Name the timer, for example timer_2
    timer: TimerId,
    /// Use this agent [default: the runtime's default, usually `main`]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn timer(home: Option<PathBuf>, command: TimerCommand) -> Result<Exit, Failure> {
    ClientContext::work(home, |cli, ending| async move {
        match command {
            TimerCommand::List(args) => ending.or(list(&cli, args)).await,
            TimerCommand::Add(args) => ending.or(add(&cli, args)).await,
            TimerCommand::Cancel(args) => ending.or(cancel(&cli, args)).await,
        }
    })
}

async fn list(cli: &ClientContext, args: ListArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.whom.name()).await?;
    let answer = cli.client.timers(&agent, TimersQuery { status: args.status }).await?;
    if args.json {
        output::document(&answer)?;
        return Ok(Exit::Completed);
    }
    if answer.timers.is_empty() {
        output::line(&format!("{agent} has no timers"))?;
        return Ok(Exit::Completed);
    }
    let heads = ["TIMER", "STATUS", "NEXT", "EVERY", "FIRED", "SUMMARY"];
    let rows = answer.timers.iter().map(|timer| {
        let summary = timer.summary.as_deref().map(present::one_line);
        vec![
            timer.timer_id.to_string(),
            timer.status.to_string(),
            or_none(timer.next_fire_at.map(moment::relative)),
            or_none(timer.interval_ms.map(time::exactly)),
            timer.fire_count.to_string(),
            or_none(summary.filter(|summary| !summary.is_empty())),
        ]
    });
    output::list(&heads, rows)?;
    Ok(Exit::Completed)
}

async fn add(cli: &ClientContext, args: AddArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let timer = CreateTimer {
        duration_ms: args.after.0,
        interval_ms: args.every.map(|every| every.0),
        misfire: Some(args.misfire),
        summary: Some(args.summary.join(" ")).filter(|summary| !summary.is_empty()),
    };
    let answer = cli.client.create_timer(&agent, timer, None).await?;
    output::shown(&answer, args.json, || {
        let next = answer.timer.next_fire_at.map(moment::near).unwrap_or_default();
        output::line(&format!("{} fires at {next}", answer.timer.timer_id))
    })
}

async fn cancel(cli: &ClientContext, args: CancelArgs) -> Result<Exit, Failure> {
    let agent = cli.agent(args.agent.as_deref()).await?;
    let answer = cli.client.cancel_timer((&agent, args.timer)).await?;
    output::shown(&answer, args.json, || {
        let already = if answer.changed { "" } else { " already" };
        output::line(&format!("{} is {}{already}", args.timer, answer.timer.status))
    })
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A number with its unit, or several: `90s`, `10m`, `1h30m`, `2 days`.
fn duration(text: &str) -> Result<Millis, String> {
    let read = text.parse().and_then(|span: Span| span.to_duration(SpanRelativeTo::days_are_24_hours()));
    let read = read.map_err(|_| {
        "expected a number with its unit (ms, s, m, h or d), for example 90s, 1h30m or 2d".to_owned()
    })?;
    let millis = u64::try_from(read.as_millis()).ok().map(Millis);
    millis
        .filter(|millis| (DURATION.0..=DURATION.1).contains(millis))
        .ok_or_else(|| "give 1s to 100 years (876600h)".to_owned())
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
        assert_eq!(read("1500ms"), Ok(1_500));
        assert_eq!(read("2d"), Ok(172_800_000));
        assert_eq!(read("1 day 12h"), Ok(129_600_000));
        assert_eq!(read("876600h"), Ok(DURATION.1.0));
        for without in ["90", "soon", ""] {
            assert!(read(without).unwrap_err().contains("(ms, s, m, h or d)"), "{without}");
        }
        for beyond in ["0s", "250ms", "-5m", "36526d"] {
            assert!(read(beyond).unwrap_err().contains("1s to 100 years"), "{beyond}");
        }
    }
}
