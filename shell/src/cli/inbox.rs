//! `holon inbox` and `holon answer`: what agents have asked of their operator, and the answer; and which temporary runs ask.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_api::{ClientError, Control, Inbox, InboxQuery, OpenAsk, TemporaryRunSummary, earlier_answer};
use holon_facts::AgentId;
use holon_facts::ids::BriefId;
use holon_text::moment;
use holon_text::nearest::did_you_mean;
use serde_json::json;

use super::client_context::{Autostart, ClientContext};
use super::exit::Exit;
use super::output::{self, Failure};
use super::prompt::{FollowUp, Message, deliver, typed};
use super::run::joined;
use super::runs;
use crate::temporary_runs;

/// Asks that one command shows, and looks through.
const MOST: usize = 2_000;

#[derive(Debug, Args)]
pub(super) struct InboxArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct AnswerArgs {
    /// Answer this ask, as `holon inbox` shows it; an agent's name if it has one ask alone
    ask: String,
    /// Send this answer: its words are joined; `-` reads it from standard input
    #[arg(required_unless_present = "close", conflicts_with = "close", value_name = "TEXT")]
    text: Vec<String>,
    /// Close the ask without an answer; the agent is not notified
    #[arg(long, conflicts_with_all = ["wait", "key"])]
    close: bool,
    #[command(flatten)]
    start: Autostart,
    #[command(flatten)]
    follow_up: FollowUp,
}

pub(super) fn inbox(home: Option<PathBuf>, args: InboxArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move { ending.or(list(&cli, args)).await })
}

pub(super) fn answer(home: Option<PathBuf>, args: AnswerArgs) -> Result<Exit, Failure> {
    let start = args.start.quietly(args.follow_up.is_quiet());
    let text = joined(&args.text)?;
    ClientContext::work(home, |cli, ending| async move {
        // What is not open needs no runtime to be started.
        let key = args.follow_up.key();
        let found = async { find(&cli.as_read().await?, &args.ask, key).await };
        let (agent, brief) = ending.or(found).await?;
        let cli = ending.or(cli.started(&start)).await?;
        if args.close {
            let closed = ending.or(async { Ok(cli.client.close_ask((&agent, brief)).await?) }).await?;
            let line = || output::line(&format!("{agent}/{brief} is closed"));
            return output::shown(&closed, args.follow_up.is_json(), line);
        }
        let prompt = ending.or(typed(text)).await?;
        let message = Message {
            agent,
            prompt,
            images: Vec::new(),
            skills: Vec::new(),
            interject: false,
            answers: Some(brief),
        };
        deliver(&cli, message, args.follow_up, &ending).await
    })
}

/// Everything that is asked, the oldest first, how much more there is, and which temporary runs ask.
async fn asks(cli: &ClientContext) -> Result<Inbox, Failure> {
    let mut all = Inbox { ok: true, asks: Vec::new(), older: 0, more: false, next: None, runs: Vec::new() };
    loop {
        let page = match cli.client.inbox(InboxQuery { after: all.next.take(), limit: None }).await {
            // A home in which no runtime has ever been has no agent that could ask, but maybe runs.
            Err(ClientError::NotReachable { .. }) if cli.is_new() => {
                return Ok(Inbox { runs: temporary_runs::that_ask(cli.home()), ..all });
            }
            read => read?.into_reply(),
        };
        all.asks.extend(page.asks);
        all.runs.extend(page.runs);
        all.older = all.older.saturating_add(page.older);
        (all.more, all.next) = (page.more, page.next);
        if all.next.is_none() || all.asks.len() >= MOST {
            all.asks.sort_by_key(|ask: &OpenAsk| ask.created_at);
            return Ok(all);
        }
    }
}

