//! What a sender must be answered: admitted, duplicate, or refused, and why.

use holon_facts::event::InboxFact;
use holon_facts::message::{Ingress, Message, Origin};
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority};
use holon_facts::{AgentId, Config, Event, MessageId, Record, Wall};

use super::agent::Model;
use super::{Reply, outside, tasks, work};

/// Most references of a message.
const SOURCE_REFS: usize = 16;
/// Longest name of a sender.
const NAME_BYTES: usize = 1_024;

/// The authority of a message, whatever its text claims.
pub(super) fn authority(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::OperatorPrompt => "operator_instruction",
        MessageKind::ChannelEvent => "external_evidence",
        MessageKind::WebhookEvent | MessageKind::CallbackEvent => "integration_signal",
        MessageKind::Control
        | MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult => "runtime_instruction",
    }
}

/// Entries and bytes of the queue that messages of this kind of sender may fill.
pub(super) fn bounds(config: &Config, operator: bool, own: bool) -> (u64, u64) {
    let factor = if own { 4 } else { 1 };
    let reserve = u64::from(!operator && !own);
    let entries = config.queue.entries.saturating_mul(factor) - reserve * config.queue.reserved_entries;
    let bytes = config.queue.bytes.saturating_mul(factor) - reserve * config.queue.reserved_bytes;
    (entries, bytes)
}

/// Whether a message is a notice that the runtime sends unasked.
pub(super) fn of_runtime(message: &Message) -> bool {
    tasks::is_notice(message) || work::is_notice(message)
}

/// The messages that a step has admitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct New {
    /// The message that was asked for.
    pub(super) asked: Option<MessageId>,
    /// Whether a notice of the runtime is among them.
    pub(super) of_runtime: bool,
}

impl New {
    pub(super) fn of(agent: &AgentId, records: &[Record]) -> Self {
        let own = records.iter().filter(|record| record.agent == *agent);
        let admitted = own.filter_map(|record| {
            let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event else { return None };
            Some(&fact.message)
        });
        let (runtime, asked): (Vec<&Message>, Vec<&Message>) =
            admitted.partition(|message| of_runtime(message));
        Self { asked: asked.first().map(|message| message.id), of_runtime: !runtime.is_empty() }
    }
}

/// The right answers, during a shutdown or not, at a time of the record. There is more than one only where the queue
/// shrank within the step.
pub(super) fn expected(
    config: &Config,
    at: (bool, Wall),
    before: &Model,
    new: New,
    ingress: &Ingress,
) -> Vec<Reply> {
    let mut right = Vec::new();
    if let Some(idempotency) = &ingress.idempotency {
        let known = before.keys.iter().find(|key| key.name == idempotency.key);
        if let Some(key) = known {
            right.push(if key.payload == idempotency.payload {
                Reply::Admitted { message: key.message, duplicate: true }
            } else {
                Reply::Refused("idempotency_conflict")
            });
            // An expired key may be new again; the admission's own check covers keys that must not be.
        }
    }
    right.extend(fresh(config, at, before, new, ingress));
    right
}

/// The answers to a message with a new key or none.
fn fresh(
    config: &Config,
    (draining, now): (bool, Wall),
    before: &Model,
    new: New,
    ingress: &Ingress,
) -> Vec<Reply> {
    let runtime = ingress.admission_context == AdmissionContext::RuntimeOwned;
    if draining && !runtime {
        return vec![Reply::Refused("draining")];
    }
    let refuses = config.while_stopped == holon_facts::config::WhileStopped::Refuse;
    if before.stopped && refuses && !runtime {
        return vec![Reply::Refused("agent_stopped")];
    }
    let operator = matches!(ingress.origin, Origin::Operator { .. });
    if (ingress.kind == MessageKind::OperatorPrompt) != operator || ingress.kind == MessageKind::Control {
        return vec![Reply::Refused("kind_from_origin")];
    }
    if ingress.priority == Priority::Interject && !operator {
        return vec![Reply::Refused("priority_from_origin")];
    }
    if ingress.source_refs.len() > SOURCE_REFS {
        return vec![Reply::Refused("too_many")];
    }
    if let Origin::Channel { channel_id, .. } = &ingress.origin
        && channel_id.len() > NAME_BYTES
    {
        return vec![Reply::Refused("too_large")];
    }
    let refs: usize = ingress.source_refs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if ingress.images.len() > 10 {
        return vec![Reply::Refused("too_many")];
    }
    let files: u64 = ingress.images.iter().map(|image| image.bytes).sum();
    let bytes = ingress.body.text.bytes().saturating_add(refs as u64);
    if ingress.skills.len() > if operator { 4 } else { 0 } {
        return vec![Reply::Refused("too_many")];
    }
    if files > 10_000_000 || bytes > config.queue.body_bytes {
        return vec![Reply::Refused("too_large")];
    }
    let source = outside::source(&ingress.origin).filter(|_| !runtime);
    if source.is_some_and(|source| before.others.refuses(now, &source, true, &config.unattended)) {
        return vec![Reply::Refused("too_many_events")];
    }
    let bytes = bytes + ingress.images.iter().map(|image| image.data.bytes()).sum::<u64>();
    let bytes = bytes + ingress.skills.iter().map(|skill| skill.body.bytes()).sum::<u64>();
    let (max_entries, max_bytes) = bounds(config, operator, runtime);
    let fits = |(entries, used): (u64, u64)| entries < max_entries && used.saturating_add(bytes) <= max_bytes;
    let admitted = |message| vec![Reply::Admitted { message, duplicate: false }];
    match (fits(before.beside(runtime)), new.asked) {
        (true, None) if new.of_runtime && runtime => vec![Reply::Refused("queue_full")],
        (true, asked) => admitted(asked.unwrap_or(MessageId(before.last + 1))),
        // Something may have ended at the beginning of the step.
        (false, Some(asked)) => admitted(asked),
        (false, None) => vec![Reply::Refused("queue_full")],
    }
}
