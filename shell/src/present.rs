//! One line for people about a durable record, for every surface that shows activity.

use holon_core::event::{Event, InboxFact, LifecycleFact, SchedulingFact, TurnFact};
use holon_core::model::Block;
use holon_core::tool::{Receipt, ToolError};
use holon_core::{Record, Text};

/// The longest line, in characters.
const WIDTH: usize = 100;

/// What happened, in one line; none for what only engineers look at.
pub fn line(record: &Record) -> Option<String> {
    match &record.event {
        Event::Turn(fact) => turn(fact),
        Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) => {
            Some(format!("· {} joins the turn", fact.message_id))
        }
        Event::Scheduling(SchedulingFact::HoldSet(fact)) => {
            Some(format!("· the providers are away; next attempt at {}", fact.until))
        }
        Event::Lifecycle(LifecycleFact::RuntimeRecovered(_)) => {
            Some("· recovered after an interruption".to_owned())
        }
        Event::Lifecycle(_)
        | Event::Inbox(_)
        | Event::Scheduling(_)
        | Event::Operation(_)
        | Event::Brief(_) => None,
    }
}

fn turn(fact: &TurnFact) -> Option<String> {
    match fact {
        // A round without a call is the answer itself, which every surface shows in its own way.
        TurnFact::AssistantRoundRecorded(fact) if fact.verdicts.is_empty() => None,
        TurnFact::AssistantRoundRecorded(fact) => {
            let lines: Vec<String> = fact.blocks.iter().filter_map(block).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        TurnFact::ToolExecuted(fact) => Some(outcome(&fact.receipt)),
        TurnFact::ToolExecutionFailed(fact) => fact.receipt.error.as_ref().map(failed),
        TurnFact::ProviderAttemptRecorded(fact) => {
            let attempt = &fact.attempt;
            let kind = attempt.failure_kind?;
            let what = attempt.message.as_ref().map_or("", Text::preview);
            let then = match (attempt.backoff_ms, attempt.advanced_to_fallback) {
                (Some(wait), _) => format!(", again in {wait}"),
                (None, true) => ", trying the next model".to_owned(),
                (None, false) => String::new(),
            };
            Some(one_line(&format!("! {} {kind}{then}: {what}", attempt.model_ref)))
        }
        TurnFact::ContextCompacted(fact) if fact.recapped_rounds > 0 => Some(format!(
            "· the context is full: the first {} rounds are told in short",
            fact.recapped_rounds
        )),
        TurnFact::ContextCompacted(_) => {
            Some("· the context is full: earlier messages are left out".to_owned())
        }
        TurnFact::ReminderInjected(fact) => Some(format!("· reminded: {}", fact.kind)),
        TurnFact::TurnStarted(_)
        | TurnFact::TurnContextBuilt(_)
        | TurnFact::ProviderRoundCompleted(_)
        | TurnFact::ToolStarted(_)
        | TurnFact::RuntimeError(_)
        | TurnFact::BudgetExhausted(_)
        | TurnFact::TurnTerminal(_) => None,
    }
}

fn block(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } if text.is_empty() => None,
        Block::Text { text } => Some(one_line(text.preview())),
        Block::ToolCall { tool_name, arguments, .. } => {
            Some(one_line(&format!("→ {tool_name} {}", command(arguments))))
        }
    }
}

/// The command of a call where its arguments have one, otherwise their beginning.
fn command(arguments: &Text) -> String {
    let preview = arguments.preview();
    let parsed: Option<serde_json::Value> = serde_json::from_str(preview).ok();
    let command = parsed.as_ref().and_then(|value| value.get("cmd")).and_then(|cmd| cmd.as_str());
    if let Some(command) = command {
        return command.to_owned();
    }
    match preview.split_once("+++ ").and_then(|(_, rest)| rest.split("\\n").next()) {
        Some(path) => path.trim_start_matches("b/").to_owned(),
        None => preview.to_owned(),
    }
}

fn outcome(receipt: &Receipt) -> String {
    let facts = &receipt.facts;
    match (facts.exit_status, facts.changed_files.as_slice()) {
        (Some(0), _) => "  ok".to_owned(),
        (Some(status), _) => format!("  exit status {status}"),
        (None, []) => "  done".to_owned(),
        (None, files) => one_line(&format!("  changed {}", files.join(", "))),
    }
}

fn failed(error: &ToolError) -> String {
    one_line(&format!("  {}: {}", error.kind, error.message.preview()))
}

fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text: String = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
