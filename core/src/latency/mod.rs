//! Where the time of a turn goes, as a projection of its records (contract: context.md, Looking at it). Nothing stores
//! it, and nothing decides from it.

mod clock;
mod quantiles;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::turn::{AssistantRoundRecorded, TurnFact};
use holon_facts::event::{Event, OperationFact};
use holon_facts::ids::{MessageId, RoundIndex, RunId, TurnIndex};
use holon_facts::model::AttemptRecord;
use holon_facts::model_ref::ModelRef;
use holon_facts::record::Record;
use holon_facts::terminal::TurnKind;
use holon_facts::time::{Millis, Wall};
use holon_facts::usage::TokenUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use clock::{Clock, Part};

pub use quantiles::{LatencyQuantiles, Quantiles};

/// Where the time of a turn went. The parts add up to `total_ms`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnLatency {
    pub turn_index: TurnIndex,
    pub run_id: RunId,
    pub message_id: MessageId,
    pub started_at: Wall,
    /// How it ended; absent while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnKind>,
    #[serde(flatten)]
    pub parts: LatencyParts,
    /// From the moment its message was admitted, or an earlier run of the message ended, to the end of the turn.
    pub total_ms: Millis,
    pub rounds: Vec<RoundLatency>,
    pub tools: Vec<ToolLatency>,
}

/// Parts of the time of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyParts {
    /// The message waited in the queue.
    pub queue_wait_ms: Millis,
    /// Instruction files and environment were read.
    pub context_build_ms: Millis,
    /// Providers worked on requests.
    pub provider_ms: Millis,
    /// Waits before an attempt was repeated.
    pub backoff_ms: Millis,
    /// Calls of tools.
    pub tool_ms: Millis,
    /// From the last answer or result to the end of the turn.
    pub settlement_ms: Millis,
    /// The runtime itself: records become durable before their effects leave the process.
    pub other_ms: Millis,
}

impl LatencyParts {
    /// In their order.
    pub fn all(self) -> [Millis; 7] {
        let Self {
            queue_wait_ms,
            context_build_ms,
            provider_ms,
            backoff_ms,
            tool_ms,
            settlement_ms,
            other_ms,
        } = self;
        [queue_wait_ms, context_build_ms, provider_ms, backoff_ms, tool_ms, settlement_ms, other_ms]
    }
}

/// One round: a request with its attempts, until a model answered or nobody did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundLatency {
    pub round: RoundIndex,
    /// The model of the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    pub attempts: u32,
    /// Whether a model answered.
    pub answered: bool,
    pub backoff_ms: Millis,
    pub provider_ms: Millis,
    pub input_tokens: u64,
    /// Part of the input that the provider had in its cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolLatency {
    pub round: RoundIndex,
    pub tool: String,
    /// After the beginning of the turn's time.
    pub start_ms: Millis,
    pub ms: Millis,
}

/// Reads the records of one turn in their order.
#[derive(Debug)]
pub struct TurnClock {
    clock: Clock,
    /// What the time since the last record belongs to.
    part: Part,
    round: RoundLatency,
    latency: TurnLatency,
}

