//! The tools that agents are offered: their names, argument types, and results (contract: tools.md).

pub mod arguments;
pub mod receipt;
pub mod schema;

use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use arguments::{
    ApplyPatch, ExecCommand, ExecCommandBatch, TaskInput, TaskList, TaskOutput, TaskStatus, TaskStop,
};
pub use receipt::{Details, InputReceipt, Receipt, TaskCall, ToolError, ToolErrorKind, ToolFacts, Verdict};

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
        }
    }

    /// What a call is about that the core itself executes; none for the others.
    pub fn task_call(self, json: &str) -> Result<Option<TaskCall>, ToolError> {
        Ok(Some(match self {
            Self::ExecCommand | Self::ExecCommandBatch | Self::ApplyPatch => return Ok(None),
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

    /// Whether the core executes it, on what it knows of the agent's tasks.
    pub fn is_of_tasks(self) -> bool {
        match self {
            Self::ExecCommand | Self::ExecCommandBatch | Self::ApplyPatch => false,
            Self::TaskList | Self::TaskStatus | Self::TaskOutput | Self::TaskInput | Self::TaskStop => true,
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
            | Self::TaskStop => false,
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
