//! Every limit and policy of the core, as one value that is checked once, when the host is built. It stands
//! in the flight recorder, so that a replay decides under the same rules.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::model_ref::ModelRef;
use crate::price::Prices;
use crate::time::Millis;

pub use crate::budget::{Bounds, Budgets};

/// The smallest window that the runtime's own words and a task fit into, in tokens.
const SMALLEST_WINDOW: u64 = 8_192;

/// What the core may do, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The model and its fallbacks, in the order in which a round tries them.
    pub models: Vec<ModelRef>,
    /// Those that read images, of the models that settings name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ModelRef>,
    pub queue: QueueLimits,
    pub turn: TurnLimits,
    pub context: ContextLimits,
    pub retry: RetryPolicy,
    pub hold: HoldPolicy,
    pub limits: HostLimits,
    #[serde(default)]
    pub tasks: TaskLimits,
    #[serde(default)]
    pub children: ChildLimits,
    #[serde(default)]
    pub work: WorkPolicy,
    #[serde(default)]
    pub unattended: UnattendedPolicy,
    #[serde(default, skip_serializing_if = "Budgets::is_none")]
    pub budgets: Budgets,
    #[serde(default, skip_serializing_if = "Prices::is_empty")]
    pub prices: Prices,
    /// The folder below which each agent has its home.
    #[serde(default = "homes")]
    pub homes: String,
    /// The folder below which agents have the worktrees that are made for them.
    #[serde(default = "worktrees")]
    pub worktrees: String,
    /// Other hosts have agents, too: a name is claimed before an agent begins another one of that name.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub shares_names: bool,
    /// Likewise: of a budget for all agents this host has what is lent to it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub shares_budgets: bool,
    /// Likewise: of `limits.concurrent_turns` this host has what is lent to it, and so much to begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent_turns: Option<u64>,
    /// What happens to ingress for a stopped agent.
    pub while_stopped: WhileStopped,
}

/// Bounds of one agent's queue (contract: agent.md, Queue).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    pub entries: u64,
    pub bytes: u64,
    /// Part of `entries` that only operator prompts may use.
    pub reserved_entries: u64,
    /// Part of `bytes` that only operator prompts may use.
    pub reserved_bytes: u64,
    /// Largest body of one message.
    pub body_bytes: u64,
    /// Idempotency keys kept per agent.
    pub keys: u64,
    /// How long an idempotency key is kept.
    pub keys_for: Millis,
    /// Crashed runs without anything new after which a message is dropped.
    pub crashes: u32,
}

/// Bounds of one turn (contract: agent.md, Turns).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLimits {
    pub rounds: u32,
    pub wall_time: Millis,
    pub calls_per_round: u32,
    pub max_output_tokens: u64,
    /// Time that one model attempt may take; the shell enforces it, the core waits a little longer.
    pub model_timeout: Millis,
    /// Time that one tool call may take, beyond what the call itself asks for.
    pub tool_timeout: Millis,
    /// The same call with the same result so many times in a row brings a reminder …
    pub repeats_remind: u32,
    /// … and so many times ends the turn.
    pub repeats_end: u32,
    /// Rounds in a row that continue an answer that was cut off.
    #[serde(default = "continuations")]
    pub continuations: u32,
}

fn continuations() -> u32 {
    3
}

fn compact_at() -> Share {
    Share(700)
}

fn episode_idle() -> Millis {
    Millis::hours(1)
}

/// What fits a model (contract: providers.md, Keeping context bounded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLimits {
    /// Tokens that a model takes, question and answer together, where nothing else is known of it.
    pub window_tokens: u64,
    /// Models that settings name and whose window is known.
    pub windows: Vec<ModelWindow>,
    /// What is known of models by their names, for agents that ask one which no setting names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownLimits>,
    /// Windows of all models of a provider, in tokens.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub of_providers: BTreeMap<String, u64>,
    /// An episode closes where the next request would take more of the window.
    #[serde(default = "compact_at")]
    pub compact_at: Share,
    /// A turn that begins so long after the end of the last one begins an episode.
    #[serde(default = "episode_idle")]
    pub episode_idle: Millis,
    /// What stands for an episode that closes in the middle of a turn.
    #[serde(default)]
    pub summary: SummaryBy,
}

