//! Queues the ticks that open items are due, and stalls those that turns bring nothing to (contract: scheduler.md, Debts).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::event::brief::BriefVisibility;
use holon_facts::event::work::{
    StallReason, WorkDeferred, WorkItemStalled, WorkOwed, WorkTick, WorkTickQueued,
};
use holon_facts::ids::{MessageId, RunId, WorkItemId};
use holon_facts::message::Origin;
use holon_facts::provenance::{MessageKind, Priority, Surface};
use holon_facts::receipt::{Verdict, WorkCall};
use holon_facts::wait::WaitKind;
use holon_facts::work::{IN_A_TICK, PlanStatus};

use crate::agent::inbox::Inbox;
use crate::agent::outside;
use crate::agent::turn::Run;
use crate::agent::work::WorkItem;
use crate::handler::evidence::{self, Evidence};
use crate::handler::turn::report;
use crate::tx::Tx;

/// Queues the one message that tells the agent what is owed now.
pub(crate) fn deliver(tx: &mut Tx<'_>, tick: WorkTick) {
    let (work, now) = (&tx.agent().work, tx.now());
    let owed: Vec<&WorkItem> = match tick {
        WorkTick::ContinueActive => work.current().into_iter().collect(),
        WorkTick::QueuedAvailable => work.owed_notices(&tx.agent().inbox, now).take(IN_A_TICK).collect(),
    };
    let work_item_ids: Vec<WorkItemId> = owed.iter().map(|item| item.id).collect();
    let evidence = Evidence {
        kind: MessageKind::SystemTick,
        origin: Origin::System { subsystem: tick.name().into() },
        priority: Priority::Background,
        surface: Surface::RuntimeSystem,
        text: Text::short(text_of(tick, &owed)),
    };
    if let Some(message_id) = evidence::admit(tx, evidence) {
        tx.record(WorkTickQueued { tick, message_id, work_item_ids });
    }
}

fn text_of(tick: WorkTick, items: &[&WorkItem]) -> String {
    match (tick, items) {
        (WorkTick::ContinueActive, [item, ..]) => {
            format!(
                "{} is in focus and can be worked on: go on with it. {}",
                item.id,
                clip(&item.objective, 100)
            )
        }
        (_, items) => {
            let named: Vec<String> = items.iter().map(|item| item.id.to_string()).collect();
            format!("These work items wait to be picked: {}.", named.join(", "))
        }
    }
}

/// What the end of a run means for debts, as far as it is known before that.
pub(crate) struct Ended {
    pub(crate) run_id: RunId,
    item: Option<WorkItemId>,
    /// The item that it turned to itself.
    picked: Option<WorkItemId>,
    message: MessageId,
    by_operator: bool,
    /// The agent caused it itself.
    pub(crate) own: bool,
    pub(crate) progress: bool,
    /// Somebody outside caused it.
    from_outside: bool,
}

/// How a run has ended for the items that it was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Its message has been dealt with.
    Settled,
    /// Its message comes again, except after a wait for providers.
    Interrupted,
    Aborted,
    Dropped,
    /// It was longer than the model's window.
    TooLong,
}

impl Ended {
    pub(crate) fn of(run: &Run, inbox: &Inbox) -> Self {
        Self {
            from_outside: inbox.claimed(run.message).is_some_and(outside::causes),
            run_id: run.id,
            item: run.about.work_item,
            picked: picked(run),
            message: run.message,
            by_operator: run.about.incoming.is_by_operator() || !run.conversation.interjected.is_empty(),
            own: run.about.own && run.conversation.interjected.is_empty(),
            progress: run.course.progress,
        }
    }
}

/// The item that the last call of the run to pick one has picked.
fn picked(run: &Run) -> Option<WorkItemId> {
    let rounds = run.conversation.rounds.iter();
    let calls = rounds.flat_map(|round| round.verdicts.iter().zip(&round.results));
    let mut picks = calls.rev().filter_map(|(verdict, result)| match (verdict, &result.error) {
        (Verdict::OnWork(WorkCall::Pick { work_item, .. }), None) => Some(*work_item),
        (_, _) => None,
    });
    picks.next()
}

/// An item for which nothing more is done, and why.
type Stalled = (WorkItemId, StallReason);

