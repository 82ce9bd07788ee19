//! The turn as a state machine: rounds of model output and tool results until something ends it
//! (contract: agent.md, Turns). Its handlers are in `handler/turn`.

pub mod recap;
pub mod told;
pub(crate) mod window;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::content::Text;
use holon_facts::event::TurnFact;
use holon_facts::event::inbox::OperatorInterjectionAdmitted;
use holon_facts::event::turn::{
    AssistantRoundRecorded, CompactionCause, ProviderAttemptRecorded, ReminderKind, TurnStarted,
};
use holon_facts::fence::Fence;
use holon_facts::hash::Fnv;
use holon_facts::ids::{MessageId, RoundIndex, RunId, TurnIndex, WorkItemId};
use holon_facts::message::Message;
use holon_facts::model::{AttemptOutcome, AttemptRecord, Block, FailureKind, RoundEnd};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::LoadedContext;
use holon_facts::price::Amount;
use holon_facts::receipt::{Receipt, Verdict};
use holon_facts::task::Fingerprint;
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use holon_facts::workspace::ExecutionBinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::history::Heard;
use crate::agent::inbox::Entry;
use crate::agent::turn::recap::Recap;
use crate::agent::turn::told::Told;
use crate::agent::wake::Pending;
use crate::agent::work::outline::WorkOutline;

/// One attempt at a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub turn_index: TurnIndex,
    pub message: MessageId,
    /// What the run is for, as it was admitted.
    pub incoming: Message,
    /// Results of tasks that were next in the queue: one turn is for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Message>,
    /// The item that was in focus when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<WorkItemId>,
    /// Work items as they stood when it began: its prompts show them so, and stay the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<WorkOutline>>,
    /// What the tags of its fences are derived from; the same for all runs of a message.
    #[serde(default = "no_fence")]
    pub fence: Fence,
    /// What is told with its messages: that of the first, then of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// What its messages tell of, beside what they say themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Heard>,
    pub started_at: Wall,
    pub models: Vec<ModelRef>,
    /// What its requests offer.
    #[serde(default)]
    pub tools: Arc<[ToolName]>,
    /// Which of them answered last, from 0: each round asks it first.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub candidate: u32,
    /// When the first of them was given up, while another one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_left_at: Option<Wall>,
    /// The round in progress asks the first one once, to see whether it is back.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub probes: bool,
    /// Where its tools run.
    pub execution: ExecutionBinding,
    pub phase: Phase,
    pub context: Option<LoadedContext>,
    /// Rounds of interrupted runs of the same message, then this run's own.
    pub rounds: Vec<Round>,
    pub carried_rounds: u32,
    /// What the next request shows after the last round.
    pub notes: Vec<Note>,
    /// Prompts that were taken in, in order.
    pub interjected: Vec<MessageId>,
    /// Attempts of the round in progress.
    pub attempts: Vec<AttemptRecord>,
    /// The chain has failed in the round in progress, and is gone through again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaits: Option<Awaits>,
    pub usage: TokenUsage,
    /// What its requests took, as budgets count it.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub spent: Amount,
    pub recap: Recap,
    /// Whether this run recorded a round or a tool result.
    pub recorded_something: bool,
    /// The agent caused it itself (contract: scheduler.md, Nothing spins).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub own: bool,
    /// Whether it has brought anything on (contract: scheduler.md, Progress).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub progress: bool,
    /// Work items for which the agent said that they need input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<WorkItemId>,
    /// The last command that it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Fingerprint>,
    #[serde(default)]
    pub unchanged: Unchanged,
    /// It was reminded of a work item that still says that it needs input.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub question_reminded: bool,
    pub repeats: Repeats,
}

/// Of a run that a build without fences began: it ends with the next start.
fn no_fence() -> Fence {
    Fence::PREVIEW
}

pub(crate) use holon_facts::model::PROBE;

/// How a round waits for providers that are away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaits {
    /// When the chain had failed for the first time.
    pub since: Wall,
    /// How often it has failed.
    pub passes: u32,
    /// Attempts of the round before the pass in progress.
    pub attempts: u32,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Instruction files and environment are being read.
    Loading,
    /// An attempt is under way or about to be made.
    Requesting { candidate: u32, attempt: u32 },
    /// Waiting before the next attempt.
    BackingOff { candidate: u32, attempt: u32 },
    /// Tool calls of the last round are being worked off.
    Calling,
}

