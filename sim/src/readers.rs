//! What clients read of an agent follows from its records: summaries and explanations of the live host, the transcript
//! and the export of its log (R1).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use holon_core::agent::turn::Run;
use holon_core::agent::work::WorkItem;
use holon_core::agent::{Agent, OpenOp};
use holon_core::host::Host;
use holon_core::summary::run::RunSummary;
use holon_core::summary::{AgentSummary, SchedulingPosture};
use holon_core::transcript::{Entry, Transcript};
use holon_core::view::{Explanation, RunVerdict, View};
use holon_facts::decision::DeadlineReason;
use holon_facts::event::operation::OpKind;
use holon_facts::event::{Event, InboxFact, TurnFact};
use holon_facts::frame::Part;
use holon_facts::lifecycle::Status;
use holon_facts::message::{Idempotency, Ingress};
use holon_facts::model::Item;
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::wait::WaitKind;
use holon_facts::work::WorkState;
use holon_facts::{AgentId, ContentId, Millis, Record, Reject, Text, Wall};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::{Failure, ensure, safety};
use crate::ingress::agent_id;
use crate::scheduling;
use crate::tools::context;

/// Of each kind of record, the first and one in so many are exported: all would take a fifth of a run.
const EXPORTED_EVERY: u64 = 16;

/// Compares what clients read of each live agent with its fold; returns the number of agents.
pub(crate) fn live(host: &Host, agents: &BTreeMap<AgentId, Agent>) -> Result<u64, Failure> {
    let view = host.view();
    for id in view.agent_ids() {
        let Some(agent) = agents.get(id) else { continue };
        summary(view, agent)?;
        ending(host, agent, agents)?;
        let Some(shown) = view.explain(id) else { continue };
        ensure!(shown.last_decision == agent.last_decision, "R1", "{id} explains another last decision");
        // An ended agent rests for good.
        let ended = agent.childhood.retired.is_some();
        let woken = !shown.decision.rests() || shown.woken_by.is_empty() == ended;
        ensure!(woken, "R1", "{id} rests, and would be woken by {:?}", shown.woken_by);
    }
    Ok(view.agent_ids().count() as u64)
}

fn summary(view: View<'_>, agent: &Agent) -> Result<(), Failure> {
    let id = &agent.id;
    let Some(shown) = view.summary(id) else { return Ok(()) };
    let queued = agent.inbox.queued().count() as u64;
    let entries = queued + agent.inbox.claimed_entries();
    let bands: u64 = shown.queue.queued.iter().map(|(_, depth)| depth).sum();
    ensure!(
        (shown.queue.entries, bands) == (entries, queued),
        "R1",
        "{id}: {:?}, {queued} wait",
        shown.queue
    );
    let run = agent.run.as_ref().map(|run| (run.id, run.message));
    let shown_run = shown.run.as_ref().map(|run| (run.run_id, run.message_id));
    ensure!(shown_run == run, "R1", "{id} is told to run {shown_run:?}, it runs {run:?}");
    if let (Some(shown), Some(run)) = (&shown.run, &agent.run) {
        working(agent, shown, run)?;
    }
    let head = agent.inbox.queued().next().map(|entry| entry.message.id);
    let shown_head = shown.queue.head.as_ref().map(|head| head.message_id);
    ensure!(shown_head == head, "R1", "{id}: {shown_head:?} is told to be next, it is {head:?}");
    let stopped = agent.status == Status::Stopped;
    ensure!(shown.lifecycle_hint.is_some() == stopped, "R1", "{id}: {:?}", shown.lifecycle_hint);
    let fits = match shown.scheduling_posture {
        SchedulingPosture::Archived => stopped,
        SchedulingPosture::ActiveTurn => run.is_some(),
        SchedulingPosture::HasQueuedInput => run.is_none() && queued > 0 && !stopped,
        SchedulingPosture::HasRunnableWork => {
            run.is_none() && queued == 0 && agent.work.open().any(|item| item.state() == WorkState::Runnable)
        }
        SchedulingPosture::WaitingForOperator => queued == 0 && awaits(agent, WaitKind::Operator),
        SchedulingPosture::WaitingForTask => queued == 0 && awaits(agent, WaitKind::Task),
        SchedulingPosture::WaitingForExternal => queued == 0 && awaits(agent, WaitKind::External),
        SchedulingPosture::Blocked => {
            let counted = &agent.unattended;
            let held = agent.hold.is_some() || counted.self_hold || counted.exhausted.is_some();
            queued == 0 && (held || agent.work.open_count() > 0 || agent.waits.own.is_some())
        }
        SchedulingPosture::Idle => run.is_none() && queued == 0 && !stopped,
    };
    ensure!(fits, "R1", "{id} is told to be {}, with {queued} in its queue", shown.scheduling_posture);
    ensure!(shown.event_seq == agent.event_seq, "R1", "{id} is told to be at {}", shown.event_seq);
    Ok(())
}

