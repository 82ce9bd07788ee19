//! One work item.

use holon_facts::ids::WorkItemId;
use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// Read a work item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetWorkItem {
    work_item_id: WorkItemId,
    #[serde(default)]
    include_todo_list: bool,
}

impl BuiltIn for GetWorkItem {
    const DESCRIPTION: &'static str = "Show a work item with the beginning of its plan.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        let Self { work_item_id: work_item, include_todo_list: todo_list } = self;
        Ok(Verdict::OnWork(WorkCall::Get { work_item, todo_list }))
    }
}
