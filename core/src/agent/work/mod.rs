//! Work items of one agent: what it is about, over many turns (contract: work.md, Work items). This file is their
//! state and its `apply`; the others decide.

pub mod operator;
#[cfg(test)]
mod tests;
pub(crate) mod tools;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::event::WorkFact;
use crate::event::work::{WorkChange, WorkItemWritten};
use crate::ids::WorkItemId;
use crate::names::names;
use crate::time::Wall;

/// Items that an agent may have open.
pub const OPEN: usize = 256;
/// Completed items that stay in the state; older ones are in the log.
pub const KEPT: usize = 64;
/// Longest objective, in bytes.
pub const OBJECTIVE_BYTES: usize = 4 << 10;
/// Longest entry of a todo list, reason or blocker, in bytes.
pub const LINE_BYTES: usize = 512;
/// Most entries of a todo list.
pub const TODOS: usize = 100;

names! { PlanStatus { Draft "draft", Ready "ready", NeedsInput "needs_input" } }

names! { TodoState { Pending "pending", InProgress "in_progress", Completed "completed" } }

names! {
    /// How the scheduler sees an item, first match wins.
    WorkState {
        Completed "completed", WaitingOperator "waiting_operator", Blocked "blocked", Runnable "runnable",
    }
}

/// One entry of a todo list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Todo {
    /// At most 512 bytes.
    pub text: String,
    pub state: TodoState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    pub id: WorkItemId,
    pub revision: u64,
    pub objective: String,
    pub plan_status: PlanStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todo_list: Vec<Todo>,
    /// What stands in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// What the agent reported of it at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<Text>,
    pub created_at: Wall,
    pub updated_at: Wall,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Wall>,
}

/// All items of an agent that it knows of without reading its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItems {
    open: BTreeMap<WorkItemId, WorkItem>,
    /// In the order of their ends, the newest last.
    completed: VecDeque<WorkItem>,
    /// The item in focus: open.
    current: Option<WorkItemId>,
}

impl WorkItems {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty() && self.completed.is_empty()
    }

    /// Items that are not completed, in order.
    pub fn open(&self) -> impl Iterator<Item = &WorkItem> {
        self.open.values()
    }

    pub fn open_count(&self) -> u64 {
        self.open.len() as u64
    }

    /// Completed items that are remembered, the newest first.
    pub fn completed(&self) -> impl Iterator<Item = &WorkItem> {
        self.completed.iter().rev()
    }

    pub fn get(&self, id: WorkItemId) -> Option<&WorkItem> {
        self.open.get(&id).or_else(|| self.completed.iter().find(|item| item.id == id))
    }

    pub fn is_open(&self, id: WorkItemId) -> bool {
        self.open.contains_key(&id)
    }

    /// The item in focus.
    pub fn current(&self) -> Option<&WorkItem> {
        self.current.and_then(|id| self.open.get(&id))
    }

    pub(super) fn apply(&mut self, at: Wall, fact: &WorkFact) {
        match fact {
            WorkFact::WorkItemWritten(fact) => self.written(at, fact),
            WorkFact::WorkItemPicked(fact) => {
                self.current = Some(fact.work_item_id);
                if let Some(item) = self.open.get_mut(&fact.work_item_id).filter(|_| fact.unblocked) {
                    (item.blocked_by, item.updated_at) = (None, at);
                }
            }
            WorkFact::DeliverySummaryRecorded(_) => {}
        }
    }

    fn written(&mut self, at: Wall, fact: &WorkItemWritten) {
        let id = fact.work_item_id;
        if let WorkChange::Created { objective, plan_status, todo_list } = &fact.change {
            let item = WorkItem {
                id,
                revision: fact.revision,
                objective: objective.clone(),
                plan_status: *plan_status,
                todo_list: todo_list.clone(),
                blocked_by: None,
                result_summary: None,
                created_at: at,
                updated_at: at,
                completed_at: None,
            };
            self.open.insert(id, item);
            return;
        }
        let Some(item) = self.open.get_mut(&id) else { return };
        (item.revision, item.updated_at) = (fact.revision, at);
        match &fact.change {
            WorkChange::Created { .. } => {}
            WorkChange::Updated { objective, plan_status, todo_list, blocked_by } => {
                item.objective = objective.as_ref().unwrap_or(&item.objective).clone();
                item.plan_status = plan_status.unwrap_or(item.plan_status);
                if let Some(todo_list) = todo_list {
                    item.todo_list.clone_from(todo_list);
                }
                if let Some(blocked_by) = blocked_by {
                    item.blocked_by = Some(blocked_by.clone()).filter(|blocked_by| !blocked_by.is_empty());
                }
            }
            WorkChange::Completed { result_summary } => self.complete(at, id, result_summary.clone()),
        }
    }

    fn complete(&mut self, at: Wall, id: WorkItemId, result_summary: Option<Text>) {
        let Some(mut item) = self.open.remove(&id) else { return };
        (item.blocked_by, item.completed_at, item.result_summary) = (None, Some(at), result_summary);
        self.completed.push_back(item);
        if self.completed.len() > KEPT {
            self.completed.pop_front();
        }
        if self.current == Some(id) {
            self.current = None;
        }
    }
}

impl WorkItem {
    pub fn state(&self) -> WorkState {
        if self.completed_at.is_some() {
            WorkState::Completed
        } else if self.plan_status == PlanStatus::NeedsInput {
            WorkState::WaitingOperator
        } else if self.blocked_by.is_some() {
            WorkState::Blocked
        } else {
            WorkState::Runnable
        }
    }
}
