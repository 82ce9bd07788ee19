//! What a tool call came to: the text for the model, or an error in one shape.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{FollowUpPriority, SpawnAgent, ToolName, Urgency, UseWorkspace, WaitCall, WorkFilter};
use crate::content::{ContentId, Text, clip_middle};
use crate::ids::{AgentId, TaskId, WorkItemId};
use crate::image::Image;
use crate::template::AgentTemplate;
use crate::time::Millis;
use crate::work::{PlanStatus, Todo};

/// The one result of an accepted or refused call.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Success: what the model reads, already bounded by the performer.
    pub content: Option<Text>,
    pub error: Option<ToolError>,
    #[serde(default)]
    pub facts: ToolFacts,
    /// Images that the model is shown with the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// What happened, for the runtime's own use.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFacts {
    pub exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub truncated: bool,
    /// Paths relative to the execution root that `ApplyPatch` changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// Files of skills that a command which succeeded has named, without links; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skill_files: Vec<String>,
    /// The ended task whose result this shows: its own message need not show it again.
    pub shown_task: Option<TaskId>,
    /// What became of text for a task.
    pub input: Option<InputReceipt>,
    /// The turn ends after this round.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub ends_turn: bool,
    /// What the agent begins with that the call asks for.
    pub template: Option<Box<AgentTemplate>>,
    /// The name that was claimed for it.
    pub claimed: Option<AgentId>,
}

/// What became of text for a task (contract: tasks.md). A rejection is no error.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InputReceipt {
    pub accepted_input: bool,
    /// None where the task takes no input.
    pub input_target: Option<InputTarget>,
    pub bytes_written: u64,
    /// Why not all of it went in.
    pub problem: Option<String>,
}

/// A failure in the one shape of tools.md.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    pub kind: ToolErrorKind,
    pub message: Text,
    pub field: Option<String>,
    pub hint: Option<String>,
    pub retryable: bool,
    pub details: Option<Details>,
}

/// Longest message that the model reads, in characters.
pub const MESSAGE_CHARS: usize = 4_000;

/// Longest details that an error carries whole, in characters of JSON.
pub const DETAIL_CHARS: usize = 1_000;

/// How much of longer ones is shown.
const DETAIL_PREVIEW_CHARS: usize = 400;

/// Structured context of an error: one JSON value, small enough for a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Details(String);

impl Details {
    /// Keeps the value when it is small; otherwise its beginning, its length and its digest. What is no JSON
    /// is kept as a string.
    pub fn new(json: &str, digest: impl FnOnce() -> ContentId) -> Self {
        let chars = json.chars().count();
        if chars > DETAIL_CHARS {
            let preview: String = json.chars().take(DETAIL_PREVIEW_CHARS).collect();
            return Self(format!(
                r#"{{"preview":{},"chars":{chars},"digest":"{}"}}"#,
                quoted(&preview),
                digest()
            ));
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(json) {
            Ok(_) => Self(json.to_string()),
            Err(_) => Self(quoted(json)),
        }
    }

    pub fn json(&self) -> &str {
        &self.0
    }
}

names! {
    /// The kinds of tool errors (contract: tools.md).
    ToolErrorKind {
        InvalidToolInput "invalid_tool_input", UnknownTool "unknown_tool",
        ToolNotExposed "tool_not_exposed", ExecutionRootViolation "execution_root_violation",
        CommandSpawnFailed "command_spawn_failed", CommandTimedOut "command_timed_out",
        PatchRejected "patch_rejected", UnknownTask "unknown_task", UnknownWorkItem "unknown_work_item",
        UnknownAgent "unknown_agent", WorkspaceOccupied "workspace_occupied", LimitReached "limit_reached",
        MemorySourceNotFound "memory_source_not_found", TruncatedToolCall "truncated_tool_call", PolicyDenied "policy_denied",
        ToolExecutionFailed "tool_execution_failed", ToolServerUnavailable "tool_server_unavailable",
        Interrupted "interrupted",
    }
}

impl ToolErrorKind {
    /// Whether another call can be what this one was meant to be, as its hint says: a corrected one, or the same one later.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::InvalidToolInput
            | Self::UnknownTool
            | Self::ToolNotExposed
            | Self::ExecutionRootViolation
            | Self::CommandSpawnFailed
            | Self::CommandTimedOut
            | Self::PatchRejected
            | Self::UnknownTask
            | Self::UnknownWorkItem
            | Self::UnknownAgent
            | Self::WorkspaceOccupied
            | Self::LimitReached
            | Self::MemorySourceNotFound
            | Self::ToolServerUnavailable
            | Self::TruncatedToolCall => true,
            // What it was meant to do it may have done; the others are refused however they are put.
            Self::Interrupted | Self::ToolExecutionFailed | Self::PolicyDenied => false,
        }
    }
}

