//! Agents that come back from the ledger: those with open work at the start, others when they are asked for.

use holon_core::AgentId;
use holon_core::host::RecoveryReport;
use holon_core::replay::Call;

use super::{Driver, DriverError};
use crate::clock;
use crate::ledger::{EncodedCall, LedgerError, Restored};

impl Driver {
    /// Brings back every agent that has something to do, then recovers one after the other.
    pub(super) fn recover_all(&mut self) -> Result<(), DriverError> {
        let rows = self.reader.agents()?;
        let open: Vec<AgentId> =
            rows.into_iter().filter(|row| row.open_work > 0).map(|row| row.agent).collect();
        for agent in &open {
            let restored = self.reader.load(agent)?;
            self.bring_in(agent, restored)?;
        }
        for agent in &open {
            self.recover(agent)?;
        }
        Ok(())
    }

    /// Makes sure that an agent of the ledger is in memory; false when there is none of that name.
    ///
    /// # Errors
    /// When its log is damaged.
    pub fn load(&mut self, agent: &AgentId) -> Result<bool, DriverError> {
        if self.host.view().agent(agent).is_some() {
            return Ok(true);
        }
        match self.reader.load(agent) {
            Ok(restored) => self.bring_in(agent, restored)?,
            Err(LedgerError::NoAgent { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.recover(agent)?;
        Ok(true)
    }

    fn bring_in(&mut self, agent: &AgentId, restored: Restored) -> Result<(), DriverError> {
        let Restored { snapshot, tail, unusable } = restored;
        for (event_seq, error) in unusable {
            self.warnings.push(format!(
                "the stored state of {agent} at event {event_seq} was left out, its log stands in for it: {error}"
            ));
        }
        if let Some(snapshot) = &snapshot {
            self.snapshots.insert(agent.clone(), snapshot.agent.event_seq);
        }
        self.host
            .admit(snapshot, tail)
            .map_err(|source| DriverError::Restore { agent: agent.clone(), source })?;
        let through = self.host.view().agent(agent).map(|agent| agent.event_seq).unwrap_or_default();
        self.record_call(&Call::Admit { agent: agent.clone(), through })
    }

    fn recover(&mut self, agent: &AgentId) -> Result<(), DriverError> {
        let now = clock::now();
        let call = Call::Recover { now, agent: agent.clone(), report: RecoveryReport::default() };
        let encoded = EncodedCall::new(&call)?;
        let step = self.host.recover(now, agent, RecoveryReport::default());
        let more = step.more();
        self.stage(encoded, step)?;
        if more { self.step(holon_core::Input::Tick) } else { Ok(()) }
    }
}
