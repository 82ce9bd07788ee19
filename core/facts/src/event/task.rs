//! The life of background tasks.

use alloc::boxed::Box;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use super::turn::FailureArtifact;
use crate::content::Text;
use crate::ids::{MessageId, OpId, RunId, TaskId};
use crate::outcome::InputTarget;
use crate::price::Amount;
use crate::task::{ChildEnd, Job, Need, TaskKind, TaskStatus, WaitPolicy};
use crate::time::Millis;
use crate::workspace::Retained;

family! {
    /// Creation, changes, results and input of tasks.
    TaskFact each task_id: TaskId {
        TaskCreated "task_created" v 1,
        TaskStatusUpdated "task_status_updated" v 1,
        TaskResultQueued "task_result_queued" v 1,
        TaskInputDelivered "task_input_delivered" v 1,
        ChildNeedNoted "child_need_noted" v 1,
        ChildNeedTold "child_need_told" v 1,
        ChildEnded "child_ended" v 1,
    }
}

/// A command goes on as a task, or an operator asked for one.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCreated {
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub cause: TaskOrigin,
    pub status: TaskStatus,
    /// The operation that brings it on, or to its end.
    pub op: Option<OpId>,
    pub run_id: Option<RunId>,
    pub parent_message_id: Option<MessageId>,
    pub summary: String,
    pub wait_policy: WaitPolicy,
    #[serde(flatten)]
    pub job: Job,
    /// The agent had begun the same before: that was no progress.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeated: bool,
}

names! {
    /// Why there is a task.
    TaskOrigin {
        /// Its command took longer than its call waits.
        Promoted "promoted_to_task",
        /// A start of the runtime found the command of an interrupted call alive.
        PromotedAtRecovery "promoted_at_recovery",
        /// The runtime shut down during the call.
        PromotedAtShutdown "promoted_at_shutdown",
        /// The agent was stopped during the call: its end is waited for.
        PromotedAtStop "promoted_at_stop",
        /// Its turn was aborted or took too long, and it is ended.
        PromotedAtTurnEnd "promoted_at_turn_end",
        /// An operator asked for it.
        Operator "operator",
        /// The agent has a child.
        Spawned "spawned",
    }
}

/// What is recorded about a task; `status` is what the task has now.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStatusUpdated {
    pub task_id: TaskId,
    pub previous: TaskStatus,
    pub status: TaskStatus,
    pub cause: TaskCause,
    /// Of a request to end it: at once.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub force: bool,
    pub exit_status: Option<i32>,
    pub duration_ms: Option<Millis>,
    /// Of an ended task, as its agent reads it.
    pub result: Option<Text>,
    pub failure_artifact: Option<FailureArtifact>,
    /// By a child that has ended, and all whom it supervised.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub spent: Amount,
    /// Why the worktree of a child is still there.
    pub worktree: Option<Retained>,
}

names! {
    TaskCause {
        /// Its supervisor has the word.
        Started "started",
        /// The command ended by itself, or the child had nothing left to do.
        Exited "exited",
        /// It was ended past its window.
        TimedOut "timed_out",
        /// Nothing was executed.
        NotStarted "not_started",
        AgentAsked "stop_by_agent", OperatorAsked "stop_by_operator", AgentStopped "agent_stopped",
        /// It had not ended in time after a request.
        GraceOver "grace_over",
        /// Everything that it had started was ended.
        Stopped "stopped",
        /// Nobody knows how it ended.
        Unproven "unproven",
    }
}

names! {
    /// Who asked for the end of a task.
    StopCause { Agent "agent", Operator "operator", Lifecycle "lifecycle" }
}

impl TaskCause {
    /// Who asks, when it is a request.
    pub fn stop(self) -> Option<StopCause> {
        match self {
            Self::AgentAsked => Some(StopCause::Agent),
            Self::OperatorAsked => Some(StopCause::Operator),
            Self::AgentStopped => Some(StopCause::Lifecycle),
            Self::Started
            | Self::Exited
            | Self::TimedOut
            | Self::NotStarted
            | Self::GraceOver
            | Self::Stopped
            | Self::Unproven => None,
        }
    }
}

/// The one message that informs the agent of the end of a task. A tick has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResultQueued {
    pub task_id: TaskId,
    pub message_id: MessageId,
    /// The agent ended it itself: the message needs no model.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub known: bool,
}

/// The child of a task can't go on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildNeedNoted {
    pub task_id: TaskId,
    pub need: Need,
}

/// The one message that informs the parent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildNeedTold {
    pub task_id: TaskId,
    pub message_id: MessageId,
}

/// A child with a worktree of its own has reported its end; its task ends when its changes were looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildEnded {
    pub task_id: TaskId,
    #[serde(flatten)]
    pub end: ChildEnd,
}

/// Text has reached the command, or is on its way to the child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskInputDelivered {
    pub task_id: TaskId,
    pub input_target: InputTarget,
    pub bytes_written: u64,
}

impl TaskFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::TaskCreated(fact) => fact.job.text().into_iter().for_each(visit),
            Self::TaskStatusUpdated(fact) => {
                fact.result.iter().for_each(&mut *visit);
                fact.failure_artifact.iter().for_each(|failure| visit(&failure.summary));
            }
            Self::ChildEnded(fact) => fact.end.result.iter().for_each(visit),
            Self::TaskResultQueued(_)
            | Self::TaskInputDelivered(_)
            | Self::ChildNeedNoted(_)
            | Self::ChildNeedTold(_) => {}
        }
    }
}
