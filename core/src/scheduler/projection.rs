//! The facts that a decision is taken from: nothing outside this value may decide anything.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::continuation::{self, ContinuationClass};
use crate::host::DeadlineReason;
use crate::ids::{MessageId, RunId};
use crate::lifecycle::{Boundary, Status};
use crate::message::Priority;
use crate::time::Wall;

/// One agent as the scheduler sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The first entry in the order of bands and admission.
    #[serde(default)]
    pub head: Option<Head>,
    /// Under a hold: the first entry that needs no model.
    #[serde(default)]
    pub liveness_head: Option<Head>,
    pub free_slot: bool,
    /// The earliest moment at which the decision could change by itself.
    #[serde(default)]
    pub next_deadline: Option<ArmedDeadline>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFact {
    pub run_id: RunId,
    pub message_id: MessageId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub message_id: MessageId,
    pub priority: Priority,
    pub class: ContinuationClass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldFact {
    pub until: Wall,
    #[serde(default)]
    pub trial: Option<Head>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
pub fn project(agent: &Agent, host: HostFacts, boundary: Boundary) -> SchedulerProjection {
    let closure = agent.closure(host.now);
    let as_head = |entry: &crate::agent::inbox::Entry| Head {
        message_id: entry.message.id,
        priority: entry.message.priority,
        class: continuation::resolve(
            entry.message.kind,
            entry.message.trigger_kind,
            entry.known,
            closure.outcome,
            closure.waiting_reason,
        )
        .class,
    };
    let hold = agent.hold.as_ref().filter(|hold| hold.holds(host.now));
    SchedulerProjection {
        boundary,
        status: agent.status,
        draining: host.draining,
        run: agent.run.as_ref().map(|run| RunFact { run_id: run.id, message_id: run.message }),
        queued: agent.inbox.queued_entries(),
        head: agent.inbox.queued().next().map(as_head),
        liveness_head: hold.and_then(|_| agent.inbox.first_liveness()).map(as_head),
        hold: hold.map(|hold| HoldFact {
            until: hold.until,
            trial: hold.trial.and_then(|id| agent.inbox.queued_entry(id)).map(as_head),
        }),
        free_slot: host.free_slot,
        next_deadline: agent.next_deadline(host.now).map(|(at, reason)| ArmedDeadline { at, reason }),
    }
}
