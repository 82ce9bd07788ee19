//! A new work item.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use holon_facts::work::{PlanStatus, Todo};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{BuiltIn, check};

/// Create a work item.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkItem {
    /// What must be true at the end.
    pub objective: String,
    #[serde(default = "draft")]
    pub plan_status: PlanStatus,
    /// Text of the plan's file.
    pub plan: Option<String>,
    /// At most 100 steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<Todo>,
}

impl BuiltIn for CreateWorkItem {
    const DESCRIPTION: &'static str = "\
        Create a work item: an objective to pursue over many turns, with a plan and a todo list. Not for what this \
        turn finishes. PickWorkItem puts it in focus. The result names the file of the plan; edit that like any file.";

    fn check(&self) -> Result<(), ToolError> {
        check::objective(&self.objective)?;
        check::todo_list(&self.todo_list)
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnWork(WorkCall::Create {
            plan: self.plan.is_some(),
            objective: self.objective,
            plan_status: self.plan_status,
            todo_list: self.todo_list,
        }))
    }
}

fn draft() -> PlanStatus {
    PlanStatus::Draft
}