names! {
    /// Who sums up an episode that closes because a request would be too long, or was refused as too long.
    #[derive(Default)]
    SummaryBy {
        /// The records alone.
        #[default]
        Facts "facts",
        /// The records, and the model that the turn asks.
        Model "model",
    }
}

/// A part of something, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub u16);

impl Share {
    pub fn of(self, all: u64) -> u64 {
        all.saturating_mul(self.0.into()) / 1_000
    }
}

/// The window of one model, in tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelWindow {
    pub model: ModelRef,
    pub tokens: u64,
    /// Most tokens of one answer, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
}

/// What is known of a model by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLimits {
    pub name: String,
    /// Its window.
    pub tokens: u64,
    /// Most tokens of one answer.
    pub output: u64,
    /// Whether it reads images.
    pub images: bool,
}

impl ContextLimits {
    /// The window of a model, in tokens.
    pub fn window(&self, model: &ModelRef) -> u64 {
        if let Some(named) = self.named(model) {
            return named.tokens;
        }
        let of_provider = self.of_providers.get(model.provider()).copied();
        let known = of_provider.or_else(|| Some(self.by_name(model)?.tokens));
        known.unwrap_or(self.window_tokens)
    }

    /// Most tokens of one answer of a model, where that is known.
    pub fn output(&self, model: &ModelRef) -> Option<u64> {
        match self.named(model) {
            Some(named) => named.output,
            None => Some(self.by_name(model)?.output),
        }
    }

    /// What settings and what is known come to, where a setting names the model.
    fn named(&self, model: &ModelRef) -> Option<&ModelWindow> {
        self.windows.iter().find(|window| window.model == *model)
    }

    fn by_name(&self, model: &ModelRef) -> Option<&KnownLimits> {
        model.among(&self.known, |known| &known.name)
    }
}

/// Attempts at one round (contract: providers.md, Retry and fallback).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Further attempts at the same candidate.
    pub retries: u32,
    /// Multiplied by the number of the attempt.
    pub backoff: Millis,
    /// Longest wait that a provider may ask for.
    pub retry_after_max: Millis,
    /// Where the agent is not held for it: how long a round goes through the chain again, after all of it has failed
    /// in ways that may pass.
    #[serde(default)]
    pub patience: Millis,
}

/// When providers are away (contract: scheduler.md, Hold).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldPolicy {
    /// Off for a one-shot run: the turn fails at once instead.
    pub on_outage: bool,
    /// Waits between trials; the last one repeats.
    pub steps: Vec<Millis>,
    /// Age after which a held message fails.
    pub give_up: Millis,
}

/// Bounds of the whole host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLimits {
    pub agents: u64,
    pub concurrent_turns: u64,
    pub decisions_per_step: u32,
    pub deadlines_per_step: u32,
}

/// Bounds of background tasks (contract: tasks.md, Limits).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLimits {
    /// Tasks that an agent may have running.
    pub per_agent: u64,
    /// Commands that are executed at one time, over all agents.
    pub running: u64,
    /// Between the request to end and the end.
    pub stop_grace: Millis,
    /// Tokens of output that the result of an operator's task may show.
    pub result_tokens: u64,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self { per_agent: 32, running: 256, stop_grace: Millis::seconds(5), result_tokens: 2_000 }
    }
}

/// Bounds of the children of agents (contract: tasks.md, Child agents).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildLimits {
    /// How many supervisors there may be above an agent; 0 for no children at all.
    pub depth: u32,
    /// Children of one agent that are alive.
    pub per_agent: u64,
}

impl Default for ChildLimits {
    fn default() -> Self {
        Self { depth: 3, per_agent: 8 }
    }
}

