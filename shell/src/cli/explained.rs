//! An agent in words: what its summary and its explanation say, row by row.

use holon_api::{AgentStatus, AgentWhy, EventMark, TaskLine, Trouble};
use holon_core::agent::history::LastTurn;
use holon_core::agent::hold::Hold;
use holon_core::agent::outside::{Outside, SourceCount};
use holon_core::agent::sleep::Sleep;
use holon_core::agent::turn::Phase;
use holon_core::agent::unattended::Unattended;
use holon_core::agent::wake::Pending;
use holon_core::summary::children::ActiveChild;
use holon_core::summary::context::ContextSummary;
use holon_core::summary::deferred::DeferredWork;
use holon_core::summary::run::{CallSummary, RunSummary};
use holon_core::summary::waits::ActiveWait;
use holon_core::summary::{QueueSummary, StatusLabel};
use holon_core::view::RunVerdict;
use holon_facts::closure::{ClosureDecision, ClosureEvidence, ClosureOutcome};
use holon_facts::decision::{Evidence, SchedulerDecision};
use holon_facts::delivery::{AppliedEdit, Delivery, EditKind, Incremental, QuotaUse, WholeReason};
use holon_facts::lifecycle::Status;
use holon_facts::model_ref::ModelRef;
use holon_facts::request::{PrefixBreak, RequestRecord};
use holon_text::moment::near;

use super::{hints, spending};
use crate::screen::harmless;
use holon_present as present;

/// Sources of events that a line names.
const SOURCES: usize = 3;

pub(super) fn summary(answer: &AgentStatus) -> Vec<Vec<String>> {
    let agent = &answer.summary;
    let mut rows = ledger(answer.ledger_waits.as_ref());
    rows.push(row("agent", &agent.agent_id));
    rows.extend(agent.label.name.as_ref().map(|name| row("named", name)));
    rows.extend(agent.label.description.as_ref().map(|text| row("about", text)));
    rows.extend([
        row(
            "status",
            format!(
                "{}{} since {}",
                status(agent.status, agent.status_label),
                if agent.label.archived { " and archived" } else { "" },
                near(agent.status_since)
            ),
        ),
        row("posture", agent.scheduling_posture.shown(agent.label.archived)),
        row("works in", &agent.workspace.execution.cwd),
        row("model", named(agent.model.effective_model.as_ref())),
    ]);
    rows.extend(doing(agent.run.as_ref(), &agent.queue));
    rows.extend(restrained(agent.hold.as_ref(), None, agent.unattended.as_ref(), agent.outside.as_ref()));
    rows.extend(agent.current_work_item_id.map(|item| row("in focus", item)));
    rows.push(row("tasks", tasks(agent.active_task_count)));
    rows.extend(answer.active_children.iter().map(|one| row("child", child(one))));
    rows.extend(agent.waits.iter().map(|one| row("waits", waits(one))));
    let pending = pending(agent.run.is_some(), &agent.queue, &agent.closure, agent.status);
    rows.extend(past(pending, &agent.closure, agent.last_turn.as_ref()));
    rows.extend(
        agent
            .instruction_sources
            .iter()
            .map(|one| row("instructions", format!("{} ({} bytes)", one.path, one.bytes))),
    );
    rows.extend(agent.workspace.stopping_roots.iter().map(|root| {
        row("stopping", format!("{root} stays occupied until its last command there has ended"))
    }));
    rows.extend(agent.context.as_ref().map(|it| row("context", context(it))));
    let kept = agent.context.as_ref().filter(|it| it.memory_revision > 0);
    rows.extend(kept.map(|it| row("in mind", present::in_mind(&it.memory))));
    rows.push(row("tokens", agent.token_usage.total_tokens));
    rows.extend(spending::rows(&agent.spending));
    rows.push(row("events", agent.event_seq));
    rows.extend(agent.lifecycle_hint.as_ref().map(|hint| row("hint", hints::hint(hint))));
    rows
}