/// Settles what the turn was owed by, and says what is owed next.
pub(crate) fn turn_ended(tx: &mut Tx<'_>, ended: &Ended, way: Way) {
    let work = &tx.agent().work;
    let current = work.current().map(|item| item.id);
    let due = work.open().filter(|item| item.debt.tick == Some(ended.message)).map(|item| item.id);
    let due: Vec<WorkItemId> = due.collect();
    let bound_to = ended.item.filter(|id| work.is_open(*id));
    let mut stalled: Vec<Stalled> = Vec::new();
    stalled.extend(bound_to.and_then(|item| bound(tx, ended, way, item, due.contains(&item))));
    for item in due.into_iter().filter(|id| Some(*id) != ended.item && Some(*id) != current) {
        stalled.extend(match way {
            Way::Settled | Way::Interrupted | Way::TooLong => unproductive(tx, ended.run_id, item),
            Way::Dropped => stall(tx, ended.run_id, item, StallReason::Dropped),
            Way::Aborted => None,
        });
    }
    // What was aborted is the item that the turn had come to.
    let turned_to =
        ended.picked.filter(|id| way == Way::Aborted && Some(*id) == current && Some(*id) != ended.item);
    stalled.extend(turned_to.and_then(|item| stall(tx, ended.run_id, item, StallReason::Aborted)));
    notify_operator(tx, ended.run_id, &stalled);
}

/// The item that the turn was bound to; `told`: the turn was what the item was owed.
fn bound(tx: &mut Tx<'_>, ended: &Ended, way: Way, id: WorkItemId, due: bool) -> Option<Stalled> {
    let item = tx.agent().work.get(id)?;
    let run_id = ended.run_id;
    let stays = item.stalled.as_ref().is_some_and(|stall| stall.reason == StallReason::Aborted);
    let counted = item.stalled.is_some() || item.debt.turns > 0;
    match way {
        Way::Aborted => stall(tx, run_id, id, StallReason::Aborted),
        Way::Dropped if due => stall(tx, run_id, id, StallReason::Dropped),
        // What came from outside says nothing of the item: nobody outside may block it.
        Way::TooLong if !ended.from_outside => stall(tx, run_id, id, StallReason::ContextLength),
        Way::Settled if ended.progress || (ended.by_operator && item.stalled.is_some()) => {
            if counted && (ended.by_operator || !stays) {
                tx.record(WorkOwed { work_item_id: id, run_id });
            }
            None
        }
        Way::Settled | Way::Interrupted if due => unproductive(tx, run_id, id),
        Way::Settled | Way::Interrupted | Way::Dropped | Way::TooLong => None,
    }
}

/// One more turn without progress: the next one waits, or there is none.
fn unproductive(tx: &mut Tx<'_>, run_id: RunId, id: WorkItemId) -> Option<Stalled> {
    let item = tx.agent().work.get(id).filter(|item| item.is_runnable())?;
    let turns = item.debt.turns.saturating_add(1);
    let Some(wait) = tx.env.config.work.deferrals.get(item.debt.turns as usize) else {
        return stall(tx, run_id, id, StallReason::NoProgress);
    };
    let until = tx.now().after(*wait);
    tx.record(WorkDeferred { work_item_id: id, run_id, turns, until });
    None
}

fn stall(tx: &mut Tx<'_>, run_id: RunId, id: WorkItemId, reason: StallReason) -> Option<Stalled> {
    let runs = tx.agent().work.get(id).is_some_and(WorkItem::is_runnable);
    runs.then(|| {
        tx.record(WorkItemStalled { work_item_id: id, run_id, reason });
        (id, reason)
    })
}

/// Tells the operator which items need input by what the turn has said of them, and that nobody has asked for yet.
pub(crate) fn asked(tx: &mut Tx<'_>, run_id: RunId, message: MessageId, items: &[WorkItemId]) {
    let needs = |item: &&WorkItem| {
        let asked = item.wait.as_ref().is_some_and(|wait| wait.kind == WaitKind::Operator);
        item.plan_status == PlanStatus::NeedsInput && item.completed_at.is_none() && !asked
    };
    let items = items.iter().filter_map(|id| tx.agent().work.get(*id)).filter(needs);
    let items: Vec<_> = items.map(|item| (item.id, clip(&item.objective, 100))).collect();
    let [(first, objective), more @ ..] = items.as_slice() else { return };
    let named = more.iter().take(IN_A_TICK).map(|(id, _)| format!(", {id}")).collect::<String>();
    let (verb, about) = if more.is_empty() { ("needs", Some(*first)) } else { ("need", None) };
    let text = format!("{first} ({objective}){named} {verb} your input.");
    report::report_text(tx, (run_id, Some(message)), BriefVisibility::ActionRequired, text, about);
}

/// Tells the operator of what has stalled. Whoever aborts a turn knows it.
fn notify_operator(tx: &mut Tx<'_>, run_id: RunId, stalled: &[Stalled]) {
    let named: Vec<String> = stalled
        .iter()
        .filter(|(_, reason)| *reason != StallReason::Aborted)
        .take(IN_A_TICK)
        .map(|(id, reason)| format!("{id} ({reason})"))
        .collect();
    if named.is_empty() {
        return;
    }
    let text = format!(
        "No further turn is made for {}: send a prompt about it, or complete it. It goes on once there is progress.",
        named.join(", ")
    );
    let only = if let [(id, _)] = stalled { Some(*id) } else { None };
    report::needs_operator(tx, run_id, text, only);
}
