//! The facts that a decision is taken from: nothing outside this value may decide anything.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::budget::BudgetKind;
use holon_facts::config::Config;
use holon_facts::continuation::{ContinuationClass, Spent};
use holon_facts::decision::DeadlineReason;
use holon_facts::ids::{MessageId, RunId, TaskId, WaitId, WorkItemId};
use holon_facts::lifecycle::{Boundary, Status};
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::time::Wall;
use holon_facts::wait::WaitKind;
use holon_facts::work::{PlanStatus, WorkState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::inbox::Entry;
use crate::agent::wait::{Wait, recheck};
use crate::agent::work::WorkItem;
use crate::agent::work::obligation::TICK_BYTES;
use crate::continuation;
use crate::scheduler::results;

/// One agent as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerProjection {
    pub boundary: Boundary,
    pub status: Status,
    #[serde(default)]
    pub draining: bool,
    #[serde(default)]
    pub run: Option<RunFact>,
    #[serde(default)]
    pub hold: Option<HoldFact>,
    /// Entries that wait in the queue.
    #[serde(default)]
    pub queued: u64,
    /// The first entry that does not have to wait, in the order of bands and admission.
    #[serde(default)]
    pub head: Option<Head>,
    /// Under a hold: the first entry that needs no model.
    #[serde(default)]
    pub liveness_head: Option<Head>,
    pub free_slot: bool,
    /// So many turns in a row that the agent caused itself brought nothing on: it causes no further one.
    #[serde(default)]
    pub self_hold: Option<u32>,
    /// The day has had the turns that the agent itself may cause.
    #[serde(default)]
    pub exhausted_until: Option<Wall>,
    /// Pending hints.
    #[serde(default)]
    pub hints: Option<HintsFact>,
    /// A sleep of which the end has come, and is not delivered.
    #[serde(default)]
    pub slept_until: Option<Wall>,
    /// The item in focus, when a turn for it is due.
    #[serde(default)]
    pub owed_turn: Option<ItemFact>,
    /// The first of the other items that are to be mentioned now.
    #[serde(default)]
    pub owed_notice: Option<ItemFact>,
    /// The first of the blockers and waits that are to be looked at again now.
    #[serde(default)]
    pub recheck: Option<RecheckFact>,
    /// What is waited for: by the item in focus, else by others, else by the agent.
    #[serde(default)]
    pub awaited: Option<AwaitedFact>,
    /// The earliest moment at which the decision could change by itself.
    #[serde(default)]
    pub next_deadline: Option<ArmedDeadline>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunFact {
    pub run_id: RunId,
    pub message_id: MessageId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    pub message_id: MessageId,
    pub priority: Priority,
    pub class: ContinuationClass,
    /// Nothing that it reports is still due.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub stale: bool,
    /// The first of the waits that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_id: Option<WaitId>,
    /// Results of tasks that its turn takes as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<MessageId>,
}

/// A work item as a decision names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemFact {
    pub work_item_id: WorkItemId,
    pub revision: u64,
    pub state: WorkState,
}

/// Hints that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HintsFact {
    /// How many there were.
    pub hints: u64,
    /// Number of the last one.
    pub sequence: u64,
    /// The agent may have sent itself all of them.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub own: bool,
}

/// A recheck that is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecheckFact {
    /// The item, or the agent's own wait.
    pub owner: String,
    #[serde(default)]
    pub work_item_id: Option<WorkItemId>,
    pub due_at: Wall,
}

/// What an item, or the agent, waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AwaitedFact {
    pub kind: WaitKind,
    /// None where an item needs input, or has stalled.
    #[serde(default)]
    pub wait_id: Option<WaitId>,
    /// The task that has to end.
    #[serde(default)]
    pub task_id: Option<TaskId>,
    #[serde(default)]
    pub item: Option<ItemFact>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldFact {
    /// Without one it takes somebody to end it.
    #[serde(default)]
    pub until: Option<Wall>,
    #[serde(default)]
    pub budget: Option<BudgetKind>,
    #[serde(default)]
    pub trial: Option<Head>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArmedDeadline {
    pub at: Wall,
    pub reason: DeadlineReason,
}

/// What the host knows and an agent does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostFacts {
    pub draining: bool,
    pub free_slot: bool,
    /// Commands that are executed, over all agents.
    pub commands: u64,
    pub now: Wall,
}

