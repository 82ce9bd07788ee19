//! What will happen, ordered by virtual time; what happens at one moment is ordered by a drawn tie.

use std::collections::BTreeMap;

use holon_facts::ids::WorkItemId;
use holon_facts::{AgentId, ContentId, OpId, Outcome};

use crate::fault::Ill;
use crate::ingress::Request;

/// Something that the world does at its time.
#[derive(Debug)]
pub(super) enum Happening {
    /// An input of the scenario, by its position.
    Input(usize),
    /// A client tries again, or for the first time.
    Request(Request),
    /// A performer of one life of the process is done.
    Completed { agent: AgentId, op: OpId, outcome: Box<Outcome>, life: u64 },
    /// A child is brought into memory, in one life of the process.
    Load { parent: AgentId, op: OpId, child: AgentId, life: u64 },
    /// Somebody has looked at the plan of a work item, in one life of the process.
    Looked { agent: AgentId, item: WorkItemId, hash: Option<ContentId>, life: u64 },
    /// The driver's timer; only the newest counts.
    Wake(u64),
    /// The driver's timer rings when it should not, in one life of the process or in any.
    Ring(Option<u64>),
    /// A spell is over.
    Over(Ill),
    /// The disk is done with what it was given.
    Sync(u64),
    /// The process of one life leaves in good order.
    Shutdown(u64),
    /// The process starts.
    Start,
    /// A command ends, if that is still the plan.
    Exits { socket: String, plan: u32 },
    /// Operators end the tasks of an agent that go on for too long.
    Tidy(u32),
    /// The last word to an agent whose performers are dead.
    Last(u32),
    /// Faults are over.
    Quiet,
}

#[derive(Debug, Default)]
pub(super) struct Agenda {
    planned: BTreeMap<(u64, u32, u64), Happening>,
    count: u64,
}

impl Agenda {
    pub(super) fn plan(&mut self, at: u64, tie: u32, happening: Happening) {
        self.count += 1;
        self.planned.insert((at, tie, self.count), happening);
    }

    /// Nobody is at work any more.
    pub(super) fn performers_die(&mut self) {
        self.planned.retain(|_, happening| {
            !matches!(happening, Happening::Completed { .. } | Happening::Exits { .. })
        });
    }

    pub(super) fn next(&mut self) -> Option<(u64, Happening)> {
        self.planned.pop_first().map(|((at, _, _), happening)| (at, happening))
    }
}