pub(super) fn explanation(answer: &AgentWhy) -> Vec<Vec<String>> {
    let why = &answer.explanation;
    let mut rows = ledger(answer.ledger_waits.as_ref());
    rows.extend([
        row("agent", &why.agent_id),
        row("status", format!("{} since {}", status(why.status, why.status_label), near(why.since))),
        row("posture", why.scheduling_posture.shown(false)),
        row("verdict", verdict(why.verdict, &why.closure)),
    ]);
    rows.extend(doing(why.run.as_ref(), &why.queue));
    rows.extend(answer.active_tasks.iter().map(|one| row("task", task(one))));
    let pending = pending(why.run.is_some(), &why.queue, &why.closure, why.status);
    rows.extend(past(pending, &why.closure, why.last_turn.as_ref()));
    rows.extend(answer.failure.as_ref().map(|error| row("failed by", trouble(error))));
    let hold_error = answer.hold_error.as_ref();
    rows.extend(restrained(why.hold.as_ref(), hold_error, why.unattended.as_ref(), why.outside.as_ref()));
    rows.extend(why.sleep.as_ref().map(|sleep| row("sleeps", sleeps(sleep))));
    rows.extend(why.waits.iter().map(|one| row("waits", waits(one))));
    rows.extend(why.deferred_work.iter().map(|one| row("deferred", deferred(one))));
    rows.extend(why.hints.iter().map(|one| row("hint", hint(one))));
    rows.extend(
        why.other_hints
            .filter(|others| *others > 0)
            .map(|others| row("hint", format!("{others} more, of which only the number is known"))),
    );
    if let Some(last) = &why.last_decision {
        let event = answer.last_decision_event.as_ref().map(mark);
        let event = event.unwrap_or_else(|| "before the events that were looked at".to_owned());
        rows.push(row("decided last", format!("{}, {event}", decision(last))));
        rows.extend(last.evidence.iter().map(because));
    }
    rows.push(row("would decide", format!("{}, now", decision(&why.decision))));
    rows.extend(why.decision.evidence.iter().map(because));
    let woken = why.woken_by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    rows.push(row("woken by", if woken.is_empty() { "nothing".to_owned() } else { woken }));
    rows.extend(
        why.deadlines.iter().map(|one| row("looks again", format!("{} ({})", near(one.at), one.reason))),
    );
    rows.extend(answer.events_damaged.as_ref().map(|problem| row("damaged", problem)));
    rows.push(row("tokens", why.token_usage.total_tokens));
    rows.extend(spending::rows(&why.spending));
    rows.push(row("events", why.event_seq));
    rows
}

/// That everything below is not of now comes first.
fn ledger(waits: Option<&String>) -> Vec<Vec<String>> {
    waits.map(|waits| row("ledger", waits)).into_iter().collect()
}

/// What the newest request took, and what of all was in caches.
fn context(ContextSummary { last_request, cached_share, .. }: &ContextSummary) -> String {
    let cached = cached_share.map_or_else(String::new, |share| {
        format!("; providers had {} % of all input tokens in their caches", share.0 / 10)
    });
    format!("{}{cached}", request(last_request))
}

/// What a request took, and what of it was there before.
pub(super) fn request(RequestRecord { size, layers, shared_bytes, broke, .. }: &RequestRecord) -> String {
    let shared = shared_bytes.saturating_mul(100) / layers.conversation.bytes.max(1);
    let broke = broke.map_or_else(String::new, |broke| match broke {
        PrefixBreak::First => " (it is the first)".to_owned(),
        PrefixBreak::Model => " (another model was asked)".to_owned(),
        PrefixBreak::Surface => " (policy or tools changed)".to_owned(),
        PrefixBreak::Standing => " (instructions or environment changed)".to_owned(),
        PrefixBreak::Head => " (an episode closed)".to_owned(),
        PrefixBreak::Conversation => " (it was summarized, or lost refused thoughts)".to_owned(),
    });
    format!("about {} of {} tokens, {shared} % as in the request before{broke}", size.tokens(), size.limit)
}