async fn list(cli: &ClientContext, args: InboxArgs) -> Result<Exit, Failure> {
    let Inbox { asks, older, more, runs, .. } = asks(cli).await?;
    if args.json {
        output::document(&json!({ "ok": true, "asks": asks, "older": older, "more": more, "runs": runs }))?;
        return Ok(Exit::Completed);
    }
    if asks.is_empty() && runs.is_empty() {
        output::line("no agent needs you")?;
        return Ok(Exit::Completed);
    }
    for ask in &asks {
        output::line(&format!("{}  {}", name(ask), moment::relative(ask.created_at)))?;
        for line in ask.text.trim().lines() {
            output::text(&format!("  {line}"))?;
        }
    }
    if older > 0 || more {
        let count = if more { "more asks are".to_owned() } else { format!("{older} older asks are") };
        output::note(&format!("holon: {count} not shown; holon transcript AGENT has the rest of an agent"));
    }
    if let Some(first) = asks.first() {
        output::hint("answer", &format!("holon answer {} \"…\"", name(first)));
    }
    show_runs(&runs)?;
    Ok(Exit::Completed)
}

/// Temporary runs that ask. They have ledgers of their own, so each is resumed with its answer.
fn show_runs(runs: &[TemporaryRunSummary]) -> Result<(), Failure> {
    for run in runs {
        let since = run.since.map(moment::relative).unwrap_or_default();
        output::line(&format!("{}  {since}", run.run))?;
        for line in run.waiting_for.iter().flat_map(|text| text.trim().lines()) {
            output::text(&format!("  {line}"))?;
        }
    }
    if let Some(first) = runs.first() {
        output::hint("answer the run", &runs::resume(first));
    }
    Ok(())
}

/// An ask as it is named on the command line.
fn name(ask: &OpenAsk) -> String {
    format!("{}/{}", ask.agent_id, ask.brief_id)
}

/// What was answered under a key before, by an agent that is named with or without its ask.
async fn earlier(cli: &ClientContext, named: &str, key: &str) -> Option<(AgentId, BriefId)> {
    let (agent, brief) = named.split_once('/').map_or((named, None), |(agent, brief)| (agent, Some(brief)));
    let agent = AgentId::new(agent).ok()?;
    // Why an agent can't be read is named by the search for what it asks now.
    let answered = earlier_answer(&cli.client, &agent, key).await.ok()??;
    brief.is_none_or(|brief| brief == answered.to_string()).then_some((agent, answered))
}

/// The ask that is named: an open one, or the one that was answered under this key, so that the answer can be repeated.
async fn find(cli: &ClientContext, named: &str, key: Option<&str>) -> Result<(AgentId, BriefId), Failure> {
    let Some(key) = key else { return find_open(cli, named).await };
    // The name of an agent may mean another ask by now.
    if !named.contains('/')
        && let Some(answered) = earlier(cli, named, key).await
    {
        return Ok(answered);
    }
    match find_open(cli, named).await {
        Err(failure) => earlier(cli, named, key).await.ok_or(failure),
        found => found,
    }
}

async fn find_open(cli: &ClientContext, named: &str) -> Result<(AgentId, BriefId), Failure> {
    let Inbox { asks, runs, .. } = asks(cli).await?;
    let fits = |ask: &&OpenAsk| {
        named == name(ask) || named == ask.agent_id.as_str() || named == ask.brief_id.to_string()
    };
    let mut fitting = asks.iter().filter(fits);
    match (fitting.next(), fitting.next()) {
        (Some(ask), None) => Ok((ask.agent_id.clone(), ask.brief_id)),
        (Some(one), Some(other)) => {
            let error = anyhow!("{named} has several asks: {}, {}, …", name(one), name(other));
            Err(Failure::usage(error).hint(format!("holon answer {} \"…\"", name(one))))
        }
        (None, _) => {
            if let Some(run) = runs.iter().find(|run| named == run.run.as_str()) {
                let error = anyhow!("{named} is a temporary run: it is resumed with its answer");
                return Err(Failure::usage(error).hint(runs::resume(run)));
            }
            let names: Vec<String> = asks.iter().map(name).collect();
            let near = did_you_mean(named, names.iter().map(String::as_str));
            let answered = named.rsplit('/').next().is_some_and(|id| id.parse::<BriefId>().is_ok());
            let error = if answered {
                let none = if asks.is_empty() { ": no agent has an open ask" } else { "" };
                anyhow!("{named} is not open; it was answered, or never asked{near}{none}")
            } else {
                anyhow!("{named} has asked nothing that is open{near}")
            };
            Err(Failure::new(Exit::NotFound, error).hint("holon inbox"))
        }
    }
}
