//! Provisions, changes and serves the trigger of an agent (contract: work.md, External triggers).

use alloc::boxed::Box;

use holon_facts::event::wake::{
    ExternalTriggerDelivered, ExternalTriggerProvisioned, ExternalTriggerRevoked,
};
use holon_facts::hint::Hint;
use holon_facts::ids::{ExternalTriggerId, ReplyId};
use holon_facts::reject::Reject;
use holon_facts::trigger::{self, Delivery, TriggerChange};

use crate::agent::Agent;
use crate::effect::Answer;
use crate::handler::{admission, outside, wake};
use crate::tx::Tx;

const ID: ExternalTriggerId = ExternalTriggerId::OF_AGENT;

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
            let (said, digest) = (trigger::body_digest(&hint), trigger::digest(&hint));
            let repeats = repeats(tx.agent(), &hint, digest);
            let (source, external_trigger_id) = (hint.source.clone(), ID);
            tx.record(ExternalTriggerDelivered {
                external_trigger_id,
                generation,
                delivery_mode,
                source,
                said,
                digest: Some(digest),
            });
            let hint = Hint { repeats, ..hint };
            Answer::Woken { disposition: wake::take(tx, hint) }
        }
    };
    tx.reply(reply, answer);
}

/// Whether the agent may have sent it itself: it is the same as the last one of its source. One that brings nothing but
/// itself, or what somebody waits for by name, is never taken for that.
fn repeats(agent: &Agent, hint: &Hint, digest: u64) -> bool {
    let again = agent.hints.last_delivery(&hint.source) == Some(digest);
    again && hint.body.is_some() && !agent.ends_named_wait(hint)
}
