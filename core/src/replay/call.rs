//! One call of the host, as the flight recorder keeps it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::Config;
use holon_facts::ids::{AgentId, EventSeq, Seed, StepSeq};
use holon_facts::time::Now;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::input::Input;
use crate::recovery::RecoveryReport;

/// What was asked of a host, with everything that its answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "one at a time is made, and written down")]
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
    /// What a step had recorded of `from` was copied into the log of `agent`.
    Copy {
        agent: AgentId,
        from: AgentId,
        of: StepSeq,
    },
    /// The ledger was split while no runtime had it: these agents go on in another one, with their logs so far.
    AgentsLeft {
        agents: Vec<AgentId>,
        /// The number of its cell.
        to: u64,
    },
}

/// A call of the kind that nearly all are.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    call: Cow<'a, str>,
    now: Option<Now>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

impl Call {
    /// Reads a call. Nearly all are steps: reading their inputs by themselves saves going through each of them twice for the
    /// tag around it.
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        let head: Head<'_> = serde_json::from_str(text)?;
        match (head.now, head.input) {
            (Some(now), Some(input)) if head.call == "step" => {
                Ok(Self::Step { now, input: serde_json::from_str(input.get())? })
            }
            _ => serde_json::from_str(text),
        }
    }
}
