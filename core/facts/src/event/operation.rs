//! Effects with an outcome: opened before they are emitted, settled once.

use alloc::boxed::Box;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::ids::{OpId, RunId, TaskId};
use crate::outcome::{CommandSpec, SupervisorIdentity};
use crate::request::RequestRecord;
use crate::template::AgentTemplate;
use crate::time::Millis;
use crate::workspace::WorktreePlan;

family! {
    OperationFact {
        OperationOpened "operation_opened" v 1,
        OperationSettled "operation_settled" v 1,
    }
}

names! {
    OpKind {
        LoadContext "load_context", CallModel "call_model", CallTool "call_tool",
        /// A model sums up the episode that closes; nothing waits for it.
        Summarize "summarize",
        /// A supervisor comes up; nothing is executed.
        PrepareCommand "prepare_command",
        /// The supervisor that was prepared executes its command.
        RunCommand "run_command",
        /// Reads the output so far, so that the call can report that the command continues as a task.
        PromoteCommand "promote_command",
        /// A call waits for the end of a task; it has no performer.
        AwaitTask "await_task",
        /// A child lives until it reports how it ended.
        SuperviseChild "supervise_child",
        /// The folder that an agent wants to work in is looked for.
        FindWorkspace "find_workspace",
        /// An unused worktree is removed, or retained for inspection.
        RemoveWorktree "remove_worktree",
        /// An operator's text is written to a task.
        WriteInput "write_input",
    }
}

impl OpKind {
    /// Whether a model is asked.
    pub fn asks_a_model(self) -> bool {
        self == Self::CallModel || self == Self::Summarize
    }

    /// Whether its task ends with it.
    pub fn brings_end(self) -> bool {
        self == Self::RunCommand || self == Self::SuperviseChild
    }
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationOpened {
    pub op: OpId,
    pub kind: OpKind,
    /// The run that it is part of; a task's is part of none.
    pub run_id: Option<RunId>,
    /// The number that its command has, or the task that it is about.
    pub task_id: Option<TaskId>,
    /// After this time the core stops waiting; none for a task, which may take for ever.
    pub timeout_ms: Option<Millis>,
    /// Who executes the command, when that is what the operation is: on record before anything runs.
    pub supervisor: Option<SupervisorIdentity>,
    /// What that one executes.
    pub command: Option<CommandSpec>,
    /// What it needs for itself, when the operation is a command.
    pub execution_root: Option<String>,
    /// The worktree that it makes or removes: on record before anything of it is there.
    pub worktree: Option<WorktreePlan>,
    /// What the agent begins with that the worktree is for.
    pub template: Option<Box<AgentTemplate>>,
    /// What a model is asked. Earlier builds did not record it.
    pub request: Option<Box<RequestRecord>>,
}

impl OperationFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        if let Self::OperationOpened(fact) = self {
            fact.command.iter().for_each(|command| visit(&command.cmd));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationSettled {
    pub op: OpId,
    pub settlement: Settlement,
}

names! {
    /// How an operation ended, as far as is known.
    Settlement {
        Done "done", Failed "failed", TimedOut "timed_out", Cancelled "cancelled",
        /// The runtime ended before the outcome was recorded.
        Lost "lost",
    }
}