/// Whether an item, or the agent itself, waits for this kind.
fn awaits(agent: &Agent, kind: WaitKind) -> bool {
    let state = match kind {
        WaitKind::Operator => WorkState::WaitingOperator,
        WaitKind::Task => WorkState::WaitingTask,
        WaitKind::External => WorkState::WaitingExternal,
        WaitKind::Timer => WorkState::WaitingTimer,
    };
    let own = agent.waits.own.as_ref().is_some_and(|wait| match kind {
        WaitKind::Operator => wait.operator_must_act || wait.kind == kind,
        WaitKind::Task | WaitKind::External | WaitKind::Timer => !wait.operator_must_act && wait.kind == kind,
    });
    own || agent.work.open().any(|item| item.state() == state)
}

/// A call is shown exactly while one is in flight: the first without a result.
fn working(agent: &Agent, shown: &RunSummary, run: &Run) -> Result<(), Failure> {
    let calls = |op: &OpenOp| match op.kind {
        OpKind::CallTool
        | OpKind::PrepareCommand
        | OpKind::RunCommand
        | OpKind::PromoteCommand
        | OpKind::AwaitTask
        | OpKind::FindWorkspace => agent.is_of_run(op),
        OpKind::LoadContext
        | OpKind::CallModel
        | OpKind::WriteInput
        | OpKind::SuperviseChild
        | OpKind::RemoveWorktree
        | OpKind::Summarize => false,
    };
    let first = run.conversation.rounds.last().and_then(|round| round.calls().nth(round.results.len()));
    let open = first.filter(|_| agent.ops.values().any(calls)).map(|(call_id, _, _)| call_id);
    let call = shown.call.as_ref().map(|call| call.call_id.as_str());
    ensure!(call == open, "R1", "{} is told to be at the call {call:?}, it is at {open:?}", agent.id);
    Ok(())
}

/// Whether an agent is quiet, and its children are, unless they wait for somebody.
fn quiet(host: &Host, agent: &Agent, agents: &BTreeMap<AgentId, Agent>) -> bool {
    let rests = |child: &AgentId| {
        let child = agents.get(child).filter(|child| child.childhood.retired.is_none());
        child.is_some_and(|child| quiet(host, child, agents))
    };
    let later = |entry| scheduling::has_to_wait(agent, entry, host.facts().now);
    // An ended task brings its agent a turn, whatever became of the child.
    let child = |task| agent.tasks.get(task).filter(|task| task.end.is_none()).and_then(|task| task.child());
    let awaited = agent.active_waits().filter(|wait| wait.kind == WaitKind::Task).any(|wait| {
        let child = wait.task_id.and_then(child);
        !child.is_some_and(|child| rests(&child.child_agent_id))
    });
    let children_rest = agent.tasks.children().all(|(_, child)| rests(&child.child_agent_id));
    agent.run.is_none()
        && agent.inbox.queued().all(later)
        && agent.inbox.claimed_entries() == 0
        && !awaited
        && children_rest
}