/// One pair of assistant output and its tool results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// What the request of this round showed after the round before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    pub blocks: Arc<[Block]>,
    pub verdicts: Vec<Verdict>,
    /// Results in the order of the calls; complete before the next request.
    pub results: Vec<Arc<Receipt>>,
    /// How it ended, where it has no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RoundEnd>,
    /// The whole answer, where it continues rounds that were cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<Text>,
}

/// A message inside a turn that is neither the model's nor a tool's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    Interjection {
        message_id: MessageId,
        text: Text,
    },
    Reminder {
        text: String,
    },
    /// Hints that a call has found: they are told here instead of by a message.
    Hints {
        hints: Vec<Pending>,
    },
    /// An earlier run of the same message was interrupted here.
    Continuation,
}

impl Note {
    /// Whether it is shown although the rounds around it are told in short.
    pub(crate) fn lasts(&self) -> bool {
        match self {
            Self::Interjection { .. } => true,
            Self::Reminder { .. } | Self::Hints { .. } | Self::Continuation => false,
        }
    }
}

/// How long a run has left the work items as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Rounds since the last change.
    pub rounds: u32,
    /// Rounds since the last reminder of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded: Option<u32>,
}

/// How often the last tool call came with the same result in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    pub fingerprint: u64,
    pub count: u32,
    /// How often it had come when the model was reminded.
    pub reminded: u32,
}

impl Round {
    /// The calls of the round, in order: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &Text)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { call_id, tool_name, arguments } => {
                Some((call_id.as_str(), tool_name.as_str(), arguments))
            }
            Block::Text { .. } => None,
        })
    }

    /// The same number for the same last call with the same result.
    fn fingerprint(&self) -> u64 {
        let at = self.results.len().saturating_sub(1);
        let (Some((_, tool, arguments)), Some(receipt)) = (self.calls().nth(at), self.results.get(at)) else {
            return 0;
        };
        let call = Fnv::START.piece(tool.as_bytes()).text(arguments);
        receipt.texts().fold(call, Fnv::text).0
    }

    /// Whether every call has its result.
    pub fn complete(&self) -> bool {
        self.results.len() >= self.verdicts.len()
    }

    /// Its text blocks.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &Text> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } if !text.is_empty() => Some(text),
            Block::Text { .. } | Block::ToolCall { .. } => None,
        })
    }

    /// The whole answer where it was cut off before, otherwise the last text block.
    pub fn text(&self) -> Option<&Text> {
        self.joined.as_ref().or_else(|| self.texts().next_back())
    }
}

impl Run {
    /// Everything that it is about: its own message, those that are taken with it, and prompts that were taken in.
    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageId> {
        let also = self.also.iter().map(|message| message.id);
        core::iter::once(self.message).chain(also).chain(self.interjected.iter().copied())
    }

