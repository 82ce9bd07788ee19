//! What happened inside turns.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::budget::BudgetKind;
use crate::call::ToolName;
use crate::content::Text;
use crate::delivery::StoredResponse;
use crate::fence::Fence;
use crate::ids::{MessageId, OpId, RoundIndex, RunId, TaskId, TurnIndex, WorkItemId};
use crate::model::{AttemptRecord, Block, ModelRef, RoundEnd, StopReason, TokenUsage};
use crate::outcome::LoadedContext;
use crate::price::{Amount, Cost};
use crate::receipt::{Receipt, Verdict};
use crate::terminal::{TurnKind, TurnReason};
use crate::time::{Millis, Wall};
use crate::tool::ServerTools;

family! {
    /// Rounds of model output and tool results, and how they ended.
    TurnFact each run_id: RunId {
        TurnStarted "turn_started" v 1,
        TurnContextBuilt "turn_context_built" v 1,
        ToolsCatalogued "tools_catalogued" v 1,
        ProviderAttemptRecorded "provider_attempt_recorded" v 1,
        ProviderRoundCompleted "provider_round_completed" v 1,
        ProvidersAwaited "providers_awaited" v 1,
        AssistantRoundRecorded "assistant_round_recorded" v 1,
        ToolStarted "tool_started" v 1,
        ToolExecuted "tool_executed" v 1,
        ToolExecutionFailed "tool_execution_failed" v 1,
        ReminderInjected "reminder_injected" v 1,
        ContextCompacted "context_compacted" v 1,
        RuntimeError "runtime_error" v 1,
        BudgetReserved "budget_reserved" v 1,
        BudgetSettled "budget_settled" v 1,
        BudgetExhausted "budget_exhausted" v 1,
        TurnTerminal "turn_terminal" v 1,
    }
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    pub run_id: RunId,
    pub turn_index: TurnIndex,
    pub message_id: MessageId,
    /// Further results of tasks that the run is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<MessageId>,
    /// The item that was in focus.
    pub work_item_id: Option<WorkItemId>,
    /// The candidates, in order.
    pub models: Vec<ModelRef>,
    /// Rounds of interrupted runs of the same message that this run continues from.
    pub carried_rounds: u32,
    /// Prompts that interrupted runs of the same message had taken in, in that order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected: Vec<MessageId>,
    /// What the tags of its fences are derived from.
    pub fence: Option<Fence>,
    /// The tools that its requests offer, in order, where the run before offered others.
    pub tools_offered: Option<Arc<[ToolName]>>,
    /// A call of any other tool is refused. Earlier builds executed it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub only_offered: bool,
    /// Tokens that its requests may have, where those of the run before could have others. Earlier builds left it out.
    pub input_limit: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnContextBuilt {
    pub run_id: RunId,
    pub context: LoadedContext,
}

/// The tools of other programs are others than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsCatalogued {
    pub run_id: RunId,
    pub catalogue: Arc<ServerTools>,
    /// What the run's requests offer with them, in order, where nothing was requested in its episode before. Without it they
    /// are offered from the next run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_offered: Option<Arc<[ToolName]>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderAttemptRecorded {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub attempt: AttemptRecord,
}

/// Every model of the chain has failed, some of them in ways that may pass: the round asks those again later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProvidersAwaited {
    pub run_id: RunId,
    pub round: RoundIndex,
    /// Who is asked again.
    pub models: Vec<ModelRef>,
    /// When the chain had failed for the first time in this round.
    pub since: Wall,
    /// How often it has failed.
    pub passes: u32,
    pub pause_ms: Millis,
    /// After that the round gives up.
    pub until: Wall,
}

/// Telemetry of a round that brought an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderRoundCompleted {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub requested_model_ref: ModelRef,
    pub winning_model_ref: ModelRef,
    pub attempts: u32,
    pub stop_reason: StopReason,
    pub token_usage: TokenUsage,
    pub context_build_ms: Millis,
    pub provider_round_ms: Millis,
    pub provider_started_at: Wall,
    pub provider_completed_at: Wall,
    /// The answer as its provider keeps it: the next request may go on from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Box<StoredResponse>>,
    /// Tokens of the request that its provider left out, and did not count.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cleared_tokens: u64,
}

impl ProviderRoundCompleted {
    /// Tokens of the whole request, as its provider counts them.
    pub fn input_tokens(&self) -> u64 {
        self.token_usage.input_tokens.saturating_add(self.cleared_tokens)
    }
}

/// The model's answer, durable before anything is done about it.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantRoundRecorded {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub blocks: Arc<[Block]>,
    /// One for each tool call among the blocks, in order.
    pub verdicts: Vec<Verdict>,
    pub stop_reason: StopReason,
    pub token_usage: TokenUsage,
    /// How a round without tool calls ended. Earlier builds did not record it.
    pub end: Option<RoundEnd>,
    /// The whole answer, where the round continues rounds that were cut off.
    pub joined: Option<Text>,
    /// Which of the turn's models answered, from 0: the next rounds ask that one first. Earlier builds always
    /// asked the first one first.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub candidate: u32,
    /// The next round asks the first of the turn's models once, to see whether it is back.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub probes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolStarted {
    pub run_id: RunId,
    pub round: RoundIndex,
    /// Position among the calls of the round.
    pub index: u32,
    pub call_id: String,
    pub tool: ToolName,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExecuted {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub index: u32,
    pub call_id: String,
    pub tool_name: String,
    pub receipt: Arc<Receipt>,
    pub duration_ms: Millis,
}

