//! Every refusal the core gives a caller: what was attempted, what stands against it, what to do next.

use alloc::boxed::Box;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::allowance::Allowance;
use crate::ids::{AgentId, BriefId, MessageId, RunId, TaskId, TimerId, WorkItemId};
use crate::made::Made;
use crate::provenance::{MessageKind, Priority};
use crate::receipt::ToolError;
use crate::time::{Millis, Wall};
use crate::workspace::WorkspaceId;

/// A request that changed nothing. `code` is stable; `hint` names the next step where there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Reject {
    #[error("there is no agent {agent}")]
    UnknownAgent { agent: AgentId },
    #[error("the agent {agent} exists already")]
    AgentExists { agent: AgentId },
    #[error("the agent {agent} is stopped and takes no new input")]
    AgentStopped { agent: AgentId },
    #[error("the agent {agent} has ended and is kept for reading")]
    AgentArchived { agent: AgentId },
    #[error("the agent {agent} is a child of {parent}, which is its operator")]
    PrivateAgent { agent: AgentId, parent: AgentId, task: TaskId },
    #[error("{agent} is a name for children of agents: one with \"--\" is given by the runtime")]
    ReservedAgentId { agent: AgentId },
    #[error("the name {name} belongs to the agent {agent}")]
    NameTaken { name: AgentId, agent: AgentId },
    #[error("the runtime is shutting down and takes no new input")]
    Draining,
    #[error("the queue of {agent} is full: {entries} entries, {bytes} bytes")]
    QueueFull { agent: AgentId, entries: u64, bytes: u64 },
    #[error("{agent} takes no further event of {event_source} before {retry_at}: {}", allowance.used(*limit))]
    TooManyEvents {
        agent: AgentId,
        event_source: String,
        allowance: Allowance,
        limit: u32,
        retry_at: Wall,
        retry_after_ms: Millis,
    },
    #[error("the idempotency key was used before with another payload, for {message_id}")]
    IdempotencyConflict { message_id: MessageId },
    #[error("the idempotency key was used before with another request, which has made {made}")]
    KeyTaken { made: Made },
    #[error("the request with this idempotency key was carried out before: {made} is kept no more")]
    KeySpent { made: Made },
    #[error("a message of kind {kind} can't come from origin {origin}")]
    KindFromOrigin { kind: MessageKind, origin: KnownOrigin },
    #[error("origin {origin} can't send with priority {priority}")]
    PriorityFromOrigin { priority: Priority, origin: KnownOrigin },
    #[error("{what} is {bytes} bytes, the limit is {limit}")]
    TooLarge { what: String, bytes: u64, limit: u64 },
    #[error("{count} {what} are more than the limit of {limit}")]
    TooMany { what: String, count: u64, limit: u64 },
    #[error("{run_id} is not the run in progress ({current})")]
    StaleRunId { run_id: RunId, current: RunId },
    #[error("no run is in progress")]
    NoCurrentRun,
    #[error("the runtime holds {limit} agents already")]
    TooManyAgents { limit: u64 },
    #[error("there is no task {task}, or it ended long ago")]
    UnknownTask { task: TaskId },
    #[error("{brief} is no open ask of {agent}")]
    UnknownAsk { agent: AgentId, brief: BriefId },
    #[error("there is no timer {timer}, or it ended long ago")]
    UnknownTimer { timer: TimerId },
    #[error("there is no work item {work_item}, or it was completed long ago")]
    UnknownWorkItem { work_item: WorkItemId },
    #[error("no workspace {workspace} is attached to {agent}")]
    UnknownWorkspace { agent: AgentId, workspace: WorkspaceId },
    #[error("{agent} {} {workspace}", if workspace.is_agent_home() { "keeps" } else { "works in" })]
    WorkspaceActive { agent: AgentId, workspace: WorkspaceId },
    /// What else there is, only who has its address is told.
    #[error("there is no such trigger")]
    UnknownTrigger,
    #[error("{what} is {value}, and must be {least} to {most}")]
    OutOfRange { field: String, what: String, value: u64, least: u64, most: u64 },
    #[error("{}", error.message.preview())]
    CommandRefused { error: Box<ToolError> },
}

/// The name of an origin, as in [`crate::message::Origin::name`].
pub type KnownOrigin = alloc::borrow::Cow<'static, str>;