/// What a client sees that waits for the end of its work.
fn ending(host: &Host, agent: &Agent, agents: &BTreeMap<AgentId, Agent>) -> Result<(), Failure> {
    let (view, id) = (host.view(), &agent.id);
    let (stopped, runs) = (agent.status == Status::Stopped, agent.run.is_some());
    let waits = agent.inbox.queued().count() > 0;
    let quiet = quiet(host, agent, agents);
    ensure!(view.quiet(id) == quiet, "R1", "{id} is told to be quiet: {}", view.quiet(id));
    let due = view.due(id);
    let may_be_held = !stopped && !runs && waits && agent.hold.is_some();
    let once = agent.timers.armed().filter(|timer| timer.interval_ms.is_none() && !stopped && !runs);
    let goes_on = |item: &&WorkItem| item.state() == WorkState::Runnable && !stopped && !runs;
    let runnable = agent.work.open().filter(goes_on);
    let ahead = view.explain(id).map(|shown| shown.deadlines).unwrap_or_default();
    let is = |at: &Wall, reason| ahead.iter().any(|due| due.at == *at && due.reason == reason);
    let pending = !runs && (waits || agent.work.open().any(|item| goes_on(&item)));
    let work = runnable.filter_map(|item| item.debt.until).filter(|at| is(at, DeadlineReason::Work));
    let counted = &agent.unattended;
    let own = counted.self_deferred_until.filter(|at| !runs && is(at, DeadlineReason::SelfDeferral));
    let day = counted.exhausted.map(|exhausted| exhausted.until);
    let day = day.filter(|at| pending && is(at, DeadlineReason::UnattendedTurns));
    let sleep = agent.sleep.as_ref().and_then(|sleep| sleep.until);
    let sleep = sleep.filter(|at| !runs && is(at, DeadlineReason::Sleep));
    let again = agent.work.open().map(|item| &item.recheck).chain([&agent.waits.recheck]);
    let again = again.flatten().filter_map(|recheck| recheck.recheck_at);
    let again = again.filter(|at| !runs && is(at, DeadlineReason::Recheck));
    let later = work.chain(own).chain(day).chain(sleep).chain(again);
    let timer = once.filter_map(|timer| timer.next_fire_at).chain(later).min();
    // An agent without a turn also waits for the deadlines of its children.
    let children = agent.tasks.children().filter(|_| !runs);
    let children = children.filter_map(|(_, child)| view.due(&child.child_agent_id)).map(|due| due.at);
    let timer = timer.into_iter().chain(children).min();
    let shown = due.as_ref().map(|due| due.at);
    let right = match timer {
        Some(at) => shown == Some(at) || (may_be_held && shown.is_some_and(|shown| shown < at)),
        None => shown.is_none() || may_be_held,
    };
    ensure!(right, "R1", "{id} is told to wait for {due:?}, its next timer is for {timer:?}");
    // Only an operator ends such a hold.
    let for_good = may_be_held && agent.hold.as_ref().is_some_and(|hold| hold.until.is_none());
    let at_last = if stopped { !runs } else { (quiet || for_good) && due.is_none() };
    ensure!(view.settled(id, Millis(u64::MAX)) == at_last, "R1", "{id} rests for ever: not {at_last}");
    let for_now = at_last || due.is_some();
    ensure!(!view.settled(id, Millis(0)) || for_now, "R1", "{id} is told to rest, and does not");
    let verdict = view.verdict(id);
    let named = match verdict {
        Some(RunVerdict::Stopped) => stopped,
        Some(_) | None => !stopped,
    };
    ensure!(named, "R1", "{id} is told to have ended as {verdict:?}, stopped is {stopped}");
    // A timer before the end of a hold hides the hold.
    let hidden = may_be_held && shown.is_some() && shown == timer;
    let held = for_good || (due.is_some() && shown != timer);
    let pending = !stopped && !quiet && !held;
    let same = hidden || verdict.is_none() == pending;
    ensure!(same, "R1", "{id}: {verdict:?}, something is pending: {pending}");
    Ok(())
}

/// Checks the whole log of an agent at rest; `misread` is sabotage: it takes the last turn for another.
pub(crate) fn past(host: &Host, id: &AgentId, log: &[Record], misread: bool) -> Result<(), Failure> {
    let view = host.view();
    let (mut last, mut expected) = (None, Vec::new());
    let (mut transcript, mut entries) = (Transcript::default(), Vec::new());
    let (mut exports, mut shown) = (BTreeSet::new(), BTreeSet::new());
    for record in log {
        if exports.insert(record.event.kind()) || record.event_seq.0.is_multiple_of(EXPORTED_EVERY) {
            exported(record)?;
        }
        expected.extend(entry(&record.event).map(|kind| (record.event_seq, kind)));
        if let Some(entry) = transcript.step(record) {
            let kind = kind(&entry.entry);
            if shown.insert(kind) {
                let json = serde_json::to_value(&entry).map_err(|error| safety("R1", error.to_string()))?;
                ensure!(json["kind"] == kind, "R1", "{id}: {kind} is shown as {json}");
            }
            entries.push((entry.event_seq, kind));
        }
        if let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event {
            last = Some((fact.kind, fact.reason));
        }
    }
    ensure!(entries == expected, "R1", "the transcript of {id} has {entries:?}, its log {expected:?}");
    previewed(view, id)?;
    described(view, id)?;
    let Some(shown) = view.summary(id) else { return Ok(()) };
    let shown_last = shown.last_turn.map(|turn| (turn.kind, turn.reason));
    ensure!(shown_last == last, "R1", "the last turn of {id} is told to be {shown_last:?}, it was {last:?}");
    let verdict = view.verdict(id);
    if verdict != Some(RunVerdict::Stopped) && view.quiet(id) {
        let right = of_work(view.agent(id), host.facts().now, of_turn(if misread { None } else { last }));
        ensure!(
            verdict == Some(right),
            "R1",
            "{id} is told to have ended as {verdict:?}, it did as {right:?}"
        );
    }
    Ok(())
}

