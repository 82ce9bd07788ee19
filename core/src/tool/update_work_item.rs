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
    work_item_id: WorkItemId,
    objective: Option<String>,
    plan_status: Option<PlanStatus>,
    /// The whole list: it replaces the old one.
    todo_list: Option<Vec<Todo>>,
    blocked_by: Option<String>,
    /// When to check the blocker again, at least 60000; default an hour.
    recheck_after_ms: Option<u64>,
}

impl BuiltIn for UpdateWorkItem {
    const DESCRIPTION: &'static str = "\
        Change the given fields of a work item. Keep its todo list true while you work. Set blocked_by when you can't \
        go on with it, and to an empty text when you can again.";

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
