//! Hints, and the trigger of one agent, by requests and records: the address in force, and the last delivery through it.

use holon_facts::event::WakeFact;
use holon_facts::hint::Hint;
use holon_facts::ids::ExternalTriggerId;
use holon_facts::trigger::{Delivery, TriggerChange};

use super::{Before, Reference, Reply, outside};
use crate::failure::{Failure, ensure};

impl Reference {
    pub(super) fn hint_is_taken(&self, before: &Before, hint: &Hint) -> Vec<Reply> {
        let Some(agent) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
        if self.draining {
            vec![Reply::Refused("draining")]
        } else if agent.stopped {
            vec![Reply::Refused("agent_stopped")]
        } else {
            vec![Reply::Woken { waits: agent.hints.contains_key(&hint.source) }]
        }
    }

    pub(super) fn is_delivered(&self, before: &Before, delivery: &Delivery) -> Vec<Reply> {
        match &before.agent {
            Some(agent) if !agent.trigger.takes(delivery.generation) => {
                vec![Reply::Refused("unknown_trigger")]
            }
            Some(agent) if !self.draining && !agent.stopped => {
                let hint =
                    Hint { external_trigger_id: Some(ExternalTriggerId::OF_AGENT), ..delivery.hint.clone() };
                let (now, source) = (self.time.now(), outside::source_of_hint(&hint));
                let turn = agent.unattended.needs_turn(&hint);
                match agent.others.refuses(now, &source, turn, &self.config.unattended) {
                    true => vec![Reply::Refused("too_many_events")],
                    false => self.hint_is_taken(before, &hint),
                }
            }
            Some(_) => self.hint_is_taken(before, &delivery.hint),
            None => self.hint_is_taken(before, &delivery.hint),
        }
    }
}

pub(super) fn is_changed(before: &Before, change: TriggerChange) -> Vec<Reply> {
    let Some(agent) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
    let (generation, active, changed) = agent.trigger.changed(change);
    vec![Reply::Trigger { generation, active, changed }]
}

#[derive(Debug, Clone, Default)]
pub(super) struct Trigger {
    generation: u64,
    active: bool,
    /// The last delivery of each source, the latest one at the end.
    last: Vec<Hint>,
}

impl Trigger {
    pub(super) fn takes(&self, generation: u64) -> bool {
        self.active && self.generation == generation
    }

    /// The answer to a change: generation, whether the trigger is in force, whether anything changed.
    pub(super) fn changed(&self, change: TriggerChange) -> (u64, bool, bool) {
        match change {
            TriggerChange::Rotate => (self.generation + 1, true, true),
            TriggerChange::Revoke => (self.generation, false, self.active),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    /// `is_named` says whether a wait names a hint by its token or its subject.
    pub(super) fn apply(&mut self, fact: &WakeFact, is_named: impl Fn(&Hint) -> bool) -> Result<(), Failure> {
        match fact {
            WakeFact::ExternalTriggerProvisioned(fact) => {
                (self.generation, self.active) = (fact.generation, true);
                Ok(())
            }
            WakeFact::ExternalTriggerRevoked(_) => {
                self.active = false;
                Ok(())
            }
            WakeFact::WakeHintRecorded(fact) => self.came(&fact.hint, is_named(&fact.hint)),
            WakeFact::WakeHintCoalesced(fact) => self.came(&fact.hint, is_named(&fact.hint)),
            _ => Ok(()),
        }
    }

    fn came(&mut self, hint: &Hint, is_named: bool) -> Result<(), Failure> {
        if hint.external_trigger_id.is_none() {
            return Ok(());
        }
        let before = self.last.iter().position(|last| last.source == hint.source);
        let before = before.map(|before| self.last.remove(before));
        let same = before.is_some_and(|before| alike(&before) == alike(hint));
        let again = same && hint.body.is_some() && !is_named;
        self.last.push(hint.clone());
        self.last.drain(..self.last.len().saturating_sub(64));
        ensure!(hint.repeats == again, "A5", "what {} says came again: {again}", hint.source);
        Ok(())
    }
}

/// What a delivery has in common with one that it repeats.
fn alike(hint: &Hint) -> impl PartialEq {
    let Hint { source, reason, description, resource, correlation_id, body, .. } = hint.clone();
    (source, reason, description, resource, correlation_id, body)
}