/// A preview shows the next request without a model, for an existing agent only.
fn previewed(view: View<'_>, id: &AgentId) -> Result<(), Failure> {
    let prompt = |bytes: usize| {
        let text = Text::Inline("x".repeat(bytes));
        Ingress::prompt(text, Surface::HttpControlPrompt, AdmissionContext::ControlAuthenticated)
    };
    let context = context(Text::Inline("instructions".into()), Millis(1));
    let shown = view.preview(id, &context, prompt(5)).map_err(|reject| safety("R1", reject.to_string()))?;
    let input = shown.request.conversation.last();
    let is_given = |part: &Part| matches!(part, Part::Given(Text::Inline(text)) if text == "xxxxx");
    let is_given = matches!(input, Some(Item::User { parts }) if parts.iter().any(is_given));
    ensure!(
        is_given && !shown.request.tools.is_empty(),
        "R1",
        "{id} would not be told its prompt: {input:?}"
    );
    let nobody = view.preview(&agent_id(u32::MAX), &context, prompt(5));
    ensure!(matches!(nobody, Err(Reject::UnknownAgent { .. })), "R1", "nobody is told {nobody:?}");
    Ok(())
}

/// Every field of a summary and an explanation is in the schema for clients.
fn described(view: View<'_>, id: &AgentId) -> Result<(), Failure> {
    static KNOWN: OnceLock<[Vec<String>; 2]> = OnceLock::new();
    let known = KNOWN.get_or_init(|| [fields_of::<AgentSummary>(), fields_of::<Explanation>()]);
    let shown = [serde_json::to_value(view.summary(id)), serde_json::to_value(view.explain(id))];
    for (known, shown) in known.iter().zip(shown) {
        let shown = shown.map_err(|error| safety("R1", error.to_string()))?;
        let fields = shown.as_object().into_iter().flatten().map(|(field, _)| field);
        for field in fields {
            ensure!(known.contains(field), "R1", "{id}: {field} is told, and not described");
        }
    }
    Ok(())
}

fn fields_of<T: JsonSchema>() -> Vec<String> {
    let schema = schema_for!(T);
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(field, _)| field.clone()).collect()
}

/// The verdict for an agent whose work is not completed.
fn of_work(agent: Option<&Agent>, now: Wall, verdict: RunVerdict) -> RunVerdict {
    let open =
        |state| agent.is_some_and(|agent| agent.work.open().any(|item: &WorkItem| item.state() == state));
    let waits = |kind| agent.is_some_and(|agent| awaits(agent, kind));
    // An item is blocked without the agent's reason if it was too long for the model.
    let of_length = |item: &WorkItem| item.state() == WorkState::Blocked && item.blocked_by.is_none();
    let too_long = agent.is_some_and(|agent| agent.work.open().any(of_length));
    let sleep = agent.and_then(|agent| agent.sleep.as_ref()?.until).filter(|until| *until > now);
    let queued = sleep.is_some() || agent.is_some_and(|agent| agent.inbox.queued_entries() > 0);
    if verdict != RunVerdict::Completed {
        verdict
    } else if agent.is_some_and(|agent| agent.unattended.self_hold) {
        RunVerdict::WaitingForOperator
    } else if open(WorkState::Runnable) || queued {
        RunVerdict::WaitingForTimer
    } else if waits(WaitKind::Operator) || open(WorkState::Stalled) || too_long {
        RunVerdict::WaitingForOperator
    } else if waits(WaitKind::External) {
        RunVerdict::WaitingForExternal
    } else if waits(WaitKind::Timer) || open(WorkState::Blocked) {
        RunVerdict::WaitingForTimer
    } else {
        verdict
    }
}

