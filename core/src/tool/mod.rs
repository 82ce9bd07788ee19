//! The tools that agents are offered: their names, argument types, and results (contract: tools.md).

pub mod arguments;

mod calls;

mod description;

mod itself;

use alloc::format;

use holon_facts::call::ToolName;
use holon_facts::content::clip;
use holon_facts::receipt;
use holon_facts::tool::ToolSpec;

pub mod schema;

mod spawn;

mod unreadable;

mod wait;

mod work_items;

mod workspace;
use alloc::string::String;
use alloc::vec::Vec;
pub use arguments::{
    AgentGet, ApplyPatch, CompleteWorkItem, CreateWorkItem, Enqueue, ExecCommand, ExecCommandBatch,
    GetWorkItem, ListWorkItems, NotifyOperator, PickWorkItem, Sleep, TaskInput, TaskList, TaskOutput,
    TaskStatus, TaskStop, UpdateWorkItem, WaitFor,
};
use holon_facts::call::{SpawnAgent, UseWorkspace};
pub use receipt::{
    Details, InputReceipt, Receipt, SelfCall, TaskCall, ToolError, ToolErrorKind, ToolFacts, Verdict,
    WorkCall,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
pub use wait::WakeOn;

impl From<Tool> for ToolName {
    fn from(tool: Tool) -> Self {
        Self::new(tool.name())
    }
}

/// Nothing is called that.
pub(crate) fn unknown(name: &str) -> ToolError {
    let message = format!("there is no tool {:?}", clip(name, 100));
    ToolError::new(ToolErrorKind::UnknownTool, message).hint(&format!("the tools are: {}", names()))
}

/// The names of all tools, for an error that lists them.
fn names() -> String {
    let names: Vec<_> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    names.join(", ")
}

/// All tools as they are described to models, in the order in which they are offered.
pub fn catalogue() -> Vec<ToolSpec> {
    let spec = |tool: &Tool| ToolSpec {
        name: (*tool).into(),
        description: tool.description().into(),
        schema: tool.schema(),
        est_tokens: tool.est_tokens(),
    };
    Tool::ALL.iter().map(spec).collect()
}

/// A tool of the catalogue. The order of the variants is the order in which they are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Tool {
    ExecCommand,
    ExecCommandBatch,
    ApplyPatch,
    TaskList,
    TaskStatus,
    TaskOutput,
    TaskInput,
    TaskStop,
    CreateWorkItem,
    PickWorkItem,
    GetWorkItem,
    ListWorkItems,
    UpdateWorkItem,
    CompleteWorkItem,
    Enqueue,
    NotifyOperator,
    WaitFor,
    Sleep,
    AgentGet,
    SpawnAgent,
    UseWorkspace,
}

