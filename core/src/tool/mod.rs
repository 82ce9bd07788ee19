//! The tools that agents are offered: their names, argument types, and results (contract: tools.md).

pub mod arguments;
mod calls;
mod itself;
pub mod receipt;
pub mod schema;
mod wait;
mod work_items;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arguments::{
    ApplyPatch, CompleteWorkItem, CreateWorkItem, Enqueue, ExecCommand, ExecCommandBatch, GetWorkItem,
    ListWorkItems, NotifyOperator, PickWorkItem, Sleep, TaskInput, TaskList, TaskOutput, TaskStatus,
    TaskStop, UpdateWorkItem, WaitFor,
};
pub use receipt::{
    Details, InputReceipt, Receipt, SelfCall, TaskCall, ToolError, ToolErrorKind, ToolFacts, Verdict,
    WorkCall,
};
pub use wait::{WaitCall, Wake, WakeOn};

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
            Self::Enqueue => {
                "Leave a message for yourself: it has a turn of its own after this one. What goes on over many turns \
                 belongs into a work item, which brings you back by itself."
            }
            Self::NotifyOperator => {
                "Tell the operator something now, and go on. With urgency action_required it says that somebody has to \
                 act. What you say at the end of your turn is told anyway."
            }
            Self::WaitFor => {
                "Wait for something, and end your turn after this round: for input of the operator, for the result of a \
                 background task, for an event from outside, or for a time. What you wait for begins a turn when it \
                 comes, and the work item that waits is left alone until then. An item has one wait; another one \
                 replaces it."
            }
            Self::Sleep => {
                "Rest: your turn ends after this round. With duration_ms, what your work items are owed waits so long, and \
                 then you are woken; anything else that comes wakes you before. Without it you rest until something \
                 comes, which you can't while the item in focus can be worked on."
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
            Self::UpdateWorkItem => 350,
            Self::CompleteWorkItem => 110,
            Self::Enqueue => 150,
            Self::NotifyOperator => 150,
            Self::WaitFor => 300,
            Self::Sleep => 210,
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
            | Self::Sleep => self.core_call(json).map(drop),
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
