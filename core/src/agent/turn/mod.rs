//! The turn as a state machine: rounds of model output and tool results until something ends it
//! (contract: agent.md, Turns). Its handlers are in `handler/turn`.

mod chain;
mod conversation;
mod course;
pub mod notice;
pub mod recap;
pub(crate) mod window;

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::event::TurnFact;
use holon_facts::event::inbox::OperatorInterjectionAdmitted;
use holon_facts::event::turn::{AssistantRoundRecorded, CompactionCause, ReminderKind, TurnStarted};
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, RunId, TurnIndex, WorkItemId};
use holon_facts::message::Message;
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::LoadedContext;
use holon_facts::price::Amount;
use holon_facts::receipt::{Receipt, SelfCall, Verdict};
use holon_facts::time::Wall;
use holon_facts::workspace::ExecutionBinding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::episode::{Changes, Shown, Summary};
use crate::agent::inbox::Entry;
use crate::agent::turn::notice::Notice;
use crate::agent::wait::Wait;

pub use chain::{Awaits, Chain};
pub use conversation::{Conversation, Note, Round};
pub use course::{Course, Repeats, Unchanged};

/// One attempt at a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub turn_index: TurnIndex,
    pub message: MessageId,
    pub started_at: Wall,
    pub phase: Phase,
    pub about: About,
    pub environment: Environment,
    pub chain: Chain,
    pub conversation: Conversation,
    pub course: Course,
    /// What its requests took, as budgets count it.
    #[serde(default, skip_serializing_if = "Amount::is_nothing")]
    pub spent: Amount,
}

/// What a run is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its message, as it was admitted.
    pub incoming: Message,
    /// Results of tasks that were next in the queue: one turn is for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Message>,
    /// The item that was in focus when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item: Option<WorkItemId>,
    /// What holds since it began, and was not shown before.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// What the tags of its fences are derived from; the same for all runs of a message.
    #[serde(default = "no_fence")]
    pub fence: Fence,
    /// What is told with its messages: that of the first, then of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// The agent caused it itself (contract: scheduler.md, Nothing spins).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub own: bool,
}

/// What a run works with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Where its tools run.
    pub execution: ExecutionBinding,
    /// What its requests offer.
    #[serde(default)]
    pub tools: Arc<[ToolName]>,
    /// Instruction files and what else was read for it.
    pub context: Option<LoadedContext>,
    /// What requests had shown before it began.
    #[serde(default, skip_serializing_if = "crate::agent::episode::Shown::is_empty")]
    pub shown_before: Shown,
    /// Another run of its message had begun before it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub goes_on: bool,
}

