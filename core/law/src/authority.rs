//! Laws about who may say what: authority is fixed at admission, and nothing that a model says adds to it.

use holon_facts::event::{Event, InboxFact, LifecycleFact, OutboxFact};
use holon_facts::message::{AuthorityClass, MessageKind, Origin, Priority, Trust};
use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

/// Speaks of steps in which a model or a tool has said something.
pub(super) fn t11(past: &Past, record: &Record) -> Checked {
    if past.promised.letter {
        let brought = matches!(&record.event, Event::Outbox(OutboxFact::LetterReceived(_)));
        return rule(brought && !past.begins_step(record), || {
            "a follow-up that no outbox message delivers, in a step with output of a model or a tool".into()
        });
    }
    if !past.promised.has_output || past.begins_step(record) {
        return Ok(false);
    }
    let acts = match &record.event {
        Event::Lifecycle(
            LifecycleFact::ControlRequestAdmitted(_)
            | LifecycleFact::ControlApplied(_)
            | LifecycleFact::CurrentRunAborted(_)
            | LifecycleFact::AgentCreated(_),
        ) => true,
        // What a start of the runtime finds may be the end of a call and of tasks: those report themselves. A timer
        // reports what has fired once its last tick is done with. To itself an agent may leave a message, by a call.
        Event::Inbox(InboxFact::MessageAdmitted(fact)) => match fact.message.kind {
            MessageKind::TaskResult | MessageKind::SystemTick | MessageKind::TimerTick => false,
            // What its supervisor says may have waited for the room that an answer makes; its letter comes along.
            MessageKind::InternalFollowup => !past.enqueues() && !past.is_of_supervisor(&fact.message),
            MessageKind::OperatorPrompt
            | MessageKind::Control
            | MessageKind::ChannelEvent
            | MessageKind::WebhookEvent
            | MessageKind::CallbackEvent
            | MessageKind::TaskStatus
            | MessageKind::BriefAck
            | MessageKind::BriefResult => true,
        },
        Event::Inbox(InboxFact::MessageDuplicate(_)) => true,
        _ => false,
    };
    rule(!acts, || format!("{} in a step with output of a model or a tool", record.event.kind()))
}

pub(super) fn a1(_: &Past, record: &Record) -> Checked {
    let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return Ok(false) };
    let message = &fact.message;
    let got = (message.trust, message.authority_class);
    let expected = standing(message.kind, &message.origin);
    rule(expected == Some(got), || {
        format!("a {} from {} has {got:?}, expected {expected:?}", message.kind, message.origin.name())
    })
}

/// What each kind may be, by its only origin.
fn standing(kind: MessageKind, origin: &Origin) -> Option<(Trust, AuthorityClass)> {
    let runtime = (Trust::TrustedSystem, AuthorityClass::RuntimeInstruction);
    let integration = (Trust::TrustedIntegration, AuthorityClass::IntegrationSignal);
    match (kind, origin) {
        (MessageKind::OperatorPrompt, Origin::Operator { .. }) => {
            Some((Trust::TrustedOperator, AuthorityClass::OperatorInstruction))
        }
        (MessageKind::ChannelEvent, Origin::Channel { .. }) => {
            Some((Trust::UntrustedExternal, AuthorityClass::ExternalEvidence))
        }
        (MessageKind::WebhookEvent, Origin::Webhook { .. })
        | (MessageKind::CallbackEvent, Origin::Callback { .. }) => Some(integration),
        (MessageKind::TimerTick, Origin::Timer { .. })
        | (MessageKind::TaskResult | MessageKind::TaskStatus, Origin::Task { .. })
        | (
            MessageKind::SystemTick
            | MessageKind::InternalFollowup
            | MessageKind::BriefAck
            | MessageKind::BriefResult,
            Origin::System { .. },
        ) => Some(runtime),
        (
            MessageKind::OperatorPrompt
            | MessageKind::Control
            | MessageKind::ChannelEvent
            | MessageKind::WebhookEvent
            | MessageKind::CallbackEvent
            | MessageKind::TimerTick
            | MessageKind::SystemTick
            | MessageKind::InternalFollowup
            | MessageKind::TaskResult
            | MessageKind::TaskStatus
            | MessageKind::BriefAck
            | MessageKind::BriefResult,
            Origin::Operator { .. }
            | Origin::Channel { .. }
            | Origin::Webhook { .. }
            | Origin::Callback { .. }
            | Origin::Timer { .. }
            | Origin::System { .. }
            | Origin::Task { .. },
        ) => None,
    }
}

pub(super) fn a4(_: &Past, record: &Record) -> Checked {
    let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return Ok(false) };
    let message = &fact.message;
    if message.priority != Priority::Interject {
        return Ok(false);
    }
    rule(message.authority_class == AuthorityClass::OperatorInstruction, || {
        format!("{} of class {} interjects", message.id, message.authority_class)
    })
}
