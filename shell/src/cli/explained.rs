//! An agent in words: what a summary and an explanation of any version say of it, row by row.

use holon_core::Text;
use serde_json::Value;

use super::through::{number, text};
use super::{hints, spending};
use crate::present;
use crate::screen::harmless;

/// Sources of events that a line names.
const SOURCES: usize = 3;

pub(super) fn summary(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = ledger(answer);
    rows.extend([
        row("agent", text(answer, "/agent_id")),
        row("status", format!("{} since {}", status(answer), text(answer, "/status_since"))),
        row("posture", text(answer, "/scheduling_posture")),
        row("works in", text(answer, "/workspace/execution/cwd")),
        row("model", text(answer, "/model/effective_model")),
    ]);
    rows.extend(doing(answer));
    rows.extend(restrained(answer));
    rows.extend(given(answer, "/current_work_item_id").map(|item| row("in focus", item)));
    rows.push(row("tasks", tasks(answer)));
    rows.extend(items(answer, "/active_children").iter().map(|one| row("child", child(one))));
    rows.extend(items(answer, "/waits").iter().map(|one| row("waits", waits(one))));
    rows.extend(past(answer));
    let instructions = |one: &Value| {
        row("instructions", format!("{} ({} bytes)", text(one, "/path"), number(one, "/bytes")))
    };
    rows.extend(items(answer, "/instruction_sources").iter().map(instructions));
    rows.extend(items(answer, "/workspace/stopping_roots").iter().map(|root| {
        row("stopping", format!("{} stays occupied until its last command there has ended", plain(root)))
    }));
    rows.push(row("tokens", number(answer, "/token_usage/total_tokens")));
    rows.extend(spending::rows(answer));
    rows.push(row("events", number(answer, "/event_seq")));
    rows.extend(given(answer, "/lifecycle_hint").map(|hint| row("hint", hints::hint(hint))));
    rows
}

pub(super) fn explanation(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = ledger(answer);
    rows.extend([
        row("agent", text(answer, "/agent_id")),
        row("status", format!("{} since {}", status(answer), text(answer, "/since"))),
        row("posture", text(answer, "/scheduling_posture")),
        row("verdict", verdict(answer)),
    ]);
    rows.extend(doing(answer));
    rows.extend(items(answer, "/active_tasks").iter().map(|one| row("task", task(one))));
    rows.extend(past(answer));
    rows.extend(trouble(answer, "/failure").map(|error| row("failed by", error)));
    rows.extend(restrained(answer));
    rows.extend(object(answer, "/sleep").map(|sleep| row("sleeps", sleeps(sleep))));
    rows.extend(items(answer, "/waits").iter().map(|one| row("waits", waits(one))));
    rows.extend(items(answer, "/deferred_work").iter().map(|one| row("deferred", deferred(one))));
    rows.extend(items(answer, "/hints").iter().map(|one| row("hint", hint(one))));
    let others = Some(number(answer, "/other_hints")).filter(|others| *others > 0);
    rows.extend(
        others.map(|others| row("hint", format!("{others} more, of which only the number is known"))),
    );
    if object(answer, "/last_decision").is_some() {
        let event = object(answer, "/last_decision_event").map(mark);
        let event = event.unwrap_or_else(|| "before the events that were looked at".to_owned());
        rows.push(row("decided last", format!("{}, {event}", decision(answer, "/last_decision"))));
        rows.extend(because(answer, "/last_decision/evidence"));
    }
    rows.push(row("would decide", format!("{}, now", decision(answer, "/decision"))));
    rows.extend(because(answer, "/decision/evidence"));
    let woken = items(answer, "/woken_by").iter().map(plain).collect::<Vec<_>>().join(", ");
    rows.push(row("woken by", if woken.is_empty() { "nothing".to_owned() } else { woken }));
    let deadline =
        |one: &Value| row("looks again", format!("{} ({})", text(one, "/at"), text(one, "/reason")));
    rows.extend(items(answer, "/deadlines").iter().map(deadline));
    rows.extend(given(answer, "/events_damaged").map(|problem| row("damaged", problem)));
    rows.push(row("tokens", number(answer, "/token_usage/total_tokens")));
    rows.extend(spending::rows(answer));
    rows.push(row("events", number(answer, "/event_seq")));
    rows
}

