//! What the core asks of the shell. Effects are reachable only through [`crate::Step::release`].

use serde::{Deserialize, Serialize};

use crate::agent::identity::ExecutionBinding;
use crate::agent::model::ModelState;
use crate::content::Text;
use crate::ids::{AgentId, MessageId, OpId, ReplyId, RunId};
use crate::lifecycle::ControlOutcome;
use crate::model::ModelRequest;
use crate::outcome::SupervisorIdentity;
use crate::reject::Reject;
use crate::time::Millis;
use crate::tool::Tool;

/// Something to be done in the world, after the records of its step are durable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// Answer the caller. No outcome: a caller who is gone is gone.
    Reply { reply: ReplyId, answer: Answer },
    /// Read instruction files and the environment; ends in [`crate::Outcome::Context`].
    LoadContext { agent: AgentId, op: OpId, execution: ExecutionBinding },
    /// Make one attempt at a round; ends in `Answer` or `AttemptFailed`.
    CallModel { agent: AgentId, op: OpId, request: ModelRequest },
    /// Execute one accepted tool call; ends in `Tool`.
    CallTool { agent: AgentId, op: OpId, call: ToolCall },
    /// Bring up a supervisor for a command, and execute nothing yet; ends in `Prepared`, or in `Tool` with the
    /// error that refuses the call.
    PrepareCommand { agent: AgentId, op: OpId, call: ToolCall },
    /// Let that supervisor execute what it was prepared for: its identity is durable now. Ends in `Tool`.
    RunCommand { agent: AgentId, op: OpId, supervisor: SupervisorIdentity },
    /// Give up on an operation: close the connection, kill the command. Its outcome no longer matters.
    Cancel { agent: AgentId, op: OpId },
}

/// A tool call for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub run_id: RunId,
    pub call_id: alloc::string::String,
    pub tool: Tool,
    /// JSON of the tool's argument type.
    pub arguments: Text,
    pub execution: ExecutionBinding,
    /// Most tokens of output that the model may be shown of it.
    pub output_tokens: u64,
    /// After so long the core stops waiting.
    pub timeout: Millis,
}

/// What a caller is told. By the time it is sent, what it says is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    Created {
        agent: AgentId,
    },
    Admitted {
        message_id: MessageId,
        /// The key was known: nothing new was admitted.
        duplicate: bool,
    },
    Controlled(ControlOutcome),
    ModelSet {
        /// How the agent's model is chosen now.
        state: ModelState,
        changed: bool,
    },
    Drained,
    Refused {
        reject: Reject,
    },
}
