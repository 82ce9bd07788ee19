//! What there is of work items.


use holon_facts::call::{WorkFilter};
use holon_facts::receipt::{ToolError, Verdict, WorkCall};
use schemars::JsonSchema;
use serde::Deserialize;

use super::BuiltIn;
use super::check::invalid;

/// List work items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListWorkItems {
    #[serde(default)]
    #[schemars(description = "")]
    filter: WorkFilter,
    #[serde(default = "default_items")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    #[serde(default)]
    include_todo_list: bool,
}

impl BuiltIn for ListWorkItems {
    const DESCRIPTION: &'static str = "List your work items: open ones first, then those completed lately.";

    fn check(&self) -> Result<(), ToolError> {
        if (1..=100).contains(&self.limit) {
            return Ok(());
        }
        Err(invalid("limit", &format!("is {}, expected 1 to 100", self.limit), "ask for fewer"))
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        let Self { filter, limit, include_todo_list: todo_list } = self;
        Ok(Verdict::OnWork(WorkCall::List { filter, limit, todo_list }))
    }
}

fn default_items() -> u32 {
    20
}
