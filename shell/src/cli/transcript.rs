//! `holon transcript`: what was said and done, with whole texts; and the same of single events, for those who show
//! these.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use holon_api::{Block, Control, Item, PageQuery, Transcript, TranscriptEntry};
use holon_facts::episode::SeenImage;
use holon_facts::message::Origin;
use holon_facts::{AgentId, EventSeq};
use holon_text::moment;
use serde_json::json;

use super::client_context::{ClientContext, Whom};
use super::exit::Exit;
use super::output::{self, Failure};
use holon_present::{DetailLine, Extent, Look, call_lines, error_line, message_lines, result_lines};

/// Most entries of a transcript: what the runtime gives at once.
const ENTRIES: u32 = 500;
/// Of a patch and of the output of a command, where everything is to be read.
const WHOLE: Extent = Extent { patch: 400, output: 40 };
/// The same beside other events.
const SHORT: Extent = Extent { patch: 60, output: 10 };

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
                    answer.entries.iter().try_for_each(|entry| output::details(&said(entry)))
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

/// What events between two bring that are entries of the transcript, in lines; none where it is what the event's own
/// presentation shows.
///
/// # Errors
/// When the runtime does not give it.
pub(super) async fn details(
    cli: &ClientContext,
    agent: &AgentId,
    (first, last): (EventSeq, EventSeq),
) -> Result<BTreeMap<EventSeq, Vec<DetailLine>>, Failure> {
    let (mut found, mut after) = (BTreeMap::new(), EventSeq(first.0.saturating_sub(1)));
    while after < last {
        let query = PageQuery { before: None, after: Some(after), limit: Some(ENTRIES) };
        let page = cli.client.transcript(agent, query).await?.into_reply();
        let within = page.entries.iter().filter(|entry| entry.event_seq <= last);
        found.extend(within.filter_map(|entry| Some((entry.event_seq, step(&entry.item)?))));
        let Some(next) = page.next.filter(|next| page.more && *next > after) else { break };
        after = next;
    }
    Ok(found)
}

/// A step of a turn.
fn step(item: &Item) -> Option<Vec<DetailLine>> {
    match item {
        Item::AssistantRound { blocks, .. } => {
            let calls = blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
            calls.then(|| round(blocks, SHORT))
        }
        Item::ToolResults { .. } => Some(result(item, SHORT)),
        Item::IncomingMessage { .. } | Item::RuntimeFailure { .. } | Item::ContinuationPrompt { .. } => None,
    }
}

/// One entry for people.
fn said(entry: &TranscriptEntry) -> Vec<DetailLine> {
    let (title, body) = match &entry.item {
        Item::IncomingMessage { message_id, message_kind, origin, text, images, .. } => {
            let shown = images.iter().map(|image| {
                let SeenImage { name, format, width, height, .. } = image;
                (Look::Aside, format!("[image {name:?} ({format}, {width} x {height} pixels)]"))
            });
            let lines = message_lines(*message_kind, text, WHOLE);
            (format!("{message_id} from {}", sender(origin)), lines.into_iter().chain(shown).collect())
        }
        Item::AssistantRound { blocks, .. } => ("assistant".to_owned(), round(blocks, WHOLE)),
        Item::ToolResults { tool_name, .. } => (tool_name.clone(), result(&entry.item, WHOLE)),
        Item::RuntimeFailure { text, .. } => {
            ("the turn failed".to_owned(), text.lines().map(|line| (Look::Bad, line.to_owned())).collect())
        }
        Item::ContinuationPrompt { text, .. } => ("continuation_prompt".to_owned(), plain(text)),
    };
    let title = (Look::Aside, format!("── {}  {title}", moment::exact(entry.at)));
    std::iter::once(title).chain(body).chain([(Look::Plain, String::new())]).collect()
}

fn plain(text: &str) -> Vec<DetailLine> {
    text.trim_end().lines().map(|line| (Look::Plain, line.to_owned())).collect()
}

fn round(blocks: &[Block], extent: Extent) -> Vec<DetailLine> {
    let lines = |block: &Block| match block {
        Block::ToolCall { tool_name, arguments, .. } => call_lines(tool_name, arguments, extent),
        Block::Text { text } => plain(text),
    };
    blocks.iter().flat_map(lines).collect()
}

fn result(item: &Item, extent: Extent) -> Vec<DetailLine> {
    match item {
        Item::ToolResults { error: Some(error), .. } => {
            vec![error_line(error.kind.name(), error.message.preview())]
        }
        Item::ToolResults { text, changed_files, .. } => {
            result_lines(text.as_deref().unwrap_or_default(), changed_files, extent)
        }
        Item::IncomingMessage { .. }
        | Item::AssistantRound { .. }
        | Item::RuntimeFailure { .. }
        | Item::ContinuationPrompt { .. } => Vec::new(),
    }
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
        let said = |entry| {
            let lines = said(&serde_json::from_value(entry).unwrap());
            lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        let round = json!({ "kind": "assistant_round", "event_seq": 1, "at": "2026-01-01T00:00:00.123Z",
            "run_id": "run_1", "round": 0, "stop_reason": "tool_use", "input_tokens": 1, "output_tokens": 1,
            "data": {
                "token_usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 }, "attempts": [],
            },
            "blocks": [
                { "type": "text", "text": "I look." },
                { "type": "tool_call", "call_id": "c1", "tool_name": "ExecCommand", "arguments": "{\"cmd\":\"ls\"}" },
        ] });
        let at = moment::exact(holon_facts::Wall::parse("2026-01-01T00:00:00Z").unwrap());
        assert_eq!(said(round), [&*format!("── {at}  assistant"), "I look.", "$ ls", ""]);
        let result = json!({ "kind": "tool_results", "event_seq": 1, "at": "2026-01-01T00:00:00Z",
            "run_id": "run_1", "round": 0, "tool_name": "X", "text": "done" });
        assert_eq!(said(result), [&*format!("── {at}  X"), "done", ""]);
    }
}
