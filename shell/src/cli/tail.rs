//! `holon tail` and `holon transcript`: what happened to an agent, and what was said.

use std::path::PathBuf;

use clap::Args;
use holon_api::{
    Block, Control, Document, Envelope, Events, EventsQuery, Follow, Followed, Item, Order, PageQuery,
    Transcript, TranscriptEntry,
};
use holon_facts::message::Origin;
use holon_facts::{AgentId, EventSeq};
use holon_text::moment;
use serde_json::json;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::tail_all;
use crate::envelope;
use crate::present::{Category, Level, Presentation};
use crate::screen::Tone;

/// Most events, and entries of a transcript: what the runtime gives at once.
pub(super) const EVENTS: u32 = 512;
const ENTRIES: u32 = 500;
/// Pages of events that are looked through for those of a level.
const PAGES: usize = 20;

#[derive(Debug, Args)]
pub(super) struct TailArgs {
    #[command(flatten)]
    whom: Whom,
    /// Show events of all public agents, in one order
    #[arg(long, conflicts_with_all = ["agent", "named"])]
    pub(super) all: bool,
    /// Begin with this many last events of the level, at most 512
    #[arg(long, short = 'n', value_name = "N", default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(EVENTS)))]
    pub(super) events: u32,
    /// Follow new events
    #[arg(long, short)]
    pub(super) follow: bool,
    /// Show events up to this level
    #[arg(long, value_enum, default_value_t = Level::Verbose, value_name = "LEVEL")]
    level: Level,
    /// Print each event as a line of JSON, in its envelope, whatever its level
    #[arg(long, conflicts_with = "level")]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct TranscriptArgs {
    #[command(flatten)]
    whom: Whom,
    /// Show this many last entries, at most 500
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(ENTRIES)))]
    entries: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn tail(home: Option<PathBuf>, args: TailArgs) -> Result<Exit, Failure> {
    // Nothing more happens in a home whose runtime is stopped.
    if args.follow {
        return ClientContext::work(home, |cli, ending| async move { whole(cli, args, ending).await });
    }
    ClientContext::read(home, |cli, ending| async move { whole(cli, args, ending).await })
}

async fn whole(cli: ClientContext, args: TailArgs, ending: Ending) -> Result<Exit, Failure> {
    if args.all {
        return tail_all::tail(&cli, &args, &ending).await;
    }
    let agent = ending.or(cli.agent(args.whom.name())).await?;
    let cursor = ending.or(newest(&cli, &agent, &args)).await?;
    if !args.follow {
        return Ok(Exit::Completed);
    }
    let mut follow = cli.client.follow(&agent, Some(cursor), false);
    loop {
        let next = tokio::select! {
            biased;
            // Whoever followed has seen enough.
            () = ending.wait() => return Ok(Exit::Completed),
            next = follow.next() => next?,
        };
        if let Followed::Event(event) = next {
            print(&event, &args)?;
        }
    }
}

/// Prints the end of what is there, and says where it is.
async fn newest(cli: &ClientContext, agent: &AgentId, args: &TailArgs) -> Result<EventSeq, Failure> {
    let wanted = args.events as usize;
    let (mut shown, mut cursor, mut before) = (Vec::new(), None, None);
    for page in 0..=PAGES {
        if page == PAGES {
            output::prose(
                "holon: the newest events alone were looked at: older ones have more of this level",
            );
            break;
        }
        // Where no event is wanted, the last one says where to go on.
        let limit = if args.json { args.events.max(1) } else { EVENTS };
        let query = EventsQuery {
            before_seq: before,
            limit: Some(limit),
            order: Some(Order::Desc),
            ..EventsQuery::default()
        };
        let events = cli.client.events(agent, query).await?.into_reply().events;
        cursor = cursor.or(events.first().map(|event| event.event_seq));
        before = events.last().map(|event| event.event_seq);
        let ended = events.len() < limit as usize;
        shown.extend(events.into_iter().filter(|event| args.json || shown_as(event, args.level).is_some()));
        shown.truncate(wanted);
        if ended || shown.len() == wanted {
            break;
        }
    }
    for event in shown.iter().rev() {
        print(event, args)?;
    }
    Ok(cursor.unwrap_or(EventSeq(0)))
}

fn print(event: &Document<Envelope>, args: &TailArgs) -> Result<(), Failure> {
    shown(event, args)?.map_or(Ok(()), |shown| Ok(output::line(&shown)?))
}

/// One event as a line or more, as it is written to stdout; none if it is of another level.
pub(super) fn shown(event: &Document<Envelope>, args: &TailArgs) -> Result<Option<String>, Failure> {
    if args.json {
        return Ok(Some(output::json(&serde_json::to_string(event)?)));
    }
    Ok(shown_as(event, args.level).map(|(tone, shown)| {
        let agent = if args.all { format!("  {}", event.agent_id) } else { String::new() };
        output::labelled(&format!("{}{agent}", moment::exact(event.ts)), tone, &shown)
    }))
}

