//! How children stand, for those who supervise them (contract: tasks.md, Child agents).

use alloc::string::String;

use holon_facts::closure::WaitingReason;
use holon_facts::content::clip;
use holon_facts::ids::{AgentId, TaskId, WorkItemId};
use holon_facts::names;
use holon_facts::task::NeedKind;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::task::Task;

/// Bytes of what a work item is for.
const SUMMARY: usize = 200;

names! { ChildPhase { Running "running", Blocked "blocked", Waiting "waiting", Terminal "terminal" } }

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChildObservability {
    pub phase: ChildPhase,
    /// Why it can't go on by itself.
    pub blocked_reason: Option<String>,
    /// What it waits for.
    pub waiting_reason: Option<WaitingReason>,
    /// Its item in focus, and what that is for.
    pub active_work_item_id: Option<WorkItemId>,
    pub work_summary: Option<String>,
    /// The start of its last text during work, and of its last text at the end of a turn.
    pub last_progress_brief: Option<String>,
    pub last_result_brief: Option<String>,
}

/// A child that is alive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveChild {
    pub child_agent_id: AgentId,
    pub supervision_task_id: TaskId,
    pub created_at: Wall,
    /// None where nobody in memory knows it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ChildObservability>,
}

impl ActiveChild {
    /// As its parent knows it.
    pub(crate) fn of(task: &Task) -> Option<Self> {
        let child_agent_id = task.child()?.child_agent_id.clone();
        Some(Self {
            child_agent_id,
            supervision_task_id: task.id,
            created_at: task.created_at,
            observed: None,
        })
    }
}

/// How an agent stands, for its supervisor.
pub(crate) fn observe(agent: &Agent, now: Wall) -> ChildObservability {
    let busy = agent.run.is_some() || agent.inbox.queued_entries() > 0 || agent.work.signal().is_some();
    let need = agent.need(now);
    let blocked = need.as_ref().filter(|need| need.kind != NeedKind::Operator);
    let closure = agent.closure(now);
    let phase = if agent.childhood.retired.is_some() {
        ChildPhase::Terminal
    } else if blocked.is_some() {
        ChildPhase::Blocked
    } else if busy {
        ChildPhase::Running
    } else {
        ChildPhase::Waiting
    };
    let current = agent.work.current();
    ChildObservability {
        phase,
        blocked_reason: blocked.map(|need| alloc::format!("{}: {}", need.kind, need.about)),
        waiting_reason: closure.waiting_reason.filter(|_| phase == ChildPhase::Waiting),
        active_work_item_id: current.map(|item| item.id),
        work_summary: current.map(|item| clip(&item.objective, SUMMARY)),
        last_progress_brief: agent.childhood.progress.clone(),
        last_result_brief: agent.childhood.result.clone(),
    }
}

/// What its task says of a child that has ended.
pub(crate) fn ended(task: &Task) -> ChildObservability {
    let result = task.end.as_ref().and_then(|end| end.result.as_ref());
    ChildObservability {
        phase: ChildPhase::Terminal,
        blocked_reason: None,
        waiting_reason: None,
        active_work_item_id: None,
        work_summary: None,
        last_progress_brief: None,
        last_result_brief: result.map(|report| clip(report.preview(), SUMMARY)),
    }
}