impl TurnClock {
    /// Kinds of the records that it reads.
    pub const KINDS: &'static [&'static str] = &[
        "turn_started",
        "turn_context_built",
        "operation_opened",
        "operation_settled",
        "provider_attempt_recorded",
        "providers_awaited",
        "assistant_round_recorded",
        "tool_started",
        "tool_executed",
        "tool_execution_failed",
        "turn_terminal",
    ];

    /// Begins with the record of a turn's start; its message waited since then. None when that is another record.
    pub fn new(waited_since: Wall, started: &Record) -> Option<Self> {
        let Event::Turn(TurnFact::TurnStarted(fact)) = &started.event else { return None };
        let mut clock = Clock::new(waited_since);
        clock.until(started.at, Part::QueueWait);
        let latency = TurnLatency {
            turn_index: fact.turn_index,
            run_id: fact.run_id,
            message_id: fact.message_id,
            started_at: started.at,
            end: None,
            parts: LatencyParts::default(),
            total_ms: Millis(0),
            rounds: Vec::new(),
            tools: Vec::new(),
        };
        Some(Self { clock, part: Part::ContextBuild, round: RoundLatency::default(), latency })
    }

    /// Takes the next record of the turn.
    pub fn step(&mut self, record: &Record) {
        if let Event::Turn(fact) = &record.event {
            self.turn(record.at, fact);
        } else if let Event::Operation(fact) = &record.event {
            self.operation(record.at, fact);
        }
    }

    /// What the records came to.
    pub fn finish(mut self) -> TurnLatency {
        if self.round.attempts > 0 {
            self.latency.rounds.push(self.round);
        }
        self.latency.parts = self.clock.parts();
        self.latency.total_ms = self.clock.total();
        self.latency
    }

    fn operation(&mut self, at: Wall, fact: &OperationFact) {
        match fact {
            OperationFact::OperationOpened(fact) if fact.kind == OpKind::CallModel => {
                self.ended(at);
                self.part = Part::Provider;
            }
            // The runtime was away: nobody knows until when the operation went on.
            OperationFact::OperationSettled(fact) if fact.settlement == Settlement::Lost => {
                self.part = Part::Other;
                self.ended(at);
            }
            OperationFact::OperationOpened(_) | OperationFact::OperationSettled(_) => {}
        }
    }

    fn turn(&mut self, at: Wall, fact: &TurnFact) {
        match fact {
            TurnFact::TurnContextBuilt(_) => {
                self.ended(at);
            }
            TurnFact::ProviderAttemptRecorded(fact) => {
                self.round.round = fact.round;
                self.attempted(at, &fact.attempt);
            }
            TurnFact::ProvidersAwaited(_) => self.part = Part::Backoff,
            TurnFact::AssistantRoundRecorded(fact) => self.answered(at, fact),
            TurnFact::ToolStarted(_) => {
                self.ended(at);
                self.part = Part::Tool;
            }
            TurnFact::ToolExecuted(fact) => self.called(at, fact.round, &fact.tool_name),
            TurnFact::ToolExecutionFailed(fact) => self.called(at, fact.round, &fact.tool_name),
            TurnFact::TurnTerminal(fact) => {
                if self.part == Part::Other {
                    self.part = Part::Settlement;
                }
                self.ended(at);
                self.latency.end = Some(fact.kind);
            }
            TurnFact::TurnStarted(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::BudgetExhausted(_) => {}
        }
    }

    /// The part in progress ends.
    fn ended(&mut self, at: Wall) -> Millis {
        let took = self.clock.until(at, self.part);
        if self.part == Part::Backoff {
            self.round.backoff_ms.0 += took.0;
        }
        self.part = Part::Other;
        took
    }

    /// Before the provider had it, and after it had answered, the request was the runtime's.
    fn attempted(&mut self, at: Wall, attempt: &AttemptRecord) {
        self.clock.until(attempt.started_at.min(at), Part::Other);
        let took = self.clock.until(attempt.completed_at.min(at), Part::Provider);
        self.clock.until(at, Part::Other);
        self.round.provider_ms.0 += took.0;
        self.round.attempts += 1;
        self.round.model = Some(attempt.model_ref.clone());
        self.part = if attempt.failure_kind.is_some() { Part::Backoff } else { Part::Other };
    }

    fn answered(&mut self, at: Wall, fact: &AssistantRoundRecorded) {
        self.ended(at);
        let round = core::mem::take(&mut self.round);
        let TokenUsage { input_tokens, output_tokens, cached_input_tokens: cached_tokens, .. } =
            fact.token_usage;
        self.latency.rounds.push(RoundLatency {
            round: fact.round,
            answered: true,
            input_tokens,
            cached_tokens,
            output_tokens,
            ..round
        });
    }

    fn called(&mut self, at: Wall, round: RoundIndex, tool: &str) {
        let start_ms = self.clock.total();
        let ms = self.ended(at);
        self.latency.tools.push(ToolLatency { round, tool: tool.into(), start_ms, ms });
    }
}