/// How a request went over the wire, and what its provider did with it.
pub(super) fn delivery(delivery: &Delivery) -> String {
    let Delivery { incremental, edits, thoughts_refused, thoughts_left_out, images_refused, quotas } =
        delivery;
    let edits = edits.iter().map(|AppliedEdit { kind, cleared, cleared_input_tokens }| {
        let what = match kind {
            EditKind::ClearToolUses => "tool results",
            EditKind::ClearThinking => "turns of thoughts",
        };
        format!("the provider left out {cleared} {what} ({cleared_input_tokens} tokens)")
    });
    let refused = "the provider refused what the model had thought; repeated without it".to_owned();
    let left_out = match thoughts_left_out {
        0 => None,
        1 => Some("1 thought was not sent".to_owned()),
        more => Some(format!("{more} thoughts were not sent")),
    };
    let images = "images that the provider has refused are named only".to_owned();
    incremental
        .iter()
        .map(sent)
        .chain(edits)
        .chain(thoughts_refused.then_some(refused))
        .chain(left_out)
        .chain(images_refused.then_some(images))
        .chain(quotas.iter().map(quota))
        .collect::<Vec<_>>()
        .join("; ")
}

fn quota(QuotaUse { window, used_percent, window_minutes, resets_at }: &QuotaUse) -> String {
    let of = window_minutes.map_or_else(String::new, |minutes| format!(" of {minutes} minutes"));
    let until = resets_at.map_or_else(String::new, |at| format!(", full again at {at}"));
    format!("{used_percent} % of the {window} quota{of} is used{until}")
}

fn sent(Incremental { response_id, whole, items, items_sent }: &Incremental) -> String {
    let reason = whole.map_or_else(String::new, |reason| match reason {
        WholeReason::NoResponse => ": there is no response that it could go on from".to_owned(),
        WholeReason::Settings => ": model, instructions, tools or settings were others before".to_owned(),
        WholeReason::Conversation => ": the conversation before was another one".to_owned(),
        WholeReason::Refused => ": the provider did not go on from the response before".to_owned(),
    });
    match response_id {
        Some(id) => format!("{items_sent} of {items} elements, after {id}"),
        None => format!("all {items} elements{reason}"),
    }
}

/// What it is at, and what waits for that.
fn doing(run: Option<&RunSummary>, waiting: &QueueSummary) -> Vec<Vec<String>> {
    let Some(run) = run else {
        return vec![row("run", "none"), row("queue", queue(waiting))];
    };
    let about =
        format!("{} for {}, turn {}, rounds {}", run.run_id, run.message_id, run.turn_index, run.rounds);
    let mut rows = vec![
        row("run", format!("{about}, since {}", near(run.started_at))),
        row("phase", format!("{} since {}", phase(run.phase), near(run.since))),
    ];
    if let Some(call) = &run.call {
        let place = format!("{} of {}, {} {}", call.number, call.of, call.operation, call.op_id);
        rows.push(row("call", format!("{} since {} ({place})", said(call), near(call.since))));
    }
    if let Some(error) = &run.last_attempt_error {
        let message = error.message.as_ref().map(|it| present::whole_line(it.preview())).unwrap_or_default();
        rows.push(row("last error", format!("{}: {message}, at {}", error.kind, near(error.at))));
    }
    rows.push(row("queue", queue(waiting)));
    rows
}

/// What keeps turns from beginning.
fn restrained(
    hold: Option<&Hold>,
    hold_error: Option<&Trouble>,
    others: Option<&Unattended>,
    from_outside: Option<&Outside>,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if let Some(hold) = hold {
        rows.push(row("held by", held(hold)));
        rows.extend(hold_error.map(|error| row("held for", trouble(error))));
    }
    rows.extend(others.map(|counted| row("unattended", unattended(counted))));
    rows.extend(from_outside.map(|counted| row("from outside", outside(counted))));
    rows
}

/// A child that is alive, and how it stands.
fn child(child: &ActiveChild) -> String {
    let observed = child.observed.as_ref();
    let blocked = observed.and_then(|it| it.blocked_reason.clone());
    let waiting = observed.and_then(|it| Some(it.waiting_reason?.to_string()));
    let why = blocked.or(waiting).or_else(|| observed?.work_summary.clone());
    let why = why.map(|why| format!(": {}", present::one_line(&why))).unwrap_or_default();
    let phase = observed.map(|it| it.phase.name()).unwrap_or_default();
    let (id, task) = (&child.child_agent_id, child.supervision_task_id);
    format!("{id} {phase} ({task}) since {}{why}", near(child.created_at))
}

