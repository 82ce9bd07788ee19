//! What is on its way to the simulated disk: rows that become durable together, and states of agents.

use std::collections::BTreeMap;
use std::fmt;

use holon_core::snapshot::AgentSnapshot;
use holon_facts::{AgentId, EventSeq, StepSeq};
use holon_ledger::{AgentRow, Batch, Load, Reserve, Stall, State, StoreError};

/// Rows that were handed over, and what goes with them.
#[derive(Debug, Default)]
pub struct Group {
    /// So many rows of the disk.
    pub rows: usize,
    /// When each of its batches was handed over.
    pub handed: Vec<u64>,
    pub through: Option<StepSeq>,
    pub urgent: bool,
    pub snapshots: BTreeMap<AgentId, AgentSnapshot>,
    /// States of agents that are written with it.
    pub states: Vec<Ready>,
    pub written: BTreeMap<AgentId, usize>,
}

/// A state that is ready to be written.
#[derive(Debug)]
pub struct Ready(pub AgentSnapshot);

/// Nothing more can be written.
#[derive(Debug)]
pub struct GivenUp(Stall);

/// The room that is held back on a full disk.
#[derive(Debug)]
pub struct Held<'a> {
    /// Nothing else has room.
    pub full: bool,
    pub used: &'a mut bool,
    /// It was given up, and nobody has written since.
    pub free: &'a mut bool,
}

impl Batch for Group {
    type State = Ready;

    fn load(&self) -> Load {
        Load { calls: self.rows, bytes: 0 }
    }

    fn is_urgent(&self) -> bool {
        self.urgent
    }

    fn through(&self) -> Option<StepSeq> {
        self.through
    }

    fn written(&self) -> &BTreeMap<AgentId, usize> {
        &self.written
    }

    fn snapshot(&mut self, snapshot: AgentSnapshot) {
        self.snapshots.insert(snapshot.agent.id.clone(), snapshot);
    }

    fn reject_snapshot(&mut self, _: AgentId, _: EventSeq) {}

    fn rests(&mut self, _: AgentRow) {}

    fn merge(&mut self, next: Self) {
        self.rows += next.rows;
        self.handed.extend(next.handed);
        self.through = next.through.or(self.through);
        self.urgent |= next.urgent;
        self.snapshots.extend(next.snapshots);
        self.states.extend(next.states);
    }

    fn take_snapshots(&mut self) -> BTreeMap<AgentId, AgentSnapshot> {
        std::mem::take(&mut self.snapshots)
    }

    fn add_states(&mut self, states: Vec<Ready>) {
        self.states.extend(states);
    }
}

impl State for Ready {
    fn of(snapshot: &AgentSnapshot) -> Option<Self> {
        Some(Self(snapshot.clone()))
    }

    fn agent(&self) -> &AgentId {
        &self.0.agent.id
    }

    fn bytes(&self) -> usize {
        0
    }
}

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for GivenUp {}

impl From<Stall> for GivenUp {
    fn from(stall: Stall) -> Self {
        Self(stall)
    }
}

impl StoreError for GivenUp {
    fn is_absent(&self) -> bool {
        false
    }

    fn is_locked(&self) -> bool {
        self.0 != Stall::Full
    }
}

impl Reserve for Held<'_> {
    type Error = GivenUp;

    fn hold(&mut self) -> Result<bool, GivenUp> {
        *self.used &= self.full;
        Ok(!*self.used)
    }

    fn release(&mut self) -> bool {
        let held = !std::mem::replace(self.used, true);
        *self.free |= held;
        held
    }
}