impl Tool {
    pub const ALL: &'static [Self] = &[
        Self::ExecCommand,
        Self::ExecCommandBatch,
        Self::ApplyPatch,
        Self::TaskList,
        Self::TaskStatus,
        Self::TaskOutput,
        Self::TaskInput,
        Self::TaskStop,
        Self::CreateWorkItem,
        Self::PickWorkItem,
        Self::GetWorkItem,
        Self::ListWorkItems,
        Self::UpdateWorkItem,
        Self::CompleteWorkItem,
        Self::Enqueue,
        Self::NotifyOperator,
        Self::WaitFor,
        Self::Sleep,
        Self::AgentGet,
        Self::SpawnAgent,
        Self::UseWorkspace,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ExecCommand => "ExecCommand",
            Self::ExecCommandBatch => "ExecCommandBatch",
            Self::ApplyPatch => "ApplyPatch",
            Self::TaskList => "TaskList",
            Self::TaskStatus => "TaskStatus",
            Self::TaskOutput => "TaskOutput",
            Self::TaskInput => "TaskInput",
            Self::TaskStop => "TaskStop",
            Self::CreateWorkItem => "CreateWorkItem",
            Self::PickWorkItem => "PickWorkItem",
            Self::GetWorkItem => "GetWorkItem",
            Self::ListWorkItems => "ListWorkItems",
            Self::UpdateWorkItem => "UpdateWorkItem",
            Self::CompleteWorkItem => "CompleteWorkItem",
            Self::Enqueue => "Enqueue",
            Self::NotifyOperator => "NotifyOperator",
            Self::WaitFor => "WaitFor",
            Self::Sleep => "Sleep",
            Self::AgentGet => "AgentGet",
            Self::SpawnAgent => "SpawnAgent",
            Self::UseWorkspace => "UseWorkspace",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// What the model is told about the tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::ExecCommand => description::EXEC_COMMAND,
            Self::ExecCommandBatch => description::EXEC_COMMAND_BATCH,
            Self::ApplyPatch => description::APPLY_PATCH,
            Self::TaskList => description::TASK_LIST,
            Self::TaskStatus => description::TASK_STATUS,
            Self::TaskOutput => description::TASK_OUTPUT,
            Self::TaskInput => description::TASK_INPUT,
            Self::TaskStop => description::TASK_STOP,
            Self::CreateWorkItem => description::CREATE_WORK_ITEM,
            Self::PickWorkItem => description::PICK_WORK_ITEM,
            Self::GetWorkItem => description::GET_WORK_ITEM,
            Self::ListWorkItems => description::LIST_WORK_ITEMS,
            Self::UpdateWorkItem => description::UPDATE_WORK_ITEM,
            Self::CompleteWorkItem => description::COMPLETE_WORK_ITEM,
            Self::Enqueue => description::ENQUEUE,
            Self::NotifyOperator => description::NOTIFY_OPERATOR,
            Self::WaitFor => description::WAIT_FOR,
            Self::Sleep => description::SLEEP,
            Self::AgentGet => description::AGENT_GET,
            Self::SpawnAgent => description::SPAWN_AGENT,
            Self::UseWorkspace => description::USE_WORKSPACE,
        }
    }

    /// What its name, description and schema take of a request, at most.
    pub fn est_tokens(self) -> u64 {
        match self {
            Self::ExecCommand => 475,
            Self::ExecCommandBatch => 425,
            Self::ApplyPatch => 125,
            Self::TaskList => 60,
            Self::TaskStatus => 75,
            Self::TaskOutput => 200,
            Self::TaskInput => 125,
            Self::TaskStop => 125,
            Self::CreateWorkItem => 300,
            Self::PickWorkItem => 150,
            Self::GetWorkItem => 110,
            Self::ListWorkItems => 175,
            Self::UpdateWorkItem => 350,
            Self::CompleteWorkItem => 110,
            Self::Enqueue => 150,
            Self::NotifyOperator => 150,
            Self::WaitFor => 300,
            Self::Sleep => 210,
            Self::AgentGet => 125,
            Self::SpawnAgent => 400,
            Self::UseWorkspace => 350,
        }
    }

    /// The schema of its arguments.
    fn schema(self) -> Value {
        match self {
            Self::ExecCommand => schema::of::<ExecCommand>(),
            Self::ExecCommandBatch => schema::of::<ExecCommandBatch>(),
            Self::ApplyPatch => schema::of::<ApplyPatch>(),
            Self::TaskList => schema::of::<TaskList>(),
            Self::TaskStatus => schema::of::<TaskStatus>(),
            Self::TaskOutput => schema::of::<TaskOutput>(),
            Self::TaskInput => schema::of::<TaskInput>(),
            Self::TaskStop => schema::of::<TaskStop>(),
            Self::CreateWorkItem => schema::of::<CreateWorkItem>(),
            Self::PickWorkItem => schema::of::<PickWorkItem>(),
            Self::GetWorkItem => schema::of::<GetWorkItem>(),
            Self::ListWorkItems => schema::of::<ListWorkItems>(),
            Self::UpdateWorkItem => schema::of::<UpdateWorkItem>(),
            Self::CompleteWorkItem => schema::of::<CompleteWorkItem>(),
            Self::Enqueue => schema::of::<Enqueue>(),
            Self::NotifyOperator => schema::of::<NotifyOperator>(),
            Self::WaitFor => schema::of::<WaitFor>(),
            Self::Sleep => schema::of::<Sleep>(),
            Self::AgentGet => schema::of::<AgentGet>(),
            Self::SpawnAgent => schema::of::<SpawnAgent>(),
            Self::UseWorkspace => schema::of::<UseWorkspace>(),
        }
    }

    /// Judges a call before it is accepted. Arguments too large to come along are judged by the performer,
    /// with the same types.
    pub fn check(self, json: &str) -> Result<(), ToolError> {
        match self {
            Self::ExecCommand => arguments::parse::<ExecCommand>(json).map(drop),
            Self::ExecCommandBatch => arguments::parse::<ExecCommandBatch>(json).map(drop),
            Self::ApplyPatch => arguments::parse::<ApplyPatch>(json).map(drop),
            Self::TaskList
            | Self::TaskStatus
            | Self::TaskOutput
            | Self::TaskInput
            | Self::TaskStop
            | Self::CreateWorkItem
            | Self::PickWorkItem
            | Self::GetWorkItem
            | Self::ListWorkItems
            | Self::UpdateWorkItem
            | Self::CompleteWorkItem
            | Self::Enqueue
            | Self::NotifyOperator
            | Self::WaitFor
            | Self::Sleep
            | Self::AgentGet
            | Self::SpawnAgent
            | Self::UseWorkspace => self.core_call(json).map(drop),
        }
    }

    /// What a call comes to that the core itself executes, on what it knows of the agent; none for the others.
    ///
    /// # Errors
    /// Arguments that don't fit.
    pub fn core_call(self, json: &str) -> Result<Option<Verdict>, ToolError> {
        Ok(Some(match self {
            Self::ExecCommand | Self::ExecCommandBatch | Self::ApplyPatch => return Ok(None),
            Self::TaskList => Verdict::OnTask(arguments::parse::<TaskList>(json)?.into()),
            Self::TaskStatus => Verdict::OnTask(arguments::parse::<TaskStatus>(json)?.into()),
            Self::TaskOutput => Verdict::OnTask(arguments::parse::<TaskOutput>(json)?.into()),
            Self::TaskInput => Verdict::OnTask(arguments::parse::<TaskInput>(json)?.into()),
            Self::TaskStop => Verdict::OnTask(arguments::parse::<TaskStop>(json)?.into()),
            Self::CreateWorkItem => Verdict::OnWork(arguments::parse::<CreateWorkItem>(json)?.into()),
            Self::PickWorkItem => Verdict::OnWork(arguments::parse::<PickWorkItem>(json)?.into()),
            Self::GetWorkItem => Verdict::OnWork(arguments::parse::<GetWorkItem>(json)?.into()),
            Self::ListWorkItems => Verdict::OnWork(arguments::parse::<ListWorkItems>(json)?.into()),
            Self::UpdateWorkItem => Verdict::OnWork(arguments::parse::<UpdateWorkItem>(json)?.into()),
            Self::CompleteWorkItem => Verdict::OnWork(arguments::parse::<CompleteWorkItem>(json)?.into()),
            Self::Enqueue => Verdict::OnSelf(arguments::parse::<Enqueue>(json)?.into()),
            Self::NotifyOperator => Verdict::OnSelf(arguments::parse::<NotifyOperator>(json)?.into()),
            Self::WaitFor => Verdict::OnSelf(SelfCall::Wait(arguments::parse::<WaitFor>(json)?.call()?)),
            Self::Sleep => Verdict::OnSelf(arguments::parse::<Sleep>(json)?.into()),
            Self::AgentGet => Verdict::OnSelf(arguments::parse::<AgentGet>(json)?.into()),
            Self::SpawnAgent => Verdict::OnSelf(SelfCall::Spawn(arguments::parse::<SpawnAgent>(json)?)),
            Self::UseWorkspace => {
                Verdict::OnSelf(SelfCall::Workspace(arguments::parse::<UseWorkspace>(json)?))
            }
        }))
    }
    /// Whether the core executes it, on what it knows of the agent.
    pub fn is_of_core(self) -> bool {
        !self.is_command() && self != Self::ApplyPatch
    }
    /// Whether it executes commands, each under a supervisor.
    pub fn is_command(self) -> bool {
        self == Self::ExecCommand || self == Self::ExecCommandBatch
    }
}

impl core::fmt::Display for Tool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
