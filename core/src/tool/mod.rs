//! The tools that agents are offered: their names, argument types, and results (contract: tools.md).

pub mod arguments;
pub mod receipt;
pub mod schema;
mod work_items;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arguments::{
    ApplyPatch, CompleteWorkItem, CreateWorkItem, ExecCommand, ExecCommandBatch, GetWorkItem, ListWorkItems,
    PickWorkItem, TaskInput, TaskList, TaskOutput, TaskStatus, TaskStop, UpdateWorkItem,
};
pub use receipt::{
    Details, InputReceipt, Receipt, TaskCall, ToolError, ToolErrorKind, ToolFacts, Verdict, WorkCall,
};

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
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// What the model is told about the tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::ExecCommand => {
                "Run a shell command in the execution root. One that takes longer than yield_time_ms goes on as a \
                 background task: you get its task_id, and its result comes as a message when it ends. Use it to \
                 inspect the repository (rg --files, rg -n, sed -n, head, tail), to build and to test."
            }
            Self::ExecCommandBatch => {
                "Run up to 12 shell commands one after the other, each in a shell of its own and with a result \
                 of its own. Use it for several short commands that don't need a look in between."
            }
            Self::ApplyPatch => {
                "Create, change, rename or delete files with one unified diff (---/+++ headers with paths \
                 relative to the execution root; /dev/null for a file that is created or deleted; git's \
                 rename and mode headers). All files of the patch change, or none does."
            }
            Self::TaskList => "List your background tasks: those that run, and those that ended lately.",
            Self::TaskStatus => "Say how a background task stands, without its output.",
            Self::TaskOutput => {
                "Read what a background task has written, of long output the beginning and the end. By default it \
                 waits up to timeout_ms for the task to end; with block false it looks only. No need to poll: the \
                 result of an ended task comes to you as a message."
            }
            Self::TaskInput => {
                "Write text to the standard input or the terminal of a background task that was started with \
                 accepts_input or tty. A line has to end with a newline."
            }
            Self::TaskStop => {
                "End a background task and everything that it started: it is asked to end, and killed after a grace; \
                 with force it is killed at once."
            }
            Self::CreateWorkItem => {
                "Create a work item: something to be brought about over many turns, with an objective, a plan and a \
                 todo list. It does not take the focus; PickWorkItem does. The plan is a file of your own, which \
                 the result names: change it with your ordinary tools."
            }
            Self::PickWorkItem => {
                "Turn to a work item: your turns are about it from the next one on. With clear_blocker, what stood in \
                 its way is gone."
            }
            Self::GetWorkItem => "Read one work item, with the beginning of its plan.",
            Self::ListWorkItems => "List your work items: those that are open, then those completed lately.",
            Self::UpdateWorkItem => {
                "Change a work item. A todo list replaces the one before. blocked_by says what stands in the way; an \
                 empty text says that nothing does any more."
            }
            Self::CompleteWorkItem => {
                "Say that a work item is done. What you write beside the call is what the operator is told of it, so \
                 complete one item in a round, and say what came of it."
            }
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
            Self::UpdateWorkItem => 300,
            Self::CompleteWorkItem => 110,
        }
    }

    /// Judges a call before it is accepted. Arguments too large to come along are judged by the performer,
    /// with the same types.
    pub fn check(self, json: &str) -> Result<(), ToolError> {
        match self {
            Self::ExecCommand => arguments::parse::<ExecCommand>(json).map(drop),
            Self::ExecCommandBatch => arguments::parse::<ExecCommandBatch>(json).map(drop),
            Self::ApplyPatch => arguments::parse::<ApplyPatch>(json).map(drop),
            Self::TaskList | Self::TaskStatus | Self::TaskOutput | Self::TaskInput | Self::TaskStop => {
                self.task_call(json).map(drop)
            }
            Self::CreateWorkItem
            | Self::PickWorkItem
            | Self::GetWorkItem
            | Self::ListWorkItems
            | Self::UpdateWorkItem
            | Self::CompleteWorkItem => self.work_call(json).map(drop),
        }
    }

    /// What a call about tasks is about, which the core itself executes; none for the others.
    pub fn task_call(self, json: &str) -> Result<Option<TaskCall>, ToolError> {
        Ok(Some(match self {
            Self::ExecCommand
            | Self::ExecCommandBatch
            | Self::ApplyPatch
            | Self::CreateWorkItem
            | Self::PickWorkItem
            | Self::GetWorkItem
            | Self::ListWorkItems
            | Self::UpdateWorkItem
            | Self::CompleteWorkItem => return Ok(None),
            Self::TaskList => arguments::parse::<TaskList>(json).map(|_| TaskCall::List)?,
            Self::TaskStatus => {
                arguments::parse::<TaskStatus>(json).map(|it| TaskCall::Status { task: it.task_id })?
            }
            Self::TaskOutput => arguments::parse::<TaskOutput>(json).map(|it| TaskCall::Output {
                task: it.task_id,
                wait: it.block.then_some(crate::time::Millis(it.timeout_ms)),
            })?,
            Self::TaskInput => {
                arguments::parse::<TaskInput>(json).map(|it| TaskCall::Input { task: it.task_id })?
            }
            Self::TaskStop => arguments::parse::<TaskStop>(json)
                .map(|it| TaskCall::Stop { task: it.task_id, force: it.force })?,
        }))
    }

    /// What a call about work items is about; none for the others.
    pub fn work_call(self, json: &str) -> Result<Option<WorkCall>, ToolError> {
        Ok(Some(match self {
            Self::ExecCommand
            | Self::ExecCommandBatch
            | Self::ApplyPatch
            | Self::TaskList
            | Self::TaskStatus
            | Self::TaskOutput
            | Self::TaskInput
            | Self::TaskStop => return Ok(None),
            Self::CreateWorkItem => arguments::parse::<CreateWorkItem>(json).map(|it| WorkCall::Create {
                objective: it.objective,
                plan_status: it.plan_status,
                todo_list: it.todo_list,
                plan: it.plan.is_some(),
            })?,
            Self::PickWorkItem => arguments::parse::<PickWorkItem>(json).map(|it| WorkCall::Pick {
                work_item: it.work_item_id,
                reason: it.reason,
                clear_blocker: it.clear_blocker,
            })?,
            Self::GetWorkItem => arguments::parse::<GetWorkItem>(json)
                .map(|it| WorkCall::Get { work_item: it.work_item_id, todo_list: it.include_todo_list })?,
            Self::ListWorkItems => arguments::parse::<ListWorkItems>(json).map(|it| WorkCall::List {
                filter: it.filter,
                limit: it.limit,
                todo_list: it.include_todo_list,
            })?,
            Self::UpdateWorkItem => arguments::parse::<UpdateWorkItem>(json).map(|it| WorkCall::Update {
                work_item: it.work_item_id,
                objective: it.objective,
                plan_status: it.plan_status,
                todo_list: it.todo_list,
                blocked_by: it.blocked_by,
            })?,
            Self::CompleteWorkItem => arguments::parse::<CompleteWorkItem>(json)
                .map(|it| WorkCall::Complete { work_item: it.work_item_id })?,
        }))
    }

    /// Whether the core executes it, on what it knows of the agent.
    pub fn is_of_core(self) -> bool {
        match self {
            Self::ExecCommand | Self::ExecCommandBatch | Self::ApplyPatch => false,
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
            | Self::CompleteWorkItem => true,
        }
    }

    /// Whether it executes commands, each under a supervisor.
    pub fn is_command(self) -> bool {
        match self {
            Self::ExecCommand | Self::ExecCommandBatch => true,
            Self::ApplyPatch
            | Self::TaskList
            | Self::TaskStatus
            | Self::TaskOutput
            | Self::TaskInput
            | Self::TaskStop
            | Self::CreateWorkItem
            | Self::PickWorkItem
            | Self::GetWorkItem
            | Self::ListWorkItems
            | Self::UpdateWorkItem
            | Self::CompleteWorkItem => false,
        }
    }
}

impl core::fmt::Display for Tool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of all tools, for an error that lists them.
pub fn names() -> String {
    let names: alloc::vec::Vec<_> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::schema::{SchemaMode, schema};
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_estimate_of_a_tool_is_near_and_never_too_low() {
        for &tool in Tool::ALL {
            let longest =
                [SchemaMode::Relaxed, SchemaMode::Strict].map(|mode| schema(tool, mode).to_string().len());
            let bytes = tool.name().len() + tool.description().len() + longest[0].max(longest[1]);
            let tokens = crate::content::estimate_tokens(bytes as u64);
            let estimate = tool.est_tokens();
            assert!(tokens <= estimate && estimate <= tokens + 100, "{tool}: {tokens}, estimated {estimate}");
        }
    }
}
