//! Background tasks as agents and operators see them (contract: tasks.md, Projections): the same shapes in the
//! results of tools and over HTTP.

mod output;

use holon_core::agent::task::child::ChildSupervision;
use holon_core::agent::task::{StopRequest, Task, TaskKind, TaskStatus, WaitPolicy};
use holon_core::event::turn::FailureArtifact;
use holon_core::ids::{MessageId, TaskId};
use holon_core::outcome::{CommandSpec, InputTarget};
use holon_core::tool::InputReceipt;
use holon_core::view::ChildObservability;
use holon_core::{AgentId, ContentId, Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

pub use output::{Artifact, OutputRequest, TaskOutputResult, TaskResult, output};

use crate::present;
use crate::text::Texts;

/// How a task stands, without its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSnapshot {
    pub task_id: TaskId,
    pub agent_id: AgentId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub created_at: Wall,
    pub updated_at: Wall,
    /// The message whose turn began it; none when an operator did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// The beginning of its command, or of what its child was told first.
    pub summary: String,
    pub wait_policy: WaitPolicy,
    /// Of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSnapshot>,
    /// Of a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_supervision: Option<ChildSupervision>,
    /// How the child stands, while it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_observability: Option<ChildObservability>,
    /// The last request to end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// The message that tells its agent of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

impl TaskSnapshot {
    /// The command whole, unless that is longer than `characters`.
    pub fn of(texts: &Texts, agent: &AgentId, task: &Task, characters: usize) -> Self {
        let end = task.end.as_ref();
        Self {
            task_id: task.id,
            agent_id: agent.clone(),
            kind: task.kind,
            status: task.status,
            created_at: task.created_at,
            updated_at: task.updated_at,
            parent_message_id: task.parent_message_id,
            summary: task.summary.clone(),
            wait_policy: task.wait_policy,
            command: task.command().map(|command| CommandSnapshot::of(texts, command, characters)),
            child_agent_id: task.child().map(|child| child.child_agent_id.clone()),
            child_supervision: ChildSupervision::of(agent, task),
            child_observability: None,
            stop: task.stop.clone(),
            exit_status: end.and_then(|end| end.exit_status),
            duration_ms: end.and_then(|end| end.duration_ms),
            failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
            result_message_id: end.and_then(|end| end.told_by),
        }
    }
}

impl CommandSnapshot {
    fn of(texts: &Texts, command: &CommandSpec, characters: usize) -> Self {
        let whole = texts.resolve(&command.cmd);
        let cmd = whole.map_or_else(|_| command.cmd.preview().to_owned(), |whole| whole.to_string());
        Self {
            cmd: holon_core::content::clip_middle(&cmd, characters),
            cmd_digest: command.cmd_digest,
            workdir: command.workdir.clone(),
            shell: command.shell.clone(),
            login: command.login,
            tty: command.tty,
            accepts_input: command.accepts_input,
            input_target: command.input_target(),
            terminal_reentry: true,
            output_path: command.output_path.clone(),
        }
    }
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

impl TaskInputResult {
    pub fn new(task: &Task, input: InputReceipt) -> Self {
        let summary_text = match (&input.problem, input.accepted_input) {
            (Some(problem), _) => format!("{} written: {problem}", present::bytes(input.bytes_written)),
            (None, true) => format!("{} written", present::bytes(input.bytes_written)),
            (None, false) => "nothing was written".to_owned(),
        };
        Self { task: task.into(), input, summary_text }
    }
}

/// Where the output of an agent's task goes.
pub fn log(agent_home: &Path, task: TaskId) -> PathBuf {
    outputs(agent_home).join(format!("{task}.log"))
}

/// Where the output of an agent's commands is kept.
pub fn outputs(agent_home: &Path) -> PathBuf {
    agent_home.join("task-output")
}
