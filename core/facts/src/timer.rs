//! Timers by their words: what misses do, whose they are.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// Shortest and longest duration or interval: a second, a hundred years.
pub const DURATION: (Millis, Millis) = (Millis::seconds(1), Millis::hours(876_600));

/// Longest summary, in bytes.
pub const SUMMARY_BYTES: usize = 200;

/// Most missed occurrences that fire at once.
pub const CAUGHT_UP: u64 = 100;

names! { TimerStatus { Active "active", Completed "completed", Cancelled "cancelled" } }

names! {
    /// What becomes of several occurrences that were missed. One that is merely late always fires.
    Misfire {
        /// The last of them fires, late.
        Once "once",
        /// None of them fires.
        Skip "skip",
        /// Each fires, but at most the last [`CAUGHT_UP`].
        All "all",
    }
}

names! { TimerOwner { Operator "operator", Wait "wait" } }

/// What whoever makes a timer asks for.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerSpec {
    /// Until the first occurrence.
    pub duration_ms: Millis,
    /// Between further ones; without, there is one occurrence.
    pub interval_ms: Option<Millis>,
    pub misfire: Misfire,
    pub summary: Option<String>,
}