/// Of a run that a build without fences began: it ends with the next start.
fn no_fence() -> Fence {
    Fence::PREVIEW
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

impl Run {
    /// Everything that it is about: its own message, those that are taken with it, and prompts that were taken in.
    pub(crate) fn messages(&self) -> impl Iterator<Item = MessageId> {
        let also = self.about.also.iter().map(|message| message.id);
        core::iter::once(self.message).chain(also).chain(self.conversation.interjected.iter().copied())
    }

    /// The model that is asked now.
    pub fn model(&self) -> Option<&ModelRef> {
        let (Phase::Requesting { candidate, .. } | Phase::BackingOff { candidate, .. }) = self.phase else {
            return None;
        };
        self.chain.models.get(candidate as usize)
    }

    pub(super) fn new(
        at: Wall,
        fact: &TurnStarted,
        entry: &mut Entry,
        also: Vec<Message>,
        environment: Environment,
    ) -> Self {
        let carried = core::mem::take(&mut entry.carried);
        entry.fence = fact.fence;
        let mut notes = core::mem::take(&mut entry.notes);
        // What has changed since an interruption stands after the word of that.
        let last = notes.iter().rev().find(|note| !matches!(note, Note::Changed { .. }));
        if !carried.is_empty() && !matches!(last, Some(Note::Continuation)) {
            notes.push(Note::Continuation);
        }
        entry.interjected.clear();
        Self {
            id: fact.run_id,
            turn_index: fact.turn_index,
            message: fact.message_id,
            started_at: at,
            phase: Phase::Loading,
            about: About {
                incoming: entry.message.clone(),
                also,
                work_item: fact.work_item_id,
                changes: core::mem::take(&mut entry.changes),
                fence: fact.fence.unwrap_or_else(no_fence),
                notices: core::mem::take(&mut entry.notices),
                own: false,
            },
            environment,
            chain: Chain::new(fact.models.clone()),
            conversation: Conversation {
                rounds: carried,
                carried_rounds: fact.carried_rounds,
                notes,
                interjected: fact.interjected.clone(),
                recap: core::mem::take(&mut entry.recap),
            },
            course: Course::default(),
            spent: Amount::default(),
        }
    }

    pub(super) fn apply(&mut self, at: Wall, fact: &TurnFact) {
        match fact {
            TurnFact::ToolsCatalogued(fact) => {
                if let Some(tools) = &fact.tools_offered {
                    self.environment.tools = tools.clone();
                }
            }
            TurnFact::TurnContextBuilt(fact) => {
                self.environment.context = Some(fact.context.clone());
                self.phase = self.chain.first_attempt();
            }
            TurnFact::ProviderAttemptRecorded(fact) => {
                self.phase = self.chain.attempted(at, fact, self.phase);
            }
            TurnFact::ProvidersAwaited(fact) => {
                self.phase = self.chain.awaited(fact).unwrap_or(self.phase);
            }
            TurnFact::AssistantRoundRecorded(fact) => self.answered(fact),
            // What a summary took may be settled when its run is over.
            TurnFact::BudgetSettled(fact) if fact.run_id == self.id => {
                self.spent = self.spent.plus(fact.amount);
            }
            TurnFact::BudgetSettled(_) => {}
            TurnFact::ToolExecuted(fact) => self.called(&fact.receipt),
            TurnFact::ToolExecutionFailed(fact) => self.called(&fact.receipt),
            TurnFact::ReminderInjected(fact) => {
                match fact.kind {
                    ReminderKind::RepeatedToolCall => {
                        self.course.repeats.reminded = self.course.repeats.count
                    }
                    ReminderKind::WorkProgress => self.course.unchanged.reminded = Some(0),
                    ReminderKind::NeedsInput => self.course.question_reminded = true,
                    // The answer goes on in another round.
                    ReminderKind::Continuation if self.phase == Phase::Calling => {
                        self.phase = self.chain.first_attempt();
                    }
                    ReminderKind::Continuation => {}
                }
                self.conversation.notes.push(Note::Reminder { text: fact.text.clone() });
            }
            // Builds before this one recorded it; episodes close now.
            TurnFact::ContextCompacted(fact) => {
                self.conversation.recap.rounds = fact.recapped_rounds;
                if fact.cause == CompactionCause::Refused {
                    self.conversation.recap.refused_at = Some(fact.est_tokens);
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

    pub(super) fn apply_interjection(
        &mut self,
        fact: &OperatorInterjectionAdmitted,
        message: Option<&Message>,
        waits: Vec<Wait>,
    ) {
        self.conversation.interjected.push(fact.message_id);
        self.conversation.notes.push(Note::Interjection {
            message_id: fact.message_id,
            at: message.map(|message| message.created_at).unwrap_or_default(),
            text: message.map(|message| message.body.text.clone()).unwrap_or_default(),
            images: message.map(|message| message.images.clone()).unwrap_or_default(),
            skills: message.map(|message| message.skills.clone()).unwrap_or_default(),
            waits,
        });
        // After a text-only round it calls for another round; otherwise the round in progress shows it.
        if self.phase == Phase::Calling {
            self.phase = self.chain.first_attempt();
        }
    }

    /// What its requests show of changes, in order.
    pub(super) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Changes> {
        core::iter::once(&mut self.about.changes).chain(self.conversation.changes_mut())
    }

    /// What changed once is no news any more, but for the newest summary for which `stays` is true.
    pub(super) fn forget_changes(&mut self, stays: impl Fn(&Summary) -> bool) {
        let none = self.conversation.forget_changes(&stays);
        let summary = self.about.changes.summary.take().filter(|summary| none && stays(summary));
        self.about.changes = Changes { summary, ..Changes::default() };
    }

    pub(super) fn backed_off(&mut self) {
        if let Phase::BackingOff { candidate, attempt } = self.phase {
            self.phase = Phase::Requesting { candidate, attempt };
        }
    }

    /// Whether the call in progress chooses where it works.
    pub(super) fn goes_elsewhere(&self) -> bool {
        let round = self.conversation.rounds.last();
        let call = round.and_then(|round| round.verdicts.get(round.results.len()));
        matches!(call, Some(Verdict::OnSelf(SelfCall::Workspace(_))))
    }

    /// Whether the attempt in progress is the only one at its candidate.
    pub(crate) fn is_probe(&self) -> bool {
        self.chain.probes && matches!(self.phase, Phase::Requesting { candidate: 0, .. })
    }

    fn answered(&mut self, fact: &AssistantRoundRecorded) {
        self.chain.answered(fact.candidate, fact.probes);
        self.course.answered();
        self.conversation.answered(fact);
        self.phase = Phase::Calling;
    }

    fn called(&mut self, receipt: &Arc<Receipt>) {
        self.course.recorded_something = true;
        let Some(round) = self.conversation.rounds.last_mut() else { return };
        round.results.push(receipt.clone());
        self.course.repeats.called(round.fingerprint());
        if round.complete() {
            self.phase = self.chain.first_attempt();
        }
    }
}
