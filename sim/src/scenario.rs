//! A scenario is data: limits, timed inputs, faults. A seed is only one way to make one; a person or a
//! shrinker writes the same text.

use holon_facts::Config;
use holon_facts::provenance::Priority;
use holon_facts::timer::Misfire;
use serde::{Deserialize, Serialize};

use crate::codec;
use crate::fault::{Faults, Spell};
use crate::places::Placing;
use crate::script::Line;
use crate::story::Story;

/// Version of the text form.
pub const VERSION: u16 = 1;

/// Everything that a run of the world depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub version: u16,
    /// The purpose of the scenario.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The source of answers of providers and tools, latencies and ties, each drawn by its own key.
    pub seed: u64,
    #[serde(default = "codec::plain", serialize_with = "codec::write", deserialize_with = "codec::read")]
    pub config: Config,
    /// The configurations after the first end of the process, the second, and so on; the last one stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Later>,
    /// The wall clock at the beginning, in microseconds; none for the beginning of 2026.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<i64>,
    /// Moments of additional rings of the driver's timer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<u64>,
    /// Agents are numbered from 1.
    pub agents: u32,
    pub inputs: Vec<Timed>,
    #[serde(default)]
    pub faults: Faults,
    /// Outcomes of performers that replace random ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub script: Vec<Line>,
    /// What models do and how commands end, where the script does not decide.
    #[serde(default, skip_serializing_if = "Story::is_empty")]
    pub story: Story,
    /// Steps after which a run counts as endless.
    #[serde(default = "budget")]
    pub budget: u64,
}

fn budget() -> u64 {
    40_000
}

/// Another configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Later {
    #[serde(default = "codec::plain", serialize_with = "codec::write", deserialize_with = "codec::read")]
    pub config: Config,
}

/// One input from outside, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed {
    /// Microseconds of virtual time.
    pub at: u64,
    pub agent: u32,
    #[serde(flatten)]
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// With a model of its own and a description, or without.
    Create {
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        settings: bool,
    },
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
    /// Stops the agent, and removes it from lists.
    Archive,
    /// The second name of the agent with a number; its own takes it away.
    Rename {
        name: u32,
    },
    Describe,
    /// An operator closes what an agent has asked, by the number of its brief.
    CloseAsk {
        brief: u64,
    },
    /// The login of a provider is another one now; which provider, by its number.
    Login {
        provider: u32,
    },
    /// Another primary model from the next turn on, by its number; none for the configured one.
    Model {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
    },
    /// An operator wants the open episode to close.
    Compact,
    /// An operator starts a command as a task; which one, by its number.
    RunTask {
        #[serde(default)]
        command: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keyed: Option<Keyed>,
    },
    /// An operator asks a task to end.
    StopTask {
        task: u64,
        #[serde(default)]
        force: bool,
    },
    /// An operator writes so many bytes to a task.
    WriteTask {
        task: u64,
        bytes: u32,
    },
    /// An operator makes a timer that fires after so many seconds, and again and again.
    CreateTimer {
        seconds: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        every: Option<u32>,
        misfire: Misfire,
        /// Bytes of its summary.
        #[serde(default, skip_serializing_if = "none")]
        summary: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keyed: Option<Keyed>,
    },
    CancelTimer {
        timer: u64,
    },
    /// An operator makes a work item.
    CreateWork {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keyed: Option<Keyed>,
    },
    CompleteWork {
        item: u64,
    },
    /// Somebody outside sends a wake hint.
    Wake {
        /// Number of the source.
        source: u32,
        /// Whether the hint has a body.
        says: bool,
        /// The wait that the hint names; 0 for none.
        wait: u64,
        /// Number of the subject; 0 for none.
        #[serde(default)]
        about: u32,
    },
    /// A delivery to the address of a generation of the agent's trigger.
    Deliver {
        generation: u64,
        /// Number of the source.
        source: u32,
        /// Number of the body; 0 for none.
        says: u32,
        /// Number of the subject; 0 for none.
        #[serde(default)]
        about: u32,
    },
    /// An operator gives the trigger another address, or none.
    ChangeTrigger {
        revoke: bool,
    },
    /// Somebody requests something of a child, by the number of its task.
    Meddle {
        task: u64,
        how: Meddling,
    },
    /// An operator changes which shared folders an agent knows, or where it works.
    Place {
        folder: u32,
        how: Placing,
    },
    /// Shut down in good order and start again.
    Restart,
    /// The process dies at this moment, and so many times more soon after each start.
    Kill {
        #[serde(default)]
        again: u32,
    },
    /// The machine sleeps for so many microseconds: the wall clock goes on, the monotonic one does not.
    Suspend {
        micros: u64,
    },
    /// The process is halted for so many microseconds, and both clocks go on.
    Freeze {
        micros: u64,
    },
    /// The wall clock jumps by so many microseconds.
    ClockJump {
        micros: i64,
    },
    /// An early or extra ring of the driver's timer.
    Tick,
}

