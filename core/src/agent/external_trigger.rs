//! The trigger of an agent (contract: work.md, External triggers): whoever has its address may wake the agent, and do
//! nothing else. The shell signs the address over the agent and a generation, and says which one a delivery was signed
//! with; which one is in force is known here.

use alloc::boxed::Box;

use holon_facts::event::wake::{
    ExternalTriggerDelivered, ExternalTriggerProvisioned, ExternalTriggerRevoked,
};
use holon_facts::hash::Fnv;
use holon_facts::hint::Hint;
use holon_facts::ids::{ExternalTriggerId, ReplyId};
use holon_facts::reject::Reject;
use holon_facts::time::Wall;
use holon_facts::trigger::{Delivery, DeliveryMode, TriggerChange, TriggerStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{admission, outside, wake};
use crate::effect::Answer;
use crate::host::tx::Tx;

const ID: ExternalTriggerId = ExternalTriggerId::OF_AGENT;

/// A trigger, as of its last change. Its address is nowhere on record: it follows from the generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTrigger {
    pub external_trigger_id: ExternalTriggerId,
    pub delivery_mode: DeliveryMode,
    pub status: TriggerStatus,
    /// Of its addresses, from 1: only the last one is in force.
    pub generation: u64,
    /// Since when that one is.
    pub created_at: Wall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Wall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_delivered_at: Option<Wall>,
    /// Of all generations together.
    pub delivery_count: u64,
}

impl ExternalTrigger {
    fn is_active(&self) -> bool {
        self.status == TriggerStatus::Active
    }

    /// With an address of its own, whatever the one before it was.
    pub(super) fn provisioned(before: Option<Self>, at: Wall, fact: &ExternalTriggerProvisioned) -> Self {
        Self {
            external_trigger_id: fact.external_trigger_id,
            delivery_mode: DeliveryMode::WakeHint,
            status: TriggerStatus::Active,
            generation: fact.generation,
            created_at: at,
            revoked_at: None,
            last_delivered_at: before.as_ref().and_then(|before| before.last_delivered_at),
            delivery_count: before.map_or(0, |before| before.delivery_count),
        }
    }

    pub(super) fn delivered(&mut self, at: Wall) {
        self.last_delivered_at = Some(at);
        self.delivery_count = self.delivery_count.saturating_add(1);
    }

    pub(super) fn revoked(&mut self, at: Wall) {
        (self.status, self.revoked_at) = (TriggerStatus::Revoked, Some(at));
    }
}

impl super::Agent {
    /// The generation whose address wakes the agent; none when it was revoked.
    pub fn trigger_generation(&self) -> Option<u64> {
        let active = self.external_trigger.as_ref().filter(|trigger| trigger.is_active());
        active.map(|trigger| trigger.generation)
    }
}

/// Every agent has a trigger from its beginning; one that an earlier build made, from its next start.
pub(crate) fn provision(tx: &mut Tx<'_>) {
    if tx.agent().external_trigger.is_none() {
        provide(tx, 1);
    }
}

fn provide(tx: &mut Tx<'_>, generation: u64) {
    tx.record(ExternalTriggerProvisioned { external_trigger_id: ID, generation });
}

/// Revoking what is revoked changes nothing.
pub(crate) fn change(tx: &mut Tx<'_>, change: TriggerChange, reply: ReplyId) {
    let active = tx.agent().trigger_generation();
    if let Some(generation) = active {
        tx.record(ExternalTriggerRevoked { external_trigger_id: ID, generation });
    }
    let rotates = change == TriggerChange::Rotate;
    if rotates {
        let last = tx.agent().external_trigger.as_ref().map_or(0, |trigger| trigger.generation);
        provide(tx, last.saturating_add(1));
    }
    let answer = match tx.agent().external_trigger.clone() {
        Some(trigger) => {
            Answer::ExternalTrigger { trigger: Box::new(trigger), changed: rotates || active.is_some() }
        }
        None => Answer::Refused { reject: Reject::UnknownTrigger },
    };
    tx.reply(reply, answer);
}

/// Takes in what was sent to an address, as a hint, or refuses it. An address that is not in force tells nothing.
pub(crate) fn deliver(tx: &mut Tx<'_>, delivery: Delivery, reply: ReplyId) {
    let Delivery { generation, delivery_mode, hint } = delivery;
    let unknown = tx.agent().trigger_generation() != Some(generation);
    let unknown = unknown.then_some(Reject::UnknownTrigger);
    let hint = Hint { external_trigger_id: Some(ID), wait_id: None, ..hint };
    let refused = unknown
        .or_else(|| admission::closed(tx))
        .or_else(|| wake::refusal(&hint))
        .or_else(|| outside::refuses_hint(tx, &hint));
    let answer = match refused {
        Some(reject) => Answer::Refused { reject },
        None => {
            let said = said(&hint);
            let repeats = tx.agent().hints.last_said() == Some(said);
            let (source, external_trigger_id) = (hint.source.clone(), ID);
            tx.record(ExternalTriggerDelivered {
                external_trigger_id,
                generation,
                delivery_mode,
                source,
                said,
            });
            let hint = Hint { repeats, ..hint };
            Answer::Woken { disposition: wake::take(tx, hint) }
        }
    };
    tx.reply(reply, answer);
}

/// Stands for the body of a hint.
pub(crate) fn said(hint: &Hint) -> u64 {
    hint.body.iter().fold(Fnv::START, |said, body| said.text(body)).0
}
