//! Background tasks, as they are asked for and listed.

use std::time::Duration;

use holon_facts::AgentId;
use holon_facts::call::{COMMAND_BYTES, DuplicatePolicy, INPUT_BYTES};
use holon_facts::task::TaskStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reply::Document;
use super::task::{TaskInputResult, TaskLine, TaskSnapshot};
use super::word::optional_word;

/// Which tasks.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TasksQuery {
    /// Only tasks that stand like this.
    pub status: Option<TaskStatus>,
    /// At most so many, 1 to 500; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tasks {
    pub ok: bool,
    /// Those under way and those that ended lately, the newest first.
    pub tasks: Vec<TaskLine>,
    /// Whether there are older ones beyond `limit`.
    pub more: bool,
}

/// One task, without its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskShown {
    pub ok: bool,
    pub task: Document<TaskSnapshot>,
}

/// How much of an output, and whether the end of the task is waited for.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputQuery {
    /// Whether to wait for the end of the task; true by default.
    pub block: Option<bool>,
    /// How long to wait for it, in milliseconds, at most 600,000; 30,000 by default.
    #[schemars(range(min = 0, max = 600_000))]
    pub timeout_ms: Option<u32>,
    /// Most characters of the preview, at most 262,144; 8,000 by default.
    #[schemars(range(min = 0, max = 262_144))]
    pub characters: Option<u32>,
}

impl OutputQuery {
    /// Milliseconds to wait where nothing else is asked for, and at most.
    pub const WAIT_MS: (u32, u32) = (30_000, 600_000);

    /// How long its reply may take.
    pub fn waits(&self) -> Duration {
        let limit = Duration::from_millis(self.timeout_ms.unwrap_or(Self::WAIT_MS.0).into());
        if self.block.unwrap_or(true) { limit } else { Duration::ZERO }
    }
}

/// From where a stream of output goes on. The header `Last-Event-ID` stands before `offset`.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutputStreamQuery {
    /// Bytes of output that are left out; none by default.
    pub offset: Option<u64>,
    /// A token of `POST /control/stream-token`, where no header can be sent.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub token: Option<String>,
}

/// Data of an `output`: more of what the task has written. Its id is `next_offset`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputPiece {
    /// Where the text begins, in bytes of output.
    pub offset: u64,
    /// Where the next piece begins.
    pub next_offset: u64,
    pub text: String,
    /// Bytes before the text that the log does not have any more.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost_bytes: u64,
}

/// Data of the `end`, the last event of a stream: how the task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputEnd {
    /// Bytes of the whole output.
    pub next_offset: u64,
    pub task: Document<TaskSnapshot>,
    /// Why this is not all of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A command to run as a task, with the fields of `ExecCommand`. It does not wait, so
/// `yield_time_ms` has no effect here, and an operator's command starts at once, whatever else runs.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunTask {
    /// The command, as one would type it into a shell; at most 100 KiB.
    #[schemars(length(min = 1, max = COMMAND_BYTES))]
    pub cmd: String,
    /// Folder to run in, relative to the agent's own and inside its execution root.
    pub workdir: Option<String>,
    /// Shell to run it with; `bash` by default, `sh` where there is none.
    pub shell: Option<String>,
    /// Whether the shell is a login shell; true by default.
    pub login: Option<bool>,
    /// Whether the command gets a terminal; false by default.
    pub tty: Option<bool>,
    /// Whether input may be written to it; as with a terminal by default.
    pub accepts_input: Option<bool>,
    /// Whether an equal command of the agent may start later while this one runs.
    #[serde(default, deserialize_with = "optional_word")]
    pub duplicate_policy: Option<DuplicatePolicy>,
    /// Without effect.
    pub yield_time_ms: Option<u64>,
    /// Bound on the output that its agent is shown at the end, in estimated tokens.
    pub max_output_tokens: Option<u64>,
}

/// Asks a task to end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopTask {
    /// Whether everything is killed at once; otherwise it has a few seconds to clean up.
    #[serde(default)]
    pub force: bool,
}

/// A task after a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether the request changed anything.
    pub changed: bool,
    pub task: Document<TaskSnapshot>,
}

/// Text for a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteTask {
    /// As it is: nothing is appended to it. At most 64 KiB.
    #[schemars(length(min = 1, max = INPUT_BYTES))]
    pub input: String,
}

/// The outcome. A task that accepts no input is no error: `accepted_input` is false, and `problem` has the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskInputReply {
    pub ok: bool,
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub result: TaskInputResult,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_none_lost(bytes: &u64) -> bool {
    *bytes == 0
}