/// The core's verdict on a proposed call when the round arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted(ToolName),
    /// Accepted, and executed on what the core knows of the agent's tasks.
    OnTask(TaskCall),
    /// Accepted, and executed on the agent's work items.
    OnWork(WorkCall),
    /// Accepted, and executed on the agent itself.
    OnSelf(SelfCall),
    Refused(ToolError),
}

/// A call about the agent's tasks.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum TaskCall {
    List,
    Status {
        task: TaskId,
    },
    Output {
        task: TaskId,
        /// How long to wait for the end; none looks only.
        wait: Option<Millis>,
    },
    Input {
        task: TaskId,
        /// The message to a child.
        text: Option<String>,
    },
    Stop {
        task: TaskId,
        force: bool,
    },
}

/// A call about the agent itself.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum SelfCall {
    Enqueue {
        text: String,
        priority: FollowUpPriority,
    },
    Notify {
        message: String,
        urgency: Urgency,
    },
    Sleep {
        reason: Option<String>,
        /// None is without an end.
        duration: Option<Millis>,
    },
    Wait(WaitCall),
    Spawn(SpawnAgent),
    Workspace(UseWorkspace),
    Get {
        agent: Option<AgentId>,
    },
}

impl SelfCall {
    pub fn tool(&self) -> ToolName {
        ToolName::new(match self {
            Self::Enqueue { .. } => "Enqueue",
            Self::Notify { .. } => "NotifyOperator",
            Self::Sleep { .. } => "Sleep",
            Self::Wait(_) => "WaitFor",
            Self::Spawn(_) => "SpawnAgent",
            Self::Workspace(_) => "UseWorkspace",
            Self::Get { .. } => "AgentGet",
        })
    }
}

/// A call about the agent's work items.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum WorkCall {
    Create {
        objective: String,
        plan_status: PlanStatus,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        todo_list: Vec<Todo>,
        /// Whether the arguments have a plan for the item's file.
        #[serde(default, skip_serializing_if = "core::ops::Not::not")]
        plan: bool,
    },
    Pick {
        work_item: WorkItemId,
        reason: Option<String>,
        clear_blocker: bool,
    },
    Get {
        work_item: WorkItemId,
        todo_list: bool,
    },
    List {
        filter: WorkFilter,
        limit: u32,
        todo_list: bool,
    },
    Update {
        work_item: WorkItemId,
        objective: Option<String>,
        plan_status: Option<PlanStatus>,
        todo_list: Option<Vec<Todo>>,
        /// An empty text for nothing any more.
        blocked_by: Option<String>,
        /// Until the blocker is looked at again.
        recheck_after: Option<Millis>,
    },
    Complete {
        work_item: WorkItemId,
    },
}

impl WorkCall {
    pub fn tool(&self) -> ToolName {
        ToolName::new(match self {
            Self::Create { .. } => "CreateWorkItem",
            Self::Pick { .. } => "PickWorkItem",
            Self::Get { .. } => "GetWorkItem",
            Self::List { .. } => "ListWorkItems",
            Self::Update { .. } => "UpdateWorkItem",
            Self::Complete { .. } => "CompleteWorkItem",
        })
    }
}

impl TaskCall {
    pub fn tool(&self) -> ToolName {
        ToolName::new(match self {
            Self::List => "TaskList",
            Self::Status { .. } => "TaskStatus",
            Self::Output { .. } => "TaskOutput",
            Self::Input { .. } => "TaskInput",
            Self::Stop { .. } => "TaskStop",
        })
    }

    /// The task that it names.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::List => None,
            Self::Status { task }
            | Self::Output { task, .. }
            | Self::Input { task, .. }
            | Self::Stop { task, .. } => Some(*task),
        }
    }
}

impl Verdict {
    /// Whether executing it changes anything beyond what the model knows.
    pub fn has_effect(&self) -> bool {
        match self {
            Self::Accepted(tool) => !tool.only_reads(),
            Self::OnTask(call) => matches!(call, TaskCall::Input { .. } | TaskCall::Stop { .. }),
            Self::OnWork(call) => !matches!(call, WorkCall::Get { .. } | WorkCall::List { .. }),
            Self::OnSelf(call) => !matches!(call, SelfCall::Get { .. }),
            Self::Refused(_) => false,
        }
    }

    /// The tool of an accepted call.
    pub fn tool(&self) -> Option<ToolName> {
        match self {
            Self::Accepted(tool) => Some(tool.clone()),
            Self::OnTask(call) => Some(call.tool()),
            Self::OnWork(call) => Some(call.tool()),
            Self::OnSelf(call) => Some(call.tool()),
            Self::Refused(_) => None,
        }
    }
}

impl Receipt {
    pub fn success(content: Text, facts: ToolFacts) -> Self {
        Self { content: Some(content), error: None, facts, images: Vec::new() }
    }

