//! `holon status` and `holon why`: one agent, in short and explained.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::exit::Exit;
use super::hints;
use super::output::{self, Failure};
use super::through::{Through, Whom, number, text};
use crate::client::Ask;
use crate::screen::harmless;

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

fn summary(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = ledger(answer);
    rows.extend([
        row("agent", text(answer, "/agent_id")),
        row("status", format!("{} since {}", text(answer, "/status"), text(answer, "/status_since"))),
        row("posture", text(answer, "/scheduling_posture")),
        row("works in", text(answer, "/identity/execution/cwd")),
        row("model", text(answer, "/model/effective_model")),
        row("run", run(answer)),
        row("queue", queue(answer)),
        row("closure", closure(answer)),
    ]);
    let last = answer.get("last_turn").filter(|turn| turn.is_object());
    rows.extend(last.map(|turn| {
        let reason = Some(text(turn, "/reason")).filter(|reason| !reason.is_empty());
        let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
        row("last turn", format!("{}{reason} at {}", text(turn, "/kind"), text(turn, "/completed_at")))
    }));
    rows.push(row("tokens", number(answer, "/token_usage/total_tokens")));
    rows.push(row("events", number(answer, "/event_seq")));
    let hint = Some(text(answer, "/lifecycle_hint")).filter(|hint| !hint.is_empty());
    rows.extend(hint.map(|hint| row("hint", hints::hint(hint))));
    rows
}

fn explanation(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = ledger(answer);
    rows.extend([
        row("agent", text(answer, "/agent_id")),
        row("status", format!("{} since {}", text(answer, "/status"), text(answer, "/since"))),
        row("posture", text(answer, "/scheduling_posture")),
        row("verdict", text(answer, "/verdict")),
        row("run", run(answer)),
        row("queue", queue(answer)),
        row("would do", decision(answer, "/decision")),
    ]);
    if answer.get("last_decision").is_some_and(Value::is_object) {
        rows.push(row("did last", decision(answer, "/last_decision")));
    }
    rows.extend(items(answer, "/decision/evidence").iter().map(|fact| row("because", plain(fact))));
    if answer.get("hold").is_some_and(Value::is_object) {
        rows.push(row("held", answer.get("hold").map(plain).unwrap_or_default()));
    }
    rows.push(row("closure", closure(answer)));
    let woken = words(answer, "/woken_by");
    rows.push(row("woken by", if woken.is_empty() { "nothing".to_owned() } else { woken }));
    let deadlines = items(answer, "/deadlines").into_iter();
    rows.extend(
        deadlines.map(|one| row("looks at", format!("{} ({})", text(&one, "/at"), text(&one, "/reason")))),
    );
    rows
}

/// That everything below is not of now comes first.
fn ledger(answer: &Value) -> Vec<Vec<String>> {
    let waits = Some(text(answer, "/ledger_waits")).filter(|waits| !waits.is_empty());
    waits.map(|waits| row("ledger", waits)).into_iter().collect()
}

fn run(answer: &Value) -> String {
    match answer.get("run").filter(|run| run.is_object()) {
        None => "none".to_owned(),
        Some(run) => format!(
            "{} for {}, {} since {}, round {}",
            text(run, "/run_id"),
            text(run, "/message_id"),
            run.get("phase").map(plain).unwrap_or_default(),
            text(run, "/started_at"),
            number(run, "/rounds")
        ),
    }
}

fn queue(answer: &Value) -> String {
    let bands = items(answer, "/queue/queued");
    if bands.is_empty() {
        return match number(answer, "/queue/entries") {
            0 => "empty".to_owned(),
            entries => format!("{entries} under way"),
        };
    }
    let band = |band: &Value| format!("{} {}", number(band, "/1"), text(band, "/0"));
    bands.iter().map(band).collect::<Vec<_>>().join(", ")
}

fn closure(answer: &Value) -> String {
    let reason = text(answer, "/closure/waiting_reason");
    let outcome = text(answer, "/closure/outcome");
    if reason.is_empty() { outcome.to_owned() } else { format!("{outcome}: {reason}") }
}

fn decision(answer: &Value, at: &str) -> String {
    let part = |name: &str| text(answer, &format!("{at}/{name}")).to_owned();
    format!("{}: {} (row {})", part("kind"), part("reason"), number(answer, &format!("{at}/row")))
}

fn items(answer: &Value, at: &str) -> Vec<Value> {
    answer.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn words(answer: &Value, at: &str) -> String {
    items(answer, at).iter().map(plain).collect::<Vec<_>>().join(", ")
}

/// A small value in words: `name value` for each of its fields.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name} {}", plain(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn row(name: &str, value: impl std::fmt::Display) -> Vec<String> {
    vec![name.to_owned(), harmless(&value.to_string()).replace('\n', " ")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_answer_lacks_is_left_out() {
        let rows = summary(&json!({ "agent_id": "main", "run": null }));
        assert!(rows.contains(&vec!["run".to_owned(), "none".to_owned()]), "{rows:?}");
        assert_eq!(
            queue(&json!({ "queue": { "queued": [["next", 2], ["normal", 1]] } })),
            "2 next, 1 normal"
        );
        assert_eq!(plain(&json!({ "fact": "queued", "entries": 3 })), "entries 3, fact queued");
        assert!(!explanation(&json!({})).is_empty());
        for rows in [summary, explanation] {
            assert_eq!(rows(&json!({ "ledger_waits": "full" }))[0], ["ledger", "full"]);
        }
    }
}
