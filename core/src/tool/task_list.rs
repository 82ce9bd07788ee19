//! What there is of background tasks.

use holon_facts::receipt::{TaskCall, ToolError, Verdict};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// List the background tasks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskList {}

impl BuiltIn for TaskList {
    const DESCRIPTION: &'static str = "List your background tasks: those that run, and those that ended lately.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnTask(TaskCall::List))
    }
}
