//! The seam between the driver and whatever stores a ledger.

use std::collections::BTreeMap;
use std::error::Error;

use holon_core::accounts::Accounts;
use holon_core::agent::Agent;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::snapshot::{AgentSnapshot, SnapshotError};
use holon_core::view::View;
use holon_core::view::standing::Standing;
use holon_facts::identity::Visibility;
use holon_facts::lifecycle::Status;
use holon_facts::{AgentId, EventSeq, Record, StepSeq, Wall};

use crate::load::Load;
use crate::report::Stall;

/// What went wrong with a ledger.
pub trait StoreError: Error + From<Stall> + 'static {
    /// Whether there is no agent of that name.
    fn is_absent(&self) -> bool;
    /// Whether it is so for the moment: somebody else has it locked, or its database does not answer. It may be tried again.
    fn is_temporary(&self) -> bool;
}

/// Takes what was decided, in the order in which it was decided. What becomes of it comes as a [`crate::Report`].
pub trait LedgerWriter {
    type Error: StoreError;
    /// A call of the host, written down before it is made: making it consumes its input.
    type Call;
    type Batch: Batch;

    /// # Errors
    /// When it can't be written down.
    fn encode(&self, call: &Call) -> Result<Self::Call, Self::Error>;

    /// Adds a call that is not a step: a start of the runtime, an agent brought in or let go.
    fn call(&self, batch: &mut Self::Batch, call: Self::Call);

    /// Adds a call that made a step. `view` is the host after it.
    ///
    /// # Errors
    /// When a record can't be written down.
    fn step(
        &self,
        batch: &mut Self::Batch,
        call: Self::Call,
        step: &Step,
        view: View<'_>,
    ) -> Result<(), Self::Error>;

    /// Hands a batch over. Never waits.
    ///
    /// # Errors
    /// When the writer has ended, or more is under way than it was promised.
    fn send(&mut self, batch: Self::Batch) -> Result<(), Self::Error>;
}

/// Gives back what is durable. It may be read while it is written.
pub trait LedgerReader {
    type Error: StoreError;

    /// The newest step.
    fn last_step(&self) -> Result<StepSeq, Self::Error>;

    /// When the newest record was made.
    fn newest_record(&self) -> Result<Option<Wall>, Self::Error>;

    /// What all agents have spent together.
    fn accounts(&self) -> Result<Accounts, Self::Error>;

    /// What a start has to know of each agent, one by one.
    fn each_agent(&self, each: impl FnMut(AgentRow)) -> Result<(), Self::Error>;

    /// One agent: its newest usable snapshot and everything after it.
    ///
    /// # Errors
    /// When a record that is needed is missing or damaged; nothing is skipped.
    fn load(&self, agent: &AgentId) -> Result<Restored, Self::Error>;

    /// The records of an agent from its first one through another, in order.
    ///
    /// # Errors
    /// When one of them is missing or damaged.
    fn each_record(
        &self,
        agent: &AgentId,
        through: EventSeq,
        each: impl FnMut(Record),
    ) -> Result<(), Self::Error>;
}

/// Steps in the order in which they were made, with everything that becomes durable together with them.
pub trait Batch: Default {
    /// The state of an agent, ready to be written.
    type State: State;

    /// Calls of the host and bytes, the states of agents aside.
    fn load(&self) -> Load;
    /// Whether a full disk must not keep it out.
    fn is_urgent(&self) -> bool;
    fn through(&self) -> Option<StepSeq>;
    /// Roughly what the records of each agent take on disk.
    fn written(&self) -> &BTreeMap<AgentId, usize>;
    /// The state of an agent after the steps so far. It is made ready and written later, with a batch that follows.
    fn snapshot(&mut self, snapshot: AgentSnapshot);
    /// A stored state that can't be used is thrown away: one that is ahead of the log would look right once the
    /// log has grown past it.
    fn reject_snapshot(&mut self, agent: AgentId, event_seq: EventSeq);
    /// An agent leaves memory: what its row says of its next deadline is what a start goes by.
    fn rests(&mut self, row: AgentRow);
    /// Appends what follows.
    fn merge(&mut self, next: Self);
    /// The states that it brought.
    fn take_snapshots(&mut self) -> BTreeMap<AgentId, AgentSnapshot>;
    /// States of earlier steps, which are written with it.
    fn add_states(&mut self, states: Vec<Self::State>);
}

/// The state of an agent, ready to be written.
pub trait State: Sized {
    /// None of a state that can't be written: the log is there.
    fn of(snapshot: &AgentSnapshot) -> Option<Self>;
    fn agent(&self) -> &AgentId;
    /// Bytes that it takes as text.
    fn bytes(&self) -> usize;
}

/// What a start has to know of an agent before it loads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    pub agent: AgentId,
    pub event_seq: EventSeq,
    pub status: Status,
    /// When something happens to it by itself, at the earliest.
    pub next_deadline: Option<Wall>,
    /// Messages, operations, runs and obligations that are not settled, and a hold; an agent with none of them is not
    /// loaded before `next_deadline`.
    pub open_work: u64,
    /// It is in no list.
    pub private: bool,
    /// It is kept for reading, and never runs.
    pub archived: bool,
    /// Its second name.
    pub name: Option<AgentId>,
    /// For lists alone; none in a row of an earlier build.
    pub standing: Option<Standing>,
}

impl AgentRow {
    pub fn of(agent: &Agent) -> Self {
        Self {
            agent: agent.id.clone(),
            event_seq: agent.event_seq,
            status: agent.status,
            next_deadline: agent.next_deadline(agent.last_at).map(|(at, _)| at),
            open_work: agent.open_work(),
            private: agent.spec.visibility == Visibility::Private,
            archived: agent.childhood.archived,
            name: agent.label.name.clone(),
            standing: Some(Standing::of(agent)),
        }
    }

    /// What a start goes by.
    #[must_use]
    pub fn without_standing(self) -> Self {
        Self { standing: None, ..self }
    }
}

/// An agent as the ledger holds it: what [`holon_core::Host::admit`] takes.
#[derive(Debug)]
pub struct Restored {
    pub snapshot: Option<AgentSnapshot>,
    /// Bytes of it as text.
    pub state_bytes: usize,
    pub tail: Vec<Record>,
    /// Bytes of the tail on disk, roughly.
    pub tail_bytes: usize,
    /// Newer snapshots that could not be used; the log stands in for them.
    pub unusable: Vec<(EventSeq, SnapshotError)>,
}

impl<T: LedgerReader> LedgerReader for std::sync::Arc<T> {
    type Error = T::Error;

    fn last_step(&self) -> Result<StepSeq, Self::Error> {
        (**self).last_step()
    }

    fn newest_record(&self) -> Result<Option<Wall>, Self::Error> {
        (**self).newest_record()
    }

    fn accounts(&self) -> Result<Accounts, Self::Error> {
        (**self).accounts()
    }

    fn each_agent(&self, each: impl FnMut(AgentRow)) -> Result<(), Self::Error> {
        (**self).each_agent(each)
    }

    fn load(&self, agent: &AgentId) -> Result<Restored, Self::Error> {
        (**self).load(agent)
    }

    fn each_record(
        &self,
        agent: &AgentId,
        through: EventSeq,
        each: impl FnMut(Record),
    ) -> Result<(), Self::Error> {
        (**self).each_record(agent, through, each)
    }
}
