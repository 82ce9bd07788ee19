//! What one agent has for another, on both sides: each letter is taken in once (contract: tasks.md, Child agents).

use alloc::boxed::Box;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::ids::{AgentId, LetterId};
use crate::outbox::Letter;

family! {
    /// Letters on their way, and received ones.
    OutboxFact {
        LetterPosted "letter_posted" v 1,
        LetterDelivered "letter_delivered" v 1,
        LetterReturned "letter_returned" v 1,
        LetterReceived "letter_received" v 1,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LetterPosted {
    pub letter_id: LetterId,
    pub to: AgentId,
    pub letter: Letter,
}

/// The other agent has it on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LetterDelivered {
    pub letter_id: LetterId,
}

/// Nobody takes it any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LetterReturned {
    pub letter_id: LetterId,
    pub problem: String,
}

/// In the log of whom it is for; what it brings about follows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LetterReceived {
    pub from: AgentId,
    pub letter_id: LetterId,
}

impl OutboxFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        let Self::LetterPosted(fact) = self else { return };
        match &fact.letter {
            Letter::Spawn { message, .. } => message.iter().for_each(visit),
            Letter::FollowUp { text } => visit(text),
            Letter::Result { report, .. } => report.iter().for_each(visit),
            Letter::Stop { .. } | Letter::Needs { .. } => {}
        }
    }
}
