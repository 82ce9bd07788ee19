//! What a one-shot run came to, as a fold over its durable records (contract: surface.md, `run`; spec: `holon
//! run --json`).

use std::collections::BTreeSet;

use holon_core::event::brief::BriefKind;
use holon_core::event::turn::FailureArtifact;
use holon_core::event::{BriefFact, Event, TurnFact};
use holon_core::ids::{AgentId, MessageId};
use holon_core::model::{AttemptRecord, ModelRef, StopReason, TokenUsage};
use holon_core::terminal::{TurnKind, TurnReason};
use holon_core::view::RunVerdict;
use holon_core::{Record, Text};
use serde::Serialize;

use crate::text::{TextError, Texts};

/// Attempts that the report shows; a run of hundreds of rounds has as many.
const ATTEMPTS: usize = 1_000;

/// The parts of the report that records tell.
#[derive(Debug, Default)]
pub struct RunFold {
    message: Option<MessageId>,
    requested_model: Option<ModelRef>,
    attempts: Vec<AttemptRecord>,
    usage: TokenUsage,
    rounds: u32,
    turns: u32,
    changed_files: BTreeSet<String>,
    failure: Option<FailureArtifact>,
    last_kind: Option<(TurnKind, Option<TurnReason>)>,
    stop_reason: Option<StopReason>,
    final_text: Option<Text>,
    raw_final_text: Option<Text>,
    failure_text: Option<Text>,
}

/// The JSON document of `holon run --json`.
#[derive(Debug, Serialize)]
pub struct RunReport {
    pub verdict: RunVerdict,
    pub agent_id: AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// What the agent reports; null when it said nothing.
    pub final_text: Option<String>,
    /// The last assistant message of the last turn.
    pub raw_final_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_kind: Option<TurnKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_reason: Option<TurnReason>,
    /// Why the model stopped at last; `max_output` means that its answer was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    pub turns: u32,
    pub rounds: u32,
    pub token_usage: TokenUsage,
    /// Paths relative to the execution root.
    pub changed_files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    pub provider_attempt_timeline: AttemptTimeline,
    pub duration_ms: u64,
    /// The ledger that holds everything: `holon ledger verify PATH`.
    pub ledger: String,
}

/// Every attempt of the run (spec: ProviderAttemptTimeline).
#[derive(Debug, Serialize)]
pub struct AttemptTimeline {
    pub attempts: Vec<AttemptRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_model_ref: Option<ModelRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<ModelRef>,
    pub aggregated_token_usage: TokenUsage,
}

impl RunFold {
    /// Takes the next durable record of the agent.
    pub fn record(&mut self, record: &Record) {
        match &record.event {
            Event::Turn(fact) => self.turn(fact),
            Event::Brief(BriefFact::BriefCreated(brief)) => match brief.kind {
                BriefKind::Result => self.final_text = Some(brief.text.clone()),
                BriefKind::Failure => self.failure_text = Some(brief.text.clone()),
                BriefKind::Ack => {}
            },
            Event::Lifecycle(_) | Event::Inbox(_) | Event::Scheduling(_) | Event::Operation(_) => {}
        }
    }

    fn turn(&mut self, fact: &TurnFact) {
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.message = Some(fact.message_id);
                self.requested_model = fact.models.first().cloned();
                self.turns += 1;
                self.failure = None;
            }
            TurnFact::ProviderAttemptRecorded(fact) if self.attempts.len() < ATTEMPTS => {
                self.attempts.push(fact.attempt.clone());
            }
            TurnFact::ToolExecuted(fact) => {
                self.changed_files.extend(fact.receipt.facts.changed_files.iter().cloned());
            }
            TurnFact::AssistantRoundRecorded(fact) => self.stop_reason = Some(fact.stop_reason),
            TurnFact::RuntimeError(fact) => self.failure = Some(fact.failure.clone()),
            TurnFact::TurnTerminal(fact) => {
                self.usage = self.usage.plus(fact.token_usage);
                self.rounds += fact.rounds;
                self.last_kind = Some((fact.kind, fact.reason));
                self.raw_final_text.clone_from(&fact.last_assistant_message);
            }
            TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ToolExecutionFailed(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::BudgetExhausted(_) => {}
        }
    }

    /// What the operator is told when the run did not complete.
    pub fn failure_text(&self) -> Option<&Text> {
        self.failure_text.as_ref()
    }

    /// The finished report.
    ///
    /// # Errors
    /// When a text that the records name can't be read back.
    pub fn report(
        self,
        verdict: RunVerdict,
        agent_id: AgentId,
        duration_ms: u64,
        ledger: String,
        texts: &Texts,
    ) -> Result<RunReport, TextError> {
        let whole = |text: Option<&Text>| {
            text.filter(|text| !text.is_empty())
                .map(|text| texts.resolve(text).map(|text| text.to_string()))
                .transpose()
        };
        // A document stands for itself: whoever reads it has no ledger to look a stored text up in.
        let told = |text: &Text| texts.resolve(text).map(|text| Text::Inline(text.to_string()));
        let mut failure = self.failure;
        if let Some(failure) = &mut failure {
            failure.summary = told(&failure.summary)?;
        }
        let mut attempts = self.attempts;
        for message in attempts.iter_mut().filter_map(|attempt| attempt.message.as_mut()) {
            *message = told(message)?;
        }
        let winning = attempts.iter().rev().find(|attempt| attempt.failure_kind.is_none());
        Ok(RunReport {
            verdict,
            agent_id,
            message_id: self.message,
            final_text: whole(self.final_text.as_ref())?,
            raw_final_text: whole(self.raw_final_text.as_ref())?,
            turn_kind: self.last_kind.map(|(kind, _)| kind),
            turn_reason: self.last_kind.and_then(|(_, reason)| reason),
            stop_reason: self.stop_reason,
            turns: self.turns,
            rounds: self.rounds,
            token_usage: self.usage,
            changed_files: self.changed_files.into_iter().collect(),
            failure_artifact: failure,
            duration_ms,
            ledger,
            provider_attempt_timeline: AttemptTimeline {
                winning_model_ref: winning.map(|attempt| attempt.model_ref.clone()),
                requested_model_ref: self.requested_model,
                aggregated_token_usage: self.usage,
                attempts,
            },
        })
    }
}
