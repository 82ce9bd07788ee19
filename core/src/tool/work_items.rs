//! The argument types of the tools for work items.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::call::WorkFilter;
use holon_facts::ids::WorkItemId;
use holon_facts::receipt::ToolError;
use holon_facts::work::{LINE_BYTES, OBJECTIVE_BYTES, PlanStatus, TODOS, Todo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Check, invalid};
use super::wait::check_recheck;

/// Create a work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkItem {
    /// What is to be brought about; at most 4 KiB.
    pub objective: String,
    /// How far the plan is.
    #[serde(default = "draft")]
    pub plan_status: PlanStatus,
    /// What to write into the plan's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The steps, at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<Todo>,
}

/// Turn to a work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PickWorkItem {
    /// The item, for example `work_3`.
    pub work_item_id: WorkItemId,
    /// Why; at most 512 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether what stood in its way is gone.
    #[serde(default)]
    pub clear_blocker: bool,
}

/// Read a work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetWorkItem {
    /// The item, for example `work_3`.
    pub work_item_id: WorkItemId,
    /// Whether to show its todo list.
    #[serde(default)]
    pub include_todo_list: bool,
}

/// List work items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListWorkItems {
    /// Which items.
    #[serde(default)]
    pub filter: WorkFilter,
    /// How many at most.
    #[serde(default = "default_items")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: u32,
    /// Whether to show their todo lists.
    #[serde(default)]
    pub include_todo_list: bool,
}

/// Change a work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateWorkItem {
    /// The item, for example `work_3`.
    pub work_item_id: WorkItemId,
    /// What is to be brought about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// How far the plan is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
    /// All steps: the list replaces the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo_list: Option<Vec<Todo>>,
    /// What stands in the way; empty when nothing does any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// When to look again whether it still does, in milliseconds, at least 60000; an hour when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck_after_ms: Option<u64>,
}

/// Complete a work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteWorkItem {
    /// The item, for example `work_3`.
    pub work_item_id: WorkItemId,
}

fn draft() -> PlanStatus {
    PlanStatus::Draft
}

fn default_items() -> u32 {
    20
}

impl Check for CreateWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        check_objective(&self.objective)?;
        check_todo_list(&self.todo_list)
    }
}

impl Check for PickWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        check_line("reason", self.reason.as_deref())
    }
}

impl Check for GetWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

impl Check for ListWorkItems {
    fn check(&self) -> Result<(), ToolError> {
        if (1..=100).contains(&self.limit) {
            return Ok(());
        }
        Err(invalid("limit", &format!("is {}, expected 1 to 100", self.limit), "ask for fewer"))
    }
}

impl Check for UpdateWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        self.objective.as_deref().map_or(Ok(()), check_objective)?;
        self.todo_list.as_deref().map_or(Ok(()), check_todo_list)?;
        check_line("blocked_by", self.blocked_by.as_deref())?;
        check_recheck(self.recheck_after_ms)
    }
}

impl Check for CompleteWorkItem {
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }
}

fn check_objective(objective: &str) -> Result<(), ToolError> {
    let bytes = objective.len();
    if !objective.trim().is_empty() && bytes <= OBJECTIVE_BYTES {
        return Ok(());
    }
    let problem = format!("has {bytes} bytes, expected 1 to {OBJECTIVE_BYTES}");
    Err(invalid("objective", &problem, "say what is to be brought about; details belong into the plan"))
}

fn check_todo_list(todo_list: &[Todo]) -> Result<(), ToolError> {
    if todo_list.len() > TODOS {
        let problem = format!("has {} entries, the most is {TODOS}", todo_list.len());
        return Err(invalid("todo_list", &problem, "details belong into the plan"));
    }
    let mut entries = todo_list.iter().enumerate();
    entries.try_for_each(|(at, todo)| check_line(&format!("todo_list[{at}].text"), Some(&todo.text)))
}

fn check_line(field: &str, line: Option<&str>) -> Result<(), ToolError> {
    let bytes = line.map_or(0, str::len);
    if bytes <= LINE_BYTES {
        return Ok(());
    }
    let problem = format!("has {bytes} bytes, the most is {LINE_BYTES}");
    Err(invalid(field, &problem, "details belong into the plan"))
}