/// What nothing begins for, and how long.
fn held(hold: &Hold) -> String {
    let what = hold.budget.map(|it| format!(" {} ({})", it.budget, it.budget.format(it.limit)));
    let until = match (hold.until, hold.budget) {
        (Some(until), _) => format!(", until {}", near(until)),
        (None, Some(it)) => format!(", until budget.{} is raised and the runtime started again", it.budget),
        (None, None) => String::new(),
    };
    let what = what.unwrap_or_default();
    format!("{}{what} since {}{until}, wait {}", hold.cause, near(hold.since), hold.step + 1)
}

/// With what it means beyond itself.
fn status(status: Status, label: Option<StatusLabel>) -> String {
    let label = label.map(|label| format!(" ({label})")).unwrap_or_default();
    format!("{status}{label}")
}

/// Work that is due later.
fn deferred(item: &DeferredWork) -> String {
    let (id, until, times) = (item.work_item_id, near(item.until), item.times);
    let (focus, what) = if item.in_focus { (" in focus", "turns") } else { ("", "mentions") };
    let about = present::one_line(&item.objective);
    format!("{id}{focus} until {until}, after {times} {what} without progress: {about}")
}

/// The rest that the agent chose.
fn sleeps(sleep: &Sleep) -> String {
    let until = sleep.until.map(|until| format!(" until {}", near(until))).unwrap_or_default();
    let reason = sleep.reason.as_ref().map(|it| format!(": {}", present::one_line(it))).unwrap_or_default();
    format!("since {}{until}{reason}", near(sleep.since))
}

/// A hint that waits to be delivered.
fn hint(pending: &Pending) -> String {
    let (source, reason) = (present::one_line(&pending.hint.source), present::one_line(&pending.hint.reason));
    let folded = if pending.folded { " (folded: its text was not kept)" } else { "" };
    format!("{} of {source} since {}: {reason}{folded}", pending.count, near(pending.first_at))
}

/// What it waits for, for whom, and since when.
fn waits(active: &ActiveWait) -> String {
    let ActiveWait { wait, recheck_at } = active;
    let owner = wait.work_item_id.map(|item| format!(" for {item}")).unwrap_or_default();
    let sources = wait.wake_sources.join(", ");
    let about = if sources.is_empty() { String::new() } else { format!(" {sources}") };
    let must = if wait.operator_must_act { ", an operator must act" } else { "" };
    let again = recheck_at.map(|at| format!(", looked at again {}", near(at))).unwrap_or_default();
    let (id, kind, since) = (wait.id, wait.kind, near(wait.created_at));
    let reason = present::one_line(&wait.waiting_for);
    format!("{id}{owner} ({kind}{about}) since {since}{again}{must}: {reason}")
}

/// Turns that no operator caused.
fn unattended(counted: &Unattended) -> String {
    let next = match counted.self_deferred_until {
        _ if counted.self_hold => ", no further one".to_owned(),
        Some(until) => format!(", the next not before {}", near(until)),
        None => String::new(),
    };
    let over = counted.exhausted.as_ref().map(|it| format!(", all of them until {}", near(it.until)));
    let (row, day, over) = (counted.self_caused_turns, counted.turns_of_day, over.unwrap_or_default());
    format!("{row} turns of its own in a row without progress{next}; {day} in one day{over}")
}

/// Turns of one day that others caused, and by whom most of them.
fn outside(counted: &Outside) -> String {
    let of = |(source, count): (&String, &SourceCount)| (count.turns_of_day, present::one_line(source));
    let mut sources: Vec<(u32, String)> = counted.sources.iter().map(of).collect();
    sources.sort_by(|one, other| other.cmp(one));
    let more = sources.len().saturating_sub(SOURCES);
    let mut named: Vec<String> =
        sources.iter().take(SOURCES).map(|(turns, source)| format!("{turns} by {source}")).collect();
    named.extend((more > 0).then(|| format!("{more} more sources")));
    format!("{} turns in one day: {}", counted.turns_of_day, named.join(", "))
}

fn tasks(active: u64) -> String {
    match active {
        0 => "none".to_owned(),
        active => format!("{active} under way"),
    }
}

fn task(task: &TaskLine) -> String {
    let TaskLine { task_id, status, updated_at, summary, .. } = task;
    format!("{task_id} {status} since {}: {}", near(*updated_at), present::one_line(summary))
}

