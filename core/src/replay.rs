//! Decision replay: the calls of a flight recorder are made again, and what they record must be the same
//! bytes. The ledger and the simulator share this.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::config::{Config, ConfigError};
use crate::host::{Host, RecoveryReport, RestoreError};
use crate::ids::{AgentId, EventSeq, Seed, StepSeq};
use crate::input::Input;
use crate::record::Record;
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

/// Where a replay stands; feed it the calls in order, with the records that each of them brought.
#[derive(Debug, Default)]
pub struct Replay {
    host: Option<Host>,
    pub calls: u64,
    pub records: u64,
    /// Segments of another build, which are folded but not decided again.
    pub skipped: u64,
    skipping: bool,
}

/// A call that now brings something else than was recorded.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("the recorded configuration is refused: {0}")]
    Config(#[from] ConfigError),
    #[error("an agent can't be brought in: {0}")]
    Restore(#[from] RestoreError),
    #[error("the recorder does not begin with runtime_started")]
    NoSegment,
    #[error("step {step}: recorded {recorded} records, replayed {replayed}; first difference: {difference}")]
    Differs { step: StepSeq, recorded: usize, replayed: usize, difference: String },
}

impl Replay {
    /// Makes one call again. `recorded` are the records of that call; `log` reads an agent's records through
    /// a position, for an agent that is brought in.
    ///
    /// # Errors
    /// At the first difference, or when the call can't be made.
    pub fn call(
        &mut self,
        build: &str,
        call: Call,
        recorded: &[Record],
        log: impl FnOnce(&AgentId, EventSeq) -> Vec<Record>,
    ) -> Result<(), ReplayError> {
        self.calls += 1;
        let step = match call {
            Call::RuntimeStarted { build: recorded_by, config, seed, after } => {
                let mut host = Host::new(config, seed)?;
                host.resume_after(after);
                self.host = Some(host);
                self.skipping = recorded_by != build;
                self.skipped += u64::from(self.skipping);
                return Ok(());
            }
            _ if self.skipping => return Ok(()),
            Call::Admit { agent, through } => {
                let records = log(&agent, through);
                self.host()?.admit(None, records)?;
                return Ok(());
            }
            Call::Park { agent } => {
                let parked = self.host()?.park(&agent);
                drop(parked);
                return Ok(());
            }
            Call::Recover { now, agent, report } => self.host()?.recover(now, &agent, report),
            Call::Step { now, input } => self.host()?.step(now, input),
        };
        self.records += step.records().len() as u64;
        compare(step.seq(), recorded, step.records())
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
