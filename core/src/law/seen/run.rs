//! The turn in progress as its records tell it, its calls, and its last attempt.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::content::Text;
use crate::fence::Fence;
use crate::ids::{MessageId, RunId, StepSeq, TaskId, TurnIndex, WorkItemId};
use crate::model::{AttemptOutcome, ModelRef, RoundEnd};
use crate::time::Wall;

/// The run in progress.
#[derive(Debug, Clone)]
pub(in crate::law) struct Run {
    pub(in crate::law) id: RunId,
    pub(in crate::law) turn_index: TurnIndex,
    pub(in crate::law) message: MessageId,
    pub(in crate::law) rounds: u32,
    /// Rounds of interrupted runs that came before.
    pub(in crate::law) carried: u32,
    /// Rounds that are told in short.
    pub(in crate::law) recapped: u32,
    /// Whether a provider's refusal made it shorter.
    pub(in crate::law) refused: bool,
    pub(in crate::law) calls: Vec<Call>,
    pub(in crate::law) results: usize,
    /// Of all rounds: an id stands for one call of the conversation.
    pub(in crate::law) call_ids: BTreeSet<String>,
    pub(in crate::law) attempt: Option<Attempt>,
    pub(in crate::law) models: Vec<ModelRef>,
    /// Which of them the next round asks first.
    pub(in crate::law) next: usize,
    /// When the first of them was given up.
    pub(in crate::law) first_left_at: Option<Wall>,
    /// The next round asks it once, to see whether it is back.
    pub(in crate::law) probes: bool,
    /// The chain has failed in the round in progress, and is asked again until then.
    pub(in crate::law) awaited_until: Option<Wall>,
    pub(in crate::law) recorded_something: bool,
    pub(in crate::law) exhausted: bool,
    pub(in crate::law) work_item: Option<WorkItemId>,
    /// Something in it may have brought something on.
    pub(in crate::law) progress: bool,
    /// Its agent caused it, and nobody outside has said anything in it.
    pub(in crate::law) own: bool,
    /// Prompts that were taken into it, those of interrupted runs included.
    pub(in crate::law) interjected: Vec<MessageId>,
    /// Those of them that no round has followed yet.
    pub(in crate::law) tail: u32,
    pub(in crate::law) fence: Option<Fence>,
    /// How the last round ended, where it has no calls.
    pub(in crate::law) end: Option<RoundEnd>,
    /// The whole answer of the last round, where it continues others.
    pub(in crate::law) joined: Option<Text>,
    /// The last rounds of it that were cut off, in a row.
    pub(in crate::law) cut_off: u32,
    /// A call of its last round has said that it rests, and nobody has spoken since.
    pub(in crate::law) rests: bool,
}

#[derive(Debug, Clone)]
pub(in crate::law) struct Call {
    pub(in crate::law) id: String,
    pub(in crate::law) accepted: bool,
    /// The task whose output it reads.
    pub(in crate::law) reads: Option<TaskId>,
    pub(in crate::law) started: bool,
    pub(in crate::law) enqueues: bool,
    pub(in crate::law) sleeps: bool,
    /// A supervisor is up for it.
    pub(in crate::law) prepared: bool,
    /// The supervisor was given the word.
    pub(in crate::law) executed: bool,
}

/// The last attempt at the round in progress.
#[derive(Debug, Clone)]
pub(in crate::law) struct Attempt {
    pub(in crate::law) model: ModelRef,
    pub(in crate::law) number: u32,
    pub(in crate::law) outcome: AttemptOutcome,
    pub(in crate::law) waits: bool,
    pub(in crate::law) step: StepSeq,
}

impl Run {
    /// The first call without a result.
    pub(in crate::law) fn open_call(&self) -> Option<&Call> {
        self.calls.get(self.results)
    }
}

impl Call {
    /// Whether a supervisor waits for the word to execute it.
    pub(in crate::law) fn waits_for_the_word(&self) -> bool {
        self.prepared && !self.executed
    }
}
