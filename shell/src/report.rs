//! What a one-shot run came to, as a fold over its durable records (contract: surface.md, `run`; spec: `holon
//! run --json`).

use std::collections::BTreeSet;

use holon_core::view::{ExplainedDeadline, RunVerdict};
use holon_facts::event::brief::BriefVisibility;
use holon_facts::event::turn::FailureArtifact;
use holon_facts::event::{BriefFact, Event, TurnFact};
use holon_facts::ids::{AgentId, MessageId, RunId};
use holon_facts::model::{AttemptRecord, StopReason};
use holon_facts::model_ref::ModelRef;
use holon_facts::price::Cost;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::usage::TokenUsage;
use holon_facts::{Record, Text};
use holon_text::{TextError, Texts};
use serde::Serialize;
use serde_json::Value;

use crate::answer::{Answer, AnswerBrief};
use crate::changes::Changes;

/// Attempts that the report shows; a run of hundreds of rounds has as many.
const ATTEMPTS: usize = 1_000;

/// The parts of the report that records tell.
#[derive(Debug, Default)]
pub struct RunFold {
    run_ids: Vec<RunId>,
    requested_model: Option<ModelRef>,
    active_model: Option<ModelRef>,
    winning_model: Option<ModelRef>,
    attempts: Vec<AttemptRecord>,
    omitted_attempts: u64,
    tools_started: bool,
    usage: TokenUsage,
    cost: Option<Cost>,
    rounds: u32,
    turns: u32,
    changed_files: BTreeSet<String>,
    failure: Option<FailureArtifact>,
    last_kind: Option<(TurnKind, Option<TurnReason>)>,
    stop_reason: Option<StopReason>,
    answer: Answer,
    raw_final_text: Option<Text>,
    action_required: Option<Text>,
}

/// How the run ended, beyond what records tell.
pub struct Ended {
    pub verdict: RunVerdict,
    pub exit_code: u8,
    pub agent_id: AgentId,
    /// The prompt of this run.
    pub message_id: MessageId,
    /// What is due later than the run waits for.
    pub due: Vec<ExplainedDeadline>,
    /// Messages that still wait in the agent's queue.
    pub queued: u64,
    pub duration_ms: u64,
    pub ledger: String,
    pub changes: Changes,
    pub verified: Verified,
}

/// Whether the conditions of a run held when it ended.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verified {
    /// The final answer as JSON that fits the schema.
    pub output: Option<Value>,
    /// Why the final answer does not fit.
    pub output_problem: Option<String>,
    pub check: Option<CheckOutcome>,
}

/// How the command of `--check` ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckOutcome {
    pub command: String,
    pub passed: bool,
    /// None where a signal or its time ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The end of its output.
    pub output: String,
}

impl Verified {
    /// What does not hold, as the agent is notified; none where everything holds.
    pub fn objection(&self) -> Option<String> {
        let answer = self.output_problem.as_ref().map(|problem| {
            format!("Your final answer can't be used: {problem}. Answer again with the JSON document alone.")
        });
        let check = self.check.as_ref().filter(|check| !check.passed).map(|check| {
            let status = check.exit_status.map_or_else(String::new, |status| format!(" with exit status {status}"));
            format!(
                "The task is not done: the check `{}` failed{status}. The end of its output:\n{}\nRepair that, then \
                 answer again.",
                check.command, check.output
            )
        });
        match (answer, check) {
            (Some(answer), Some(check)) => Some(format!("{check}\n\n{answer}")),
            (answer, check) => answer.or(check),
        }
    }

    /// The same in a line for a person.
    pub fn in_short(&self) -> Option<String> {
        let answer =
            self.output_problem.as_ref().map(|problem| format!("the answer can't be used: {problem}"));
        let check = self.check.as_ref().filter(|check| !check.passed);
        let check = check.map(|check| match check.exit_status {
            Some(status) => format!("the check `{}` failed with exit status {status}", check.command),
            None => format!("the check `{}` was ended", check.command),
        });
        check.or(answer)
    }
}