fn of_turn(last: Option<(TurnKind, Option<TurnReason>)>) -> RunVerdict {
    let Some((kind, reason)) = last else { return RunVerdict::Completed };
    match (kind, reason) {
        (TurnKind::Completed, _) => RunVerdict::Completed,
        (TurnKind::Aborted, _) => RunVerdict::Aborted,
        (TurnKind::Failed | TurnKind::ContextLengthExceeded, _) => RunVerdict::Failed,
        (TurnKind::BudgetExhausted, _) => RunVerdict::BudgetExhausted,
        (TurnKind::LimitReached, _) => RunVerdict::MaxTurnsExceeded,
        (TurnKind::Interrupted, Some(TurnReason::Outage | TurnReason::Quota)) => RunVerdict::WaitingForTimer,
        (TurnKind::Interrupted, Some(TurnReason::Credentials)) => RunVerdict::WaitingForOperator,
        (TurnKind::Interrupted, _) => RunVerdict::Interrupted,
    }
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::IncomingMessage { .. } => "incoming_message",
        Entry::AssistantRound { .. } => "assistant_round",
        Entry::ToolResults { .. } => "tool_results",
        Entry::RuntimeFailure { .. } => "runtime_failure",
        Entry::ContinuationPrompt { .. } => "continuation_prompt",
    }
}

/// The transcript entry that an event must have.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
fn entry(event: &Event) -> Option<&'static str> {
    match event {
        Event::Inbox(InboxFact::MessageAdmitted(_)) => Some("incoming_message"),
        Event::Turn(TurnFact::TurnStarted(fact)) if fact.carried_rounds > 0 => Some("continuation_prompt"),
        Event::Turn(TurnFact::AssistantRoundRecorded(_)) => Some("assistant_round"),
        Event::Turn(TurnFact::ToolExecuted(_) | TurnFact::ToolExecutionFailed(_)) => Some("tool_results"),
        Event::Turn(TurnFact::ReminderInjected(_)) => Some("continuation_prompt"),
        Event::Turn(TurnFact::RuntimeError(_)) => Some("runtime_failure"),
        _ => None,
    }
}

/// A key that was just admitted stands for its message, as long as keys are kept at all; another payload is a conflict.
pub(crate) fn keys(host: &Host, records: &[Record]) -> Result<u64, Failure> {
    let mut shown = 0;
    for record in records {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { continue };
        let Some(key) = &fact.idempotency else { continue };
        let remembered = host.config().queue.keys_for > Millis(0);
        let (expected, id) = (remembered.then_some(fact.message.id), &record.agent);
        let found = host.view().admitted(id, key);
        ensure!(found == expected, "R1", "{key:?} of {id} stands for {found:?}, expected {expected:?}");
        let other = Idempotency { payload: ContentId([0xa5; 32]), ..key.clone() };
        let found = host.view().admitted(id, &other);
        ensure!(found.is_none(), "R1", "{other:?} of {id} stands for {found:?}");
        shown += 1;
    }
    Ok(shown)
}

/// A refusal states the next step if its caller has one.
pub(crate) fn refusal(reject: &Reject) -> Result<(), Failure> {
    let helps = [
        "unknown_agent",
        "agent_exists",
        "agent_stopped",
        "agent_archived",
        "private_agent",
        "reserved_agent_id",
        "name_taken",
        "unknown_ask",
        "draining",
        "queue_full",
        "too_many_events",
        "idempotency_conflict",
        "too_many_agents",
        "unknown_workspace",
        "workspace_active",
    ]
    .contains(&reject.code());
    if let Reject::CommandRefused { error } = reject {
        ensure!(reject.hint() == error.hint, "R1", "{reject} has the hint {:?}", reject.hint());
        return Ok(());
    }
    let shown = reject.hint().is_some_and(|hint| !hint.is_empty());
    ensure!(shown == helps, "R1", "{reject} has the hint {:?}", reject.hint());
    Ok(())
}

/// The fields of an export line that every reader uses.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    agent: Cow<'a, str>,
    event_seq: u64,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: BTreeMap<Cow<'a, str>, IgnoredAny>,
}

/// A line of an export is JSON, and names the record.
fn exported(record: &Record) -> Result<(), Failure> {
    let line = record.json_line().map_err(|error| safety("R1", error.to_string()))?;
    let read: Line<'_> =
        serde_json::from_str(&line).map_err(|error| safety("R1", format!("{line}: {error}")))?;
    let named = (&*read.agent, read.event_seq, &*read.kind)
        == (record.agent.as_str(), record.event_seq.0, record.event.kind())
        && !read.payload.is_empty();
    ensure!(named, "R1", "{record:?} is exported as {line}");
    Ok(())
}