/// What goes wrong stands out, and what only surrounds the agent's own doing stands back.
fn tone(category: Category) -> Tone {
    match category {
        Category::OperatorNotification => Tone::Bad,
        Category::Brief
        | Category::Message
        | Category::AssistantProgress
        | Category::Tool
        | Category::Task
        | Category::Waiting => Tone::Plain,
        Category::Runtime | Category::Workspace | Category::StateSync | Category::Trace => Tone::Aside,
    }
}

/// An event for people, where the level shows it.
fn shown_as(event: &Envelope, level: Level) -> Option<(Tone, String)> {
    // A newer runtime has events that this program does not know.
    let Ok(record) = envelope::record(event) else { return Some((Tone::Plain, event.kind.clone())) };
    let told = Presentation::of(&record);
    level.shows(told.visibility).then(|| (tone(told.category), told.text()))
}

pub(super) fn transcript(home: Option<PathBuf>, args: TranscriptArgs) -> Result<Exit, Failure> {
    ClientContext::read(home, |cli, ending| async move {
        ending
            .or(async {
                let agent = cli.agent(args.whom.name()).await?;
                let query = PageQuery { limit: Some(args.entries.max(1)), ..PageQuery::default() };
                let answer = cli.client.transcript(&agent, query).await?;
                if args.entries == 0 {
                    return none_of(&answer, args.json);
                }
                output::shown(&answer, args.json, || {
                    answer.entries.iter().try_for_each(|entry| output::text(&said(entry)))
                })
            })
            .await
    })
}

/// A page without entries: the runtime gives one at least.
fn none_of(page: &Transcript, json: bool) -> Result<Exit, Failure> {
    let none = json!({ "ok": true, "entries": [], "more": !page.entries.is_empty() });
    output::shown(&none, json, || Ok(()))
}

/// One entry for people.
fn said(entry: &TranscriptEntry) -> String {
    let body = match &entry.item {
        Item::IncomingMessage { message_id, origin, text, .. } => {
            format!("{message_id} from {}\n{text}", sender(origin))
        }
        Item::AssistantRound { blocks, .. } => {
            let block = |block: &Block| match block {
                Block::ToolCall { tool_name, arguments, .. } => format!("$ {tool_name} {arguments}"),
                Block::Text { text } => text.clone(),
            };
            format!("assistant\n{}", blocks.iter().map(block).collect::<Vec<_>>().join("\n"))
        }
        Item::ToolResults { tool_name, error: Some(error), .. } => {
            format!("{tool_name}\nfailed: {}", error.message.preview())
        }
        Item::ToolResults { tool_name, text, .. } => {
            format!("{tool_name}\n{}", text.as_deref().unwrap_or_default())
        }
        Item::RuntimeFailure { text, .. } => format!("the turn failed\n{text}"),
        Item::ContinuationPrompt { text, .. } => format!("continuation_prompt\n{text}"),
    };
    format!("── {}  {}\n", moment::exact(entry.at), body.trim_end())
}

fn sender(origin: &Origin) -> &'static str {
    match origin {
        Origin::Operator { .. } => "operator",
        Origin::Channel { .. } => "channel",
        Origin::Webhook { .. } => "webhook",
        Origin::Callback { .. } => "callback",
        Origin::Timer { .. } => "timer",
        Origin::System { .. } => "system",
        Origin::Task { .. } => "task",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_entry_is_shown() {
        let said = |entry| said(&serde_json::from_value(entry).unwrap());
        let round = json!({ "kind": "assistant_round", "event_seq": 1, "at": "2026-01-01T00:00:00.123Z",
            "run_id": "run_1", "round": 0, "stop_reason": "tool_use", "input_tokens": 1, "output_tokens": 1,
            "data": {
                "token_usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 }, "attempts": [],
            },
            "blocks": [
                { "type": "text", "text": "I look." },
                { "type": "tool_call", "call_id": "c1", "tool_name": "ExecCommand", "arguments": "{}" },
        ] });
        let at = moment::exact(holon_facts::Wall::parse("2026-01-01T00:00:00Z").unwrap());
        assert_eq!(said(round), format!("── {at}  assistant\nI look.\n$ ExecCommand {{}}\n"));
        let result = json!({ "kind": "tool_results", "event_seq": 1, "at": "2026-01-01T00:00:00Z",
            "run_id": "run_1", "round": 0, "tool_name": "X", "text": "done" });
        assert_eq!(said(result), format!("── {at}  X\ndone\n"));
    }
}