/// Reads the agent's facts; costs what is active, whatever the history.
pub fn project(agent: &Agent, host: HostFacts, config: &Config, boundary: Boundary) -> SchedulerProjection {
    let closure = agent.closure(host.now);
    let as_head = |entry: &Entry| {
        let trigger = agent.trigger(entry, host.now);
        let class = continuation::resolve(&trigger, closure.outcome, closure.waiting_reason).class;
        let (message_id, priority) = (entry.message.id, entry.message.priority);
        let wait_id = trigger.resolves.first().map(|(wait_id, _)| *wait_id);
        let stale = trigger.spent == Some(Spent::Stale);
        let also = results::further_results(agent, config, host.now, message_id);
        Head { message_id, priority, class, stale, wait_id, also }
    };
    // What has no room stays owed.
    let room = agent.inbox.has_room(MessageKind::SystemTick, TICK_BYTES, &config.queue);
    let awake = room && agent.sleeps(host.now).is_none();
    let hold = agent.held(host.now);
    SchedulerProjection {
        boundary,
        status: agent.status,
        draining: host.draining,
        run: agent.run.as_ref().map(|run| RunFact { run_id: run.id, message_id: run.message }),
        queued: agent.inbox.queued_entries(),
        head: agent.inbox.queued().find(|entry| !agent.defers(entry, host.now)).map(as_head),
        liveness_head: hold.and_then(|_| agent.inbox.first_liveness()).map(as_head),
        hold: hold.map(|hold| HoldFact {
            until: hold.until,
            budget: hold.budget.map(|budget| budget.budget),
            trial: hold.trial.and_then(|id| agent.inbox.turn_of(id)).map(as_head),
        }),
        free_slot: host.free_slot,
        self_hold: agent.unattended.self_hold.then_some(agent.unattended.self_caused_turns),
        exhausted_until: agent.unattended.exhausted(host.now),
        hints: hints(agent).filter(|_| room),
        slept_until: agent.sleep.as_ref().and_then(|sleep| sleep.over(host.now)).filter(|_| room),
        owed_turn: agent.work.owed_turn(&agent.inbox, host.now).filter(|_| awake).map(item_fact),
        owed_notice: agent.work.owed_notices(&agent.inbox, host.now).next().filter(|_| awake).map(item_fact),
        recheck: first_due(agent, host.now).filter(|_| room),
        awaited: awaited(agent),
        next_deadline: agent.next_deadline(host.now).map(|(at, reason)| ArmedDeadline { at, reason }),
    }
}

fn hints(agent: &Agent) -> Option<HintsFact> {
    let (hints, sequence, own) = (agent.hints.count(), agent.hints.sequence(), agent.hints.are_own());
    (hints > 0).then_some(HintsFact { hints, sequence, own })
}

fn awaited(agent: &Agent) -> Option<AwaitedFact> {
    let fact = |kind, wait: Option<&Wait>, item| AwaitedFact {
        kind,
        wait_id: wait.map(|wait| wait.id),
        task_id: wait.filter(|_| kind == WaitKind::Task).and_then(|wait| wait.task_id),
        item,
    };
    let item = agent.work.waiting().map(|(item, kind)| {
        let itself = item.state() == WorkState::Stalled || item.plan_status == PlanStatus::NeedsInput;
        fact(kind, item.wait.as_ref().filter(|_| !itself), Some(item_fact(item)))
    });
    let own = agent.waits.own.as_ref();
    item.or_else(|| own.map(|wait| fact(wait.shown_as(), Some(wait), None)))
}

fn item_fact(item: &WorkItem) -> ItemFact {
    ItemFact { work_item_id: item.id, revision: item.revision, state: item.state() }
}

/// The first owner that is due.
fn first_due(agent: &Agent, now: Wall) -> Option<RecheckFact> {
    let due = recheck::owners(agent).find(|owner| owner.recheck.is_due(now))?;
    Some(RecheckFact { owner: due.name(), work_item_id: due.id(), due_at: due.recheck.recheck_at? })
}