/// A call whose one result is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolExecutionFailed {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub index: u32,
    pub call_id: String,
    pub tool_name: String,
    pub receipt: Arc<Receipt>,
    pub duration_ms: Millis,
}

/// The runtime gave the model a note in the middle of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReminderInjected {
    pub run_id: RunId,
    pub round: RoundIndex,
    pub kind: ReminderKind,
    pub text: String,
}

names! {
    ReminderKind {
        RepeatedToolCall "repeated_tool_call", WorkProgress "work_progress",
        /// An operator has sent a message, and a work item still needs input.
        NeedsInput "needs_input",
        /// The answer before was cut off and is to be continued.
        Continuation "continuation",
    }
}

/// The oldest rounds of the turn are shown in short from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextCompacted {
    pub run_id: RunId,
    /// The round whose request needs it.
    pub round: RoundIndex,
    pub cause: CompactionCause,
    /// So many rounds from the beginning, those of interrupted runs included.
    pub recapped_rounds: u32,
    /// Estimate of the request as it would have been, or was.
    pub est_tokens: u64,
    /// Tokens that it had to stay below.
    pub limit: u64,
}

names! {
    /// Why a context was compacted.
    CompactionCause {
        /// The request would not have fit the model's window.
        OverBudget "over_budget",
        /// A provider refused it as too long.
        Refused "refused",
    }
}

/// A turn failed; the brief is for the operator, this is for the engineer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeError {
    pub run_id: RunId,
    pub message_id: MessageId,
    pub failure: FailureArtifact,
    /// The attempts of the round that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptRecord>,
    pub token_usage: TokenUsage,
}

/// The one shape of operator-facing failures.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailureArtifact {
    pub category: FailureCategory,
    pub kind: String,
    pub summary: Text,
    pub provider: Option<String>,
    pub model_ref: Option<ModelRef>,
    pub status: Option<u16>,
    /// Of a task.
    pub task_id: Option<TaskId>,
    /// Of a command.
    pub exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

names! {
    FailureCategory {
        Transport "transport", Protocol "protocol", Runtime "runtime", Task "task", Unknown "unknown",
    }
}

/// A request is about to be sent, and may take so much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetReserved {
    pub run_id: RunId,
    pub op: OpId,
    /// So many days of UTC after 1970 began.
    pub day: i64,
    pub amount: Amount,
    /// The part of it that sending takes.
    pub sent: Amount,
}

/// What the request took, as its provider reports it, or as estimated without a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetSettled {
    pub run_id: RunId,
    pub op: OpId,
    /// The day of the reservation.
    pub day: i64,
    pub amount: Amount,
}

/// A budget does not cover the next request. Numbers are tokens, or millionths of a dollar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetExhausted {
    pub run_id: RunId,
    pub budget: BudgetKind,
    pub limit: u64,
    pub used: u64,
    /// What the next request would have taken.
    pub wanted: u64,
}

/// The end of a run (contract: agent.md, Terminal record).
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnTerminal {
    pub run_id: RunId,
    pub turn_index: TurnIndex,
    pub message_id: MessageId,
    pub kind: TurnKind,
    pub reason: Option<TurnReason>,
    /// The text of the last round that had any.
    pub last_assistant_message: Option<Text>,
    pub completed_at: Wall,
    pub duration_ms: Millis,
    pub token_usage: TokenUsage,
    /// What that cost; none where the model has no price. A price of nothing is one.
    pub cost_micros: Option<Cost>,
    pub rounds: u32,
    /// Whether it has brought anything on (contract: scheduler.md, Progress).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub progress: bool,
    /// Of an exhausted budget: its message waits until there is one again.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub held: bool,
}

impl TurnTerminal {
    /// Whether the turn is over for its message, which comes again otherwise.
    pub fn settles(&self) -> bool {
        self.kind.settles() && !self.held
    }
}

impl TurnFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::TurnContextBuilt(fact) => {
                fact.context.sources.iter().for_each(|source| visit(&source.content));
            }
            Self::ToolsCatalogued(fact) => visit(&fact.catalogue.definitions),
            Self::AssistantRoundRecorded(fact) => {
                for block in fact.blocks.iter() {
                    match block {
                        Block::Text { text } => visit(text),
                        Block::ToolCall { arguments, .. } => visit(arguments),
                        Block::Reasoning { content, .. } => visit(content),
                    }
                }
                fact.joined.iter().for_each(visit);
            }
            Self::ToolExecuted(fact) => fact.receipt.texts().for_each(visit),
            Self::ToolExecutionFailed(fact) => fact.receipt.texts().for_each(visit),
            Self::ProviderAttemptRecorded(fact) => fact.attempt.message.iter().for_each(visit),
            Self::RuntimeError(fact) => visit(&fact.failure.summary),
            Self::TurnTerminal(fact) => fact.last_assistant_message.iter().for_each(visit),
            Self::TurnStarted(_)
            | Self::ProviderRoundCompleted(_)
            | Self::ProvidersAwaited(_)
            | Self::ToolStarted(_)
            | Self::ReminderInjected(_)
            | Self::ContextCompacted(_)
            | Self::BudgetReserved(_)
            | Self::BudgetSettled(_)
            | Self::BudgetExhausted(_) => {}
        }
    }
}
