//! The life of timers.

use alloc::boxed::Box;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::ids::{MessageId, TimerId, WaitId};
use crate::time::{Millis, Wall};
use crate::timer::{Misfire, TimerOwner};

family! {
    /// Creation, occurrences and ends of timers.
    TimerFact {
        TimerCreated "timer_created" v 1,
        TimerFired "timer_fired" v 1,
        TimerSkipped "timer_skipped" v 1,
        TimerTickQueued "timer_tick_queued" v 1,
        TimerCancelled "timer_cancelled" v 1,
    }
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerCreated {
    pub timer_id: TimerId,
    pub owner: TimerOwner,
    /// The wait that it ends.
    pub wait_id: Option<WaitId>,
    pub duration_ms: Millis,
    /// Of a repeating timer.
    pub interval_ms: Option<Millis>,
    pub misfire: Misfire,
    pub summary: Option<String>,
    pub next_fire_at: Wall,
    /// It is for this time of the clock: it does not move when the clock is set back.
    pub at: Option<Wall>,
}

/// One occurrence has come, or several at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerFired {
    pub timer_id: TimerId,
    /// Number of the first of them among all occurrences of the timer, from 1.
    pub occurrence: u64,
    pub occurrences: u64,
    /// When the first of them was due.
    pub due_at: Wall,
    /// By how much it comes after that.
    pub late_ms: Millis,
    /// None when it was the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Wall>,
}

/// Occurrences that were missed, and let go by the timer's policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerSkipped {
    pub timer_id: TimerId,
    /// Number of the first of them.
    pub occurrence: u64,
    pub occurrences: u64,
    /// When the first of them was due.
    pub due_at: Wall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Wall>,
}

/// The one message about everything that has fired since the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerTickQueued {
    pub timer_id: TimerId,
    pub message_id: MessageId,
    pub occurrences: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerCancelled {
    pub timer_id: TimerId,
}