/// That everything below is not of now comes first.
fn ledger(answer: &Value) -> Vec<Vec<String>> {
    given(answer, "/ledger_waits").map(|waits| row("ledger", waits)).into_iter().collect()
}

/// What it is at, and what waits for that.
fn doing(answer: &Value) -> Vec<Vec<String>> {
    let Some(run) = object(answer, "/run") else {
        return vec![row("run", "none"), row("queue", queue(answer))];
    };
    let part = |name: &str| text(run, name);
    let (rounds, turn) = (number(run, "/rounds"), number(run, "/turn_index"));
    let about = format!("{} for {}, turn {turn}, rounds {rounds}", part("/run_id"), part("/message_id"));
    let phase = run.get("phase").map(phase).unwrap_or_default();
    let mut rows = vec![
        row("run", format!("{about}, since {}", part("/started_at"))),
        row("phase", format!("{phase} since {}", part("/since"))),
    ];
    if let Some(call) = object(run, "/call") {
        let (number, of) = (number(call, "/number"), number(call, "/of"));
        let place = format!("{number} of {of}, {} {}", text(call, "/operation"), text(call, "/op_id"));
        rows.push(row("call", format!("{} since {} ({place})", said(call), text(call, "/since"))));
    }
    if let Some(error) = object(run, "/last_attempt_error") {
        let told = error.get("message").and_then(|it| serde_json::from_value::<Text>(it.clone()).ok());
        let told = told.map(|it| present::whole_line(it.preview())).unwrap_or_default();
        rows.push(row("last error", format!("{}: {told}, at {}", text(error, "/kind"), text(error, "/at"))));
    }
    rows.push(row("queue", queue(answer)));
    rows
}

/// What keeps turns from beginning.
fn restrained(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let Some(hold) = object(answer, "/hold") {
        rows.push(row("held by", held(hold)));
        rows.extend(trouble(answer, "/hold_error").map(|error| row("held for", error)));
    }
    rows.extend(object(answer, "/unattended").map(|counted| row("unattended", unattended(counted))));
    rows.extend(object(answer, "/outside").map(|counted| row("from outside", outside(counted))));
    rows
}

/// A child that is alive, and how it stands.
fn child(child: &Value) -> String {
    let part = |name: &str| present::one_line(text(child, name));
    let why = ["/blocked_reason", "/waiting_reason", "/work_summary"].iter().find_map(|at| given(child, at));
    let why = why.map(|why| format!(": {}", present::one_line(why))).unwrap_or_default();
    let (id, task, phase) = (part("/child_agent_id"), part("/supervision_task_id"), part("/phase"));
    format!("{id} {phase} ({task}) since {}{why}", part("/created_at"))
}

/// What nothing begins for, and how long.
fn held(hold: &Value) -> String {
    let (cause, since, step) = (text(hold, "/cause"), text(hold, "/since"), number(hold, "/step") + 1);
    let budget = given(hold, "/budget/budget");
    let what =
        budget.map(|budget| format!(" {budget} ({})", spending::told(budget, number(hold, "/budget/limit"))));
    let until = match (given(hold, "/until"), budget) {
        (Some(until), _) => format!(", until {until}"),
        (None, Some(budget)) => format!(", until budget.{budget} is raised and the runtime started again"),
        (None, None) => String::new(),
    };
    format!("{cause}{} since {since}{until}, wait {step}", what.unwrap_or_default())
}

/// With what it means beyond itself.
fn status(answer: &Value) -> String {
    let label = given(answer, "/status_label").map(|label| format!(" ({label})")).unwrap_or_default();
    format!("{}{label}", text(answer, "/status"))
}

