//! A work item, as agents and operators see it (contract: work.md, Work items): the same shapes in the results of
//! tools and over HTTP.

use holon_core::agent::wait::Wait;
use holon_facts::event::work::StallReason;
use holon_facts::ids::WorkItemId;
use holon_facts::work::{PlanStatus, Todo, WorkState};
use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, ContentId, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One work item.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItemSnapshot {
    pub work_item_id: WorkItemId,
    pub agent_id: AgentId,
    /// Where its agent worked when it was made.
    pub workspace_id: Option<WorkspaceId>,
    /// One more with every change.
    pub revision: u64,
    pub objective: String,
    pub state: ItemState,
    /// How the scheduler sees it.
    pub scheduling_state: WorkState,
    pub plan_status: PlanStatus,
    /// Whether the agent's turns are about it.
    pub in_focus: bool,
    /// None where nothing was written yet.
    pub plan_artifact: Option<PlanArtifact>,
    /// None where it was not asked for.
    pub todo_list: Option<Vec<Todo>>,
    pub blocked_by: Option<String>,
    /// What it waits for.
    pub wait: Option<Wait>,
    /// When its blocker or its wait is rechecked, unless it has changed by then.
    pub recheck_at: Option<Wall>,
    /// When that was done last.
    pub recheck_consumed_at: Option<Wall>,
    /// Since when it is stalled.
    pub stalled_at: Option<Wall>,
    pub stall_reason: Option<StallReason>,
    /// When its next turn is due, after turns without progress.
    pub deferred_until: Option<Wall>,
    /// What the agent reported at its end.
    pub completion_report: Option<String>,
    pub created_at: Wall,
    pub updated_at: Wall,
    pub completed_at: Option<Wall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    Open,
    Completed,
}

/// The file with the plan of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanArtifact {
    pub path: String,
    /// Of its first 4 MiB.
    pub hash: ContentId,
    pub bytes: u64,
    pub updated_at: Wall,
    /// The beginning, at most 1,600 characters.
    pub preview: String,
    pub preview_complete: bool,
}
