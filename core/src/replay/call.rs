//! One call of the host, as the flight recorder keeps it.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::host::RecoveryReport;
use crate::ids::{AgentId, EventSeq, Seed, StepSeq};
use crate::input::Input;
use crate::time::Now;

/// What was asked of a host, with everything that its answer depends on.
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
