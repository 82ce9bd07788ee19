//! The turn in progress as its records tell it, its calls, and its last attempt.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, RunId, StepSeq, TaskId, TurnIndex, WorkItemId};
use holon_facts::model::{AttemptOutcome, ModelRef, RoundEnd};
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
    pub(crate) started: bool,
    pub(crate) enqueues: bool,
    pub(crate) sleeps: bool,
    /// A supervisor is up for it.
    pub(crate) prepared: bool,
    /// The supervisor was given the word.
    pub(crate) executed: bool,
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
