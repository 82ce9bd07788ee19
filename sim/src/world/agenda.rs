//! What will happen, ordered by virtual time; what happens at one moment is ordered by a drawn tie.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_driver::Whose;
use holon_facts::{AgentId, OpId, Outcome};

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
    /// Somebody has looked at files, in one life of the process.
    Looked { input: Box<Input>, life: u64 },
    /// Another host begins and ends turns of those that it has together with this one.
    OtherMoves,
    /// The driver's timer; only the newest counts.
    Wake { number: u64, whose: Whose },
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

impl Happening {
    /// Whether the driver does not listen to it while it is too far ahead of the disk. Clients are told apart by what they
    /// ask for.
    pub(super) fn needs_room(&self) -> bool {
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
