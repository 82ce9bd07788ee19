//! What ends a wait: a message that it matches, in the transition in which a turn takes it; or its owner, who waits for
//! something else or is done.

use holon_facts::message::Message;
use holon_facts::provenance::{AdmissionContext, MessageKind};
use holon_facts::wait::WaitKind;

use crate::agent::Agent;
use crate::agent::wait::Wait;

/// The active waits that a message ends, those of items in order, then the agent's own.
pub(crate) fn matched<'a>(agent: &'a Agent, message: &'a Message) -> impl Iterator<Item = &'a Wait> {
    agent.active_waits().filter(move |wait| matches(agent, wait, message))
}

fn matches(agent: &Agent, wait: &Wait, message: &Message) -> bool {
    match (wait.kind, message.kind) {
        (WaitKind::Operator, _) => message.is_by_operator(),
        (WaitKind::Task, MessageKind::TaskResult | MessageKind::SystemTick) => {
            agent.tasks.delivered_by(message.id).any(|task| Some(task.id) == wait.task_id)
        }
        (WaitKind::Timer, MessageKind::TimerTick) => {
            wait.timer_id.is_some() && message.timer() == wait.timer_id
        }
        (WaitKind::External, MessageKind::SystemTick) => {
            let mut hints = agent.hints.delivered_by(message.id);
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