/// The idempotency key of a request that makes something, by its number; another payload under it is a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyed {
    pub key: u32,
    #[serde(default)]
    pub payload: u8,
}

/// A request to a child that bypasses its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meddling {
    Create,
    Prompt,
    Enqueue,
    Start,
    Stop,
}

impl Meddling {
    pub const ALL: &[Self] = &[Self::Create, Self::Prompt, Self::Enqueue, Self::Start, Self::Stop];
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub sender: Sender,
    pub priority: Priority,
    #[serde(default)]
    pub bytes: u32,
    /// The idempotency key; none when the caller sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<u32>,
    /// Another payload under the same key is a conflict.
    #[serde(default)]
    pub payload: u8,
    /// The text, instead of so many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// References of the message.
    #[serde(default, skip_serializing_if = "none")]
    pub refs: u32,
    /// Images of the message.
    #[serde(default, skip_serializing_if = "none")]
    pub images: u32,
    /// Skills of the message.
    #[serde(default, skip_serializing_if = "none")]
    pub skills: u32,
    /// The wait that it names as its correlation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Naming>,
    /// It was kept while nobody owned its agent, under this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deposit: Option<u64>,
}

/// How a message names a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Naming {
    pub wait: u64,
    /// By its token instead of its number.
    #[serde(default)]
    pub token: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn none(count: &u32) -> bool {
    *count == 0
}

/// Senders of messages, some of which must be refused.
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
    Timer,
    Followup,
    /// These need no model either.
    TaskStatus,
    BriefResult,
    /// A kind that no message has.
    Control,
    /// A sender whose name is too long.
    LongName,
}

impl Scenario {
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The same text, for a person.
    pub fn to_pretty_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
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

    /// The same scenario repeated for so many weeks: agents and timers are created in the first week.
    #[must_use]
    pub fn repeated(&self, weeks: u64) -> Self {
        const WEEK: u64 = 7 * 24 * 3_600 * 1_000_000;
        let mut all = self.clone();
        all.budget = self.budget.saturating_mul(weeks);
        for week in 1..weeks {
            let later = week * WEEK;
            let made =
                |timed: &&Timed| !matches!(timed.action, Action::Create { .. } | Action::CreateTimer { .. });
            let again = self.inputs.iter().filter(made);
            all.inputs.extend(again.map(|timed| Timed { at: timed.at + later, ..timed.clone() }));
            let spells = self.faults.spells.iter();
            all.faults.spells.extend(spells.map(|spell| Spell {
                from: spell.from + later,
                until: spell.until + later,
                what: spell.what,
            }));
        }
        all
    }

    /// When the last input arrives.
    pub fn end(&self) -> u64 {
        self.inputs.iter().map(|input| input.at).max().unwrap_or(0)
    }

    /// The configuration of one life of the process; the first is number 0.
    pub fn config_of(&self, life: u64) -> &Config {
        let later = usize::try_from(life).unwrap_or(usize::MAX).min(self.later.len());
        later.checked_sub(1).and_then(|at| self.later.get(at)).map_or(&self.config, |later| &later.config)
    }
}
