//! Wake hints, as they are sent and answered.

use holon_facts::AgentId;
use holon_facts::hint::WakeDisposition;
use holon_facts::ids::WaitId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::WEBHOOK_BYTES;

/// A wake hint: one message delivers all pending hints.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// Why it should look; at most 256 characters.
    #[schemars(length(min = 1, max = 256))]
    pub reason: String,
    /// The source of the hint; pending hints of one source are coalesced. `operator` by default.
    #[schemars(length(min = 1, max = 256))]
    pub source: Option<String>,
    #[schemars(length(max = 256))]
    pub description: Option<String>,
    /// Its subject.
    #[schemars(length(max = 256))]
    pub resource: Option<String>,
    /// The wait that it is for.
    pub wait_id: Option<WaitId>,
    /// The text for the model; without it, and unless a wait matches, the hint starts no turn. At most 256 KiB.
    #[schemars(length(max = WEBHOOK_BYTES))]
    pub body: Option<String>,
    #[schemars(length(max = 256))]
    pub content_type: Option<String>,
    #[schemars(length(max = 256))]
    pub correlation_id: Option<String>,
    #[schemars(length(max = 256))]
    pub causation_id: Option<String>,
}

/// What became of a hint. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Woken {
    pub ok: bool,
    pub agent_id: AgentId,
    pub disposition: WakeDisposition,
}
