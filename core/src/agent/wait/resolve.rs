//! What ends a wait: a message that it matches, in the transition in which a turn takes it; or its owner, who waits for
//! something else or is done.

use alloc::vec::Vec;

use holon_facts::event::timer::TimerCancelled;
use holon_facts::event::wait::{Resolution, WaitCancelled, WaitEnd, WaitResolved};
use holon_facts::ids::{MessageId, TimerId, WaitId, WorkItemId};
use holon_facts::message::Message;
use holon_facts::provenance::{AdmissionContext, MessageKind};
use holon_facts::wait::WaitKind;

use super::Wait;
use crate::agent::Agent;
use crate::host::tx::Tx;

/// The active waits that a message ends, those of items in order, then the agent's own.
pub(crate) fn matched<'a>(agent: &'a Agent, message: &'a Message) -> impl Iterator<Item = &'a Wait> {
    agent.active_waits().filter(move |wait| matches(agent, wait, message))
}

fn matches(agent: &Agent, wait: &Wait, message: &Message) -> bool {
    match (wait.kind, message.kind) {
        (WaitKind::Operator, _) => message.is_by_operator(),
        (WaitKind::Task, MessageKind::TaskResult | MessageKind::SystemTick) => {
            agent.tasks.told_by(message.id).any(|task| Some(task.id) == wait.task_id)
        }
        (WaitKind::Timer, MessageKind::TimerTick) => {
            wait.timer_id.is_some() && message.timer() == wait.timer_id
        }
        (WaitKind::External, MessageKind::SystemTick) => {
            let mut hints = agent.hints.told_by(message.id);
            hints.any(|pending| pending.is_about(wait.id, wait.subject.as_deref()))
        }
        (
            WaitKind::External,
            MessageKind::ChannelEvent | MessageKind::WebhookEvent | MessageKind::CallbackEvent,
        ) => correlated(wait, message),
        (WaitKind::Task | WaitKind::External | WaitKind::Timer, _) => false,
    }
}

/// Whether an event from outside is about what is waited for: it names the wait, or its source or something that it
/// refers to is the subject; a wait without a subject is for what comes through the agent's own trigger.
fn correlated(wait: &Wait, message: &Message) -> bool {
    let about = |subject: &str| {
        message.origin.ids().into_iter().flatten().any(|id| id == subject)
            || message.source_refs.values().any(|value| value == subject)
    };
    let own_trigger = || message.admission_context == AdmissionContext::ExternalTriggerCapability;
    wait.is_named_by(message) || wait.subject.as_deref().map_or_else(own_trigger, about)
}

/// A turn takes a message: what waited for it waits no more.
pub(crate) fn taken(tx: &mut Tx<'_>, message_id: MessageId) {
    let Some(entry) = tx.agent().inbox.queued_entry(message_id) else { return };
    let waits: Vec<WaitId> = matched(tx.agent(), &entry.message).map(|wait| wait.id).collect();
    for wait_id in waits {
        tx.record(WaitResolved { wait_id, by: Resolution::Message { message_id } });
    }
}

/// The owner waits no more, if it did.
pub(crate) fn cancel(tx: &mut Tx<'_>, owner: Option<WorkItemId>, reason: WaitEnd) {
    let Some(wait) = tx.agent().wait_of(owner) else { return };
    let (wait_id, timer_id) = (wait.id, wait.timer_id);
    tx.record(WaitCancelled { wait_id, reason });
    let armed = |timer: &TimerId| tx.agent().timers.is_armed(*timer);
    if let Some(timer_id) = timer_id.filter(armed) {
        tx.record(TimerCancelled { timer_id });
    }
}