/// The JSON document of `holon run --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunReport {
    pub verdict: RunVerdict,
    /// What the program ends with.
    pub exit_code: u8,
    pub agent_id: AgentId,
    pub message_id: MessageId,
    /// The runs that there were, in order; one for each turn.
    pub run_ids: Vec<RunId>,
    /// What the agent reports; null when it said nothing.
    pub final_text: Option<String>,
    /// The last assistant message of the last turn.
    pub raw_final_text: Option<String>,
    /// What an operator was shown last that goes on only with him.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_required: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_kind: Option<TurnKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_reason: Option<TurnReason>,
    /// Why the model stopped at last. A turn completes by `end_turn` alone, or by a call that rests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    pub turns: u32,
    pub rounds: u32,
    pub token_usage: TokenUsage,
    /// What the models took, in millionths of a dollar, where they have prices; a price may be 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<Cost>,
    /// Paths relative to the execution root.
    pub changed_files: Vec<String>,
    /// Who was asked for them.
    pub changed_files_source: ChangesSource,
    /// Why the repository could not be asked, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files_problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    #[serde(flatten)]
    pub verified: Verified,
    pub provider_attempt_timeline: AttemptTimeline,
    /// What happens later by itself, beyond what the run waits for.
    pub due: Vec<ExplainedDeadline>,
    /// Messages that still wait in the agent's queue.
    pub queued_messages: u64,
    pub duration_ms: u64,
    /// The ledger that holds everything: `holon ledger verify PATH`.
    pub ledger: String,
}

/// Where the list of changed files comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ChangesSource {
    /// `git status` before and after, and patches.
    GitAndPatches,
    /// Patches alone: what commands changed is not known.
    Patches,
}

/// Every attempt of the run (spec: ProviderAttemptTimeline).
#[omit_none]
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttemptTimeline {
    pub attempts: Vec<AttemptRecord>,
    /// Attempts beyond the first thousand, which are not listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_attempts: u64,
    pub requested_model_ref: Option<ModelRef>,
    /// The model that was asked last.
    pub active_model_ref: Option<ModelRef>,
    pub winning_model_ref: Option<ModelRef>,
    pub aggregated_token_usage: TokenUsage,
}

impl RunReport {
    /// What to print: the answer, or what was said of one that the model did not finish.
    pub fn said(&self) -> Option<&str> {
        let of_answer = self.turn_reason.is_some_and(TurnReason::is_of_answer);
        let unfinished = self.raw_final_text.as_deref().filter(|_| of_answer);
        self.final_text.as_deref().or(unfinished)
    }
}

impl RunFold {
    /// Of this prompt; the default is of the one that this process gives its agent.
    pub fn of(prompt: MessageId) -> Self {
        Self { answer: Answer::to(prompt), ..Self::default() }
    }

    /// The agent was given another prompt, and what it reports on that is the answer.
    pub fn prompted_again(&mut self, prompt: MessageId) {
        self.answer = Answer::to(prompt);
    }

