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
    task_id: TaskId,
    #[serde(default)]
    force: bool,
}

impl BuiltIn for TaskStop {
    const DESCRIPTION: &'static str = "\
        End a background task with everything that it started, such as a server that is not needed any more. force \
        kills it at once.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnTask(TaskCall::Stop { task: self.task_id, force: self.force }))
    }
}
