//! A background task, as agents and operators see it (contract: tasks.md, Projections): the same shapes in the
//! results of tools and over HTTP.

use holon_core::agent::task::{StopRequest, Task};
use holon_core::effect::Retrieval;
use holon_core::summary::children::ChildObservability;
use holon_core::summary::supervision::ChildSupervision;
use holon_facts::event::turn::FailureArtifact;
use holon_facts::ids::{MessageId, TaskId};
use holon_facts::receipt::{InputReceipt, InputTarget};
use holon_facts::task::{TaskKind, TaskStatus, WaitPolicy};
use holon_facts::{AgentId, ContentId, Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a task, without its output.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSnapshot {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub created_at: Wall,
    pub updated_at: Wall,
    /// The message whose turn began it; none when an operator did.
    pub parent_message_id: Option<MessageId>,
    /// The start of its command, or of the child's first message.
    pub summary: String,
    pub wait_policy: WaitPolicy,
    /// Of a command.
    pub command: Option<CommandSnapshot>,
    /// Of a child.
    pub child_agent_id: Option<AgentId>,
    pub child_supervision: Option<ChildSupervision>,
    /// The state of the child, while it lives.
    pub child_observability: Option<ChildObservability>,
    /// The last request to end it.
    pub stop: Option<StopRequest>,
    pub exit_status: Option<i32>,
    pub duration_ms: Option<Millis>,
    pub failure_artifact: Option<FailureArtifact>,
    /// The message that delivers the end to its agent.
    pub result_message_id: Option<MessageId>,
}

/// What a command task executes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSnapshot {
    pub cmd: String,
    /// Equal commands have equal digests.
    pub cmd_digest: ContentId,
    pub workdir: String,
    pub shell: String,
    pub login: bool,
    pub tty: bool,
    pub accepts_input: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_target: Option<InputTarget>,
    /// Whether its result comes to its agent as a message.
    pub terminal_reentry: bool,
    pub output_path: String,
}

/// A task in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskLine {
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub summary: String,
    pub created_at: Wall,
    pub updated_at: Wall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
}

/// What became of text for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskInputResult {
    pub task: TaskLine,
    #[serde(flatten)]
    pub input: InputReceipt,
    pub summary_text: String,
}

/// `success`: an ended task whose output is final (contract: tasks.md, Projections).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOutputResult {
    pub retrieval_status: Retrieval,
    pub task: TaskResult,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResult {
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub summary: String,
    /// Of long output the beginning and the end.
    pub output_preview: String,
    pub output_truncated: bool,
    pub artifacts: Vec<Artifact>,
    /// The artifact with all of the output: its place among them.
    pub output_artifact: Option<usize>,
    /// Why what was kept is not all of the output.
    pub output_problem: Option<String>,
    /// The outcome of the task, in words.
    pub result_summary: Option<String>,
    pub exit_status: Option<i32>,
    pub failure_artifact: Option<FailureArtifact>,
    /// Of a child.
    pub child_supervision: Option<ChildSupervision>,
}

/// A file that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    pub path: String,
}

impl From<&Task> for TaskLine {
    fn from(task: &Task) -> Self {
        Self {
            task_id: task.id,
            kind: task.kind,
            status: task.status,
            summary: task.summary.clone(),
            created_at: task.created_at,
            updated_at: task.updated_at,
            exit_status: task.end.as_ref().and_then(|end| end.exit_status),
        }
    }
}
