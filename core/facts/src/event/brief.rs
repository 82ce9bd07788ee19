//! What users are shown.

use alloc::boxed::Box;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::ids::{BriefId, MessageId, RunId, WorkItemId};

family! {
    BriefFact {
        BriefCreated "brief_created" v 1,
        AskClosed "ask_closed" v 1,
    }
}

names! { BriefKind { Ack "ack", Result "result", Failure "failure" } }
names! {
    BriefVisibility {
        ActionRequired "action_required", WorkDone "work_done", TurnResult "turn_result",
    }
}

/// The only user-facing channel (contract: agent.md, Briefs).
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BriefCreated {
    pub id: BriefId,
    pub kind: BriefKind,
    pub visibility: BriefVisibility,
    pub text: Text,
    /// The item that it delivers, or that it is about.
    pub work_item_id: Option<WorkItemId>,
    pub run_id: Option<RunId>,
    pub related_message_id: Option<MessageId>,
    /// Prompts that had been taken into the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected_message_ids: Vec<MessageId>,
}

/// An operator closed a brief that required an action, without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskClosed {
    pub brief_id: BriefId,
}

impl BriefFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::BriefCreated(fact) => visit(&fact.text),
            Self::AskClosed(_) => {}
        }
    }
}
