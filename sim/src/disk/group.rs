//! Data on its way to the simulated disk: rows that become durable together, and states of agents.

use std::collections::BTreeMap;
use std::fmt;

use holon_core::snapshot::AgentSnapshot;
use holon_facts::{AgentId, ContentId, EventSeq, StepSeq};
use holon_ledger::{AgentRow, Batch, Load, Reserve, Stall, State, StoreError};

use super::Row;

/// Rows that were handed over, with everything that is written along.
#[derive(Debug, Default)]
pub struct Group {
    /// Number of rows.
    pub rows: usize,
    /// Rows that the disk has not accepted yet, and the texts that they name.
    pub fresh: Vec<Row>,
    pub texts: Vec<ContentId>,
    /// The numbers of the group's batches, in the order of writing.
    pub handed: Vec<u64>,
    pub through: Option<StepSeq>,
    pub urgent: bool,
    pub snapshots: BTreeMap<AgentId, AgentSnapshot>,
    /// States of agents to write along.
    pub states: Vec<Ready>,
    /// Stored states that a load rejected.
    pub rejected: Vec<(AgentId, EventSeq)>,
    /// Number of records of each agent.
    pub written: BTreeMap<AgentId, usize>,
}

/// A state that is ready to be written.
#[derive(Debug)]
pub struct Ready(pub AgentSnapshot);

/// Errors of the simulated disk.
#[derive(Debug)]
pub enum DiskError {
    /// The writer has given up.
    GivenUp(Stall),
    NoAgent(AgentId),
    /// The log of an agent can't be read any more.
    Damaged(AgentId),
    /// A record of an agent that is not in memory.
    NotInMemory(AgentId),
}

/// The disk space reserved for a stop on a full disk.
#[derive(Debug)]
pub struct Held<'a> {
    /// Nothing but the reserve is free.
    pub full: bool,
    pub used: &'a mut bool,
    /// The reserve was released, and nothing was written since.
    pub free: &'a mut bool,
}

impl Group {
    pub fn push(&mut self, row: Row) {
        self.rows += 1;
        self.fresh.push(row);
    }
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

    fn reject_snapshot(&mut self, agent: AgentId, event_seq: EventSeq) {
        self.rejected.push((agent, event_seq));
    }

    /// The last row of the agent's log has this state already.
    fn rests(&mut self, _: AgentRow) {}

    fn merge(&mut self, next: Self) {
        self.rows += next.rows;
        self.handed.extend(next.handed);
        self.through = next.through.or(self.through);
        self.urgent |= next.urgent;
        self.snapshots.extend(next.snapshots);
        self.states.extend(next.states);
        self.rejected.extend(next.rejected);
        self.fresh.extend(next.fresh);
        self.texts.extend(next.texts);
        for (agent, records) in next.written {
            *self.written.entry(agent).or_default() += records;
        }
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

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp(stall) => stall.fmt(f),
            Self::NoAgent(agent) => write!(f, "there is no agent {agent}"),
            Self::Damaged(agent) => write!(f, "the log of {agent} is damaged"),
            Self::NotInMemory(agent) => write!(f, "{agent} has a record and is not in memory"),
        }
    }
}

impl std::error::Error for DiskError {}

impl From<Stall> for DiskError {
    fn from(stall: Stall) -> Self {
        Self::GivenUp(stall)
    }
}

impl StoreError for DiskError {
    fn is_absent(&self) -> bool {
        matches!(self, Self::NoAgent(_))
    }

    fn is_temporary(&self) -> bool {
        matches!(self, Self::GivenUp(Stall::Locked { .. } | Stall::Away { .. }))
    }
}

impl Reserve for Held<'_> {
    type Error = DiskError;

    fn hold(&mut self) -> Result<bool, DiskError> {
        *self.used &= self.full;
        Ok(!*self.used)
    }

    fn release(&mut self) -> bool {
        let held = !std::mem::replace(self.used, true);
        *self.free |= held;
        held
    }
}
