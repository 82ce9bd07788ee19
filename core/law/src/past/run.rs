//! The turn in progress as its records tell it, its calls, and its last attempt.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::TurnFact;
use holon_facts::event::turn::{AssistantRoundRecorded, CompactionCause, ProviderAttemptRecorded};
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, RunId, StepSeq, TaskId, TemplateId, TurnIndex, WorkItemId};
use holon_facts::model::{AttemptOutcome, Block, ModelRef, RoundEnd};
use holon_facts::receipt::{SelfCall, TaskCall, Verdict};
use holon_facts::record::Record;
use holon_facts::time::Wall;

/// The run in progress.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) turn_index: TurnIndex,
    pub(crate) message: MessageId,
    pub(crate) rounds: u32,
    /// Rounds of interrupted runs that came before.
    pub(crate) carried: u32,
    /// Rounds that are told in short.
    pub(crate) recapped: u32,
    /// Whether a provider's refusal made it shorter.
    pub(crate) refused: bool,
    pub(crate) calls: Vec<Call>,
    pub(crate) results: usize,
    /// Of all rounds: an id stands for one call of the conversation.
    pub(crate) call_ids: BTreeSet<String>,
    pub(crate) attempt: Option<Attempt>,
    pub(crate) models: Vec<ModelRef>,
    /// Which of them the next round asks first.
    pub(crate) next: usize,
    /// When the first of them was given up.
    pub(crate) first_left_at: Option<Wall>,
    /// The next round asks it once, to see whether it is back.
    pub(crate) probes: bool,
    /// The chain has failed in the round in progress, and is asked again until then.
    pub(crate) awaited_until: Option<Wall>,
    pub(crate) recorded_something: bool,
    pub(crate) exhausted: bool,
    pub(crate) work_item: Option<WorkItemId>,
    /// Something in it may have brought something on.
    pub(crate) progress: bool,
    /// Its agent caused it, and nobody outside has said anything in it.
    pub(crate) own: bool,
    /// Prompts that were taken into it, those of interrupted runs included.
    pub(crate) interjected: Vec<MessageId>,
    /// Those of them that no round has followed yet.
    pub(crate) tail: u32,
    pub(crate) fence: Option<Fence>,
    /// A call of a tool that it does not offer is refused.
    pub(crate) only_offered: bool,
    /// How the last round ended, where it has no calls.
    pub(crate) end: Option<RoundEnd>,
    /// The whole answer of the last round, where it continues others.
    pub(crate) joined: Option<Text>,
    /// The last rounds of it that were cut off, in a row.
    pub(crate) cut_off: u32,
    /// A call of its last round has said that it rests, and nobody has spoken since.
    pub(crate) rests: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) accepted: bool,
    /// The task whose output it reads.
    pub(crate) reads: Option<TaskId>,
    /// The template of the agent that it begins.
    pub(crate) template: Option<TemplateId>,
    pub(crate) started: bool,
    pub(crate) enqueues: bool,
    pub(crate) sleeps: bool,
    /// A supervisor is up for it.
    pub(crate) prepared: bool,
    /// The supervisor was given the word.
    pub(crate) executed: bool,
    /// It is of a tool of another program.
    pub(crate) foreign: bool,
    /// Its request has left.
    pub(crate) sent: bool,
}

/// The last attempt at the round in progress.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) model: ModelRef,
    pub(crate) number: u32,
    pub(crate) outcome: AttemptOutcome,
    pub(crate) waits: bool,
    pub(crate) step: StepSeq,
}

impl Run {
    /// The first call without a result.
    pub(crate) fn open_call(&self) -> Option<&Call> {
        self.calls.get(self.results)
    }
}

impl Call {
    /// Whether a supervisor waits for the word to execute it.
    pub(crate) fn waits_for_the_word(&self) -> bool {
        self.prepared && !self.executed
    }
}

impl Run {
    pub(super) fn follow(&mut self, record: &Record, fact: &TurnFact) {
        match fact {
            TurnFact::ProviderAttemptRecorded(fact) => self.attempted(record, fact),
            TurnFact::ProvidersAwaited(fact) => {
                if let Some(attempt) = &mut self.attempt {
                    (attempt.waits, attempt.step) = (true, record.step);
                }
                (self.awaited_until, self.probes) = (Some(fact.until), false);
            }
            TurnFact::AssistantRoundRecorded(fact) => self.answered(fact),
            TurnFact::ToolStarted(_) => {
                if let Some(call) = self.calls.get_mut(self.results) {
                    call.started = true;
                }
            }
            TurnFact::ToolExecuted(fact) => {
                let sleeps = self.calls.get(self.results).is_some_and(|call| call.sleeps);
                self.rests |= sleeps || fact.receipt.facts.ends_turn;
                self.recorded_something = true;
                self.results += 1;
            }
            TurnFact::ToolExecutionFailed(_) => {
                self.recorded_something = true;
                self.results += 1;
            }
            TurnFact::BudgetExhausted(_) => self.exhausted = true,
            TurnFact::ContextCompacted(fact) => {
                self.recapped = fact.recapped_rounds;
                self.refused |= fact.cause == CompactionCause::Refused;
            }
            TurnFact::TurnStarted(_)
            | TurnFact::TurnContextBuilt(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::TurnTerminal(_) => {}
        }
    }

    fn attempted(&mut self, record: &Record, fact: &ProviderAttemptRecorded) {
        if self.models.first() == Some(&fact.attempt.model_ref) {
            self.first_left_at = fact.attempt.outcome.gives_up().then_some(record.at);
        }
        self.attempt = Some(Attempt {
            model: fact.attempt.model_ref.clone(),
            number: fact.attempt.attempt,
            outcome: fact.attempt.outcome,
            waits: fact.attempt.backoff_ms.is_some_and(|wait| wait.0 > 0),
            step: record.step,
        });
    }

    fn answered(&mut self, fact: &AssistantRoundRecorded) {
        (self.recorded_something, self.rests) = (true, false);
        self.tail = 0;
        self.rounds = self.rounds.saturating_add(1);
        self.attempt = None;
        self.probes = fact.probes;
        self.next = if fact.probes { 0 } else { fact.candidate as usize };
        self.awaited_until = None;
        self.end = fact.end;
        self.joined.clone_from(&fact.joined);
        self.cut_off = match fact.end {
            Some(RoundEnd::OutputLimit | RoundEnd::Pause) => self.cut_off.saturating_add(1),
            Some(_) | None => 0,
        };
        self.results = 0;
        let ids = fact.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { call_id, .. } => Some(call_id.clone()),
            Block::Text { .. } | Block::Reasoning { .. } => None,
        });
        let reads = |verdict: &Verdict| {
            let Verdict::OnTask(TaskCall::Output { task, .. }) = verdict else { return None };
            Some(*task)
        };
        let template = |verdict: &Verdict| {
            let Verdict::OnSelf(SelfCall::Spawn(asked)) = verdict else { return None };
            asked.template.clone()
        };
        self.calls = ids
            .zip(&fact.verdicts)
            .map(|(id, verdict)| Call {
                id,
                accepted: verdict.tool().is_some(),
                reads: reads(verdict),
                template: template(verdict),
                started: false,
                enqueues: verdict.tool().is_some_and(|tool| tool == *"Enqueue"),
                sleeps: verdict.tool().is_some_and(|tool| tool == *"Sleep"),
                prepared: false,
                executed: false,
                foreign: verdict.tool().is_some_and(|tool| tool.as_str().contains("__")),
                sent: false,
            })
            .collect();
        self.call_ids.extend(self.calls.iter().map(|call| call.id.clone()));
    }
}
