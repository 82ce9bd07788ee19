//! One line for people about a durable record, for every surface that shows activity.

use holon_core::event::{Event, InboxFact, LifecycleFact, SchedulingFact, TurnFact};
use holon_core::model::Block;
use holon_core::tool::{Receipt, ToolError};
use holon_core::{Millis, Record, Text};

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

/// What a call does: its command, or its tool and what it is about.
pub fn call(tool_name: &str, arguments: &Text) -> String {
    if arguments.preview().contains("\"cmd\"") {
        return one_line(&command(arguments));
    }
    one_line(&format!("{tool_name} {}", command(arguments)))
}

/// The first few files of a list, and how many more there are.
pub fn files(files: &[String]) -> String {
    const SHOWN: usize = 4;
    let named = one_line(&files[..files.len().min(SHOWN)].join(", "));
    match files.len().saturating_sub(SHOWN) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// How long something took: `1.5 s`, `2 min 3 s`, `1 h 2 min`.
pub fn duration(duration: Millis) -> String {
    let seconds = duration.0 / 1_000;
    match seconds {
        0..10 => format!("{seconds}.{} s", duration.0 % 1_000 / 100),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600.. => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A time as it was configured, with nothing rounded away: `150 ms`, `1.5 s`, `150 s`, `10 min`.
pub fn exactly(time: Millis) -> String {
    let ms = time.0;
    if ms >= 1_000 && !ms.is_multiple_of(1_000) {
        let digits = format!("{}.{:03}", ms / 1_000, ms % 1_000);
        return format!("{} s", digits.trim_end_matches('0'));
    }
    match ms {
        120_000.. if !ms.is_multiple_of(60_000) => format!("{} s", ms / 1_000),
        7_200_000.. if !ms.is_multiple_of(3_600_000) => format!("{} min", ms / 60_000),
        0.. => time.to_string(),
    }
}

/// A time that is counted: `0:05`, `12:00`, `1:00:00`.
pub fn clock(time: Millis) -> String {
    let seconds = time.0 / 1_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
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
    if let Some(items) =
        parsed.as_ref().and_then(|value| value.get("items")).and_then(|items| items.as_array())
    {
        let commands = items.iter().filter_map(|item| item.get("cmd")?.as_str());
        return commands.collect::<Vec<_>>().join("; ");
    }
    let commands = begun_commands(preview);
    if !commands.is_empty() {
        return commands.join("; ");
    }
    match preview.split_once("+++ ").and_then(|(_, rest)| rest.split("\\n").next()) {
        Some(path) => path.trim_start_matches("b/").to_owned(),
        None => preview.to_owned(),
    }
}

/// The commands in the beginning of arguments that are too long to be there as a whole; the last one may be
/// cut, and ends with an ellipsis then.
fn begun_commands(preview: &str) -> Vec<String> {
    let values = preview.split("\"cmd\"").skip(1);
    values.filter_map(|rest| begun_string(rest.trim_start().strip_prefix(':')?.trim_start())).collect()
}

/// The string that a text begins with in JSON, as far as it is there.
fn begun_string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = inner.find(|c: char| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let parsed = |inner: &str| serde_json::from_str::<String>(&format!("\"{inner}\"")).ok();
    if let Some(end) = end {
        return parsed(&inner[..end]);
    }
    // The cut may go through an escape, which is a pair of six characters each at most.
    const ESCAPE: usize = 12;
    let inner = inner.trim_end_matches('…');
    let ends = inner.char_indices().map(|(at, _)| at).rev().take(ESCAPE);
    let begun = std::iter::once(inner.len()).chain(ends).find_map(|end| parsed(&inner[..end]))?;
    Some(format!("{begun}…"))
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

/// A text in one line, cut at its end where it is long.
pub fn one_line(text: &str) -> String {
    let text = joined(text);
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// The end of a text in one line.
pub fn one_line_from_end(text: &str) -> String {
    let text = joined(text);
    match text.char_indices().rev().nth(WIDTH / 2 - 1) {
        Some((at, _)) if at > 0 => format!("…{}", &text[at..]),
        Some(_) | None => text,
    }
}

fn joined(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people() {
        assert_eq!(
            [900, 1_540, 59_999, 123_000, 3_725_000].map(|ms| duration(Millis(ms))),
            ["0.9 s", "1.5 s", "59 s", "2 min 3 s", "1 h 2 min"]
        );
        assert_eq!(
            [150, 1_000, 1_500, 90_050, 120_000, 150_000, 7_260_000, 7_200_000].map(|ms| exactly(Millis(ms))),
            ["150 ms", "1 s", "1.5 s", "90.05 s", "2 min", "150 s", "121 min", "2 h"]
        );
        assert_eq!([4_999, 65_000, 3_600_000].map(|ms| clock(Millis(ms))), ["0:04", "1:05", "1:00:00"]);
    }

    #[test]
    fn a_command_that_is_cut_is_shown_as_a_command() {
        let shown = |preview: &str| call("ExecCommand", &Text::Inline(preview.to_owned()));
        for (preview, expected) in [
            (r#"{"cmd": "echo aaaa…"#, "echo aaaa…"),
            (r#"{"workdir":"cmd","cmd":"echo \"a\"\n\\…"#, r#"echo "a" \…"#),
            (r#"{"cmd":"echo \…"#, "echo …"),
            (r#"{"cmd":"echo \u00e…"#, "echo …"),
            (r#"{"cmd":"echo \ud83d\ude0…"#, "echo …"),
            (r#"{"cmd":"grep '\"cmd\":' x","shell":"ba…"#, r#"grep '"cmd":' x"#),
            (r#"{"items": [{"cmd": "one"}, {"workdir": "x", "cmd": "two t…"#, "one; two t…"),
        ] {
            assert_eq!(shown(preview), expected, "{preview}");
        }
        let long = shown(&format!("{{\"cmd\": \"echo {}…", "a".repeat(240)));
        assert!(
            long.starts_with("echo aaa") && long.ends_with("a…") && long.chars().count() == 101,
            "{long}"
        );
    }

    #[test]
    fn calls_files_and_ends_of_texts() {
        let text = |text: &str| Text::Inline(text.to_owned());
        assert_eq!(call("ExecCommand", &text(r#"{"cmd":"ls\n  -l"}"#)), "ls -l");
        assert_eq!(call("ApplyPatch", &text(r#"{"patch":"--- a/x\n+++ b/x\n@@"}"#)), "ApplyPatch x");
        assert_eq!(call("Nonsense", &text("{}")), "Nonsense {}");
        let names: Vec<String> = (1..=6).map(|number| format!("f{number}")).collect();
        assert_eq!(files(&names), "f1, f2, f3, f4 and 2 more");
        assert_eq!(one_line_from_end("short\ntext"), "short text");
        let long = one_line_from_end(&"word ".repeat(100));
        assert!(long.starts_with('…') && long.ends_with("word") && long.chars().count() == 51, "{long}");
    }
}
