//! What is to become durable together: calls of the host, what they recorded, the texts that they name.
//! Encoded when it is put together, so that its size is known and the writer only writes.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_core::agent::budget::Account;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::snapshot::AgentSnapshot;
use holon_core::view::View;
use holon_facts::ids::DepositId;
use holon_facts::{AgentId, ContentId, EventSeq, Record, StepSeq};
use holon_platform::build;
use holon_text::Texts;

use super::packed::Packed;
use super::row::{ROW_BYTES, RecordRow, stored};
use crate::error::{LedgerError, Position};
use crate::load::Load;
#[cfg(any(test, feature = "testing"))]
use crate::store::State;
use crate::store::{self, AgentRow};

/// A call of the host, written down before it is made: making it consumes its input.
#[derive(Debug, Clone)]
pub struct EncodedCall {
    json: String,
    urgent: bool,
    /// What it records was recorded of another agent before.
    copies: bool,
}

/// Steps in the order in which they were made, with everything that becomes durable together with them.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) calls: Vec<CallRow>,
    pub(crate) records: Vec<RecordRow>,
    pub(crate) contents: BTreeMap<ContentId, Arc<str>>,
    pub(crate) agents: BTreeMap<AgentId, AgentRow>,
    /// What they have spent.
    pub(crate) accounts: BTreeMap<AgentId, Account>,
    /// States after these steps; they are compressed and written later, with a batch that follows.
    pub(crate) snapshots: BTreeMap<AgentId, AgentSnapshot>,
    /// States after earlier steps.
    pub(crate) packed: Vec<Packed>,
    /// Bytes that agents' records take on disk, roughly.
    written: BTreeMap<AgentId, usize>,
    /// Agents that leave memory, as their logs leave them.
    pub(crate) rests: Vec<AgentRow>,
    /// Stored states that turned out to be unusable.
    pub(crate) rejected: Vec<(AgentId, EventSeq)>,
    pub(crate) through: Option<StepSeq>,
    /// What was deposited and is taken with these records.
    pub(crate) deposits: Vec<DepositId>,
    steps: usize,
    bytes: usize,
    urgent: bool,
}

#[derive(Debug)]
pub(crate) struct CallRow {
    pub(crate) step: Option<i64>,
    pub(crate) json: String,
}

impl EncodedCall {
    pub fn new(call: &Call) -> Result<Self, LedgerError> {
        let json = serde_json::to_string(call)
            .map_err(|source| LedgerError::Json { what: "a call of the host", source })?;
        let urgent = matches!(call, Call::Step { input, .. } if input.is_urgent());
        Ok(Self { json, urgent, copies: matches!(call, Call::Copy { .. }) })
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
    ) -> Result<(), LedgerError> {
        for content in step.contents() {
            if let Some(text) = texts.pending(content.id) {
                self.bytes += text.len() + ROW_BYTES;
                self.contents.insert(content.id, text);
            }
        }
        for record in step.records() {
            let row = encode(record)?;
            self.bytes += row.bytes();
            self.deposits.extend(record.event.deposit().filter(|_| !call.copies));
            *self.written.entry(record.agent.clone()).or_default() += row.bytes();
            self.records.push(row);
            let agent = view.agent(&record.agent);
            let agent = agent.ok_or_else(|| LedgerError::NotInMemory(record.agent.clone()))?;
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

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.snapshots.is_empty()
    }

    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The first and the last event of each agent's records.
    ///
    /// # Errors
    /// When they do not continue one another.
    pub(crate) fn spans(&self) -> Result<BTreeMap<&str, (i64, i64)>, LedgerError> {
        let mut spans: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for record in &self.records {
            let span = spans.entry(&record.agent).or_insert((record.event_seq, record.event_seq - 1));
            if record.event_seq != span.1 + 1 {
                return Err(LedgerError::gap(&record.agent, span.1 + 1, record.event_seq));
            }
            span.1 = record.event_seq;
        }
        Ok(spans)
    }

    /// What an agent has spent, as its row keeps it.
    ///
    /// # Errors
    /// When it can't be written down.
    pub(crate) fn account(&self, agent: &AgentId) -> Result<Option<String>, LedgerError> {
        let account = self.accounts.get(agent).filter(|account| **account != Account::default());
        let json = account.map(serde_json::to_string).transpose();
        json.map_err(|error| LedgerError::damaged(Position::event(agent.as_str(), 0, None), error))
    }

    /// Roughly what it takes on disk, snapshots aside.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Compresses the states that it brought, so that they are written with it.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn pack(&mut self) {
        let states = std::mem::take(&mut self.snapshots);
        self.packed.extend(states.values().filter_map(State::of));
    }

    fn push(&mut self, call: EncodedCall, step: Option<i64>) {
        self.bytes += call.json.len() + ROW_BYTES;
        self.urgent |= call.urgent;
        self.calls.push(CallRow { step, json: call.json });
    }
}

impl store::Batch for Batch {
    type State = Packed;

    fn load(&self) -> Load {
        Load { calls: self.calls.len(), bytes: self.bytes }
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
        self.snapshots.insert(snapshot.agent.id.clone(), snapshot.by(build::id()));
    }

    fn reject_snapshot(&mut self, agent: AgentId, event_seq: EventSeq) {
        self.rejected.push((agent, event_seq));
    }

    fn rests(&mut self, row: AgentRow) {
        self.rests.push(row);
    }

    fn merge(&mut self, next: Self) {
        // Each field by its name: none may be left out.
        let Self {
            calls,
            records,
            contents,
            agents,
            accounts,
            snapshots,
            packed,
            written,
            rests,
            rejected,
            through,
            deposits,
            steps,
            bytes,
            urgent,
        } = next;
        self.calls.extend(calls);
        self.records.extend(records);
        self.contents.extend(contents);
        self.agents.extend(agents);
        self.accounts.extend(accounts);
        self.snapshots.extend(snapshots);
        self.packed.extend(packed);
        for (agent, bytes) in written {
            *self.written.entry(agent).or_default() += bytes;
        }
        self.rests.extend(rests);
        self.rejected.extend(rejected);
        self.through = through.or(self.through);
        self.deposits.extend(deposits);
        self.steps += steps;
        self.bytes += bytes;
        self.urgent |= urgent;
    }

    fn take_snapshots(&mut self) -> BTreeMap<AgentId, AgentSnapshot> {
        std::mem::take(&mut self.snapshots)
    }

    fn add_states(&mut self, states: Vec<Packed>) {
        self.packed.extend(states);
    }
}

pub(crate) fn encode(record: &Record) -> Result<RecordRow, LedgerError> {
    let payload =
        record.event.payload().map_err(|source| LedgerError::Json { what: record.event.kind(), source })?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Batch as _;

    /// A batch of one step that takes a deposit.
    fn taking(deposit: u64) -> Batch {
        Batch { deposits: vec![DepositId(deposit)], through: Some(StepSeq(deposit)), ..Batch::default() }
    }

    #[test]
    fn steps_that_become_durable_together_take_the_deposits_of_each() {
        let mut group = taking(1);
        group.merge(Batch::default());
        group.merge(taking(2));
        assert_eq!((group.deposits, group.through), (vec![DepositId(1), DepositId(2)], Some(StepSeq(2))));
    }
}
