//! A turn says what it waits for, and ends.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::call::{WaitCall, Wake};
use holon_facts::content::{Text, clip};
use holon_facts::event::brief::BriefVisibility;
use holon_facts::event::timer::TimerCreated;
use holon_facts::event::wait::{Resolution, WaitEnd, WaitRegistered, WaitResolved};
use holon_facts::event::wake::WakeHintsShown;
use holon_facts::ids::{RunId, TaskId, TimerId, WaitId, WorkItemId};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::time::{Millis, Wall};
use holon_facts::timer::{DURATION, Misfire, TimerOwner};
use holon_facts::wait::WaitKind;

use crate::agent::timer::ARMED;
use crate::agent::wait::recheck::DEFAULT;
use crate::agent::wait::{Wait, token};
use crate::agent::wake::Pending;
use crate::handler::turn::report;
use crate::handler::wait::resolve;
use crate::handler::work;
use crate::tx::Tx;

/// Bytes of what is waited for that the summary of a timer shows.
const SUMMARY_BYTES: usize = 100;

/// Registers a wait for the item that the call names, else for the one in focus, else for the agent.
///
/// # Errors
/// When nothing could end it, or its owner waits since this round.
pub(crate) fn call(tx: &mut Tx<'_>, run_id: RunId, call: &WaitCall) -> Result<Receipt, ToolError> {
    let owner = match call.work_item {
        Some(id) => Some(work::tools::open(tx, id)?.id),
        None => tx.agent().work.current().map(|item| item.id),
    };
    let round = tx.agent().run.as_ref().map(|run| run.conversation.last_round()).unwrap_or_default();
    let here = |wait: &&Wait| (wait.run_id, wait.round) == (run_id, round);
    if let Some(wait) = tx.agent().wait_of(owner).filter(here) {
        let who = owner.map_or_else(|| "the agent".into(), |item| item.to_string());
        let message = format!("{who} waits already, since this round: {}", wait.id);
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, message).field("work_item_id");
        return Err(error.hint("wait for one thing, or let another work item wait"));
    }
    let timer = timer(tx, &call.wake)?;
    let ended = task(tx, &call.wake)?;
    if ended == Some(Delivery::Already) {
        return Ok(known());
    }
    let hints = hints(tx, &call.wake);
    if !hints.is_empty() {
        return Ok(hinted(tx, run_id, hints));
    }
    resolve::cancel(tx, owner, WaitEnd::Replaced);
    tx.follow_clock();
    let wait_id = tx.agent().next.wait;
    let timer_id = timer.map(|duration_ms| arm(tx, wait_id, (duration_ms, call.wake.time()), &call.reason));
    let kind = call.wake.kind();
    let default = (kind == WaitKind::External).then_some(DEFAULT);
    tx.record(WaitRegistered {
        wait_id,
        work_item_id: owner,
        kind,
        waiting_for: call.reason.clone(),
        subject: call.wake.subject().map(Into::into),
        token: (kind == WaitKind::External).then(|| token::of(tx.env.seed, &tx.agent().id, wait_id)),
        task_id: call.wake.task(),
        timer_id,
        recheck_after_ms: call.recheck_after.or(default),
        run_id,
        round,
    });
    if ended.is_some() {
        tx.record(WaitResolved { wait_id, by: Resolution::TaskResultQueued });
    } else if kind == WaitKind::Operator {
        let text = format!("The agent waits for you: {}", call.reason);
        let turn = (run_id, tx.agent().run.as_ref().map(|run| run.message));
        report::report_text(tx, turn, BriefVisibility::ActionRequired, text, owner);
    }
    Ok(receipt(tx, wait_id, owner))
}

/// How long a timer wait lasts.
fn timer(tx: &Tx<'_>, wake: &Wake) -> Result<Option<Millis>, ToolError> {
    let duration = match wake {
        Wake::After { duration } => *duration,
        Wake::At { time } => tx.now().until(*time),
        Wake::Operator { .. } | Wake::Task { .. } | Wake::External { .. } => return Ok(None),
    };
    if !(DURATION.0..=DURATION.1).contains(&duration) {
        let message = format!("it is {} now: a wait of {duration} has no end to come", tx.now());
        let error = ToolError::new(ToolErrorKind::InvalidToolInput, message).field("resource");
        return Err(error.hint("name a time to come, or a duration of at least 1s"));
    }
    if tx.agent().timers.armed_count() >= ARMED as u64 {
        let error = ToolError::new(ToolErrorKind::LimitReached, format!("{ARMED} timers are armed already"));
        return Err(error.hint("wait for something else"));
    }
    Ok(Some(duration))
}

