//! The host as a replay drives it: recorded calls are made again, and what they recorded is folded. Who compares is
//! another one (`holon-law`).

mod call;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use holon_facts::config::{Config, ConfigError};
use holon_facts::ids::{AgentId, EventSeq};
use holon_facts::record::Record;
use holon_facts::replay::Machine;
use holon_facts::time::Wall;

use crate::accounts::Accounts;
use crate::agent::{Agent, FoldError};
use crate::host::{Host, RestoreError};
use crate::record::Step;
use crate::snapshot::AgentSnapshot;

pub use call::Call;

/// Where a replay stands. It folds the records as it goes, so that an agent that is brought in again costs nothing but a
/// copy of its state. Its memory grows with the agents, not with what happened.
#[derive(Debug, Default)]
pub struct Replay {
    host: Option<Host>,
    agents: BTreeMap<AgentId, Agent>,
    /// When the newest record was made.
    newest: Option<Wall>,
    /// What decides instead of the recorded configurations.
    under: Option<Config>,
}

/// A call that can't be made again.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
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
}

impl Machine for Replay {
    type Call = Call;
    type Step = Step;
    type Error = CallError;

    fn read(&self, call: &str) -> Result<Call, serde_json::Error> {
        Call::read(call)
    }

    fn written(call: &Call) -> String {
        serde_json::to_string(call).unwrap_or_else(|error| error.to_string())
    }

    fn make(&mut self, call: &Call, recorded: &[Record]) -> Result<Option<Step>, CallError> {
        match call {
            Call::RuntimeStarted { config, seed, after, .. } => {
                let mut host = Host::new(self.config(config), *seed)?;
                host.resume_after(*after);
                let mut accounts = Accounts::default();
                self.agents.values().for_each(|agent| accounts.add_absent(&agent.account));
                host.resume_accounts(accounts);
                // Whoever stays out of memory counts, too, and has its name.
                let alive = self.agents.values().filter(|agent| !agent.childhood.archived);
                host.resume_names(alive.map(|agent| (agent.id.clone(), agent.label.name.clone())));
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
                    return Err(CallError::Elsewhere { agent, through: *through, found });
                }
                let snapshot = AgentSnapshot::of(folded);
                self.host()?.admit(Some(snapshot), [])?;
                Ok(None)
            }
            Call::Park { agent } => {
                drop(self.host()?.evict(agent));
                Ok(None)
            }
            Call::AgentsLeft { agents, .. } => {
                self.host = None;
                for agent in agents {
                    self.agents.remove(agent);
                }
                Ok(None)
            }
            Call::Copy { .. } => Ok(Some(self.host()?.copy(recorded.to_vec()))),
            Call::Recover { now, agent, report } => {
                Ok(Some(self.host()?.recover(*now, agent, report.clone())))
            }
            Call::Step { now, input } => Ok(Some(self.host()?.step(*now, input.clone()))),
        }
    }

    fn records(step: &Step) -> &[Record] {
        step.records()
    }

    fn fold(&mut self, recorded: &[Record]) -> Result<(), CallError> {
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

    fn stands(&self, agent: &AgentId) -> Option<String> {
        self.agents.get(agent).map(stands)
    }

    fn agents(&self) -> usize {
        self.agents.len()
    }
}

impl Replay {
    /// Decides under this configuration instead of the recorded ones; folders stay as they were.
    pub fn under(config: Config) -> Self {
        Self { under: Some(config), ..Self::default() }
    }

    fn config(&self, recorded: &Config) -> Config {
        let Some(under) = &self.under else { return recorded.clone() };
        let (homes, worktrees) = (recorded.homes.clone(), recorded.worktrees.clone());
        Config { homes, worktrees, ..under.clone() }
    }

    fn host(&mut self) -> Result<&mut Host, CallError> {
        self.host.as_mut().ok_or(CallError::NoSegment)
    }
}

fn stands(agent: &Agent) -> String {
    let run = agent.run.as_ref().map_or("no run".to_string(), |run| run.id.to_string());
    let (messages, _) = agent.inbox.totals();
    let Agent { id, event_seq, status, ops, .. } = agent;
    format!(
        "{id} stood at #{event_seq}: {status}, {run}, {messages} messages that are not settled, {} operations",
        ops.len()
    )
}
