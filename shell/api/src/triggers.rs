//! Triggers, as they are shown, and deliveries to their addresses.

use holon_core::agent::external_trigger::ExternalTrigger;
use holon_facts::AgentId;
use holon_facts::hint::WakeDisposition;
use holon_facts::ids::{DepositId, ExternalTriggerId};
use holon_facts::trigger::DeliveryMode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A trigger with its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerSnapshot {
    #[serde(flatten)]
    pub trigger: ExternalTrigger,
    pub target_agent_id: AgentId,
    /// Where a POST wakes the agent: everybody with the address may do that. None when it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Triggers {
    pub ok: bool,
    /// Each agent has one.
    pub triggers: Vec<TriggerSnapshot>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether the request changed anything.
    pub changed: bool,
    pub trigger: TriggerSnapshot,
}

/// What a delivery is about. Its body is whatever it sends: JSON, text or bytes, at most 256 KiB.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryQuery {
    /// The source of the hint; pending hints of one source are coalesced. `external_trigger` by default.
    #[schemars(length(min = 1, max = 256))]
    pub source: Option<String>,
    /// Why the agent should look.
    #[schemars(length(min = 1, max = 256))]
    pub reason: Option<String>,
    #[schemars(length(max = 256))]
    pub description: Option<String>,
    /// Its subject.
    #[schemars(length(max = 256))]
    pub resource: Option<String>,
    #[schemars(length(max = 256))]
    pub correlation_id: Option<String>,
    #[schemars(length(max = 256))]
    pub causation_id: Option<String>,
}

/// A request that is kept: no node owned its agent at that moment. The next owner carries it out, or refuses it, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deposited {
    pub ok: bool,
    pub disposition: DepositDisposition,
    pub deposit: DepositId,
}

/// What is known of a request that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepositDisposition {
    WillBeJudged,
}

/// What became of a delivery. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivered {
    pub ok: bool,
    pub external_trigger_id: ExternalTriggerId,
    pub disposition: WakeDisposition,
    /// What was done with it.
    pub delivery_mode: DeliveryMode,
    /// The address promised something else than that: use `/callbacks/wake/`.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub deprecated: bool,
}
