//! Writing to a background task.

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
    pub task_id: TaskId,
    pub input: String,
}

impl BuiltIn for TaskInput {
    const DESCRIPTION: &'static str = "\
        Write to a background task that was started with accepts_input or tty, or send a message to a child agent. \
        Nothing is appended: end a line with a newline.";

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
