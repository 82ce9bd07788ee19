//! What is to become durable together: calls of the host, what they recorded, the texts that they name.
//! Encoded when it is put together, so that its size is known and the writer only writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_core::agent::Agent;
use holon_core::agent::budget::Account;
use holon_core::agent::external_trigger::TriggerChange;
use holon_core::agent::identity::Visibility;
use holon_core::input::ControlRequest;
use holon_core::lifecycle::Status;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::snapshot::AgentSnapshot;
use holon_core::view::View;
use holon_core::{AgentId, ContentId, EventSeq, Input, Record, StepSeq, Wall};
use holon_platform::build;
use holon_text::Texts;

use super::error::LedgerError;
use super::packed::Packed;
use super::row::{ROW_BYTES, RecordRow, stored};

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
}

/// A call of the host, written down before it is made: making it consumes its input.
#[derive(Debug, Clone)]
pub struct EncodedCall {
    json: String,
    urgent: bool,
}

/// What could not be put into a batch. A mistake of the caller, or of this build.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("{what} can't be written as JSON: {source}")]
    Json { what: &'static str, source: serde_json::Error },
    #[error("{0} has records, but is not in memory")]
    NotInMemory(AgentId),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Steps in the order in which they were made, with everything that becomes durable together with them.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) calls: Vec<CallRow>,
    pub(super) records: Vec<RecordRow>,
    pub(super) contents: BTreeMap<ContentId, Arc<str>>,
    pub(super) agents: BTreeMap<AgentId, AgentRow>,
    /// What they have spent.
    pub(super) accounts: BTreeMap<AgentId, Account>,
    /// States after these steps; they are compressed and written later, with a batch that follows.
    pub(super) snapshots: BTreeMap<AgentId, AgentSnapshot>,
    /// States after earlier steps.
    pub(super) packed: Vec<Packed>,
    /// Bytes that agents' records take on disk, roughly.
    written: BTreeMap<AgentId, usize>,
    /// Agents that leave memory, as their logs leave them.
    pub(super) rests: Vec<AgentRow>,
    /// Stored states that turned out to be unusable.
    pub(super) rejected: Vec<(AgentId, EventSeq)>,
    pub(super) through: Option<StepSeq>,
    steps: usize,
    bytes: usize,
    urgent: bool,
}

#[derive(Debug)]
pub(super) struct CallRow {
    pub(super) step: Option<i64>,
    pub(super) json: String,
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
        }
    }
}

impl EncodedCall {
    pub fn new(call: &Call) -> Result<Self, EncodeError> {
        let json = serde_json::to_string(call)
            .map_err(|source| EncodeError::Json { what: "a call of the host", source })?;
        Ok(Self { json, urgent: matches!(call, Call::Step { input, .. } if is_urgent(input)) })
    }

    /// Whether it has to become durable although the disk is full: a stop or a shutdown.
    pub fn urgent(&self) -> bool {
        self.urgent
    }
}

impl Batch {
    /// A call that is not a step: a start of the runtime, an agent brought in or let go.
    pub fn call(&mut self, call: EncodedCall) {
        self.push(call, None);
    }

    /// A call that made a step. `view` is the host after it; `texts` holds the texts that it names.
    pub fn step(
        &mut self,
        call: EncodedCall,
        step: &Step,
        view: View<'_>,
        texts: &Texts,
    ) -> Result<(), EncodeError> {
        for content in step.contents() {
            if let Some(text) = texts.pending(content.id) {
                self.bytes += text.len() + ROW_BYTES;
                self.contents.insert(content.id, text);
            }
        }
        for record in step.records() {
            let row = encode(record)?;
            self.bytes += row.bytes();
            *self.written.entry(record.agent.clone()).or_default() += row.bytes();
            self.records.push(row);
            let agent = view.agent(&record.agent);
            let agent = agent.ok_or_else(|| EncodeError::NotInMemory(record.agent.clone()))?;
            if self.agents.get(&record.agent).is_none_or(|row| row.event_seq < agent.event_seq) {
                self.agents.insert(record.agent.clone(), AgentRow::of(agent));
                self.accounts.insert(record.agent.clone(), agent.account);
            }
        }
        self.push(call, Some(stored(step.seq().0)?));
        self.steps += 1;
        self.through = Some(step.seq());
        Ok(())
    }

