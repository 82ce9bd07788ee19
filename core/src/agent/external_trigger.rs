//! The trigger of an agent (contract: work.md, External triggers): whoever has its address may wake the agent, and do
//! nothing else. The shell signs the address over the agent and a generation, and says which one a delivery was signed
//! with; which one is in force is known here.

use holon_facts::event::wake::ExternalTriggerProvisioned;
use holon_facts::ids::ExternalTriggerId;
use holon_facts::time::Wall;
use holon_facts::trigger::{DeliveryMode, TriggerStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trigger, as of its last change. Its address is nowhere on record: it follows from the generation.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalTrigger {
    pub external_trigger_id: ExternalTriggerId,
    pub delivery_mode: DeliveryMode,
    pub status: TriggerStatus,
    /// Of its addresses, from 1: only the last one is in force.
    pub generation: u64,
    /// Since when that one is.
    pub created_at: Wall,
    pub revoked_at: Option<Wall>,
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
