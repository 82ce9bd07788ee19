//! How agents stand, for operators, clients and supervisors: assembled on read from one agent, and never an input to
//! anything.

pub mod children;
pub mod context;
pub mod deferred;
pub mod model;
pub mod run;
pub mod spending;
pub mod supervision;
pub mod waits;
pub mod workspaces;

use alloc::vec::Vec;

use holon_facts::closure::ClosureDecision;
use holon_facts::config::Config;
use holon_facts::identity::AgentSpec;
use holon_facts::ids::{AgentId, EventSeq, MessageId, WorkItemId};
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::Status;
use holon_facts::names;
use holon_facts::price::Amount;
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use holon_facts::wait::WaitKind;
use holon_facts::work::WorkState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::external_trigger::ExternalTrigger;
use crate::agent::history::{LastTurn, LoadedInstructions};
use crate::agent::hold::Hold;
use crate::agent::outside::Outside;
use crate::agent::unattended::Unattended;
use crate::agent::wait::Wait;
use crate::summary::context::ContextSummary;
use crate::summary::model::ModelState;
use crate::summary::run::RunSummary;
use crate::summary::spending::Spending;
use crate::summary::waits::ActiveWait;
use crate::summary::workspaces::WorkspaceState;

names! {
    /// What an agent is up to, first match wins (contract: scheduler.md, Posture).
    SchedulingPosture {
        Archived "archived", ActiveTurn "active_turn", HasQueuedInput "has_queued_input",
        HasRunnableWork "has_runnable_work", WaitingForTask "waiting_for_task",
        WaitingForExternal "waiting_for_external", WaitingForOperator "waiting_for_operator", Blocked "blocked", Idle "idle",
    }
}

impl SchedulingPosture {
    /// The word for people: the posture of every agent that is stopped is `archived`, and few of them are.
    pub fn shown(self, archived: bool) -> &'static str {
        if self == Self::Archived && !archived { "stopped" } else { self.name() }
    }
}

names! {
    /// What a status means beyond itself; shown, never stored, and no gate for anything.
    StatusLabel {
        /// The agent is not stopped, and waits for the end of a task.
        AwaitingTask "awaiting_task",
    }
}

/// One agent for operators and clients.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSummary {
    pub agent_id: AgentId,
    /// What people call it.
    #[serde(flatten)]
    pub label: AgentLabel,
    pub identity: AgentSpec,
    pub created_at: Wall,
    pub status: Status,
    pub status_since: Wall,
    pub status_label: Option<StatusLabel>,
    pub scheduling_posture: SchedulingPosture,
    pub lifecycle_hint: Option<alloc::string::String>,
    pub model: ModelState,
    pub token_usage: TokenUsage,
    pub last_turn_token_usage: TokenUsage,
    pub model_rounds: u64,
    /// Once a model was asked.
    pub context: Option<ContextSummary>,
    pub spending: Spending,
    pub workspace: WorkspaceState,
    pub queue: QueueSummary,
    /// Background tasks that have not ended.
    pub active_task_count: u64,
    /// The item in focus.
    pub current_work_item_id: Option<WorkItemId>,
    pub hold: Option<Hold>,
    /// Turns that no operator caused, once there was one.
    pub unattended: Option<Unattended>,
    /// Events from outside, once there was one.
    pub outside: Option<Outside>,
    /// The trigger through which other systems wake it; other routes show its address.
    pub external_trigger: Option<ExternalTrigger>,
    /// What it waits for: for its work items in order, then for itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<ActiveWait>,
    /// How the last turn left the agent: history while something is pending. `completed` with the evidence
    /// `no_turn` where there was none.
    pub closure: ClosureDecision,
    pub run: Option<RunSummary>,
    pub last_turn: Option<LastTurn>,
    /// The instruction files that its newest turn was given, in the order of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instruction_sources: Vec<LoadedInstructions>,
    pub event_seq: EventSeq,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueSummary {
    pub entries: u64,
    pub bytes: u64,
    pub queued: Vec<(Priority, u64)>,
    /// The entry that is next in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<QueueHead>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueHead {
    pub message_id: MessageId,
    pub kind: MessageKind,
    pub priority: Priority,
    pub created_at: Wall,
}