    /// The same with images.
    #[must_use]
    pub fn showing(self, images: Vec<Image>) -> Self {
        Self { images, ..self }
    }

    pub fn failure(error: ToolError) -> Self {
        Self { content: None, error: Some(error), facts: ToolFacts::default(), images: Vec::new() }
    }

    /// Every text that the receipt names, images in their encoded form.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.words().chain(self.images.iter().map(|image| &image.data))
    }

    /// What the model reads of it.
    pub fn words(&self) -> impl Iterator<Item = &Text> {
        self.content.iter().chain(self.error.iter().map(|error| &error.message))
    }
}

impl ToolError {
    pub fn new(kind: ToolErrorKind, message: impl AsRef<str>) -> Self {
        let retryable = kind.is_retryable();
        Self { kind, message: Text::short(message), field: None, hint: None, retryable, details: None }
    }

    #[must_use]
    pub fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_string());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: &str) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The bounded JSON that the model reads. `message` is the resolved text of the error; of a long one the
    /// beginning and the end are shown.
    pub fn render(&self, tool_name: &str, message: &str) -> String {
        let mut json = format!(
            r#"{{"ok":false,"tool_name":{},"kind":"{}","message":{}"#,
            quoted(tool_name),
            self.kind,
            quoted(&clip_middle(message, MESSAGE_CHARS))
        );
        if let Some(hint) = &self.hint {
            json.push_str(&format!(r#","hint":{}"#, quoted(hint)));
        }
        if let Some(field) = &self.field {
            json.push_str(&format!(r#","field":{}"#, quoted(field)));
        }
        json.push_str(&format!(r#","retryable":{}"#, self.retryable));
        if let Some(details) = &self.details {
            json.push_str(&format!(r#","details":{}"#, details.json()));
        }
        json.push('}');
        json
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

names! { InputTarget { Stdin "stdin", Tty "tty", ChildFollowup "child_followup" } }

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rendered(error: &ToolError, message: &str) -> Value {
        serde_json::from_str(&error.render("ApplyPatch", message)).unwrap()
    }

    #[test]
    fn every_kind_is_read_back_from_the_envelope_and_from_a_record() {
        let contract = [
            "invalid_tool_input",
            "unknown_tool",
            "tool_not_exposed",
            "execution_root_violation",
            "command_spawn_failed",
            "command_timed_out",
            "patch_rejected",
            "unknown_task",
            "unknown_work_item",
            "unknown_agent",
            "workspace_occupied",
            "limit_reached",
            "memory_source_not_found",
            "truncated_tool_call",
            "policy_denied",
            "tool_execution_failed",
            "tool_server_unavailable",
            "interrupted",
        ];
        assert_eq!(ToolErrorKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>(), contract);
        for &kind in ToolErrorKind::ALL {
            let error = ToolError::new(kind, "no").hint("do something else");
            let envelope = json!({
                "ok": false, "tool_name": "ApplyPatch", "kind": kind.name(), "message": "no",
                "hint": "do something else", "retryable": kind.is_retryable(),
            });
            assert_eq!(rendered(&error, "no"), envelope);
            let record = serde_json::to_string(&error).unwrap();
            assert_eq!(serde_json::from_str::<ToolError>(&record).unwrap(), error);
        }
    }

    #[test]
    fn a_huge_error_is_shown_in_part() {
        let mut error = ToolError::new(ToolErrorKind::PatchRejected, "");
        error.details =
            Some(Details::new(&json!({"found": "\"x\"".repeat(1_000)}).to_string(), || ContentId([7; 32])));
        let message = format!("begins {} ends", "ä".repeat(100_000));
        let envelope = rendered(&error, &message);
        let shown = envelope["message"].as_str().unwrap();
        assert!(
            shown.starts_with("begins ä")
                && shown.ends_with("ä ends")
                && shown.contains("characters left out")
        );
        assert!(shown.chars().count() < MESSAGE_CHARS + 100);
        assert_eq!(envelope["details"]["digest"], "07".repeat(32));
        assert_eq!(envelope["details"]["preview"].as_str().unwrap().chars().count(), DETAIL_PREVIEW_CHARS);
        assert!(error.details.as_ref().unwrap().json().len() < 2 * DETAIL_CHARS);
    }

    #[test]
    fn small_details_are_a_part_of_the_envelope() {
        let mut error = ToolError::new(ToolErrorKind::PatchRejected, "no");
        error.details = Some(Details::new(r#"{"file":"a","hunk":2}"#, || unreachable!()));
        assert_eq!(rendered(&error, "no")["details"], json!({"file": "a", "hunk": 2}));
        error.details = Some(Details::new("{no json", || unreachable!()));
        assert_eq!(rendered(&error, "no")["details"], "{no json");
    }
}
