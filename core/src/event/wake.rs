//! What somebody outside says to wake an agent, and the ticks that tell of it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::family;
use crate::agent::wake::Hint;
use crate::content::Text;
use crate::ids::{MessageId, RunId};

family! {
    /// Wake hints: taken in, and told.
    WakeFact {
        WakeHintRecorded "wake_hint_recorded" v 1,
        WakeHintCoalesced "wake_hint_coalesced" v 1,
        WakeTickQueued "wake_tick_queued" v 1,
        WakeHintsShown "wake_hints_shown" v 1,
    }
}

/// The first hint of a source since the last tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeHintRecorded {
    /// Number among all hints of the agent, from 1.
    pub sequence: u64,
    pub hint: Hint,
    /// The source that makes room for it: of its hints only their number is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<String>,
}

/// A further hint of a source of which one waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeHintCoalesced {
    pub sequence: u64,
    pub hint: Hint,
}

/// The one message that tells of every hint that waited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeTickQueued {
    pub message_id: MessageId,
    /// The last hint that it tells of.
    pub sequence: u64,
    pub hints: u64,
    /// One of them says something, or is what somebody waits for: the model has to look.
    pub contentful: bool,
}

/// A call has shown hints that waited: no message tells of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeHintsShown {
    pub run_id: RunId,
    pub sources: Vec<String>,
}

impl WakeFact {
    pub(crate) fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::WakeHintRecorded(fact) => fact.hint.body.iter().for_each(visit),
            Self::WakeHintCoalesced(fact) => fact.hint.body.iter().for_each(visit),
            Self::WakeTickQueued(_) | Self::WakeHintsShown(_) => {}
        }
    }
}
