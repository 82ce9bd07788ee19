//! What was decided, and the hold.

use alloc::boxed::Box;

use serde::{Deserialize, Serialize};

use super::family;
use crate::closure::ClosureDecision;
use crate::continuation::ContinuationResolution;
use crate::ids::{MessageId, RunId};
use crate::names::names;
use crate::time::Wall;

/// A decision is recorded before what it leads to.
pub type SchedulerDecision = crate::scheduler::SchedulerDecision;

family! {
    /// Decisions, continuations, closures, holds.
    SchedulingFact {
        SchedulerDecision "scheduler_decision" v 1,
        ContinuationResolved "continuation_resolved" v 1,
        ClosureDecided "closure_decided" v 1,
        HoldSet "hold_set" v 1,
        HoldEnded "hold_ended" v 1,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuationResolved {
    pub message_id: MessageId,
    #[serde(flatten)]
    pub resolution: ContinuationResolution,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosureDecided {
    #[serde(flatten)]
    pub closure: ClosureDecision,
}

/// The agent waits for its providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldSet {
    pub cause: HoldCause,
    /// The run that met the outage.
    pub run_id: RunId,
    /// When the outage began.
    pub since: Wall,
    /// Number of the step on the ladder of waits, from 0.
    pub step: u32,
    pub until: Wall,
}

names! { HoldCause { Outage "outage", Quota "quota" } }

/// A turn succeeded, or the agent was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldEnded {
    pub since: Wall,
    pub reason: HoldEnd,
}

names! { HoldEnd { TurnSucceeded "turn_succeeded", Stopped "stopped" } }
