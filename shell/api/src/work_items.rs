//! Work items, as they are asked for and listed.

use holon_facts::AgentId;
use holon_facts::call::WorkFilter;
use holon_facts::work::{OBJECTIVE_BYTES, PlanStatus, TODOS, Todo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::optional_word;
use super::work_item::WorkItemSnapshot;

/// Which work items.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkItemsQuery {
    /// Only items of this kind; all by default.
    pub filter: Option<WorkFilter>,
    /// At most so many, 1 to 500; 100 by default.
    #[schemars(range(min = 1, max = 500))]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItems {
    pub ok: bool,
    /// Those that are open, in their order, then those completed lately, the newest first.
    pub work_items: Vec<WorkItemSnapshot>,
    /// Whether there are more beyond `limit`.
    pub more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemShown {
    pub ok: bool,
    pub work_item: WorkItemSnapshot,
}

/// A new work item. It does not take the focus.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWork {
    /// What is to be brought about; at most 4 KiB.
    #[schemars(length(min = 1, max = OBJECTIVE_BYTES))]
    pub objective: String,
    /// How far the plan is; `draft` by default.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_word")]
    pub plan_status: Option<PlanStatus>,
    /// The steps, at most 100.
    #[schemars(length(max = TODOS))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<Todo>,
    /// The initial text of its plan's file; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// A work item after a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether the request changed anything.
    pub changed: bool,
    pub work_item: WorkItemSnapshot,
}
