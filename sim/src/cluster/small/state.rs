//! A state: the database, two processes, and the statements between them.

use holon_cluster::{Answer, AskId, CellId, Link, Statement};

use super::process::{Process, terms};
use super::{Bounds, SmallWorld};
use crate::cluster::db::{Db, Spans};
use crate::cluster::rules::Sabotage;
use crate::failure::Failure;

pub(super) const CELL: CellId = CellId(1);

/// What is constant in a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    pub(super) world: SmallWorld,
    pub(super) sabotage: Option<Sabotage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) db: Db,
    pub(super) processes: [Process; 2],
    /// In the order of their processes and ids.
    pub(super) wire: Vec<Wire>,
    /// What the bounds still allow.
    pub(super) left: Bounds,
    /// The number of the next batch: batches have different contents.
    pub(super) next: u8,
    /// Batches acknowledged as durable, and those whose effect has begun, one bit each.
    pub(super) acknowledged: u64,
    pub(super) begun: u64,
}

/// A statement on its way, in the database, or on its way back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Wire {
    pub(super) process: u8,
    pub(super) id: AskId,
    /// Whether the process still waits for the answer.
    pub(super) awaited: bool,
    pub(super) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Stage {
    Sent(Sent),
    /// A renewal that holds the lock of its row.
    Begun(Sent),
    Answered(Back),
}

/// A statement that does not take part in ordering: a process has one in each slot at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Sent(pub(super) Statement);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Back(pub(super) Answer);

macro_rules! unordered {
    ($($name:ident)*) => {$(
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, _: &Self) -> std::cmp::Ordering {
                std::cmp::Ordering::Equal
            }
        }
    )*};
}
unordered!(Sent Back);

/// The link of a batch with this content.
pub(super) fn link(content: u8) -> Link {
    let mut link = [0; 32];
    link[0] = content;
    Link(link)
}

/// The content of a batch with this link.
pub(super) fn content(link: Link) -> u8 {
    link.0[0]
}

pub(super) fn bit(content: u8) -> u64 {
    1 << (content & 63)
}

impl State {
    /// Both processes have started, and have taken no step.
    pub(super) fn new(setting: Setting) -> Result<Self, Failure> {
        let terms = terms();
        let spans = Spans { lease: terms.lease.0, grace: terms.grace.0 };
        Ok(Self {
            db: Db::new(spans, [CELL], setting.sabotage),
            processes: [Process::new(setting.world.looks)?, Process::new(true)?],
            wire: Vec::new(),
            left: setting.world.bounds,
            next: 1,
            acknowledged: 0,
            begun: 0,
        })
    }

    /// This process's clock.
    pub(super) fn local(&self, process: u8) -> u64 {
        self.db.now.saturating_sub(u64::from(self.processes[usize::from(process)].lag))
    }

    /// The content of the next batch.
    pub(super) fn decide(&mut self) -> u8 {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn sort(&mut self) {
        self.wire.sort_by(|one, other| {
            (one.process, one.id, one.awaited, &one.stage).cmp(&(
                other.process,
                other.id,
                other.awaited,
                &other.stage,
            ))
        });
    }
}