    /// The number of the round that the next request is for, within this run.
    pub fn next_round(&self) -> RoundIndex {
        RoundIndex(u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).saturating_sub(self.carried_rounds))
    }

    /// The number of the last recorded round, within this run.
    pub fn last_round(&self) -> RoundIndex {
        RoundIndex(self.next_round().0.saturating_sub(1))
    }

    /// The model that is asked now.
    pub fn model(&self) -> Option<&ModelRef> {
        let (Phase::Requesting { candidate, .. } | Phase::BackingOff { candidate, .. }) = self.phase else {
            return None;
        };
        self.models.get(candidate as usize)
    }

    /// The text of the last round that had any, of this run alone.
    pub fn last_text(&self) -> Option<&Text> {
        self.rounds.iter().skip(self.carried_rounds as usize).rev().find_map(Round::text)
    }

    pub(super) fn new(
        at: Wall,
        fact: &TurnStarted,
        entry: &mut Entry,
        also: Vec<Message>,
        (execution, tools): (ExecutionBinding, Arc<[ToolName]>),
    ) -> Self {
        let carried = core::mem::take(&mut entry.carried);
        entry.fence = fact.fence;
        let mut notes = core::mem::take(&mut entry.notes);
        if !carried.is_empty() && notes.last() != Some(&Note::Continuation) {
            notes.push(Note::Continuation);
        }
        entry.interjected.clear();
        Self {
            id: fact.run_id,
            turn_index: fact.turn_index,
            message: fact.message_id,
            incoming: entry.message.clone(),
            also,
            work_item: fact.work_item_id,
            work: None,
            fence: fact.fence.unwrap_or_else(no_fence),
            told: core::mem::take(&mut entry.told),
            heard: Vec::new(),
            started_at: at,
            models: fact.models.clone(),
            tools,
            candidate: 0,
            first_left_at: None,
            probes: false,
            execution,
            phase: Phase::Loading,
            context: None,
            carried_rounds: fact.carried_rounds,
            rounds: carried,
            notes,
            interjected: fact.interjected.clone(),
            attempts: Vec::new(),
            awaits: None,
            usage: TokenUsage::default(),
            spent: Amount::default(),
            recap: core::mem::take(&mut entry.recap),
            recorded_something: false,
            own: false,
            asks: Vec::new(),
            progress: false,
            command: None,
            unchanged: Unchanged::default(),
            question_reminded: false,
            repeats: Repeats::default(),
        }
    }

    pub(super) fn apply(&mut self, at: Wall, fact: &TurnFact) {
        match fact {
            TurnFact::TurnContextBuilt(fact) => {
                self.context = Some(fact.context.clone());
                self.phase = self.first_attempt();
            }
            TurnFact::ProviderAttemptRecorded(fact) => self.attempted(at, fact),
            TurnFact::ProvidersAwaited(fact) => {
                let attempts = u32::try_from(self.attempts.len()).unwrap_or(u32::MAX);
                self.awaits = Some(Awaits { since: fact.since, passes: fact.passes, attempts });
                self.probes = false;
                if let Some(candidate) = self.first_candidate() {
                    self.phase = Phase::BackingOff { candidate, attempt: 1 };
                }
            }
            TurnFact::AssistantRoundRecorded(fact) => self.answered(fact),
            TurnFact::BudgetSettled(fact) => self.spent = self.spent.plus(fact.amount),
            TurnFact::ToolExecuted(fact) => self.called(&fact.receipt),
            TurnFact::ToolExecutionFailed(fact) => self.called(&fact.receipt),
            TurnFact::ReminderInjected(fact) => {
                match fact.kind {
                    ReminderKind::RepeatedToolCall => self.repeats.reminded = self.repeats.count,
                    ReminderKind::WorkProgress => self.unchanged.reminded = Some(0),
                    ReminderKind::NeedsInput => self.question_reminded = true,
                    // The answer goes on in another round.
                    ReminderKind::Continuation if self.phase == Phase::Calling => {
                        self.phase = self.first_attempt();
                    }
                    ReminderKind::Continuation => {}
                }
                self.notes.push(Note::Reminder { text: fact.text.clone() });
            }
            TurnFact::ContextCompacted(fact) => {
                self.recap.rounds = fact.recapped_rounds;
                if fact.cause == CompactionCause::Refused {
                    self.recap.refused_at = Some(fact.est_tokens);
                }
            }
            TurnFact::TurnStarted(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetExhausted(_)
            | TurnFact::TurnTerminal(_) => {}
        }
    }

    pub(super) fn apply_interjection(&mut self, fact: &OperatorInterjectionAdmitted, text: Text) {
        self.interjected.push(fact.message_id);
        self.notes.push(Note::Interjection { message_id: fact.message_id, text });
        // After a text-only round it calls for another round; otherwise the round in progress shows it.
        if self.phase == Phase::Calling {
            self.phase = self.first_attempt();
        }
    }

    pub(super) fn backed_off(&mut self) {
        if let Phase::BackingOff { candidate, attempt } = self.phase {
            self.phase = Phase::Requesting { candidate, attempt };
        }
    }

    /// A round begins with the candidate that answered last, or looks whether the first one is back.
    fn first_attempt(&self) -> Phase {
        let candidate = if self.probes { 0 } else { self.candidate };
        Phase::Requesting { candidate, attempt: 1 }
    }

    /// Whether the round after one that `candidate` answers at `now` asks the first one again.
    pub(crate) fn probe_is_due(&self, candidate: u32, now: Wall) -> bool {
        candidate > 0 && self.first_left_at.is_some_and(|left| now.since(left) >= PROBE)
    }

    /// Whether the attempt in progress is the only one at its candidate.
    pub(crate) fn is_probe(&self) -> bool {
        self.probes && matches!(self.phase, Phase::Requesting { candidate: 0, .. })
    }

    /// Who is asked after this candidate; nobody after all others were.
    pub(crate) fn fallback(&self, candidate: u32) -> Option<u32> {
        self.order().skip_while(|other| *other != candidate).skip(1).find(|other| !self.is_out(*other))
    }

    /// Who is asked first when the chain is gone through again.
    fn first_candidate(&self) -> Option<u32> {
        self.order().find(|candidate| !self.is_out(*candidate))
    }

    /// Who is asked when the chain is gone through again: whoever failed in a way that may pass.
    pub(crate) fn worth_asking_again(&self) -> Vec<ModelRef> {
        let passed = self.pass().iter().filter(|attempt| attempt.outcome == AttemptOutcome::RetriesExhausted);
        passed.map(|attempt| attempt.model_ref.clone()).collect()
    }

    /// The attempts since the chain was begun.
    pub(crate) fn pass(&self) -> &[AttemptRecord] {
        let from = self.awaits.map_or(0, |awaits| awaits.attempts as usize);
        self.attempts.get(from..).unwrap_or_default()
    }

    /// The candidates in the order in which a round asks them.
    fn order(&self) -> impl Iterator<Item = u32> + use<> {
        let models = u32::try_from(self.models.len()).unwrap_or(u32::MAX);
        let (first, probes) = (self.candidate.min(models), self.probes);
        let others = (first..models).chain(0..first).filter(move |candidate| !(probes && *candidate == 0));
        probes.then_some(0).into_iter().chain(others)
    }

    /// In a chain that is gone through again: whether waiting can't help this one.
    fn is_out(&self, candidate: u32) -> bool {
        let model = self.models.get(candidate as usize);
        self.awaits.is_some()
            && self.attempts.iter().any(|attempt| {
                attempt.outcome == AttemptOutcome::FailFastAborted && Some(&attempt.model_ref) == model
            })
    }

    fn attempted(&mut self, at: Wall, fact: &ProviderAttemptRecorded) {
        let (Phase::Requesting { candidate, attempt } | Phase::BackingOff { candidate, attempt }) =
            self.phase
        else {
            return;
        };
        self.usage = self.usage.plus(fact.attempt.token_usage.unwrap_or_default());
        if candidate == 0 {
            self.first_left_at = fact.attempt.outcome.gives_up().then_some(at);
        }
        self.phase = match fact.attempt.outcome {
            AttemptOutcome::Succeeded => self.phase,
            AttemptOutcome::Retrying => Phase::BackingOff { candidate, attempt: attempt.saturating_add(1) },
            // The request is too long: it is made shorter, or the run ends here.
            AttemptOutcome::FailFastAborted
                if fact.attempt.failure_kind == Some(FailureKind::ContextLength) =>
            {
                Phase::Requesting { candidate, attempt: 1 }
            }
            AttemptOutcome::RetriesExhausted | AttemptOutcome::FailFastAborted => {
                let models = u32::try_from(self.models.len()).unwrap_or(u32::MAX);
                Phase::Requesting { candidate: self.fallback(candidate).unwrap_or(models), attempt: 1 }
            }
        };
        self.attempts.push(fact.attempt.clone());
    }

    fn answered(&mut self, fact: &AssistantRoundRecorded) {
        self.recorded_something = true;
        self.candidate = fact.candidate;
        self.probes = fact.probes;
        self.awaits = None;
        self.attempts.clear();
        self.unchanged.rounds = self.unchanged.rounds.saturating_add(1);
        self.unchanged.reminded = self.unchanged.reminded.map(|rounds| rounds.saturating_add(1));
        self.rounds.push(Round {
            notes: core::mem::take(&mut self.notes),
            blocks: fact.blocks.clone(),
            verdicts: fact.verdicts.clone(),
            results: Vec::new(),
            end: fact.end,
            joined: fact.joined.clone(),
        });
        self.phase = Phase::Calling;
    }

    fn called(&mut self, receipt: &Arc<Receipt>) {
        self.recorded_something = true;
        let Some(round) = self.rounds.last_mut() else { return };
        round.results.push(receipt.clone());
        let fingerprint = round.fingerprint();
        if fingerprint == self.repeats.fingerprint {
            self.repeats.count = self.repeats.count.saturating_add(1);
        } else {
            self.repeats = Repeats { fingerprint, count: 1, reminded: 0 };
        }
        if round.complete() {
            self.phase = self.first_attempt();
        }
    }
}
