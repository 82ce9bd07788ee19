//! What was said in a turn so far: rounds of model output and tool results, and what stands between them.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::turn::AssistantRoundRecorded;
use holon_facts::hash::Fnv;
use holon_facts::ids::{MessageId, RoundIndex};
use holon_facts::image::Image;
use holon_facts::model::{Block, RoundEnd};
use holon_facts::receipt::{Receipt, SelfCall, Verdict};
use holon_facts::skill::GivenSkill;
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

use crate::agent::episode::{Changes, Summary};
use crate::agent::turn::recap::Recap;
use crate::agent::wait::Wait;
use crate::agent::wake::Pending;

/// The rounds of a message, with those of its interrupted runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// Rounds of interrupted runs of the same message, then this run's own.
    pub rounds: Vec<Round>,
    pub carried_rounds: u32,
    /// What the next request shows after the last round.
    pub notes: Vec<Note>,
    /// Prompts that were taken in, in order.
    pub interjected: Vec<MessageId>,
    pub recap: Recap,
}

/// One pair of assistant output and its tool results.
#[omit_none]
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
    pub end: Option<RoundEnd>,
    /// The whole answer, where it continues rounds that were cut off.
    pub joined: Option<Text>,
}

/// A message inside a turn that is neither the model's nor a tool's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub enum Note {
    Interjection {
        message_id: MessageId,
        /// When it was admitted.
        #[serde(default)]
        at: Wall,
        text: Text,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skills: Vec<GivenSkill>,
        /// Waits that it ends.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waits: Vec<Wait>,
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
    /// What holds since then, and was not shown before.
    Changed {
        changes: Changes,
    },
}

impl Note {
    /// Whether it is shown although the rounds around it are told in short.
    pub(crate) fn lasts(&self) -> bool {
        match self {
            Self::Interjection { .. } => true,
            Self::Changed { changes } => changes.summary.is_some(),
            Self::Reminder { .. } | Self::Hints { .. } | Self::Continuation => false,
        }
    }
}

impl Round {
    /// The calls of the round, in order: id, name, arguments.
    pub fn calls(&self) -> impl Iterator<Item = (&str, &str, &Text)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { call_id, tool_name, arguments } => {
                Some((call_id.as_str(), tool_name.as_str(), arguments))
            }
            Block::Text { .. } | Block::Reasoning { .. } => None,
        })
    }

    /// The same number for the same last call with the same result.
    pub(super) fn fingerprint(&self) -> u64 {
        let at = self.results.len().saturating_sub(1);
        let (Some((_, tool, arguments)), Some(receipt)) = (self.calls().nth(at), self.results.get(at)) else {
            return 0;
        };
        let call = Fnv::START.piece(tool.as_bytes()).text(arguments);
        // What an agent sees of itself changes with each round: the tokens that it has used.
        let itself = matches!(self.verdicts.get(at), Some(Verdict::OnSelf(SelfCall::Get { agent: None })));
        if itself { call.0 } else { receipt.texts().fold(call, Fnv::text).0 }
    }

    /// Images of its results.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        self.results.iter().flat_map(|receipt| &receipt.images)
    }

    /// Whether every call has its result.
    pub fn complete(&self) -> bool {
        self.results.len() >= self.verdicts.len()
    }

    /// Its text blocks.
    pub fn texts(&self) -> impl DoubleEndedIterator<Item = &Text> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text { text } if !text.is_empty() => Some(text),
            Block::Text { .. } | Block::ToolCall { .. } | Block::Reasoning { .. } => None,
        })
    }

    /// The whole answer where it was cut off before, otherwise the last text block.
    pub fn text(&self) -> Option<&Text> {
        self.joined.as_ref().or_else(|| self.texts().next_back())
    }
}

/// Images of prompts that were interjected.
fn noted(notes: &[Note]) -> impl Iterator<Item = &Image> {
    notes.iter().flat_map(|note| match note {
        Note::Interjection { images, .. } => images.as_slice(),
        Note::Reminder { .. } | Note::Hints { .. } | Note::Continuation | Note::Changed { .. } => &[],
    })
}

impl Conversation {
    /// Images of what was said in it.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        let rounds = self.rounds.iter().flat_map(|round| noted(&round.notes).chain(round.images()));
        rounds.chain(noted(&self.notes))
    }

    /// The next request says what changed.
    pub(in crate::agent) fn changed(&mut self, changes: Changes) {
        self.notes.push(Note::Changed { changes });
    }

    /// What was shown of changes, in order.
    pub(super) fn changes_mut(&mut self) -> impl Iterator<Item = &mut Changes> {
        let notes = self.rounds.iter_mut().flat_map(|round| &mut round.notes).chain(&mut self.notes);
        notes.filter_map(|note| if let Note::Changed { changes } = note { Some(changes) } else { None })
    }

    /// What says nothing is not shown.
    pub(in crate::agent) fn drop_empty_changes(&mut self) {
        let rounds = self.rounds.iter_mut().map(|round| &mut round.notes);
        for notes in rounds.chain([&mut self.notes]) {
            notes.retain(|note| !matches!(note, Note::Changed { changes } if changes.is_empty()));
        }
    }

    /// What changed once is no news any more. Of summaries the newest stays for which `stays` is true: it stands for what
    /// those before it did. Whether there was none to stay.
    pub(super) fn forget_changes(&mut self, stays: impl Fn(&Summary) -> bool) -> bool {
        let mut none = true;
        let rounds = self.rounds.iter_mut().map(|round| &mut round.notes);
        for notes in rounds.chain([&mut self.notes]).rev() {
            let mut newest = core::mem::take(notes);
            for note in newest.drain(..).rev() {
                let Note::Changed { changes } = note else {
                    notes.push(note);
                    continue;
                };
                let summary = changes.summary.filter(|summary| none && stays(summary));
                if summary.is_some() {
                    none = false;
                    notes.push(Note::Changed { changes: Changes { summary, ..Changes::default() } });
                }
            }
            notes.reverse();
        }
        none
    }

    /// The number of the round that the next request is for, within this run.
    pub fn next_round(&self) -> RoundIndex {
        RoundIndex(u32::try_from(self.rounds.len()).unwrap_or(u32::MAX).saturating_sub(self.carried_rounds))
    }

    /// The number of the last recorded round, within this run.
    pub fn last_round(&self) -> RoundIndex {
        RoundIndex(self.next_round().0.saturating_sub(1))
    }

    /// The text of the last round that had any, of this run alone.
    pub fn last_text(&self) -> Option<&Text> {
        self.rounds.iter().skip(self.carried_rounds as usize).rev().find_map(Round::text)
    }

    pub(super) fn answered(&mut self, fact: &AssistantRoundRecorded) {
        self.rounds.push(Round {
            notes: core::mem::take(&mut self.notes),
            blocks: fact.blocks.clone(),
            verdicts: fact.verdicts.clone(),
            results: Vec::new(),
            end: fact.end,
            joined: fact.joined.clone(),
        });
    }
}
