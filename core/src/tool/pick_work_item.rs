//! The work item that an agent turns to.

use alloc::string::String;

use holon_facts::ids::WorkItemId;
use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BuiltIn, check};

/// Turn to a work item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PickWorkItem {
    work_item_id: WorkItemId,
    reason: Option<String>,
    /// Remove its blocker.
    #[serde(default)]
    clear_blocker: bool,
}

impl BuiltIn for PickWorkItem {
    const DESCRIPTION: &'static str = "Put a work item in focus: your turns are about it from the next one on.";

    fn check(&self) -> Result<(), ToolError> {
        check::line("reason", self.reason.as_deref())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        let Self { work_item_id: work_item, reason, clear_blocker } = self;
        Ok(Verdict::OnWork(WorkCall::Pick { work_item, reason, clear_blocker }))
    }
}
