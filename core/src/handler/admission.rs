//! Admission: refuse first, then normalise once, then record (contract: agent.md, Messages and Queue).

use holon_facts::config::WhileStopped;
use holon_facts::event::inbox::{MessageAdmitted, MessageDuplicate};
use holon_facts::ids::{MessageId, ReplyId};
use holon_facts::lifecycle::Status;
use holon_facts::message::{Ingress, Message};
use holon_facts::provenance::AdmissionContext;
use holon_facts::reject::Reject;

use crate::agent::keys::Seen;
use crate::effect::Answer;
use crate::handler::outside;
use crate::tx::Tx;

/// Admits or refuses, and answers the caller.
pub(crate) fn admit(tx: &mut Tx<'_>, ingress: Ingress, reply: ReplyId) {
    let answer = match decide(tx, ingress) {
        Ok(Admission::New(fact)) => {
            let message_id = fact.message.id;
            tx.record(*fact);
            Answer::Admitted { message_id, duplicate: false }
        }
        Ok(Admission::Known(message_id)) => {
            tx.record(MessageDuplicate { message_id });
            Answer::Admitted { message_id, duplicate: true }
        }
        Err(reject) => Answer::Refused { reject },
    };
    tx.reply(reply, answer);
}

/// Why an operator can begin nothing new here: the runtime drains, or the agent is stopped.
pub(crate) fn closed(tx: &Tx<'_>) -> Option<Reject> {
    if tx.env.host.draining {
        Some(Reject::Draining)
    } else if tx.agent().status == Status::Stopped {
        Some(Reject::AgentStopped { agent: tx.agent().id.clone() })
    } else {
        None
    }
}

enum Admission {
    New(alloc::boxed::Box<MessageAdmitted>),
    Known(MessageId),
}

fn decide(tx: &Tx<'_>, ingress: Ingress) -> Result<Admission, Reject> {
    let agent = tx.agent();
    let limits = &tx.env.config.queue;
    if let Some(idempotency) = &ingress.idempotency {
        match agent.inbox.keys().seen(idempotency, tx.now(), limits) {
            Seen::SamePayload(message_id) => return Ok(Admission::Known(message_id)),
            Seen::OtherPayload(message_id) => return Err(Reject::IdempotencyConflict { message_id }),
            Seen::Never => {}
        }
    }
    let runtime_owned = ingress.admission_context == AdmissionContext::RuntimeOwned;
    if tx.env.host.draining && !runtime_owned {
        return Err(Reject::Draining);
    }
    let stopped = agent.status == Status::Stopped && tx.env.config.while_stopped == WhileStopped::Refuse;
    if stopped && !runtime_owned {
        return Err(Reject::AgentStopped { agent: agent.id.clone() });
    }
    let (idempotency, deposit) = (ingress.idempotency.clone(), ingress.deposit);
    let message = Message::admit(agent.next.message, tx.now(), ingress)?;
    let bytes = message.body_bytes();
    if bytes > limits.body_bytes {
        return Err(Reject::TooLarge { what: "the message".into(), bytes, limit: limits.body_bytes });
    }
    let bytes = message.bytes();
    if !runtime_owned && let Some(reject) = outside::refuses(tx, &message.origin) {
        return Err(reject);
    }
    if !agent.inbox.has_room(message.kind, bytes, limits) {
        let (entries, bytes) = agent.inbox.totals();
        return Err(Reject::QueueFull { agent: agent.id.clone(), entries, bytes });
    }
    let expired_keys = if idempotency.is_some() { agent.inbox.keys().expired(tx.now(), limits) } else { 0 };
    Ok(Admission::New(MessageAdmitted { message, idempotency, expired_keys, deposit }.into()))
}