/// How the last turn left it. Its closure says how things stand only while nothing is pending.
fn past(pending: bool, closure: &ClosureDecision, last: Option<&LastTurn>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    if !pending {
        let reason = closure.waiting_reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        rows.push(row("closure", format!("{}{}{reason}", closure.outcome, no_turn(closure))));
    }
    let last = last.map(|turn| {
        let reason = turn.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        format!("{}{reason} at {}", turn.kind, near(turn.completed_at))
    });
    rows.push(row("last turn", last.unwrap_or_else(|| "none yet".to_owned())));
    rows
}

fn verdict(verdict: Option<RunVerdict>, closure: &ClosureDecision) -> String {
    match verdict {
        None => "none yet: something is pending".to_owned(),
        Some(RunVerdict::Completed) => format!("completed{}", no_turn(closure)),
        Some(verdict) => verdict.to_string(),
    }
}

/// What is completed without a turn says so.
fn no_turn(closure: &ClosureDecision) -> &'static str {
    if closure.evidence.contains(&ClosureEvidence::NoTurn) { " with no turn" } else { "" }
}

/// Whether it is at work, or about to be.
fn pending(runs: bool, queue: &QueueSummary, closure: &ClosureDecision, status: Status) -> bool {
    let waits = closure.outcome == ClosureOutcome::Waiting || status == Status::Stopped;
    runs || (queue.entries > 0 && !waits)
}

/// A model, where there is one.
pub(super) fn named(model: Option<&ModelRef>) -> String {
    model.map(ToString::to_string).unwrap_or_default()
}

/// A call as one short line: its tool, and its command or what its arguments begin with.
fn said(call: &CallSummary) -> String {
    let tool = &call.tool_name;
    let said = present::call(tool, &call.arguments);
    if said.starts_with(tool) { said } else { format!("{tool}: {said}") }
}

fn phase(phase: Phase) -> String {
    let tried = |name: &str, attempt: u32, candidate: u32| {
        format!("{name} (attempt {attempt} at model {})", candidate + 1)
    };
    match phase {
        Phase::Loading => "loading".to_owned(),
        Phase::Requesting { candidate, attempt } => tried("requesting", attempt, candidate),
        Phase::BackingOff { candidate, attempt } => tried("backing_off", attempt, candidate),
        Phase::Calling => "calling".to_owned(),
    }
}

fn queue(queue: &QueueSummary) -> String {
    if queue.queued.is_empty() {
        return match queue.entries {
            0 => "empty".to_owned(),
            entries => format!("{entries} under way"),
        };
    }
    let bands = queue.queued.iter().map(|(priority, count)| format!("{count} {priority}"));
    let bands = bands.collect::<Vec<_>>().join(", ");
    match &queue.head {
        Some(head) => format!("{bands}; next is {} since {}", head.message_id, near(head.created_at)),
        None => bands,
    }
}

fn decision(decision: &SchedulerDecision) -> String {
    let message = decision.message_id.map(|id| id.to_string());
    let item = decision.work_item_id.map(|id| id.to_string());
    let about = message.or(item).or_else(|| Some(decision.wait_id?.to_string()));
    let about = about.map(|id| format!(" for {id}")).unwrap_or_default();
    format!("{}{about}: {} (row {})", decision.kind, decision.reason, decision.row)
}

/// A piece of the evidence of the decision in the row above.
fn because(fact: &Evidence) -> Vec<String> {
    row("  because", evidence(fact))
}

