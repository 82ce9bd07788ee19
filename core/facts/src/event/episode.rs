//! What happened to the conversation as a whole.

use alloc::boxed::Box;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::episode::{Digest, EpisodeBoundary, EventSpan, TurnSpan};
use crate::ids::{EpisodeId, OpId, RunId, TurnIndex};
use crate::memory::WorkingMemory;
use crate::model::AttemptRecord;

family! {
    /// The episodes of an agent's conversation.
    EpisodeFact {
        EpisodeClosed "episode_closed" v 1,
        CompactionRequested "compaction_requested" v 1,
        EpisodeSummarized "episode_summarized" v 1,
        MemoryUpdated "memory_updated" v 1,
    }
}

/// From now on requests show a digest of the episode instead of its conversation.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeClosed {
    pub episode_id: EpisodeId,
    pub boundary: EpisodeBoundary,
    /// None where it closes in the middle of its first turn.
    pub turns: Option<TurnSpan>,
    pub events: EventSpan,
    /// The run in whose middle it closes; its turn belongs to the next one.
    pub run_id: Option<RunId>,
    /// So many rounds from the beginning of that turn are summarized from now on, those of interrupted runs included.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub hidden_rounds: u32,
    /// What the request would have taken, or took, in tokens, and what it had to stay below.
    pub size: Option<Size>,
    pub digest: Digest,
}

/// An operator wants the open episode to close, in the middle of a turn: its next request does, or the next turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionRequested {
    pub episode_id: EpisodeId,
}

/// A model was asked to sum up an episode that closed, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EpisodeSummarized {
    pub episode_id: EpisodeId,
    /// The one that asked.
    pub op: OpId,
    /// The run in whose middle the episode closed; it may have ended.
    pub run_id: RunId,
    pub attempt: AttemptRecord,
    /// What requests show with the digest from now on; none where nothing came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Text>,
}

/// The turn that has just ended left something else in the agent's mind than the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryUpdated {
    /// One more than before; the first is 1.
    pub revision: u64,
    pub run_id: RunId,
    pub turn_index: TurnIndex,
    pub memory: WorkingMemory,
}

/// A request that is too long, in estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    pub est_tokens: u64,
    pub limit: u64,
}

impl EpisodeFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::EpisodeClosed(fact) => fact.digest.texts(visit),
            Self::EpisodeSummarized(fact) => {
                fact.summary.iter().chain(&fact.attempt.message).for_each(visit);
            }
            Self::MemoryUpdated(fact) => fact.memory.texts(visit),
            Self::CompactionRequested(_) => {}
        }
    }
}
