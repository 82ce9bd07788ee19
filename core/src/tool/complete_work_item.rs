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
    /// The item, for example `work_3`.
    work_item_id: WorkItemId,
}

impl BuiltIn for CompleteWorkItem {
    const DESCRIPTION: &'static str = "\
        Say that a work item is done. What you write beside the call is what the operator is told of it, so \
        complete one item in a round, and say what came of it.";

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnWork(WorkCall::Complete { work_item: self.work_item_id }))
    }
}
