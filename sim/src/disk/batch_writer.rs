//! The driver's batch writer for the simulated disk. The world takes the batches from it, checks them, and lets the
//! writer's queue decide when to write them.

use std::collections::VecDeque;

use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::view::View;
use holon_ledger::{AgentRow, LedgerWriter};

use super::Row;
use super::group::{DiskError, Group};

/// Batches that the world has not taken yet.
#[derive(Debug, Default)]
pub struct BatchWriter {
    pub sent: VecDeque<Group>,
    /// Sabotage: the rows of agents have no next deadline.
    pub forgetful: bool,
}

impl LedgerWriter for BatchWriter {
    type Error = DiskError;
    type Call = Call;
    type Batch = Group;

    fn encode(&self, call: &Call) -> Result<Call, DiskError> {
        Ok(call.clone())
    }

    fn call(&self, batch: &mut Group, call: Call) {
        batch.push(Row::new(call, None, Vec::new()));
    }

    fn step(&self, batch: &mut Group, call: Call, step: &Step, view: View<'_>) -> Result<(), DiskError> {
        batch.urgent |= matches!(&call, Call::Step { input, .. } if input.is_urgent());
        batch.through = Some(step.seq());
        batch.texts.extend(step.contents().into_iter().map(|content| content.id));
        let mut row = Row::new(call, Some(step.seq()), step.records().to_vec());
        for record in step.records() {
            *batch.written.entry(record.agent.clone()).or_default() += 1;
            if row.agents.iter().all(|(known, _)| known.agent != record.agent) {
                let agent = view.agent(&record.agent);
                let agent = agent.ok_or_else(|| DiskError::NotInMemory(record.agent.clone()))?;
                let mut known = AgentRow::of(agent);
                known.next_deadline = known.next_deadline.filter(|_| !self.forgetful);
                row.agents.push((known, agent.account));
            }
        }
        batch.push(row);
        Ok(())
    }

    fn send(&mut self, batch: Group) -> Result<(), DiskError> {
        self.sent.push_back(batch);
        Ok(())
    }
}
