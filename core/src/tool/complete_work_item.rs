//! A work item that is done.

use holon_facts::ids::WorkItemId;
use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;

/// Complete a work item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompleteWorkItem {
    work_item_id: WorkItemId,
}

impl BuiltIn for CompleteWorkItem {
    const DESCRIPTION: &'static str = "\
        Complete a work item whose objective is met and verified. The text of the same answer is the report that the \
        operator gets: complete one item in a round.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnWork(WorkCall::Complete { work_item: self.work_item_id }))
    }
}
