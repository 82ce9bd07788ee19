//! Small worlds, explored exhaustively (V10): every order in which a few things may happen, and from every reached
//! state a way to rest once faults are over.
//!
//! A [`SmallWorld`] bounds what may happen; a situation is everything that decides what follows: the host, the disk,
//! everything outside, and what the bounds still allow. The clock is paused but for moves to the next deadline, so
//! situations differ by what has happened, not by when. [`search::explore`] visits each once.

mod act;
mod action;
pub mod campaign;
mod canonical;
mod command;
mod drain;
mod lives;
mod moves;
pub mod path;
pub mod search;
mod situation;
mod small_disk;
pub(crate) mod table;
mod worlds;

use holon_facts::Config;

use crate::ingress::Request;
use crate::scenario;

pub use action::{Ask, Ending, Move};
pub use worlds::worlds;

/// A group of races with its bounds.
#[derive(Debug, Clone)]
pub struct SmallWorld {
    pub name: &'static str,
    pub about: &'static str,
    pub config: Config,
    /// Numbered from 1; each exists from the beginning.
    pub agents: u8,
    pub offers: Vec<Offer>,
    pub endings: Vec<(Ending, Pot)>,
    pub bounds: Bounds,
    /// Supervisors report what they execute, so that a command may go on as a task.
    pub tasks: bool,
}

/// A request that a client may make, so many times. At most eight to a world.
#[derive(Debug, Clone)]
pub struct Offer {
    pub agent: u8,
    pub action: scenario::Action,
    pub times: u8,
}

/// How often unprovoked things may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounds {
    pub calls: u8,
    pub faults: u8,
    /// Deadlines that pass while a performer is in flight.
    pub silences: u8,
    pub crashes: u8,
    pub strays: u8,
    pub parks: u8,
    /// Rows that may wait for the disk; 0 when it syncs at once.
    pub ahead: u8,
}

/// The bound that a move uses up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pot {
    Free,
    Calls,
    Faults,
    Silences,
    Crashes,
    Strays,
    Parks,
}

/// How a world is sabotaged, to show that the search catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A request to a provider never leaves.
    LoseEffect,
    /// A caller is never answered.
    SwallowReply,
    /// The driver's timer never rings.
    LoseWake,
    /// The driver does not step again when the host asks for another step.
    IgnoreMore,
    /// A start of the process restores its agents and recovers none.
    SkipRecover,
    /// A crash loses a row that was synced.
    LoseSynced,
    /// A start of the process restores an agent from an older state.
    StaleSnapshot,
    /// An evicted agent is handed an input without being loaded.
    ForgetParked,
    /// A command that ended while the process was down is not probed.
    ForgetEnd,
    /// A start of the process loads no child.
    LeaveChildren,
    /// The end of a command is reported as another one.
    MisreportEnd,
}

impl SmallWorld {
    /// The same world with wider bounds: each bound that is not 0 is so much larger.
    #[must_use]
    pub fn wider(mut self, by: u8) -> Self {
        let more = |bound: &mut u8| *bound += if *bound > 0 { by } else { 0 };
        self.offers.iter_mut().for_each(|offer| more(&mut offer.times));
        let Bounds { calls, faults, silences, crashes, strays, parks, ahead: _ } = &mut self.bounds;
        [calls, faults, silences, crashes, strays, parks].into_iter().for_each(more);
        self
    }

    /// The same world with every bound at one, and a disk that syncs at once.
    #[must_use]
    pub fn narrow(mut self) -> Self {
        self.offers.iter_mut().for_each(|offer| offer.times = offer.times.min(1));
        let Bounds { calls, faults, silences, crashes, strays, parks, ahead } = &mut self.bounds;
        for bound in [calls, faults, silences, crashes, strays, parks] {
            *bound = (*bound).min(1);
        }
        *ahead = 0;
        self
    }

    /// Whether a client that was cut off makes the request again.
    fn repeatable(&self, offer: u8) -> bool {
        let offer = self.offers.get(usize::from(offer));
        offer.is_some_and(|offer| {
            Request { agent: offer.agent.into(), action: offer.action.clone() }.repeatable()
        })
    }

    /// The bounds in one line.
    pub fn bounds(&self) -> String {
        let asked: u32 = self.offers.iter().map(|offer| u32::from(offer.times)).sum();
        let Bounds { calls, faults, silences, crashes, strays, parks, ahead } = self.bounds;
        let named = [
            ("calls", calls),
            ("faults", faults),
            ("silences", silences),
            ("crashes", crashes),
            ("strays", strays),
            ("parks", parks),
            ("rows ahead", ahead),
        ];
        let bounded = named.iter().filter(|(_, bound)| *bound > 0);
        bounded.fold(format!("{} agents, {asked} requests", self.agents), |text, (name, bound)| {
            format!("{text}, {bound} {name}")
        })
    }
}
