//! Timers, as they are asked for and shown.

use holon_core::agent::timer::Timer;
use holon_facts::ids::TimerId;
use holon_facts::timer::{Misfire, SUMMARY_BYTES, TimerOwner, TimerStatus};
use holon_facts::{AgentId, Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::optional_word;

/// Which timers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimersQuery {
    /// Only timers that stand like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TimerStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timers {
    pub ok: bool,
    /// Those that will fire and those that ended lately, the newest first.
    pub timers: Vec<TimerSnapshot>,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerSnapshot {
    pub timer_id: TimerId,
    pub agent_id: AgentId,
    pub owner: TimerOwner,
    pub status: TimerStatus,
    pub created_at: Wall,
    /// Until the first occurrence.
    pub duration_ms: Millis,
    pub repeat: bool,
    /// Between further occurrences.
    pub interval_ms: Option<Millis>,
    pub misfire: Misfire,
    pub summary: Option<String>,
    pub next_fire_at: Option<Wall>,
    pub last_fired_at: Option<Wall>,
    /// Occurrences that have fired.
    pub fire_count: u64,
    /// Occurrences that were missed and let go.
    pub skip_count: u64,
}

impl TimerSnapshot {
    pub fn of(agent: &AgentId, timer: &Timer) -> Self {
        Self {
            timer_id: timer.id,
            agent_id: agent.clone(),
            owner: timer.owner,
            status: timer.status,
            created_at: timer.created_at,
            duration_ms: timer.duration_ms,
            repeat: timer.repeats(),
            interval_ms: timer.interval_ms,
            misfire: timer.misfire,
            summary: timer.summary.clone(),
            next_fire_at: timer.next_fire_at,
            last_fired_at: timer.last_fired_at,
            fire_count: timer.fire_count,
            skip_count: timer.occurrence.saturating_sub(timer.fire_count),
        }
    }
}

/// A new timer.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTimer {
    /// Until the first occurrence; a second to a hundred years.
    #[schemars(range(min = 1_000, max = 3_155_760_000_000_u64))]
    pub duration_ms: u64,
    /// Between further occurrences, within the same bounds; without it, there is one occurrence.
    #[schemars(range(min = 1_000, max = 3_155_760_000_000_u64))]
    pub interval_ms: Option<u64>,
    /// What becomes of several occurrences that were missed; `once` by default.
    #[serde(default, deserialize_with = "optional_word")]
    pub misfire: Option<Misfire>,
    /// The text that is delivered when it fires; at most 200 bytes.
    #[schemars(length(max = SUMMARY_BYTES))]
    pub summary: Option<String>,
}

/// A timer after a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether the request changed anything.
    pub changed: bool,
    pub timer: TimerSnapshot,
}
