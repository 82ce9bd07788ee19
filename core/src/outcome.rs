//! How operations end. Each operation that the core opens ends in exactly one outcome.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::identity::ExecutionBinding;
use crate::content::Text;
use crate::model::{AttemptFailure, ModelAnswer};
use crate::time::Millis;
use crate::tool::Receipt;

/// The end of one operation.
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
    /// A supervisor is up and waits for the word to execute its command.
    Prepared {
        supervisor: SupervisorIdentity,
    },
    /// The performer itself failed, whatever the operation was.
    Failed {
        failure: OpFailure,
    },
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedContext {
    pub sources: Vec<InstructionSource>,
    pub execution: ExecutionSnapshot,
    pub context_build_ms: Millis,
}

/// One file of standing instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionSource {
    pub scope: SourceScope,
    pub path: String,
    pub content: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceScope {
    Agent,
    Workspace,
}

/// Where tools run, as the model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionSnapshot {
    pub binding: ExecutionBinding,
    pub agent_home: String,
    pub platform: String,
    pub shell: String,
}

/// Who executes a command (contract: tasks.md). A process id alone proves nothing: ids are used again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SupervisorIdentity {
    pub pid: u32,
    /// When the process began, in the kernel's ticks since its start.
    pub started: u64,
    /// Which start of the kernel that was.
    pub boot_id: String,
    /// Its socket, relative to the home.
    pub socket: String,
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    pub receipt: Receipt,
    pub duration_ms: Millis,
}