/// Work that is owed later.
fn deferred(item: &Value) -> String {
    let (id, until, times) = (text(item, "/work_item_id"), text(item, "/until"), number(item, "/times"));
    let focus = item.get("in_focus").and_then(Value::as_bool).unwrap_or_default();
    let (focus, what) = if focus { (" in focus", "turns") } else { ("", "mentions") };
    let about = present::one_line(text(item, "/objective"));
    format!("{id}{focus} until {until}, after {times} {what} without progress: {about}")
}

/// The rest that the agent chose.
fn sleeps(sleep: &Value) -> String {
    let until = given(sleep, "/until").map(|until| format!(" until {until}")).unwrap_or_default();
    let reason = given(sleep, "/reason").map(|it| format!(": {}", present::one_line(it))).unwrap_or_default();
    format!("since {}{until}{reason}", text(sleep, "/since"))
}

/// A hint that waits to be told.
fn hint(pending: &Value) -> String {
    let part = |name: &str| present::one_line(text(pending, name));
    let (source, reason, count) = (part("/hint/source"), part("/hint/reason"), number(pending, "/count"));
    let folded = pending.get("folded").and_then(Value::as_bool).unwrap_or_default();
    let folded = if folded { " (folded: its text was not kept)" } else { "" };
    format!("{count} of {source} since {}: {reason}{folded}", text(pending, "/first_at"))
}

/// What it waits for, for whom, and since when.
fn waits(wait: &Value) -> String {
    let part = |name: &str| text(wait, name);
    let owner = given(wait, "/work_item_id").map(|item| format!(" for {item}")).unwrap_or_default();
    let sources: Vec<String> = items(wait, "/wake_sources").iter().map(plain).collect();
    let about = if sources.is_empty() { String::new() } else { format!(" {}", sources.join(", ")) };
    let must = wait.get("operator_must_act").and_then(Value::as_bool).unwrap_or_default();
    let must = if must { ", an operator must act" } else { "" };
    let again = given(wait, "/recheck_at").map(|at| format!(", looked at again {at}")).unwrap_or_default();
    let (id, kind, since) = (part("/wait_id"), part("/kind"), part("/created_at"));
    let reason = present::one_line(part("/waiting_for"));
    format!("{id}{owner} ({kind}{about}) since {since}{again}{must}: {reason}")
}

/// Turns that no operator caused.
fn unattended(counted: &Value) -> String {
    let (row, day) = (number(counted, "/self_caused_turns"), number(counted, "/turns_of_day"));
    let held = counted.get("self_hold").and_then(Value::as_bool).unwrap_or_default();
    let next = match given(counted, "/self_deferred_until") {
        _ if held => ", no further one".to_owned(),
        Some(until) => format!(", the next not before {until}"),
        None => String::new(),
    };
    let over = given(counted, "/exhausted/until").map(|until| format!(", all of them until {until}"));
    let over = over.unwrap_or_default();
    format!("{row} of its own in a row without progress{next}; {day} in one day{over}")
}

/// Turns of one day that others caused, and by whom most of them.
fn outside(counted: &Value) -> String {
    let turns = number(counted, "/turns_of_day");
    let sources = counted.get("sources").and_then(Value::as_object);
    let of = |source: (&String, &Value)| (number(source.1, "/turns_of_day"), present::one_line(source.0));
    let mut sources: Vec<(u64, String)> = sources.into_iter().flatten().map(of).collect();
    sources.sort_by(|one, other| other.cmp(one));
    let more = sources.len().saturating_sub(SOURCES);
    let mut named: Vec<String> =
        sources.iter().take(SOURCES).map(|(turns, source)| format!("{turns} by {source}")).collect();
    named.extend((more > 0).then(|| format!("{more} more sources")));
    format!("{turns} turns in one day: {}", named.join(", "))
}

fn tasks(answer: &Value) -> String {
    match number(answer, "/active_task_count") {
        0 => "none".to_owned(),
        active => format!("{active} under way"),
    }
}

fn task(task: &Value) -> String {
    let part = |name: &str| text(task, name);
    let (id, status, since) = (part("/task_id"), part("/status"), part("/updated_at"));
    format!("{id} {status} since {since}: {}", present::one_line(part("/summary")))
}