    /// The state of an agent after the steps so far.
    pub fn snapshot(&mut self, snapshot: AgentSnapshot) {
        self.snapshots.insert(snapshot.agent.id.clone(), snapshot.by(build::id()));
    }

    /// Roughly what the records of each agent take on disk.
    pub fn written(&self) -> &BTreeMap<AgentId, usize> {
        &self.written
    }

    /// An agent leaves memory: what its row says of its next deadline is what a start goes by.
    pub fn rests(&mut self, row: AgentRow) {
        self.rests.push(row);
    }

    /// A stored state that can't be used is thrown away: one that is ahead of the log would look right once the
    /// log has grown past it.
    pub fn reject_snapshot(&mut self, agent: AgentId, event_seq: EventSeq) {
        self.rejected.push((agent, event_seq));
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.snapshots.is_empty()
    }

    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Roughly what it takes on disk, snapshots aside.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it holds a stop, an abort or a shutdown.
    pub fn urgent(&self) -> bool {
        self.urgent
    }

    /// Compresses the states that it brought, so that they are written with it.
    #[cfg(test)]
    pub(super) fn pack(&mut self) {
        let states = std::mem::take(&mut self.snapshots);
        self.packed.extend(states.values().map(|state| Packed::of(state).unwrap().unwrap()));
    }

    /// Appends what follows.
    pub(super) fn merge(&mut self, next: Self) {
        self.calls.extend(next.calls);
        self.records.extend(next.records);
        self.contents.extend(next.contents);
        self.agents.extend(next.agents);
        self.accounts.extend(next.accounts);
        self.snapshots.extend(next.snapshots);
        self.packed.extend(next.packed);
        for (agent, bytes) in next.written {
            *self.written.entry(agent).or_default() += bytes;
        }
        self.rejected.extend(next.rejected);
        self.rests.extend(next.rests);
        self.through = next.through.or(self.through);
        self.steps += next.steps;
        self.bytes += next.bytes;
        self.urgent |= next.urgent;
    }

    fn push(&mut self, call: EncodedCall, step: Option<i64>) {
        self.bytes += call.json.len() + ROW_BYTES;
        self.urgent |= call.urgent;
        self.calls.push(CallRow { step, json: call.json });
    }
}

fn encode(record: &Record) -> Result<RecordRow, EncodeError> {
    let payload =
        record.event.payload().map_err(|source| EncodeError::Json { what: record.event.kind(), source })?;
    Ok(RecordRow {
        agent: record.agent.as_str().to_owned(),
        event_seq: stored(record.event_seq.0)?,
        step: stored(record.step.0)?,
        at: record.at.0,
        kind: record.event.kind().to_owned(),
        version: i64::from(record.event.version()),
        payload,
    })
}

/// What a full disk must not keep out: the reserve is for it.
pub(crate) fn is_urgent(input: &Input) -> bool {
    match input {
        Input::Drain { .. } | Input::StopTask { .. } => true,
        Input::Control { request, .. } => match request {
            ControlRequest::Stop | ControlRequest::Abort { .. } => true,
            ControlRequest::Start => false,
        },
        Input::ChangeTrigger { change, .. } => *change == TriggerChange::Revoke,
        Input::CreateAgent { .. }
        | Input::Deliver { .. }
        | Input::Ingress { .. }
        | Input::SetModel { .. }
        | Input::RunTask { .. }
        | Input::WriteTask { .. }
        | Input::CreateTimer { .. }
        | Input::CancelTimer { .. }
        | Input::CreateWorkItem { .. }
        | Input::CompleteWorkItem { .. }
        | Input::ChangeWorkspace { .. }
        | Input::Wake { .. }
        | Input::Completed { .. }
        | Input::PlanProbed { .. }
        | Input::Tick => false,
    }
}
