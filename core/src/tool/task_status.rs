//! How a background task stands.

use holon_facts::ids::TaskId;
use holon_facts::receipt::{TaskCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// Look at a background task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStatus {
    task_id: TaskId,
}

impl BuiltIn for TaskStatus {
    const DESCRIPTION: &'static str = "Show the state of a background task, without its output.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnTask(TaskCall::Status { task: self.task_id }))
    }
}