/// How often an item is turned to that brings no progress (contract: scheduler.md, Debts), and when a long turn is
/// reminded of its item (contract: work.md, Work items).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkPolicy {
    /// Waits after turns without progress, in a row; one more turn without stalls the item.
    pub deferrals: Vec<Millis>,
    /// A turn that is bound to an item is reminded of it after so many rounds without a change of any; 0 is never.
    pub remind_rounds: u32,
    /// Rounds between reminders.
    pub remind_cooldown: u32,
    /// Estimated tokens of a reminder.
    pub remind_tokens: u32,
}

impl Default for WorkPolicy {
    fn default() -> Self {
        Self {
            deferrals: [Millis::seconds(5), Millis::seconds(60), Millis::seconds(600)].into(),
            remind_rounds: 10,
            remind_cooldown: 10,
            remind_tokens: 512,
        }
    }
}

/// How many turns an agent has without an operator (contract: scheduler.md, Nothing spins).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnattendedPolicy {
    /// Turns in a row that an agent causes itself, and that bring nothing on, before the next one waits.
    pub free_turns: u32,
    /// How long the next ones wait; after one more there is none before somebody outside says something.
    pub deferrals: Vec<Millis>,
    /// Turns of one day of UTC that neither an operator nor an event from outside causes.
    pub turns_per_day: u32,
    /// Turns of one day of UTC that events from outside cause.
    pub outside_turns_per_day: u32,
    /// Turns of one day of UTC that events of one source cause.
    pub source_turns_per_day: u32,
    /// Events of one source that are taken in one minute.
    pub source_events_per_minute: u32,
}

impl Default for UnattendedPolicy {
    fn default() -> Self {
        Self {
            free_turns: 2,
            deferrals: [Millis::seconds(5), Millis::seconds(60), Millis::seconds(600)].into(),
            turns_per_day: 2_000,
            outside_turns_per_day: 2_000,
            source_turns_per_day: 1_000,
            source_events_per_minute: 600,
        }
    }
}

names! {
    /// What happens to ingress for a stopped agent (contract: decisions.md, 3).
    WhileStopped { Refuse "refuse", Queue "queue" }
}

/// A configuration that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The setting as users know it; where none sets it, the field behind `Config.`.
    pub key: &'static str,
    pub problem: String,
}

fn homes() -> String {
    "/agents".into()
}

fn worktrees() -> String {
    "/worktrees".into()
}

impl Config {
    /// The contract's defaults for this chain of models.
    pub fn new(models: Vec<ModelRef>) -> Self {
        Self {
            models,
            images: Vec::new(),
            queue: QueueLimits {
                entries: 10_000,
                bytes: 64 << 20,
                reserved_entries: 100,
                reserved_bytes: 1 << 20,
                body_bytes: 1 << 20,
                keys: 10_000,
                keys_for: Millis::hours(24),
                crashes: 3,
            },
            turn: TurnLimits {
                rounds: 200,
                wall_time: Millis::hours(6),
                calls_per_round: 128,
                max_output_tokens: 16_384,
                model_timeout: Millis::minutes(15),
                tool_timeout: Millis::minutes(10),
                repeats_remind: 5,
                repeats_end: 25,
                continuations: continuations(),
            },
            context: ContextLimits {
                window_tokens: 128_000,
                windows: Vec::new(),
                known: Vec::new(),
                of_providers: BTreeMap::new(),
                compact_at: compact_at(),
                episode_idle: episode_idle(),
                summary: SummaryBy::Model,
            },
            retry: RetryPolicy {
                retries: 2,
                backoff: Millis(200),
                retry_after_max: Millis::seconds(60),
                patience: Millis(0),
            },
            hold: HoldPolicy {
                on_outage: true,
                steps: [Millis::seconds(30), Millis::minutes(2), Millis::minutes(10), Millis::hours(1)]
                    .into(),
                give_up: Millis::hours(24),
            },
            limits: HostLimits {
                agents: 100_000,
                concurrent_turns: 64,
                decisions_per_step: 32,
                deadlines_per_step: 256,
            },
            tasks: TaskLimits::default(),
            children: ChildLimits::default(),
            work: WorkPolicy::default(),
            unattended: UnattendedPolicy::default(),
            budgets: Budgets::default(),
            prices: Prices::default(),
            homes: homes(),
            worktrees: worktrees(),
            shares_names: false,
            shares_budgets: false,
            lent_turns: None,
            while_stopped: WhileStopped::Refuse,
        }
    }

