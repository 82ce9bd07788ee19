//! Calls of tools as they were understood, and the names of tools.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TaskId, TemplateId, WorkItemId};
use crate::model_ref::ModelRef;
use crate::provenance::Priority;
use crate::time::{Millis, Wall};
use crate::wait::WaitKind;
use crate::workspace::{WorkspaceId, WorkspaceMode};

/// What a tool is called: on record, in requests to models, and in what they ask for. Which tools there are is the
/// catalogue's business, so a record of a tool that a build does not know can be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ToolName(Cow<'static, str>);

impl ToolName {
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The name of a tool that no build knows.
    pub const fn owned(name: String) -> Self {
        Self(Cow::Owned(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a call changes nothing, although a performer executes it.
    pub fn only_reads(&self) -> bool {
        matches!(&*self.0, "ViewImage" | "MemorySearch" | "MemoryGet" | "ToolSearch")
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq<str> for ToolName {
    fn eq(&self, other: &str) -> bool {
        self.0 == *other
    }
}

/// Longest command in bytes; the kernel's own limit for one argument is 128 KiB.
pub const COMMAND_BYTES: usize = 100 * 1024;

/// Longest text for a task in bytes.
pub const INPUT_BYTES: usize = 64 * 1024;

/// Whether an equal running command replaces a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DuplicatePolicy {
    #[default]
    ReuseRunning,
    StartNew,
}

/// A call that registers a wait.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCall {
    pub reason: String,
    pub wake: Wake,
    pub work_item: Option<WorkItemId>,
    pub recheck_after: Option<Millis>,
}

/// What ends it, as it was understood.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "on", rename_all = "snake_case")]
#[schemars(rename = "WakeCall")]
pub enum Wake {
    Operator { subject: Option<String> },
    Task { task: TaskId },
    External { subject: Option<String> },
    After { duration: Millis },
    At { time: Wall },
}

impl Wake {
    pub fn kind(&self) -> WaitKind {
        match self {
            Self::Operator { .. } => WaitKind::Operator,
            Self::Task { .. } => WaitKind::Task,
            Self::External { .. } => WaitKind::External,
            Self::After { .. } | Self::At { .. } => WaitKind::Timer,
        }
    }

    /// The time of the clock that is waited for.
    pub fn time(&self) -> Option<Wall> {
        match self {
            Self::At { time } => Some(*time),
            Self::Operator { .. } | Self::Task { .. } | Self::External { .. } | Self::After { .. } => None,
        }
    }

    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Task { task } => Some(*task),
            Self::Operator { .. } | Self::External { .. } | Self::After { .. } | Self::At { .. } => None,
        }
    }

    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Operator { subject } | Self::External { subject } => subject.as_deref(),
            Self::Task { .. } | Self::After { .. } | Self::At { .. } => None,
        }
    }
}

/// Most bytes of what another agent is shown.
pub const MESSAGE_BYTES: usize = 16 * 1024;

/// Begin another agent.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    /// Required for a child.
    pub initial_message: Option<String>,
    #[serde(default)]
    #[schemars(description = "")]
    pub preset: SpawnPreset,
    /// Required for public_named, and only there.
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    #[schemars(description = "")]
    pub workspace_mode: WorkspaceMode,
    /// As provider/name; default: your own.
    pub model: Option<ModelRef>,
    /// The id of a role to begin with, like holon-reviewer.
    pub template: Option<TemplateId>,
}

/// What kind of agent a call begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpawnPreset {
    #[default]
    PrivateChild,
    PublicNamed,
}

/// Work in another folder.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseWorkspace {
    /// A folder; in a git repository its top is the execution root. Either path or workspace_id.
    pub path: Option<String>,
    /// One that you used before, or `agent_home`.
    pub workspace_id: Option<WorkspaceId>,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    #[schemars(description = "")]
    pub mode: WorkMode,
    /// Names the worktree; the same label returns to it.
    pub isolation_label: Option<String>,
    /// Where commands start, relative to the execution root.
    pub cwd: Option<String>,
}

names! {
    /// How an agent works in a folder.
    #[derive(Default)]
    WorkMode {
        #[default]
        Direct "direct",
        Isolated "isolated",
    }
}

/// Which work items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkFilter {
    #[default]
    All,
    Open,
    Completed,
    Current,
    Queued,
    Blocked,
    WaitingForOperator,
    Runnable,
}

/// Where a message to itself is queued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpPriority {
    Next,
    #[default]
    Normal,
    Background,
}

/// What an operator is to do about a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    #[default]
    Info,
    ActionRequired,
}

impl From<FollowUpPriority> for Priority {
    fn from(priority: FollowUpPriority) -> Self {
        match priority {
            FollowUpPriority::Next => Self::Next,
            FollowUpPriority::Normal => Self::Normal,
            FollowUpPriority::Background => Self::Background,
        }
    }
}
