//! What was decided, and the hold.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::budget::Budget;
use crate::closure::ClosureDecision;
use crate::continuation::ContinuationResolution;
use crate::ids::{MessageId, RunId};
use crate::time::{Millis, Wall};

/// A decision is recorded before what it leads to.
pub type SchedulerDecision = crate::decision::SchedulerDecision;

family! {
    /// Decisions, continuations, closures, holds.
    SchedulingFact {
        SchedulerDecision "scheduler_decision" v 1,
        ContinuationResolved "continuation_resolved" v 1,
        ClosureDecided "closure_decided" v 1,
        HoldSet "hold_set" v 1,
        HoldEnded "hold_ended" v 1,
        SelfTurnCounted "self_turn_counted" v 1,
        UnattendedTurnsExhausted "unattended_turns_exhausted" v 1,
        UnattendedTurnsRaised "unattended_turns_raised" v 1,
        SleepBegun "sleep_begun" v 1,
        SleepElapsed "sleep_elapsed" v 1,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuationResolved {
    pub message_id: MessageId,
    #[serde(flatten)]
    pub resolution: ContinuationResolution,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosureDecided {
    #[serde(flatten)]
    pub closure: ClosureDecision,
}

/// The agent waits for its providers, or for a budget.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldSet {
    pub cause: HoldCause,
    /// The run that met it.
    pub run_id: RunId,
    /// When it began.
    pub since: Wall,
    /// Number of the step on the ladder of waits, from 0.
    pub step: u32,
    /// Without one, the budget has to be raised.
    pub until: Option<Wall>,
    /// What is exhausted.
    pub budget: Option<Budget>,
    /// Providers of the chain that refused their key or login, or have none, each once: one that changes ends the hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<String>,
}

names! {
    HoldCause {
        Outage "outage", Quota "quota", Budget "budget",
        /// No provider of the chain accepts its key.
        Credentials "credentials",
    }
}

/// A turn succeeded, the agent was stopped, or what was in the way has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldEnded {
    pub since: Wall,
    pub reason: HoldEnd,
}

/// A turn that the agent caused itself brought nothing on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTurnCounted {
    pub run_id: RunId,
    /// Such turns in a row, since somebody outside sent something or a turn made progress.
    pub turns: u32,
    /// The next one waits for this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_until: Option<Wall>,
    /// The next one waits for somebody outside.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub self_hold: bool,
}

/// A day has had all the turns that the agent itself may cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnattendedTurnsExhausted {
    /// The last of them.
    pub run_id: RunId,
    pub turns: u32,
    pub until: Wall,
    /// Turns of that day that events from outside caused, which are counted apart. An earlier build counted all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside_turns: Option<u32>,
}

/// A start of the runtime found that a day may have more turns without an operator than it has had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnattendedTurnsRaised {
    pub turns_per_day: u32,
}

/// The agent chose to rest; its turn ends.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SleepBegun {
    pub run_id: RunId,
    /// Its obligations wait until then; without an end nothing but they end it.
    pub until: Option<Wall>,
    pub duration_ms: Option<Millis>,
    pub reason: Option<String>,
}

/// A sleep is over, and its agent is notified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SleepElapsed {
    pub message_id: MessageId,
    pub until: Wall,
}

names! {
    HoldEnd { TurnSucceeded "turn_succeeded", Stopped "stopped", BudgetRaised "budget_raised",
        Restarted "restarted", ModelChanged "model_changed",
        LoginChanged "login_changed" }
}
