//! Planned happenings, ordered by virtual time; a drawn tie orders those of one moment.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_driver::Whose;
use holon_facts::{AgentId, OpId, Outcome};

use crate::fault::Ill;
use crate::ingress::Request;

/// One thing that the world does at its planned time.
#[derive(Debug)]
pub(super) enum Happening {
    /// An input of the scenario, by its position.
    Input(usize),
    /// A client sends a request, for the first time or again.
    Request(Request),
    /// The outcome of an operation arrives from a performer of one life of the process.
    Completed { agent: AgentId, op: OpId, outcome: Box<Outcome>, life: u64 },
    /// The result of a look at files arrives, in one life of the process.
    Looked { input: Box<Input>, life: u64 },
    /// The other host begins and ends turns under the limit that both hosts share.
    OtherMoves,
    /// The driver's timer; only the newest counts.
    Wake { number: u64, whose: Whose },
    /// The driver's timer rings when it should not, in one life of the process or in any.
    Ring(Option<u64>),
    /// A spell ends.
    Over(Ill),
    /// The disk finishes the write in progress.
    Sync(u64),
    /// The process of one life exits in good order.
    Shutdown(u64),
    /// The process starts.
    Start,
    /// A command ends, if this plan is still the newest one.
    Exits { socket: String, plan: u32 },
    /// Operators end the tasks of an agent that go on for too long.
    Tidy(u32),
    /// An agent whose performers are dead is stopped.
    Last(u32),
    /// Faults end.
    Quiet,
}

impl Happening {
    /// Whether the driver leaves it in the queue while the driver is too far ahead of the disk. Requests of clients are
    /// admitted one by one instead.
    pub(super) fn needs_capacity(&self) -> bool {
        match self {
            Self::Completed { .. } | Self::Looked { .. } | Self::Wake { .. } | Self::Ring(_) => true,
            Self::Input(_)
            | Self::Request(_)
            | Self::Sync(_)
            | Self::Over(_)
            | Self::Shutdown(_)
            | Self::Last(_)
            | Self::Exits { .. }
            | Self::Tidy(_)
            | Self::OtherMoves
            | Self::Start
            | Self::Quiet => false,
        }
    }
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

    /// All performers die.
    pub(super) fn performers_die(&mut self) {
        self.planned.retain(|_, happening| {
            !matches!(happening, Happening::Completed { .. } | Happening::Exits { .. })
        });
    }

    pub(super) fn next(&mut self) -> Option<(u64, Happening)> {
        self.planned.pop_first().map(|((at, _, _), happening)| (at, happening))
    }
}
