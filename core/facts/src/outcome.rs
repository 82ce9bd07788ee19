//! How operations end. Each operation that the core opens ends in exactly one outcome.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{ContentId, Text};
use crate::execution::ExecutionSnapshot;
use crate::model::{AttemptFailure, ModelAnswer};
use crate::receipt::Receipt;
use crate::skill::SkillCatalogue;
use crate::time::Millis;
use crate::tool::ServerTools;
use crate::workspace::{ExecutionBinding, Retained};

pub use crate::receipt::InputTarget;

/// The end of one operation.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Context {
        context: LoadedContext,
    },
    Answer {
        answer: ModelAnswer,
    },
    AttemptFailed {
        failure: AttemptFailure,
    },
    Tool {
        outcome: ToolOutcome,
    },
    /// What calls came to that only looked, in their order.
    Looked {
        outcomes: Vec<ToolOutcome>,
    },
    /// A supervisor is up and waits for the word to execute its command.
    Prepared {
        supervisor: SupervisorIdentity,
        /// What it will execute.
        command: Option<Box<CommandSpec>>,
    },
    /// A folder to work in.
    Workspace {
        execution: ExecutionBinding,
        /// Of a worktree that is new: the commit that its branch begins at.
        base: Option<String>,
    },
    /// What became of a worktree that nobody needs.
    Worktree {
        removal: Removal,
    },
    /// The performer itself failed, whatever the operation was.
    Failed {
        failure: OpFailure,
    },
}

impl Outcome {
    /// A folder that was there.
    pub fn found(execution: ExecutionBinding) -> Self {
        Self::Workspace { execution, base: None }
    }
}

/// What became of a worktree that nobody needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "removal", rename_all = "snake_case")]
pub enum Removal {
    /// Nothing of it is there, neither folder nor branch.
    Removed,
    /// It is as it was.
    Retained { retained: Retained },
}

/// A performer that could not do its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpFailure {
    pub certainty: Certainty,
    pub message: Text,
}

/// Whether the failed operation had an effect in the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It did not happen.
    Definite,
    /// It may have happened.
    Ambiguous,
}

/// Instruction files and the execution environment, read at the start of a turn.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedContext {
    pub sources: Vec<InstructionSource>,
    pub execution: ExecutionSnapshot,
    pub context_build_ms: Millis,
    /// The skills that are there, if there are any. A turn's record leaves them out: `skills_catalogued` has them where they
    /// are others than before.
    pub skills: Option<Arc<SkillCatalogue>>,
    /// The tools of other programs, if there are any. A turn's record leaves them out: `tools_catalogued` has them where they
    /// are others than before.
    pub tools: Option<Arc<ServerTools>>,
}

/// One file of standing instructions.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionSource {
    pub scope: SourceScope,
    pub path: String,
    pub content: Text,
    /// The hash of `content`, also where it is short. Earlier builds left it out.
    pub content_id: Option<ContentId>,
    /// Of an import, the file that names it.
    pub imported_by: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceScope {
    Agent,
    Workspace,
    /// What the agent wrote down for itself: no instruction.
    Memory,
}

/// Who executes a command (contract: tasks.md). A process id alone proves nothing: ids are used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupervisorIdentity {
    pub pid: u32,
    /// When the process began, in the kernel's ticks since its start.
    pub started: u64,
    /// Which start of the kernel that was.
    pub boot_id: String,
    /// Its socket, relative to the home.
    pub socket: String,
}

/// What a supervisor executes, as it was resolved (contract: tasks.md, Projections).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSpec {
    /// The command, or what a batch consists of.
    pub cmd: Text,
    /// SHA-256 of the whole of it: together with folder, shell, login and terminal it identifies equal commands.
    pub cmd_digest: ContentId,
    pub workdir: String,
    pub shell: String,
    pub login: bool,
    pub tty: bool,
    pub accepts_input: bool,
    /// Whether an equal command that runs already stands in for it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub reuse_running: bool,
    /// How long its call waits before the command goes on as a task; none for a batch, which has windows of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yield_time_ms: Option<Millis>,
    /// Where the whole output goes.
    pub output_path: String,
}

impl CommandSpec {
    /// Whether another command is the same one, run the same way.
    pub fn equals(&self, other: &Self) -> bool {
        let identity = |spec: &Self| (spec.cmd_digest, spec.login, spec.tty);
        identity(self) == identity(other) && self.workdir == other.workdir && self.shell == other.shell
    }

    /// Where its input goes, when it takes any.
    pub fn input_target(&self) -> Option<InputTarget> {
        self.accepts_input.then_some(if self.tty { InputTarget::Tty } else { InputTarget::Stdin })
    }
}

names! {
    /// How a command ended, as far as its supervisor can tell.
    CommandEnd {
        /// By itself.
        Exited "exited",
        /// It was asked to, and everything that it had started is gone.
        Stopped "stopped",
        TimedOut "timed_out",
        /// Nothing was executed.
        NotStarted "not_started",
        /// Nobody can say, or something of it did not end.
        Unproven "unproven",
    }
}

/// What a tool call came to, or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub receipt: Receipt,
    pub duration_ms: Millis,
    /// Of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<CommandEnd>,
}
