//! Laws about messages: where each of them is, and in which order they are taken.

use holon_facts::event::inbox::{MessageDequeued, MessageRequeued, RequeueCause};
use holon_facts::event::turn::TurnTerminal;
use holon_facts::event::{Event, InboxFact, LifecycleFact, SchedulingFact, TurnFact};
use holon_facts::ids::{MessageId, RunId};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;
use holon_facts::terminal::{TurnKind, TurnReason};

use super::past::{Claim, Entry, Past};
use super::{Checked, rule};

/// What a fact does to the message that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Move {
    Claim(Option<RunId>),
    Back(RunId),
    /// The run is not always named.
    Settle(Option<RunId>),
}

fn moved(event: &Event) -> Option<(MessageId, Move)> {
    let Event::Inbox(fact) = event else { return None };
    match fact {
        InboxFact::MessageAdmitted(_) | InboxFact::MessageDuplicate(_) => None,
        InboxFact::MessageDequeued(fact) => Some((fact.message_id, Move::Claim(fact.run_id))),
        InboxFact::OperatorInterjectionAdmitted(fact) => {
            Some((fact.message_id, Move::Claim(Some(fact.run_id))))
        }
        InboxFact::MessageRequeued(fact) => Some((fact.message_id, Move::Back(fact.run_id))),
        InboxFact::MessageProcessed(fact) => Some((fact.message_id, Move::Settle(fact.run_id))),
        InboxFact::MessageAborted(fact) => Some((fact.message_id, Move::Settle(Some(fact.run_id)))),
        InboxFact::MessageDropped(fact) => Some((fact.message_id, Move::Settle(None))),
    }
}

/// Whether a message was admitted and is terminal.
fn terminal(past: &Past, id: MessageId) -> bool {
    id < past.next.message && !past.queue.live.contains_key(&id)
}

pub(super) fn q1(past: &Past, record: &Record) -> Checked {
    if past.begins_step(record) {
        let reduced = past.queue.live.iter().find(|(_, entry)| entry.claim == Some(Claim::Reduced));
        if let Some((id, _)) = reduced {
            return Err(format!("{id} was taken without a model and not settled"));
        }
    }
    if let Event::Turn(TurnFact::TurnTerminal(fact)) = &record.event {
        let claim = Some(Claim::ByRun(fact.run_id));
        let left = past.queue.live.iter().find(|(_, entry)| entry.claim == claim);
        return rule(left.is_none(), || format!("{left:?} is left claimed by {}", fact.run_id));
    }
    let Some((id, to)) = moved(&record.event) else { return Ok(false) };
    let Some(entry) = past.queue.live.get(&id) else { return Ok(false) };
    let fits = match to {
        Move::Claim(_) => true,
        Move::Back(run) => entry.claim == Some(Claim::ByRun(run)),
        Move::Settle(Some(run)) => entry.claim == Some(Claim::ByRun(run)),
        Move::Settle(None) => entry.claim.is_some(),
    };
    rule(fits, || format!("{} of {id}, whose claim is {:?}", record.event.kind(), entry.claim))
}

pub(super) fn q2(past: &Past, record: &Record) -> Checked {
    if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
        let id = fact.message.id;
        return rule(id >= past.next.message, || format!("{id} is admitted again"));
    }
    let Some((id, _)) = moved(&record.event) else { return Ok(false) };
    rule(!terminal(past, id), || format!("{} of {id}, which is terminal", record.event.kind()))
}

/// Speaks of each message that the runtime is about to leave its agent.
pub(super) fn s4(past: &Past, record: &Record) -> Checked {
    let Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) = &record.event else { return Ok(false) };
    let Some(key) = &fact.idempotency_key else { return Ok(false) };
    let queued = past.ticks.message_of(key);
    rule(queued.is_none(), || format!("{key} is to be delivered, and {queued:?} delivers it"))
}

pub(super) fn q3(past: &Past, record: &Record) -> Checked {
    let Some((id, Move::Claim(run))) = moved(&record.event) else { return Ok(false) };
    let Some(entry) = past.queue.live.get(&id) else { return Ok(false) };
    rule(entry.claim.is_none(), || format!("{run:?} claims {id}, which has {:?}", entry.claim))
}

pub(super) fn q4(past: &Past, record: &Record) -> Checked {
    let Event::Inbox(InboxFact::MessageDequeued(fact)) = &record.event else { return Ok(false) };
    let Some(entry) = past.queue.live.get(&fact.message_id) else { return Ok(false) };
    if let Some(host) = entry.host {
        let taken = past.queue.live.get(&host).and_then(|host| host.claim);
        return rule(taken.is_some() && taken == fact.run_id.map(Claim::ByRun), || {
            format!("{} is taken without {host}, into whose turn it was taken", fact.message_id)
        });
    }
    let reduced = fact.run_id.is_none();
    let spent = needs_no_model(entry) || past.stale(fact.message_id, record.at);
    rule(reduced == spent || (entry.worked && !reduced), || {
        format!("{} is a {}, claimed for {:?}", fact.message_id, entry.kind, fact.run_id)
    })?;
    let first = entry.beside.and_then(|first| past.queue.live.get(&first)?.claim);
    if first.is_some() && first == fact.run_id.map(Claim::ByRun) {
        // A turn that goes on is for whatever it was begun for.
        return Ok(true);
    }
    let expected = eligible(past, record, fact);
    rule(expected == Some(fact.message_id), || format!("{} is taken before {expected:?}", fact.message_id))
}