/// How the last turn left it. Its closure says how things stand only while nothing is pending.
fn past(answer: &Value) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if !pending(answer) {
        let (outcome, reason) = (text(answer, "/closure/outcome"), given(answer, "/closure/waiting_reason"));
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        rows.push(row("closure", format!("{outcome}{}{reason}", no_turn(answer))));
    }
    let last = object(answer, "/last_turn").map(|turn| {
        let reason = given(turn, "/reason").map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("{}{reason} at {}", text(turn, "/kind"), text(turn, "/completed_at"))
    });
    rows.push(row("last turn", last.unwrap_or_else(|| "none yet".to_owned())));
    rows
}

fn verdict(answer: &Value) -> String {
    match given(answer, "/verdict") {
        None => "none yet: something is pending".to_owned(),
        Some("completed") => format!("completed{}", no_turn(answer)),
        Some(verdict) => verdict.to_owned(),
    }
}

/// What is completed without a turn says so.
fn no_turn(answer: &Value) -> &'static str {
    let none = items(answer, "/closure/evidence").iter().any(|fact| text(fact, "/fact") == "no_turn");
    if none { " with no turn" } else { "" }
}

/// Whether it is at work, or about to be.
fn pending(answer: &Value) -> bool {
    let waits = text(answer, "/closure/outcome") == "waiting" || text(answer, "/status") == "stopped";
    object(answer, "/run").is_some() || (number(answer, "/queue/entries") > 0 && !waits)
}

/// A call as one short line: its tool, and its command or what its arguments begin with.
fn said(call: &Value) -> String {
    let tool = text(call, "/tool_name");
    let arguments = call.get("arguments").and_then(|it| serde_json::from_value::<Text>(it.clone()).ok());
    let said = arguments.map(|arguments| present::call(tool, &arguments)).unwrap_or_default();
    if said.starts_with(tool) { said } else { format!("{tool}: {said}") }
}

fn phase(phase: &Value) -> String {
    let name = text(phase, "/phase");
    if phase.get("attempt").is_none() {
        return name.to_owned();
    }
    let (attempt, candidate) = (number(phase, "/attempt"), number(phase, "/candidate") + 1);
    format!("{name} (attempt {attempt} at model {candidate})")
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
    let bands = bands.iter().map(band).collect::<Vec<_>>().join(", ");
    match object(answer, "/queue/head") {
        Some(head) => {
            let (id, since) = (text(head, "/message_id"), text(head, "/created_at"));
            format!("{bands}; next is {id} since {since}")
        }
        None => bands,
    }
}

fn decision(answer: &Value, at: &str) -> String {
    let part = |name: &str| text(answer, &format!("{at}/{name}")).to_owned();
    let about =
        [part("message_id"), part("work_item_id"), part("wait_id")].into_iter().find(|id| !id.is_empty());
    let about = about.map(|id| format!(" for {id}")).unwrap_or_default();
    let row = number(answer, &format!("{at}/row"));
    format!("{}{about}: {} (row {row})", part("kind"), part("reason"))
}

/// The evidence of the decision in the row above.
fn because(answer: &Value, at: &str) -> Vec<Vec<String>> {
    items(answer, at).iter().map(|fact| row("  because", evidence(fact))).collect()
}

