//! `holon tail` and `holon transcript`: what happened to an agent, and what was said.

use std::path::PathBuf;

use clap::Args;
use holon_core::{AgentId, EventSeq};
use serde_json::{Value, json};

use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure};
use super::through::{Through, Whom, number, text};
use crate::client::{Ask, Follow, Followed};
use crate::envelope;
use crate::present::{Level, Presentation};

/// Most events, and entries of a transcript: what the runtime gives at once.
const EVENTS: u32 = 512;
const ENTRIES: u32 = 500;

#[derive(Debug, Args)]
pub(super) struct TailArgs {
    #[command(flatten)]
    whom: Whom,
    /// How many events of the end to begin with, at most 512; those of the level are shown
    #[arg(long, short = 'n', value_name = "N", default_value_t = 64, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(EVENTS)))]
    events: u32,
    /// Go on with what happens from now on
    #[arg(long, short)]
    follow: bool,
    /// How much to show
    #[arg(long, value_enum, default_value_t = Level::Verbose, value_name = "LEVEL")]
    level: Level,
    /// Print each event as a line of JSON, in its envelope, whatever its level
    #[arg(long, conflicts_with = "level")]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct TranscriptArgs {
    #[command(flatten)]
    whom: Whom,
    /// How many entries of the end, at most 500
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(ENTRIES)))]
    entries: u32,
    #[arg(long)]
    json: bool,
}

pub(super) fn tail(home: Option<PathBuf>, args: TailArgs) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move { whole(through, args, ending).await })
}

async fn whole(through: Through, args: TailArgs, ending: Ending) -> Result<Exit, Failure> {
    let agent = ending.or(through.agent(args.whom.name())).await?;
    let cursor = ending.or(newest(&through, &agent, &args)).await?;
    if !args.follow {
        return Ok(Exit::Completed);
    }
    let mut follow = Follow::after(through.client, agent, Some(cursor));
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
async fn newest(through: &Through, agent: &AgentId, args: &TailArgs) -> Result<EventSeq, Failure> {
    // Where no event is wanted, the last one says where to go on.
    let limit = args.events.max(1).to_string();
    let query = [("limit", Some(limit)), ("order", Some("desc".to_owned()))];
    let page = through.client.ask(&Ask::get(&format!("/agents/{agent}/events"), &query)).await?;
    let events = page.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let cursor = events.first().map_or(0, |event| number(event, "/event_seq"));
    for event in events.iter().take(args.events as usize).rev() {
        print(event, args)?;
    }
    Ok(EventSeq(cursor))
}

fn print(event: &Value, args: &TailArgs) -> Result<(), Failure> {
    if args.json {
        return Ok(output::line(&output::json(&event.to_string()))?);
    }
    let at: String = text(event, "/ts").chars().take(19).collect();
    let shown = match envelope::record(event) {
        Ok(record) => Some(Presentation::of(&record))
            .filter(|told| args.level.shows(told.visibility))
            .map(|told| told.text()),
        // A newer runtime has events that this program does not know.
        Err(_) => Some(text(event, "/type").to_owned()),
    };
    if let Some(shown) = shown {
        output::text(&format!("{at}  {}", shown.replace('\n', "\n                     ")))?;
    }
    Ok(())
}

pub(super) fn transcript(home: Option<PathBuf>, args: TranscriptArgs) -> Result<Exit, Failure> {
    Through::work(home, |through, ending| async move {
        ending
            .or(async {
                let agent = through.agent(args.whom.name()).await?;
                let query = [("limit", Some(args.entries.max(1).to_string()))];
                let path = format!("/agents/{agent}/transcript");
                let mut answer = through.client.ask(&Ask::get(&path, &query)).await?;
                if args.entries == 0 {
                    answer = none_of(&answer);
                }
                if args.json {
                    output::document(&answer)?;
                    return Ok(Exit::Completed);
                }
                for entry in answer.get("entries").and_then(Value::as_array).into_iter().flatten() {
                    output::text(&said(entry))?;
                }
                Ok(Exit::Completed)
            })
            .await
    })
}

/// A page without entries: the runtime gives one at least.
fn none_of(page: &Value) -> Value {
    let some = page.get("entries").and_then(Value::as_array).is_some_and(|entries| !entries.is_empty());
    json!({ "ok": true, "entries": [], "more": some })
}

/// One entry for people.
fn said(entry: &Value) -> String {
    let at: String = text(entry, "/at").chars().take(19).collect();
    let body = match text(entry, "/kind") {
        "incoming_message" => {
            let (id, origin) = (text(entry, "/message_id"), text(entry, "/origin/kind"));
            format!(
                "{id} from {}\n{}",
                if origin.is_empty() { "outside" } else { origin },
                text(entry, "/text")
            )
        }
        "assistant_round" => {
            let blocks = entry.get("blocks").and_then(Value::as_array).into_iter().flatten();
            let block = |block: &Value| match text(block, "/type") {
                "tool_call" => format!("$ {} {}", text(block, "/tool_name"), text(block, "/arguments")),
                _ => text(block, "/text").to_owned(),
            };
            format!("assistant\n{}", blocks.map(block).collect::<Vec<_>>().join("\n"))
        }
        "tool_results" => {
            let failed = entry.get("error").filter(|error| error.is_object());
            let told = failed.map_or(text(entry, "/text"), |error| text(error, "/message"));
            let mark = if failed.is_some() { "failed: " } else { "" };
            format!("{}\n{mark}{told}", text(entry, "/tool_name"))
        }
        "runtime_failure" => format!("the turn failed\n{}", text(entry, "/text")),
        other => format!("{other}\n{}", text(entry, "/text")),
    };
    format!("── {at}  {}\n", body.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_entry_is_told() {
        let call = json!({ "kind": "assistant_round", "at": "2026-01-01T00:00:00.123Z", "blocks": [
            { "type": "text", "text": "I look." },
            { "type": "tool_call", "tool_name": "ExecCommand", "arguments": "{}" },
        ] });
        assert_eq!(said(&call), "── 2026-01-01T00:00:00  assistant\nI look.\n$ ExecCommand {}\n");
        let failed = json!({ "kind": "tool_results", "tool_name": "X", "error": { "message": "no" } });
        assert_eq!(said(&failed), "──   X\nfailed: no\n");
        assert!(said(&json!({ "kind": "newer", "text": "t" })).contains("newer\nt"));
    }
}
