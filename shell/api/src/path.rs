//! What a path names: one shape for each kind of thing.

use holon_facts::AgentId;
use holon_facts::ids::{BriefId, MessageId, OpId, TaskId, TimerId, WorkItemId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Nothing;

/// The parameters of a path. The names of the fields stand in the path's template.
pub trait Path: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The same without a name for the agent, on routes that may leave it out.
    fn of_default(_: &AgentId) -> Option<Self> {
        None
    }

    /// The agent that is named, by its id or by its second name.
    fn agent(&mut self) -> Option<&mut AgentId> {
        None
    }

    /// The signed token that says whose address it is.
    fn token(&self) -> Option<&str> {
        None
    }
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPath {
    pub agent_id: AgentId,
}

/// An agent that is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewAgentPath {
    pub agent_id: AgentId,
}

/// A background task of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskPath {
    pub agent_id: AgentId,
    pub task_id: TaskId,
}

/// A message to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagePath {
    pub agent_id: AgentId,
    pub message_id: MessageId,
}

/// A request of an agent to a model, by its operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPath {
    pub agent_id: AgentId,
    pub request_id: OpId,
}

/// What an agent has asked of its operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskPath {
    pub agent_id: AgentId,
    pub brief_id: BriefId,
}

/// A timer of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerPath {
    pub agent_id: AgentId,
    pub timer_id: TimerId,
}

/// A work item of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemPath {
    pub agent_id: AgentId,
    pub work_item_id: WorkItemId,
}

/// A text that an agent remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryPath {
    pub agent_id: AgentId,
    /// From a result of a search.
    #[schemars(length(min = 1, max = 64))]
    pub source_ref: String,
}

/// The address of a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriggerPath {
    #[schemars(length(min = 1, max = 256))]
    pub token: String,
}

/// A session of the web console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPath {
    #[schemars(length(min = 1, max = 64))]
    pub session_id: String,
}

impl Path for Nothing {}
impl Path for SessionPath {}
impl Path for NewAgentPath {}

macro_rules! of_agent {
    ($($path:ident)*) => {$(
        impl Path for $path {
            fn agent(&mut self) -> Option<&mut AgentId> {
                Some(&mut self.agent_id)
            }
        }
    )*};
}

of_agent!(RequestPath TaskPath AskPath MessagePath TimerPath WorkItemPath MemoryPath);

impl Path for AgentPath {
    fn agent(&mut self) -> Option<&mut AgentId> {
        Some(&mut self.agent_id)
    }

    fn of_default(agent: &AgentId) -> Option<Self> {
        Some(Self { agent_id: agent.clone() })
    }
}

impl Path for TriggerPath {
    fn token(&self) -> Option<&str> {
        Some(&self.token)
    }
}

impl From<&AgentId> for AgentPath {
    fn from(agent: &AgentId) -> Self {
        Self { agent_id: agent.clone() }
    }
}

impl From<&AgentId> for NewAgentPath {
    fn from(agent: &AgentId) -> Self {
        Self { agent_id: agent.clone() }
    }
}

impl From<(&AgentId, TaskId)> for TaskPath {
    fn from((agent, task_id): (&AgentId, TaskId)) -> Self {
        Self { agent_id: agent.clone(), task_id }
    }
}

impl From<(&AgentId, BriefId)> for AskPath {
    fn from((agent, brief_id): (&AgentId, BriefId)) -> Self {
        Self { agent_id: agent.clone(), brief_id }
    }
}

impl From<(&AgentId, MessageId)> for MessagePath {
    fn from((agent, message_id): (&AgentId, MessageId)) -> Self {
        Self { agent_id: agent.clone(), message_id }
    }
}

impl From<(&AgentId, TimerId)> for TimerPath {
    fn from((agent, timer_id): (&AgentId, TimerId)) -> Self {
        Self { agent_id: agent.clone(), timer_id }
    }
}

impl From<(&AgentId, WorkItemId)> for WorkItemPath {
    fn from((agent, work_item_id): (&AgentId, WorkItemId)) -> Self {
        Self { agent_id: agent.clone(), work_item_id }
    }
}

impl From<(&AgentId, &str)> for MemoryPath {
    fn from((agent, source_ref): (&AgentId, &str)) -> Self {
        Self { agent_id: agent.clone(), source_ref: source_ref.to_owned() }
    }
}
