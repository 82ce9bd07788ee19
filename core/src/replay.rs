//! Decision replay: the calls of a flight recorder are made again, and what they record must be the same
//! bytes. The ledger and the simulator share this.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, FoldError};
use crate::config::{Config, ConfigError};
use crate::host::{Host, RecoveryReport, RestoreError};
use crate::ids::{AgentId, EventSeq, Seed, StepSeq};
use crate::input::Input;
use crate::record::{Record, Step};
use crate::snapshot::AgentSnapshot;
use crate::time::Now;

/// One call of the host, as the flight recorder keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
pub enum Call {
    /// A start of the runtime: what follows belongs to a new host.
    RuntimeStarted {
        build: String,
        config: Config,
        seed: Seed,
        after: StepSeq,
    },
    /// An agent was brought in as its log through `event_seq` leaves it.
    Admit {
        agent: AgentId,
        through: EventSeq,
    },
    Recover {
        now: Now,
        agent: AgentId,
        report: RecoveryReport,
    },
    Step {
        now: Now,
        input: Input,
    },
    Park {
        agent: AgentId,
    },
}

/// Where a replay stands; feed it the calls in order, with the records that each of them brought. It folds the
/// records as it goes, so that an agent that is brought in again costs nothing but a copy of its state.
#[derive(Debug, Default)]
pub struct Replay {
    host: Option<Host>,
    agents: BTreeMap<AgentId, Agent>,
    pub calls: u64,
    pub records: u64,
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
    #[error("step {step}: recorded {recorded} records, replayed {replayed}; first difference: {difference}")]
    Differs { step: StepSeq, recorded: usize, replayed: usize, difference: String },
}

impl Replay {
    /// Makes one call again; `recorded` are the records that it brought then.
    ///
    /// # Errors
    /// At the first difference, or when the call can't be made.
    pub fn call(&mut self, call: Call, recorded: &[Record]) -> Result<(), ReplayError> {
        self.calls += 1;
        if let Some(step) = self.make(call)? {
            self.records += step.records().len() as u64;
            compare(step.seq(), recorded, step.records())?;
        }
        self.fold(recorded)
    }

    /// Passes over a call that another build made: it is folded, but not decided again.
    ///
    /// # Errors
    /// When the records do not continue their agent's log.
    pub fn skip(&mut self, recorded: &[Record]) -> Result<(), ReplayError> {
        self.fold(recorded)
    }

    fn make(&mut self, call: Call) -> Result<Option<Step>, ReplayError> {
        match call {
            Call::RuntimeStarted { config, seed, after, .. } => {
                let mut host = Host::new(config, seed)?;
                host.resume_after(after);
                self.host = Some(host);
                Ok(None)
            }
            Call::Admit { agent, through } => {
                let folded = self.agents.get(&agent).ok_or(RestoreError::Empty)?;
                if folded.event_seq != through {
                    let found = folded.event_seq;
                    return Err(ReplayError::Elsewhere { agent, through, found });
                }
                let snapshot = AgentSnapshot::of(folded);
                self.host()?.admit(Some(snapshot), [])?;
                Ok(None)
            }
            Call::Park { agent } => {
                drop(self.host()?.park(&agent));
                Ok(None)
            }
            Call::Recover { now, agent, report } => Ok(Some(self.host()?.recover(now, &agent, report))),
            Call::Step { now, input } => Ok(Some(self.host()?.step(now, input))),
        }
    }

    fn fold(&mut self, recorded: &[Record]) -> Result<(), ReplayError> {
        for record in recorded {
            match self.agents.get_mut(&record.agent) {
                Some(agent) => agent.fold(record)?,
                None => {
                    self.agents.insert(record.agent.clone(), Agent::created(record)?);
                }
            }
        }
        Ok(())
    }

    fn host(&mut self) -> Result<&mut Host, ReplayError> {
        self.host.as_mut().ok_or(ReplayError::NoSegment)
    }
}

fn compare(step: StepSeq, recorded: &[Record], replayed: &[Record]) -> Result<(), ReplayError> {
    if recorded == replayed {
        return Ok(());
    }
    let at = recorded.iter().zip(replayed).position(|(then, now)| then != now);
    let at = at.unwrap_or(recorded.len().min(replayed.len()));
    let describe = |record: Option<&Record>| match record {
        Some(record) => alloc::format!(
            "{} #{} {} {}",
            record.agent,
            record.event_seq,
            record.event.kind(),
            record.event.payload().unwrap_or_default()
        ),
        None => "nothing".to_string(),
    };
    let difference =
        alloc::format!("then {}, now {}", describe(recorded.get(at)), describe(replayed.get(at)));
    Err(ReplayError::Differs { step, recorded: recorded.len(), replayed: replayed.len(), difference })
}