/// Whether the result of a task that has ended is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// A message is to come.
    Later,
    /// Its agent knows.
    Already,
}

/// None when it goes on, or the wait is for no task.
fn task(tx: &Tx<'_>, wake: &Wake) -> Result<Option<Delivery>, ToolError> {
    let Some(id) = wake.task() else { return Ok(None) };
    let agent = tx.agent();
    let Some(task) = agent.tasks.get(id) else { return Err(unknown(id)) };
    let Some(end) = &task.end else { return Ok(None) };
    // What the turn in progress is for, it knows.
    let comes = match end.delivered_by {
        None => true,
        Some(message) => agent.inbox.queued_entry(message).is_some_and(|entry| !entry.known),
    };
    Ok(Some(if end.shown || !comes { Delivery::Already } else { Delivery::Later }))
}

fn unknown(task: TaskId) -> ToolError {
    let error = ToolError::new(ToolErrorKind::UnknownTask, format!("there is no task {task}"));
    error.field("resource").hint("TaskList names those that run and those that ended lately")
}

/// `at` is the time of the clock that is waited for.
fn arm(tx: &mut Tx<'_>, wait_id: WaitId, (duration_ms, at): (Millis, Option<Wall>), reason: &str) -> TimerId {
    let timer_id = tx.agent().next.timer;
    tx.record(TimerCreated {
        timer_id,
        owner: TimerOwner::Wait,
        wait_id: Some(wait_id),
        duration_ms,
        interval_ms: None,
        misfire: Misfire::Once,
        summary: Some(clip(reason, SUMMARY_BYTES)),
        next_fire_at: tx.now().after(duration_ms),
        at,
    });
    timer_id
}

/// The sources whose hints are about what would be waited for, and can be told as a whole. One that can't comes by its
/// message, as does what somebody waits for already: only a message ends a wait.
fn hints(tx: &Tx<'_>, wake: &Wake) -> Vec<String> {
    if wake.kind() != WaitKind::External {
        return Vec::new();
    }
    let agent = tx.agent();
    let text = |pending: &&Pending| {
        let whole = pending.hint.body.as_ref().is_none_or(|body| body.content().is_none());
        whole && pending.is_about(agent.next.wait, wake.subject()) && !agent.is_awaited(pending)
    };
    agent.hints.pending().filter(text).map(|pending| pending.hint.source.clone()).collect()
}

/// What would be waited for has happened: it is shown, and the turn goes on.
fn hinted(tx: &mut Tx<'_>, run_id: RunId, sources: Vec<String>) -> Receipt {
    tx.record(WakeHintsShown { run_id, sources });
    let text = r#"{"status":"resolved","resolution":"already_hinted","hints":"they follow"}"#;
    Receipt::success(Text::short(text), ToolFacts::default())
}

/// Nothing is waited for that is known already: the turn goes on.
fn known() -> Receipt {
    let text = r#"{"status":"resolved","resolution":"task_result_already_consumed"}"#;
    Receipt::success(Text::short(text), ToolFacts::default())
}

fn receipt(tx: &Tx<'_>, wait_id: WaitId, owner: Option<WorkItemId>) -> Receipt {
    let mut text = alloc::vec![format!(r#""wait_id":"{wait_id}""#)];
    text.extend(owner.map(|item| format!(r#""work_item_id":"{item}""#)));
    match tx.agent().wait_of(owner).filter(|wait| wait.id == wait_id) {
        None => text.push(r#""status":"resolved","resolution":"task_result_queued""#.into()),
        Some(wait) => {
            text.push(r#""status":"active""#.into());
            text.extend(wait.token.iter().map(|token| format!(r#""token":"{token}""#)));
            let timer = wait.timer_id.and_then(|timer| tx.agent().timers.get(timer)?.next_fire_at);
            text.extend(timer.map(|at| format!(r#""until":"{at}""#)));
            let recheck = tx.agent().recheck_of(owner).filter(|_| wait.is_rechecked());
            let recheck = recheck.and_then(|recheck| recheck.recheck_at);
            text.extend(recheck.map(|at| format!(r#""recheck_at":"{at}""#)));
        }
    }
    let facts = ToolFacts { ends_turn: true, ..ToolFacts::default() };
    Receipt::success(Text::short(format!("{{{}}}", text.join(","))), facts)
}