    /// Takes the next durable record of the agent.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub fn record(&mut self, record: &Record) {
        self.answer.record(record);
        match &record.event {
            Event::Turn(fact) => self.turn(fact),
            Event::Brief(BriefFact::BriefCreated(brief)) => match brief.visibility {
                BriefVisibility::ActionRequired => self.action_required = Some(brief.text.clone()),
                BriefVisibility::WorkDone | BriefVisibility::TurnResult => {}
            },
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn turn(&mut self, fact: &TurnFact) {
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.run_ids.push(fact.run_id);
                self.requested_model = fact.models.first().cloned();
                self.turns += 1;
                self.failure = None;
            }
            TurnFact::ProviderAttemptRecorded(fact) => self.attempt(&fact.attempt),
            TurnFact::ToolStarted(_) => self.tools_started = true,
            TurnFact::ToolExecuted(fact) => {
                self.changed_files.extend(fact.receipt.facts.changed_files.iter().cloned());
            }
            TurnFact::AssistantRoundRecorded(fact) => {
                self.rounds += 1;
                self.stop_reason = Some(fact.stop_reason);
            }
            TurnFact::RuntimeError(fact) => self.failure = Some(fact.failure.clone()),
            TurnFact::TurnTerminal(fact) => {
                // A run that an earlier process left behind was paid for there.
                if self.run_ids.contains(&fact.run_id) {
                    self.usage = self.usage.plus(fact.token_usage);
                    let both = self.cost.into_iter().chain(fact.cost_micros);
                    self.cost = both.reduce(|sum, cost| Cost(sum.0.saturating_add(cost.0)));
                }
                self.last_kind = Some((fact.kind, fact.reason));
                self.raw_final_text.clone_from(&fact.last_assistant_message);
            }
            _ => {}
        }
    }

    fn attempt(&mut self, attempt: &AttemptRecord) {
        self.active_model = Some(attempt.model_ref.clone());
        if attempt.failure_kind.is_none() {
            self.winning_model = Some(attempt.model_ref.clone());
        }
        if self.attempts.len() < ATTEMPTS {
            self.attempts.push(attempt.clone());
        } else {
            self.omitted_attempts += 1;
        }
    }

    /// Whether a tool was started: without one the agent changed nothing.
    pub fn tools_started(&self) -> bool {
        self.tools_started
    }

    /// The brief that is the answer so far.
    pub fn told(&self) -> Option<&AnswerBrief> {
        self.answer.told()
    }

    /// What an operator was shown last that goes on only with him.
    pub fn action_required(&self) -> Option<&Text> {
        self.action_required.as_ref()
    }

    /// Why the last turn failed, in short.
    pub fn failed(&self) -> Option<String> {
        self.failure.as_ref().map(in_short)
    }

    /// The finished report.
    ///
    /// # Errors
    /// When a text that the records name can't be read back.
    pub fn report(mut self, ended: Ended, texts: &Texts) -> Result<RunReport, TextError> {
        self.spell_out(texts)?;
        let whole = |text: Option<&Text>| {
            text.filter(|text| !text.is_empty())
                .map(|text| texts.resolve(text).map(|text| text.to_string()))
                .transpose()
        };
        let (source, seen, problem) = match ended.changes {
            Changes::Files(files) => (ChangesSource::GitAndPatches, files, None),
            Changes::NoRepository => (ChangesSource::Patches, BTreeSet::new(), None),
            Changes::Unknown(problem) => (ChangesSource::Patches, BTreeSet::new(), Some(problem)),
        };
        Ok(RunReport {
            verdict: ended.verdict,
            exit_code: ended.exit_code,
            agent_id: ended.agent_id,
            message_id: ended.message_id,
            run_ids: self.run_ids,
            final_text: whole(self.answer.told().map(|told| &told.text))?,
            raw_final_text: whole(self.raw_final_text.as_ref())?,
            action_required: whole(self.action_required.as_ref())?,
            turn_kind: self.last_kind.map(|(kind, _)| kind),
            turn_reason: self.last_kind.and_then(|(_, reason)| reason),
            stop_reason: self.stop_reason,
            turns: self.turns,
            rounds: self.rounds,
            token_usage: self.usage,
            cost_micros: self.cost,
            changed_files: self.changed_files.union(&seen).map(|file| texts.redact(file)).collect(),
            changed_files_source: source,
            changed_files_problem: problem.map(|problem| texts.redact(&problem)),
            failure_artifact: self.failure,
            verified: ended.verified,
            due: ended.due,
            queued_messages: ended.queued,
            duration_ms: ended.duration_ms,
            ledger: ended.ledger,
            provider_attempt_timeline: AttemptTimeline {
                attempts: self.attempts,
                omitted_attempts: self.omitted_attempts,
                requested_model_ref: self.requested_model,
                active_model_ref: self.active_model,
                winning_model_ref: self.winning_model,
                aggregated_token_usage: self.usage,
            },
        })
    }

    /// A document stands for itself: whoever reads it has no ledger to look a stored text up in.
    fn spell_out(&mut self, texts: &Texts) -> Result<(), TextError> {
        let summary = self.failure.as_mut().map(|failure| &mut failure.summary);
        let messages = self.attempts.iter_mut().filter_map(|attempt| attempt.message.as_mut());
        for text in summary.into_iter().chain(messages) {
            *text = Text::Inline(texts.resolve(text)?.to_string());
        }
        Ok(())
    }
}

/// A failure in one line.
pub fn in_short(failure: &FailureArtifact) -> String {
    format!("{} ({})", failure.summary.preview(), failure.kind)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