fn evidence(fact: &Value) -> String {
    let part = |name: &str| text(fact, name);
    let entries = number(fact, "/entries");
    match part("/fact") {
        "status" => format!("its status was {}", part("/status")),
        "draining" => "the runtime is leaving".to_owned(),
        "run" => format!("{} for {} is in progress", part("/run_id"), part("/message_id")),
        "head" => {
            let how = format!("{}, {}", part("/priority"), part("/class"));
            format!("{} is next ({how})", part("/message_id"))
        }
        "queued" => format!("{entries} in the queue"),
        "hold" => match part("/until") {
            "" => "it is held".to_owned(),
            until => format!("it is held until {until}"),
        },
        "budget" => format!("the budget {} is exhausted", part("/budget")),
        "no_free_slot" => "no turn slot is free".to_owned(),
        "work_item" => format!("{} is {}", part("/work_item_id"), part("/state")),
        "self_caused_turns" => {
            let turns = number(fact, "/turns");
            format!("{turns} turns in a row that it caused itself brought nothing on")
        }
        "hints" => format!("{} hints waited", number(fact, "/hints")),
        "wait" => format!("{} waits ({})", part("/wait_id"), part("/kind")),
        "recheck_due" => format!("{} was to be looked at again at {}", part("/owner"), part("/at")),
        "slept" => format!("its sleep was over at {}", part("/until")),
        "unattended_turns" => format!("turns without an operator wait until {}", part("/until")),
        "ignored_queue" => format!("{entries} in the queue, ignored because of the hold"),
        // A newer runtime may know more.
        _ => plain(fact),
    }
}

/// An error with the message that it concerns.
fn trouble(answer: &Value, at: &str) -> Option<String> {
    let error = object(answer, at)?;
    let message = given(error, "/message_id").map(|id| format!("{id}, ")).unwrap_or_default();
    let event = error.get("event").map(mark).unwrap_or_default();
    let (kind, said, run) = (text(error, "/kind"), text(error, "/text"), text(error, "/run_id"));
    Some(format!("{kind}: {said} ({message}{run}, {event})"))
}

fn mark(event: &Value) -> String {
    format!("event {} at {}", number(event, "/event_seq"), text(event, "/at"))
}

pub(super) fn object<'a>(answer: &'a Value, at: &str) -> Option<&'a Value> {
    answer.pointer(at).filter(|value| value.is_object())
}

fn given<'a>(answer: &'a Value, at: &str) -> Option<&'a str> {
    Some(text(answer, at)).filter(|text| !text.is_empty())
}

pub(super) fn items(answer: &Value, at: &str) -> Vec<Value> {
    answer.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default()
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

pub(super) fn row(name: &str, value: impl std::fmt::Display) -> Vec<String> {
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
        let bands = json!({ "queue": { "queued": [["next", 2], ["normal", 1]] } });
        assert_eq!(queue(&bands), "2 next, 1 normal");
        assert_eq!(evidence(&json!({ "fact": "moon", "phase": 3 })), "fact moon, phase 3");
        assert!(!explanation(&json!({})).is_empty());
        for rows in [summary, explanation] {
            assert_eq!(rows(&json!({ "ledger_waits": "full" }))[0], ["ledger", "full"]);
        }
    }

    #[test]
    fn a_call_is_one_bounded_line() {
        let call = |tool: &str, arguments: Value| said(&json!({ "tool_name": tool, "arguments": arguments }));
        assert_eq!(call("ExecCommand", json!(r#"{"cmd":"sleep\n 30"}"#)), "ExecCommand: sleep 30");
        assert_eq!(call("ApplyPatch", json!(r#"{"patch":"+++ b/x\n"}"#)), "ApplyPatch x");
        let long = call("ExecCommand", json!(format!("{{\"cmd\":\"{}\"}}", "x".repeat(200))));
        assert!(long.ends_with('…') && long.chars().count() < 120, "{long}");
    }

    #[test]
    fn the_past_is_no_closure_of_what_is_pending() {
        let answer = |run: Value, entries: u64, outcome: &str| {
            let last = json!({ "kind": "completed", "completed_at": "T" });
            json!({ "run": run, "queue": { "entries": entries }, "closure": { "outcome": outcome }, "last_turn": last })
        };
        let named = |answer: &Value| past(answer).iter().map(|row| row[0].clone()).collect::<Vec<_>>();
        assert_eq!(named(&answer(json!({}), 0, "completed")), ["last turn"]);
        assert_eq!(named(&answer(Value::Null, 1, "completed")), ["last turn"]);
        for (entries, outcome) in [(0, "completed"), (1, "waiting")] {
            assert_eq!(named(&answer(Value::Null, entries, outcome)), ["closure", "last turn"]);
        }
    }
}
