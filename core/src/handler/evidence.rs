//! What the runtime itself tells an agent: messages that come from nobody outside (contract: agent.md, Queue).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::ids::MessageId;
use holon_facts::message::{Body, Ingress, Message, Origin};
use holon_facts::provenance::{AdmissionContext, BodyType, MessageKind, Priority, Surface};

use crate::tx::Tx;

pub(crate) struct Evidence {
    pub(crate) kind: MessageKind,
    pub(crate) origin: Origin,
    pub(crate) priority: Priority,
    pub(crate) surface: Surface,
    pub(crate) text: Text,
}

/// Queues it; none when not even evidence has room. Then it stays owed.
pub(crate) fn admit(tx: &mut Tx<'_>, evidence: Evidence) -> Option<MessageId> {
    let Evidence { kind, origin, priority, surface, text } = evidence;
    let ingress = Ingress {
        kind,
        origin,
        priority,
        body: Body { kind: BodyType::Text, text },
        images: Vec::new(),
        skills: Vec::new(),
        metadata: None,
        source_refs: BTreeMap::new(),
        delivery_surface: surface,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        idempotency: None,
        deposit: None,
    };
    let message = Message::admit(tx.agent().next.message, tx.now(), ingress).ok()?;
    if !tx.agent().inbox.has_room(kind, message.bytes(), &tx.env.config.queue) {
        return None;
    }
    let message_id = message.id;
    tx.record(MessageAdmitted { message, idempotency: None, expired_keys: 0, deposit: None });
    Some(message_id)
}
