//! Recorded history, taken again: the calls of a flight recorder are made once more, and what they record must
//! be the same bytes.
//!
//! [`Replay`] is that and nothing else; the simulator's check D6 uses it as it is. [`Audit`] adds the laws, and
//! passes over what another build decided; `holon ledger replay` feeds it rows. [`ExportReader`] feeds it the
//! lines of `holon ledger export --recorder`, for `sim replay`.

mod audit;
mod call;
mod difference;
mod export;
mod line;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use crate::agent::{Agent, FoldError};
use crate::config::ConfigError;
use crate::host::{Accounts, Host, RestoreError};
use crate::ids::{AgentId, EventSeq};
use crate::record::{Record, Step};
use crate::snapshot::AgentSnapshot;
use crate::time::Wall;

pub use audit::{Again, Audit, AuditError, AuditReport};
pub use call::Call;
pub use difference::Difference;
pub use export::{ExportError, ExportProblem, ExportReader};
pub use line::{Line, LineError, call_line};

/// Where a replay stands; feed it the calls in order, with the records that each of them brought. It folds the
/// records as it goes, so that an agent that is brought in again costs nothing but a copy of its state. Its
/// memory grows with the agents, not with what happened.
#[derive(Debug, Default)]
pub struct Replay {
    host: Option<Host>,
    agents: BTreeMap<AgentId, Agent>,
    /// When the newest record was made.
    newest: Option<Wall>,
}

/// A call that now brings something else than was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("the recorded configuration is refused: {0}")]
    Config(#[from] ConfigError),
    #[error("an agent can't be brought in: {0}")]
    Restore(#[from] RestoreError),
    #[error("the records can't be folded: {0}")]
    Fold(#[from] FoldError),
    #[error("{agent} was brought in as of event {through}, but its log stood at {found}")]
    Elsewhere { agent: AgentId, through: EventSeq, found: EventSeq },
    #[error("the recorder does not begin with runtime_started")]
    NoSegment,
    #[error("{0}")]
    Differs(Box<Difference>),
}

impl Replay {
    /// Makes one call again; `recorded` are the records that it brought then. A call that makes a step gives it
    /// back: its records are the recorded ones, and its effects may be compared by whoever kept those, too.
    ///
    /// # Errors
    /// At the first difference, or when the call can't be made.
    pub fn call(&mut self, call: &Call, recorded: &[Record]) -> Result<Option<Step>, ReplayError> {
        let step = self.make(call, recorded)?;
        let made = step.as_ref().map_or(&[][..], Step::records);
        if made != recorded {
            let before = |agent: &AgentId| self.agents.get(agent);
            let difference = Difference::between(call, before, recorded, made);
            return Err(ReplayError::Differs(Box::new(difference)));
        }
        self.fold(recorded)?;
        Ok(step)
    }

    /// Passes over records that another build decided: they are folded, but not decided again.
    ///
    /// # Errors
    /// When the records do not continue their agent's log.
    pub fn fold(&mut self, recorded: &[Record]) -> Result<(), ReplayError> {
        for record in recorded {
            self.newest = Some(record.at);
            match self.agents.get_mut(&record.agent) {
                Some(agent) => agent.fold(record)?,
                None => {
                    self.agents.insert(record.agent.clone(), Agent::created(record)?);
                }
            }
        }
        Ok(())
    }

    /// How many agents there are so far.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    fn make(&mut self, call: &Call, recorded: &[Record]) -> Result<Option<Step>, ReplayError> {
        match call {
            Call::RuntimeStarted { config, seed, after, .. } => {
                let mut host = Host::new(config.clone(), *seed)?;
                host.resume_after(*after);
                let mut accounts = Accounts::default();
                self.agents.values().for_each(|agent| accounts.add_absent(&agent.account));
                host.resume_accounts(accounts);
                // Whoever stays out of memory counts, too, and has its name.
                let alive = self.agents.values().filter(|agent| !agent.childhood.archived);
                host.resume_names(alive.map(|agent| agent.id.clone()));
                if let Some(newest) = self.newest {
                    host.resume_clock(newest);
                }
                self.host = Some(host);
                Ok(None)
            }
            Call::Admit { agent, through } => {
                let folded = self.agents.get(agent).ok_or(RestoreError::Empty)?;
                if folded.event_seq != *through {
                    let (agent, found) = (agent.clone(), folded.event_seq);
                    return Err(ReplayError::Elsewhere { agent, through: *through, found });
                }
                let snapshot = AgentSnapshot::of(folded);
                self.host()?.admit(Some(snapshot), [])?;
                Ok(None)
            }
            Call::Park { agent } => {
                drop(self.host()?.park(agent));
                Ok(None)
            }
            Call::Copy { .. } => Ok(Some(self.host()?.copy(recorded.to_vec()))),
            Call::Recover { now, agent, report } => {
                Ok(Some(self.host()?.recover(*now, agent, report.clone())))
            }
            Call::Step { now, input } => Ok(Some(self.host()?.step(*now, input.clone()))),
        }
    }

    fn host(&mut self) -> Result<&mut Host, ReplayError> {
        self.host.as_mut().ok_or(ReplayError::NoSegment)
    }
}
