//! The end of a background task.

use holon_facts::ids::TaskId;
use holon_facts::receipt::{TaskCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// End a background task.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskStop {
    /// The task, for example `task_3`.
    task_id: TaskId,
    /// Whether it is killed at once, without time to clean up.
    #[serde(default)]
    force: bool,
}

impl BuiltIn for TaskStop {
    const DESCRIPTION: &'static str = "\
        End a background task and everything that it started: it is asked to end, and killed after a grace; \
        with force it is killed at once.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnTask(TaskCall::Stop { task: self.task_id, force: self.force }))
    }
}
