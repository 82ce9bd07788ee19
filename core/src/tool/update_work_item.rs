//! A change of a work item.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::ids::WorkItemId;
use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use holon_facts::time::Millis;
use holon_facts::work::{PlanStatus, Todo};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BuiltIn, check};

/// Change a work item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateWorkItem {
    /// The item, for example `work_3`.
    work_item_id: WorkItemId,
    /// What is to be brought about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objective: Option<String>,
    /// How far the plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan_status: Option<PlanStatus>,
    /// All steps: the list replaces the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    todo_list: Option<Vec<Todo>>,
    /// What stands in the way; empty when nothing does any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
    /// When to look again whether it still does, in milliseconds, at least 60000; an hour when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recheck_after_ms: Option<u64>,
}

impl BuiltIn for UpdateWorkItem {
    const DESCRIPTION: &'static str = "\
        Change a work item. A todo list replaces the one before. blocked_by says what stands in the way; an \
        empty text says that nothing does any more.";

    fn check(&self) -> Result<(), ToolError> {
        self.objective.as_deref().map_or(Ok(()), check::objective)?;
        self.todo_list.as_deref().map_or(Ok(()), check::todo_list)?;
        check::line("blocked_by", self.blocked_by.as_deref())?;
        check::recheck(self.recheck_after_ms)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnWork(WorkCall::Update {
            work_item: self.work_item_id,
            objective: self.objective,
            plan_status: self.plan_status,
            todo_list: self.todo_list,
            blocked_by: self.blocked_by,
            recheck_after: self.recheck_after_ms.map(Millis),
        }))
    }
}
