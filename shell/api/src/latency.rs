//! Where the time of an agent's turns went.

use holon_core::latency::{LatencyQuantiles, TurnLatency};
use holon_facts::AgentId;
use holon_facts::ids::TurnIndex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which turns.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyQuery {
    /// This many of the newest turns, 1 to 1000; 10 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub last: Option<u32>,
    /// This turn alone.
    pub turn: Option<TurnIndex>,
}

/// Turns, the oldest first, and their parts over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    pub ok: bool,
    pub agent_id: AgentId,
    pub turns: Vec<TurnLatency>,
    /// Over the turns above that have ended.
    pub quantiles: LatencyQuantiles,
}
