//! A scenario is data: limits, timed inputs, faults. A seed is only one way to make one; a person or a
//! shrinker writes the same text.

use holon_core::Config;
use holon_core::message::Priority;
use serde::{Deserialize, Serialize};

/// Version of the text form.
pub const VERSION: u16 = 1;

/// Everything that a run of the world depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    pub version: u16,
    /// Answers of providers and tools, latencies and ties are drawn from it, each by its own key.
    pub seed: u64,
    pub config: Config,
    /// Agents are numbered from 1.
    pub agents: u32,
    pub inputs: Vec<Timed>,
    pub faults: Faults,
    /// Steps after which a run counts as endless.
    pub budget: u64,
}

/// Something from outside, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Microseconds of virtual time.
    pub at: u64,
    pub agent: u32,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    Create,
    Message(Message),
    Start,
    Stop,
    Abort {
        /// Number of the run; none for whichever is in progress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<u64>,
        #[serde(default)]
        stop: bool,
    },
    /// Shut down in good order and start again.
    Restart,
    /// The wall clock jumps by so many microseconds.
    ClockJump {
        micros: i64,
    },
    /// An early or superfluous timer of the driver.
    Tick,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub sender: Sender,
    pub priority: Priority,
    pub bytes: u32,
    /// The idempotency key; none when the caller sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// Another payload under the same key is a conflict.
    #[serde(default)]
    pub payload: u8,
}

/// Who sends a message, and whether it is one that must be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    Operator,
    Channel,
    Webhook,
    Callback,
    SystemTick,
    TaskResult,
    /// Needs no model.
    BriefAck,
    /// A kind from an origin that it can't come from.
    Impostor,
}

/// Faults and how often they strike, in a thousand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    pub provider_fails: u32,
    /// How many of the failures are of a kind that passes.
    pub provider_away: u32,
    pub provider_silent: u32,
    pub provider_slow: u32,
    /// Odd answers: unknown tools, bad arguments, doubled ids, too many calls.
    pub provider_odd: u32,
    pub tool_fails: u32,
    pub tool_silent: u32,
    /// Outcomes that come twice, late, or of the wrong shape.
    pub outcome_twice: u32,
    pub outcome_late: u32,
    pub outcome_odd: u32,
    pub context_fails: u32,
    /// How long the disk takes to sync, in microseconds; 0 for at once.
    pub sync: u64,
    /// Boundaries at which the process dies, counted over the whole run.
    pub crashes: Vec<u64>,
}

impl Scenario {
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// # Errors
    /// When the text is not a scenario of this version.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if scenario.version != VERSION {
            return Err(format!("the scenario has version {}, expected {VERSION}", scenario.version));
        }
        Ok(scenario)
    }

    /// When the last input arrives.
    pub fn end(&self) -> u64 {
        self.inputs.iter().map(|input| input.at).max().unwrap_or(0)
    }
}
