//! May this agent run at all? Status, and what start, stop and abort answer (contract: agent.md, Lifecycle).

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, MessageId, OpId, RunId, TaskId};

names! {
    /// `stopped` is the only gate; the rest is posture that follows from facts.
    Status {
        Booting "booting", AwakeIdle "awake_idle", AwakeRunning "awake_running", Asleep "asleep",
        Stopped "stopped",
    }
}

names! { ControlAction { Start "start", Stop "stop", Abort "abort" } }

names! {
    /// The moment at which a decision was taken.
    Boundary {
        RunLoop "run_loop", RunLoopIdle "run_loop_idle", MessageProcessing "message_processing",
        IdleTick "idle_tick", Control "control", Bootstrap "bootstrap", Shutdown "shutdown",
        LifecycleSleep "lifecycle_sleep", MessageAdmission "message_admission",
    }
}

/// What a control request did, and what is left to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlOutcome {
    pub action: ControlAction,
    pub previous: Status,
    pub next: Status,
    /// Whether anything changed: starting a started agent and stopping a stopped one succeed without.
    pub changed: bool,
    /// Whether the agent is archived now.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub archived: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aborted_messages: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancelled_ops: Vec<OpId>,
    /// Tasks that are asked to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancelling_tasks: Vec<TaskId>,
    /// Sources of pending hints, and of hints that the aborted run was to deliver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_hints: Vec<String>,
    /// Tasks whose ends the aborted run was to deliver: the next start delivers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untold_tasks: Vec<TaskId>,
    /// Execution roots that others may write to from now on, those that its children alone held included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released_roots: Vec<String>,
    /// Execution roots in which a command of it or of its children is still to end: each is released then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopping_roots: Vec<String>,
    /// Children that are stopped with it, and theirs with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_children: Vec<AgentId>,
}