    /// Whether a model reads images.
    pub fn takes_images(&self, model: &ModelRef) -> bool {
        let known = || self.context.by_name(model).is_some_and(|known| known.images);
        self.images.contains(model) || (self.context.named(model).is_none() && known())
    }

    /// Every bound is at least what makes progress possible, and no part is larger than its whole.
    pub fn check(&self) -> Result<(), ConfigError> {
        let at_least_one = [
            ("limits.queue_entries", self.queue.entries),
            ("limits.queue_bytes", self.queue.bytes),
            ("limits.body_bytes", self.queue.body_bytes),
            ("Config.queue.crashes", u64::from(self.queue.crashes)),
            ("limits.rounds", u64::from(self.turn.rounds)),
            ("limits.turn_wall_time_ms", self.turn.wall_time.0),
            ("limits.calls_per_round", u64::from(self.turn.calls_per_round)),
            ("runtime.max_output_tokens", self.turn.max_output_tokens),
            ("runtime.model_timeout_ms", self.turn.model_timeout.0),
            ("runtime.tool_timeout_ms", self.turn.tool_timeout.0),
            ("limits.repeats_end", u64::from(self.turn.repeats_end)),
            ("limits.agents", self.limits.agents),
            ("limits.concurrent_turns", self.limits.concurrent_turns),
            ("Config.limits.decisions_per_step", u64::from(self.limits.decisions_per_step)),
            ("Config.limits.deadlines_per_step", u64::from(self.limits.deadlines_per_step)),
            ("Config.hold.steps", self.hold.steps.len() as u64),
            ("limits.tasks_per_agent", self.tasks.per_agent),
            ("limits.tasks", self.tasks.running),
            ("limits.children_per_agent", self.children.per_agent),
            ("limits.unattended_turns_per_day", u64::from(self.unattended.turns_per_day)),
            ("limits.outside_turns_per_day", u64::from(self.unattended.outside_turns_per_day)),
            ("limits.source_turns_per_day", u64::from(self.unattended.source_turns_per_day)),
            ("limits.source_events_per_minute", u64::from(self.unattended.source_events_per_minute)),
            ("model.default", self.models.len() as u64),
        ];
        if let Some((key, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError { key, problem: "must be at least 1".into() });
        }
        if self.lent_turns.is_some_and(|lent| lent > self.limits.concurrent_turns) {
            let problem = "must be at most limits.concurrent_turns".into();
            return Err(ConfigError { key: "Config.lent_turns", problem });
        }
        let windows = self.context.windows.iter().map(|window| window.tokens);
        if windows.chain([self.context.window_tokens]).any(|tokens| tokens < SMALLEST_WINDOW) {
            return Err(ConfigError {
                key: "runtime.context_window_tokens",
                problem: format!("must be at least {SMALLEST_WINDOW}"),
            });
        }
        if self.hold.steps.iter().any(|step| step.0 == 0) {
            return Err(ConfigError {
                key: "Config.hold.steps",
                problem: "must be at least 1 ms each".into(),
            });
        }
        if self.queue.reserved_entries >= self.queue.entries {
            return Err(ConfigError {
                key: "limits.queue_reserved_entries",
                problem: "must be less than limits.queue_entries".into(),
            });
        }
        if self.queue.reserved_bytes >= self.queue.bytes {
            return Err(ConfigError {
                key: "limits.queue_reserved_bytes",
                problem: "must be less than limits.queue_bytes".into(),
            });
        }
        if let (Some(budget), Some(model)) = (self.budgets.of_money(), self.prices.missing(&self.models)) {
            return Err(ConfigError {
                key: "model.prices",
                problem: format!(
                    "{model} has no price, which budget.{budget} needs; it may be 0, as in \
                     {{ \"{model}\" = {{ input = 0, output = 0 }} }}"
                ),
            });
        }
        Ok(())
    }
}