/// Under a hold first what needs no model, then its trial; otherwise the first of all.
fn eligible(past: &Past, record: &Record, fact: &MessageDequeued) -> Option<MessageId> {
    let mut queued = past.queue.waiting.iter().map(|(_, id)| *id);
    let Some(hold) = past.held(record.at) else {
        // Builds before this one left out what interrupted runs had done, so that it did not wait.
        let left_out = |id: MessageId| {
            let worked = past.queue.live.get(&id).is_some_and(|entry| entry.worked);
            worked && id == fact.message_id && fact.run_id.is_none()
        };
        let mut ready = queued.filter(|id| !past.waits(*id, record.at) || left_out(*id));
        return ready.find(|id| *id == fact.message_id || !past.may_be_exhausted(*id, record.at));
    };
    match fact.run_id {
        None => queued.find(|id| {
            let worked = |entry: &Entry| entry.worked && *id != fact.message_id;
            past.queue.live.get(id).is_some_and(|entry| needs_no_model(entry) && !worked(entry))
        }),
        Some(_) => hold.trial.map(|id| {
            let host = past.queue.live.get(&id).and_then(|entry| entry.host);
            host.unwrap_or(id)
        }),
    }
}

fn needs_no_model(entry: &Entry) -> bool {
    (entry.known && entry.interjected.is_empty()) || never_needs_one(entry)
}

fn never_needs_one(entry: &Entry) -> bool {
    match entry.kind {
        MessageKind::Control | MessageKind::TaskStatus | MessageKind::BriefAck | MessageKind::BriefResult => {
            true
        }
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult => false,
    }
}

pub(super) fn q5(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
            let Some(idempotency) = &fact.idempotency else { return Ok(false) };
            let known = past.keys.known(&idempotency.key, fact.expired_keys);
            rule(known.is_none() || !past.keys.in_order(), || {
                format!("the key of {} is kept for {known:?}", fact.message.id)
            })
        }
        Event::Inbox(InboxFact::MessageDuplicate(fact)) => {
            rule(past.keys.has(fact.message_id), || format!("{} has no key that is kept", fact.message_id))
        }
        Event::Lifecycle(LifecycleFact::RequestKeyed(fact)) => {
            rule(!past.made.has(&fact.idempotency.key, fact.expired_keys), || {
                format!("the key of the request that has made {} is kept for another one", fact.made)
            })
        }
        _ => Ok(false),
    }
}

pub(super) fn q7(past: &Past, record: &Record) -> Checked {
    if let Some(id) = past.promised.failure_brief
        && past.begins_step(record)
    {
        return Err(format!("{id} was dropped without a brief"));
    }
    match &record.event {
        Event::Inbox(InboxFact::MessageRequeued(fact)) => {
            let Some(entry) = past.queue.live.get(&fact.message_id) else { return Ok(false) };
            let expected = crashes_after(past, entry, fact);
            rule(fact.crashes == expected, || {
                format!("{} has {} crashes, expected {expected}", fact.message_id, fact.crashes)
            })
        }
        Event::Inbox(InboxFact::MessageDropped(fact)) => {
            let Some(entry) = past.queue.live.get(&fact.message_id) else { return Ok(false) };
            let recorded = past.run.as_ref().is_some_and(|run| run.recorded_something);
            let crashed = entry.crashes.checked_add(1) == Some(fact.crashes);
            rule(crashed && !recorded && past.promised.end_of.is_some(), || {
                format!(
                    "{} is dropped with {} crashes after {}; its run recorded something: {recorded}",
                    fact.message_id, fact.crashes, entry.crashes
                )
            })
        }
        _ => Ok(false),
    }
}

/// Only a crash counts, only for the message that the run was for; whatever is recorded begins the count anew.
fn crashes_after(past: &Past, entry: &Entry, fact: &MessageRequeued) -> u32 {
    let own = past.running(fact.run_id).filter(|run| run.message == fact.message_id);
    match (fact.cause, own) {
        (_, Some(run)) if run.recorded_something => 0,
        (RequeueCause::Crash, Some(_)) => entry.crashes.saturating_add(1),
        (RequeueCause::Crash, None) | (RequeueCause::Hold | RequeueCause::Shutdown, _) => entry.crashes,
    }
}

pub(super) fn q10(past: &Past, record: &Record) -> Checked {
    match &record.event {
        Event::Inbox(InboxFact::MessageRequeued(fact)) => {
            let crashed = fact.cause == RequeueCause::Crash;
            let held = fact.cause == RequeueCause::Hold;
            rule(crashed == past.promised.end_of.is_some() && (!held || past.hold.is_some()), || {
                format!("{} comes back for {}, which nothing recorded", fact.message_id, fact.cause)
            })
        }
        Event::Turn(TurnFact::TurnTerminal(fact)) => came_back(past, fact),
        _ => Ok(false),
    }
}

/// The message of a run that settles is terminal, that of an interrupted one waits again or was dropped.
fn came_back(past: &Past, fact: &TurnTerminal) -> Checked {
    let waits = past.queue.live.get(&fact.message_id).is_some_and(|entry| entry.claim.is_none());
    let dropped = past.promised.failure_brief == Some(fact.message_id);
    let fits = match (fact.kind, fact.reason) {
        (TurnKind::Interrupted, Some(TurnReason::Crash)) => waits || dropped,
        (TurnKind::Interrupted, _) => waits,
        (TurnKind::BudgetExhausted, _) if fact.held => waits,
        (TurnKind::Aborted, _) => past.queue.aborted == Some(fact.message_id),
        (
            TurnKind::Completed
            | TurnKind::Failed
            | TurnKind::ContextLengthExceeded
            | TurnKind::BudgetExhausted
            | TurnKind::LimitReached,
            _,
        ) => terminal(past, fact.message_id),
    };
    rule(fits, || {
        format!(
            "{} ends {} ({:?}) and {} waits: {waits}",
            fact.run_id, fact.kind, fact.reason, fact.message_id
        )
    })
}