macro_rules! codes {
    ($($($name:ident)|+ $code:literal)*) => {
        impl Reject {
            /// Every code that there is.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// The stable code, as it stands in replies and exit codes.
            pub fn code(&self) -> &'static str {
                match self { $($(Self::$name { .. })|+ => $code),* }
            }
        }
    };
}

codes! {
    UnknownAgent "unknown_agent"
    AgentExists "agent_exists"
    AgentStopped "agent_stopped"
    AgentArchived "agent_archived"
    PrivateAgent "private_agent"
    ReservedAgentId "reserved_agent_id"
    NameTaken "name_taken"
    Draining "draining"
    QueueFull "queue_full"
    TooManyEvents "too_many_events"
    IdempotencyConflict | KeyTaken | KeySpent "idempotency_conflict"
    KindFromOrigin "kind_from_origin"
    PriorityFromOrigin "priority_from_origin"
    TooLarge "too_large"
    TooMany "too_many"
    StaleRunId "stale_run_id"
    NoCurrentRun "no_current_run"
    TooManyAgents "too_many_agents"
    UnknownTask "unknown_task"
    UnknownAsk "unknown_ask"
    UnknownTimer "unknown_timer"
    UnknownWorkItem "unknown_work_item"
    UnknownWorkspace "unknown_workspace"
    WorkspaceActive "workspace_active"
    UnknownTrigger "unknown_trigger"
    OutOfRange "out_of_range"
    CommandRefused "command_refused"
}

impl Reject {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownAgent { agent } => Some(alloc::format!("create it: holon agent create {agent}")),
            Self::AgentStopped { agent } => Some(alloc::format!(
                "start it first: holon agent start {agent}; a wake does not override a stop"
            )),
            Self::AgentExists { agent } => Some(alloc::format!(
                "another name: holon agent list shows those in use, holon status {agent} this agent"
            )),
            Self::PrivateAgent { parent, task, .. } => Some(alloc::format!(
                "write to it through the task of its parent: holon task input --agent {parent} {task} TEXT"
            )),
            Self::NameTaken { name, agent } if name == agent => {
                Some("another name: holon agent list --all shows those in use".into())
            }
            Self::NameTaken { agent, .. } => {
                Some(alloc::format!("another name, or free it first: holon agent rename {agent} {agent}"))
            }
            Self::ReservedAgentId { .. } => Some("another name, without two hyphens in a row".into()),
            Self::AgentArchived { agent } => {
                Some(alloc::format!("what it did is there: holon transcript --agent {agent}"))
            }
            Self::UnknownAsk { .. } => Some("those that are open: holon inbox".into()),
            Self::Draining => Some("again when the runtime is up: holon daemon status".into()),
            Self::QueueFull { agent, .. } => {
                Some(alloc::format!("again when the agent has worked through its queue: holon why {agent}"))
            }
            Self::TooManyEvents { agent, allowance, .. } => Some(alloc::format!(
                "try again then; {} sets the limit, and holon why {agent} shows how many came",
                allowance.setting()
            )),
            Self::TooManyAgents { .. } => Some("one of those that are there: holon agent list".into()),
            Self::IdempotencyConflict { .. } | Self::KeyTaken { .. } => {
                Some("use a new key for a new payload".into())
            }
            Self::KeySpent { .. } => Some("use a new key to do it again".into()),
            Self::UnknownWorkspace { agent, .. } => {
                Some(alloc::format!("those that it knows: holon workspace list --agent {agent}"))
            }
            Self::WorkspaceActive { workspace, .. } if workspace.is_agent_home() => {
                Some("its home is what every agent has: only others are detached".into())
            }
            Self::WorkspaceActive { agent, .. } => Some(alloc::format!(
                "let it work elsewhere first: holon workspace use agent_home --agent {agent}"
            )),
            Self::CommandRefused { error } => error.hint.clone(),
            // Which agent it was about, only its caller knows.
            Self::StaleRunId { .. }
            | Self::NoCurrentRun
            | Self::UnknownWorkItem { .. }
            | Self::UnknownTask { .. }
            | Self::UnknownTimer { .. }
            | Self::UnknownTrigger => None,
            Self::KindFromOrigin { .. }
            | Self::PriorityFromOrigin { .. }
            | Self::TooLarge { .. }
            | Self::OutOfRange { .. }
            | Self::TooMany { .. } => None,
        }
    }
}
