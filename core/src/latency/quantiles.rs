//! Parts over many turns.

use alloc::vec::Vec;

use holon_facts::time::Millis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LatencyParts, TurnLatency};

/// How long something took, over many turns. Each value is one that there was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Half of them took no longer.
    pub p50: Millis,
    /// Nine of ten took no longer.
    pub p90: Millis,
    pub max: Millis,
}

/// Every part over turns that have ended, each by itself: the parts of a column don't add up to its total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyQuantiles {
    /// How many turns were counted.
    pub turns: u64,
    pub queue_wait_ms: Quantiles,
    pub context_build_ms: Quantiles,
    pub provider_ms: Quantiles,
    pub backoff_ms: Quantiles,
    pub tool_ms: Quantiles,
    pub settlement_ms: Quantiles,
    pub other_ms: Quantiles,
    pub total_ms: Quantiles,
}

impl LatencyQuantiles {
    /// Turns in progress are not counted.
    pub fn of(turns: &[TurnLatency]) -> Self {
        let ended: Vec<&TurnLatency> = turns.iter().filter(|turn| turn.end.is_some()).collect();
        let part =
            |one: fn(&LatencyParts) -> Millis| Quantiles::of(ended.iter().map(|turn| one(&turn.parts)));
        Self {
            turns: ended.len() as u64,
            queue_wait_ms: part(|parts| parts.queue_wait_ms),
            context_build_ms: part(|parts| parts.context_build_ms),
            provider_ms: part(|parts| parts.provider_ms),
            backoff_ms: part(|parts| parts.backoff_ms),
            tool_ms: part(|parts| parts.tool_ms),
            settlement_ms: part(|parts| parts.settlement_ms),
            other_ms: part(|parts| parts.other_ms),
            total_ms: Quantiles::of(ended.iter().map(|turn| turn.total_ms)),
        }
    }
}

impl Quantiles {
    /// By the nearest rank.
    pub fn of(values: impl Iterator<Item = Millis>) -> Self {
        let mut values: Vec<Millis> = values.collect();
        values.sort_unstable();
        let rank = |percent: usize| {
            let at = (values.len() * percent).div_ceil(100).saturating_sub(1);
            values.get(at).copied().unwrap_or_default()
        };
        Self { p50: rank(50), p90: rank(90), max: rank(100) }
    }
}
