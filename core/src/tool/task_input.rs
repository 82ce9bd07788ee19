//! Writing to a background task.

use alloc::format;
use alloc::string::String;

use holon_facts::call::{INPUT_BYTES};
use holon_facts::ids::TaskId;
use holon_facts::receipt::{TaskCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;
use super::check::invalid;

/// Write to a background task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    /// The task, for example `task_3`.
    pub task_id: TaskId,
    /// The text, as it is: nothing is appended to it.
    pub input: String,
}

impl BuiltIn for TaskInput {
    const DESCRIPTION: &'static str = "\
        Write text to the standard input or the terminal of a background task that was started with \
        accepts_input or tty. A line has to end with a newline.";

    fn check(&self) -> Result<(), ToolError> {
        let bytes = self.input.len();
        if bytes == 0 || bytes > INPUT_BYTES {
            let problem = format!("has {bytes} bytes, expected 1 to {INPUT_BYTES}");
            return Err(invalid("input", &problem, "write larger inputs to a file that the command reads"));
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnTask(TaskCall::Input { task: self.task_id, text: Some(self.input) }))
    }
}
