//! What happened to the agent as a whole.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::identity::AgentSpec;
use crate::ids::{AgentId, MessageId, OpId, RunId, TaskId};
use crate::label::AgentLabel;
use crate::lifecycle::{Boundary, ControlAction, Status};
use crate::made::Made;
use crate::message::Idempotency;
use crate::model::ModelRef;
use crate::task::TaskStatus;
use crate::terminal::TurnReason;
use crate::time::Wall;

family! {
    /// Creation, control, posture and recovery.
    LifecycleFact {
        AgentCreated "agent_created" v 1,
        ControlRequestAdmitted "control_request_admitted" v 1,
        ControlApplied "control_applied" v 1,
        SchedulerPostureDecision "scheduler_posture_decision" v 1,
        CurrentRunAborted "current_run_aborted" v 1,
        RuntimeRecovered "runtime_recovered" v 1,
        ClockStepped "clock_stepped" v 1,
        ModelOverrideChanged "model_override_changed" v 1,
        AgentRetired "agent_retired" v 1,
        AgentArchived "agent_archived" v 1,
        AgentLabelled "agent_labelled" v 1,
        RequestKeyed "request_keyed" v 1,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCreated {
    pub spec: AgentSpec,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlRequestAdmitted {
    pub action: ControlAction,
    pub previous: Status,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlApplied {
    pub action: ControlAction,
    pub previous: Status,
    pub next: Status,
    pub boundary: Boundary,
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
    /// Execution roots that it and its children hold no more. Earlier builds left this out, and gave as `previous` what the
    /// end of the run had left.
    pub released_roots: Option<Vec<String>>,
    /// Execution roots in which a command is still to end: each is released then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopping_roots: Vec<String>,
    /// Children that are stopped with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stopped_children: Vec<AgentId>,
}

/// A change of posture, before what it is due to: a turn that begins or ends, falling asleep, being stopped or started.
/// Earlier builds recorded none for turns, whose first and last fact change the posture by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerPostureDecision {
    pub previous: Status,
    pub next: Status,
    pub boundary: Boundary,
    /// The deadline that is expected to wake the agent, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes_at: Option<Wall>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CurrentRunAborted {
    pub run_id: RunId,
    pub message_id: MessageId,
    pub reason: TurnReason,
}

/// A start of the runtime found the agent with open work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeRecovered {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_ops: Vec<OpId>,
}

/// The wall clock went back by more than an hour, and recorded time follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStepped {
    /// The time of the record before.
    pub from: Wall,
    pub to: Wall,
    /// What the clock would show without the step; waits move by the difference. Earlier builds did not record it: there
    /// they move from `from` to `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Wall>,
}

impl ClockStepped {
    /// Whence waits move to `to`.
    pub fn expected(&self) -> Wall {
        self.expected.unwrap_or(self.from)
    }
}

/// An operator gave the agent another primary model, from its next turn on; none is the runtime's own.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelOverrideChanged {
    pub previous: Option<ModelRef>,
    pub model: Option<ModelRef>,
}

/// A child has come to its end; what it still has is being ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRetired {
    pub status: TaskStatus,
}

/// Nothing of a child is left but its log: it is read, and never runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentArchived {
    /// How it has ended.
    pub status: TaskStatus,
}

/// An operator renamed, described or archived the agent, or brought it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLabelled {
    pub previous: AgentLabel,
    pub label: AgentLabel,
}

/// An operator's request under an idempotency key has made something: the same request again makes nothing new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestKeyed {
    pub idempotency: Idempotency,
    pub made: Made,
    /// Oldest keys of such requests that are let go with this one.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub expired_keys: u32,
}