fn evidence(fact: &Evidence) -> String {
    match fact {
        Evidence::Status { status } => format!("its status was {status}"),
        Evidence::Draining => "the runtime is leaving".to_owned(),
        Evidence::Run { run_id, message_id } => format!("{run_id} for {message_id} is in progress"),
        Evidence::Head { message_id, priority, class } => {
            format!("{message_id} is next ({priority}, {class})")
        }
        Evidence::Queued { entries } => format!("{entries} in the queue"),
        Evidence::Hold { until: None } => "it is held".to_owned(),
        Evidence::Hold { until: Some(until) } => format!("it is held until {}", near(*until)),
        Evidence::Budget { budget } => format!("the budget {budget} is exhausted"),
        Evidence::NoFreeSlot => "no turn slot is free".to_owned(),
        Evidence::Deadline { at, reason } => format!("at {}, fact deadline, reason {reason}", near(*at)),
        Evidence::WorkItem { work_item_id, state } => format!("{work_item_id} is {state}"),
        Evidence::SelfCausedTurns { turns } => {
            format!("{turns} self-caused turns in a row made no progress")
        }
        Evidence::Hints { hints } => format!("{hints} hints waited"),
        Evidence::Wait { wait_id, kind } => format!("{wait_id} waits ({kind})"),
        Evidence::RecheckDue { owner, at } => format!("{owner} was to be looked at again at {}", near(*at)),
        Evidence::Slept { until } => format!("its sleep was over at {}", near(*until)),
        Evidence::UnattendedTurns { until } => {
            format!("turns without an operator wait until {}", near(*until))
        }
        Evidence::IgnoredQueue { entries } => format!("{entries} in the queue, ignored because of the hold"),
    }
}

/// An error with the message that it concerns.
fn trouble(error: &Trouble) -> String {
    let Trouble { kind, text, run_id, message_id, event } = error;
    let message = message_id.map(|id| format!("{id}, ")).unwrap_or_default();
    format!("{kind}: {text} ({message}{run_id}, {})", mark(event))
}

fn mark(event: &EventMark) -> String {
    format!("event {} at {}", event.event_seq, near(event.at))
}

pub(super) fn row(name: &str, value: impl std::fmt::Display) -> Vec<String> {
    vec![name.to_owned(), harmless(&value.to_string()).replace('\n', " ")]
}

#[cfg(test)]
mod tests {
    use holon_facts::provenance::Priority;
    use serde_json::json;

    use super::*;

    fn waiting(queued: Vec<(Priority, u64)>, entries: u64) -> QueueSummary {
        QueueSummary { entries, bytes: 0, queued, head: None }
    }

    #[test]
    fn a_queue_is_its_bands() {
        assert_eq!(queue(&waiting(vec![(Priority::Next, 2), (Priority::Normal, 1)], 3)), "2 next, 1 normal");
        assert_eq!(
            (queue(&waiting(vec![], 0)), queue(&waiting(vec![], 1))),
            ("empty".into(), "1 under way".into())
        );
        assert_eq!(doing(None, &waiting(vec![], 0))[0], ["run", "none"]);
        assert_eq!(ledger(Some(&"full".to_owned()))[0], ["ledger", "full"]);
    }

    #[test]
    fn a_call_is_one_bounded_line() {
        let call = |tool: &str, arguments: &str| {
            said(
                &serde_json::from_value(json!({
                    "call_id": "c1", "tool_name": tool, "arguments": arguments, "number": 1, "of": 1,
                    "op_id": "op_1", "operation": "run_command", "since": "2026-01-01T00:00:00Z",
                }))
                .unwrap(),
            )
        };
        assert_eq!(call("ExecCommand", r#"{"cmd":"sleep\n 30"}"#), "ExecCommand: sleep 30");
        assert_eq!(call("ApplyPatch", r#"{"patch":"+++ b/x\n"}"#), "ApplyPatch x");
        let long = call("ExecCommand", &format!("{{\"cmd\":\"{}\"}}", "x".repeat(200)));
        assert!(long.ends_with('…') && long.chars().count() < 120, "{long}");
    }

    #[test]
    fn the_past_is_no_closure_of_what_is_pending() {
        let named = |runs: bool, entries: u64, outcome: &str| {
            let closure: ClosureDecision = serde_json::from_value(json!({
                "outcome": outcome, "runtime_posture": "sleeping", "row": 1, "evidence": [],
            }))
            .unwrap();
            let pending = pending(runs, &waiting(vec![], entries), &closure, Status::Asleep);
            past(pending, &closure, None).iter().map(|row| row[0].clone()).collect::<Vec<_>>()
        };
        assert_eq!(named(true, 0, "completed"), ["last turn"]);
        assert_eq!(named(false, 1, "completed"), ["last turn"]);
        for (entries, outcome) in [(0, "completed"), (1, "waiting")] {
            assert_eq!(named(false, entries, outcome), ["closure", "last turn"]);
        }
    }
}
