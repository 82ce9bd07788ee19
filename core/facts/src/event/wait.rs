//! The life of waits, and of the rechecks that keep them and blockers from being forgotten.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::ids::{MessageId, RoundIndex, RunId, TaskId, TimerId, WaitId, WorkItemId};
use crate::time::{Millis, Wall};
use crate::wait::WaitKind;

family! {
    /// What agents wait for, and when they look again.
    WaitFact {
        WaitRegistered "wait_registered" v 1,
        WaitResolved "wait_resolved" v 1,
        WaitCancelled "wait_cancelled" v 1,
        WorkItemRecheckDue "work_item_recheck_due" v 1,
        RecheckGivenUp "recheck_given_up" v 1,
    }
}

/// An agent waits for something, for a work item or for itself.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitRegistered {
    pub wait_id: WaitId,
    /// The owner; none is the agent.
    pub work_item_id: Option<WorkItemId>,
    pub kind: WaitKind,
    /// In the agent's own words.
    pub waiting_for: String,
    /// What an external event has to be about.
    pub subject: Option<String>,
    /// Of an external wait: whoever names it ends the wait.
    pub token: Option<String>,
    pub task_id: Option<TaskId>,
    pub timer_id: Option<TimerId>,
    pub recheck_after_ms: Option<Millis>,
    pub run_id: RunId,
    pub round: RoundIndex,
}

/// What was waited for has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitResolved {
    pub wait_id: WaitId,
    #[serde(flatten)]
    pub by: Resolution,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Resolution {
    /// A turn takes the message that reports it.
    Message { message_id: MessageId },
    /// The task has already ended, and its result is not delivered yet.
    TaskResultQueued,
}

/// Nobody waits any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCancelled {
    pub wait_id: WaitId,
    pub reason: WaitEnd,
}

names! {
    WaitEnd {
        /// Its owner waits for something else.
        Replaced "replaced",
        ItemCompleted "item_completed",
        /// An operator cancelled its timer.
        TimerCancelled "timer_cancelled",
    }
}

/// The one message that names the blockers and waits that the agent looks at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemRecheckDue {
    pub message_id: MessageId,
    /// The agent's own wait last; at least one.
    pub due: Vec<Rechecked>,
}

/// What is looked at, and when again unless it has changed by then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rechecked {
    /// None is the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// So many times in a row, this one included.
    pub count: u32,
    pub next_at: Wall,
}

/// As many rechecks as there may be have changed nothing: an operator has to look.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecheckGivenUp {
    /// None is the agent itself.
    pub work_item_id: Option<WorkItemId>,
    /// The wait that stays, for an operator to act.
    pub wait_id: Option<WaitId>,
    pub run_id: RunId,
}