impl AgentSummary {
    /// `others` of the tree that the agent belongs to have spent so much.
    pub(crate) fn of(agent: &Agent, config: &Config, now: Wall, others: Amount) -> Self {
        Self {
            agent_id: agent.id.clone(),
            label: agent.label.clone(),
            identity: agent.spec.clone(),
            created_at: agent.created_at,
            status: agent.status,
            status_since: agent.status_since,
            status_label: status_label(agent, now),
            scheduling_posture: posture(agent, now),
            lifecycle_hint: (agent.status == Status::Stopped).then(|| match agent.childhood.retired {
                Some(_) => archived_hint(&agent.id),
                None => lifecycle_hint(&agent.id),
            }),
            workspace: WorkspaceState::of(agent),
            model: ModelState::of(agent, config),
            token_usage: agent.history.usage,
            last_turn_token_usage: agent.history.last_turn_usage,
            spending: Spending::of_agent(agent, config, now, others),
            model_rounds: agent.history.model_rounds,
            context: ContextSummary::of(agent),
            queue: queue(agent),
            active_task_count: agent.tasks.active_count(),
            current_work_item_id: agent.work.current().map(|item| item.id),
            hold: agent.hold.clone(),
            unattended: agent.unattended.shown(),
            outside: agent.outside.shown(),
            external_trigger: agent.external_trigger.clone(),
            waits: waits::active(agent),
            closure: agent.closure(now).shown(),
            run: run::summary(agent),
            last_turn: agent.history.last_turn.clone(),
            instruction_sources: agent.history.instructions.clone(),
            event_seq: agent.event_seq,
        }
    }
}

pub(crate) fn posture(agent: &Agent, now: Wall) -> SchedulingPosture {
    if agent.status == Status::Stopped {
        SchedulingPosture::Archived
    } else if agent.run.is_some() {
        SchedulingPosture::ActiveTurn
    } else if agent.inbox.queued_entries() > 0 {
        SchedulingPosture::HasQueuedInput
    } else if agent.work.signal().is_some() {
        SchedulingPosture::HasRunnableWork
    } else if let Some(posture) = waiting(agent) {
        posture
    } else if agent.held(now).is_some()
        || agent.unattended.exhausted(now).is_some()
        || agent.unattended.self_hold
        || agent.work.open_count() > 0
        || agent.waits.own.is_some()
    {
        SchedulingPosture::Blocked
    } else {
        SchedulingPosture::Idle
    }
}

pub(crate) fn status_label(agent: &Agent, now: Wall) -> Option<StatusLabel> {
    let waits = posture(agent, now) == SchedulingPosture::WaitingForTask;
    waits.then_some(StatusLabel::AwaitingTask)
}

/// Of all that is waited for, what is told first; a stall and a timer are no more than an obstacle.
fn waiting(agent: &Agent) -> Option<SchedulingPosture> {
    let own = agent.waits.own.as_ref().map(Wait::shown_as);
    if agent.waits_for(WaitKind::Task) {
        Some(SchedulingPosture::WaitingForTask)
    } else if agent.waits_for(WaitKind::External) {
        Some(SchedulingPosture::WaitingForExternal)
    } else if own == Some(WaitKind::Operator)
        || agent.work.open().any(|item| item.state() == WorkState::WaitingOperator)
    {
        Some(SchedulingPosture::WaitingForOperator)
    } else {
        None
    }
}

/// What a stopped agent needs before it takes new input.
pub fn lifecycle_hint(agent: &AgentId) -> alloc::string::String {
    alloc::format!(
        "stopped: start it before new input (holon agent start {agent}); a wake does not override a stop"
    )
}

/// What there is to do about a child that has come to its end.
fn archived_hint(agent: &AgentId) -> alloc::string::String {
    alloc::format!("archived: it has come to its end, and can be read (holon transcript --agent {agent})")
}

pub(crate) fn queue(agent: &Agent) -> QueueSummary {
    let (entries, bytes) = agent.inbox.totals();
    let queued = Priority::ALL.iter().map(|&priority| (priority, agent.inbox.depth(priority)));
    let head = agent.inbox.queued().next().map(|entry| QueueHead {
        message_id: entry.message.id,
        kind: entry.message.kind,
        priority: entry.message.priority,
        created_at: entry.message.created_at,
    });
    QueueSummary { entries, bytes, queued: queued.filter(|(_, depth)| *depth > 0).collect(), head }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_is_stopped_is_shown_as_archived_only_where_it_is() {
        assert_eq!(SchedulingPosture::Archived.shown(false), "stopped");
        assert_eq!(SchedulingPosture::Archived.shown(true), "archived");
        assert!(SchedulingPosture::ALL.iter().skip(1).all(|one| one.shown(false) == one.name()));
    }
}
