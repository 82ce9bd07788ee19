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

impl BuiltIn for CreateWorkItem {
    const DESCRIPTION: &'static str = "\
        Create a work item: something to be brought about over many turns, with an objective, a plan and a \
        todo list. It does not take the focus; PickWorkItem does. The plan is a file of your own, which \
        the result names: change it with your ordinary tools.";

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
