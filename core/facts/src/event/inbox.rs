//! What happened to messages.

use alloc::boxed::Box;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::Text;
use crate::ids::{DepositId, MessageId, RoundIndex, RunId};
use crate::message::{Idempotency, Message};

family! {
    /// The life of queue entries.
    InboxFact {
        MessageAdmitted "message_admitted" v 1,
        MessageDuplicate "message_duplicate" v 1,
        MessageDequeued "message_dequeued" v 1,
        MessageProcessed "message_processed" v 1,
        MessageAborted "message_aborted" v 1,
        MessageDropped "message_dropped" v 1,
        MessageRequeued "message_requeued" v 1,
        OperatorInterjectionAdmitted "operator_interjection_admitted" v 1,
    }
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAdmitted {
    pub message: Message,
    pub idempotency: Option<Idempotency>,
    /// Oldest idempotency keys that are let go with this admission.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub expired_keys: u32,
    /// It was kept while nobody owned its agent: it counts as judged with this record.
    pub deposit: Option<DepositId>,
}

/// A retry of something that was admitted already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDuplicate {
    pub message_id: MessageId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDequeued {
    pub message_id: MessageId,
    /// None when the message needs no model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// The message has had its effect: by a turn of its own, inside another's turn, or without one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageProcessed {
    pub message_id: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub disposition: Disposition,
}

names! { Disposition { Processed "processed", Interjected "interjected" } }

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageAborted {
    pub message_id: MessageId,
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDropped {
    pub message_id: MessageId,
    /// Crashed runs without anything new, in a row.
    pub crashes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageRequeued {
    pub message_id: MessageId,
    pub run_id: RunId,
    pub cause: RequeueCause,
    /// Crashed runs without anything new, in a row, this one included.
    pub crashes: u32,
    /// The message into whose turn it was taken, which waits, too: the next run of that one takes it along again, where it
    /// was. Without one it waits for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interjected_into: Option<MessageId>,
    /// How many notes after the last round the next run shows again.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub carried_notes: u32,
}

names! { RequeueCause { Crash "crash", Hold "hold", Shutdown "shutdown" } }

/// An operator's prompt was taken into the turn in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorInterjectionAdmitted {
    pub message_id: MessageId,
    pub run_id: RunId,
    /// The request that will show it first.
    pub round: RoundIndex,
    pub safe_point: SafePoint,
}

names! {
    SafePoint {
        BeforeRequest "before_request", AfterText "after_text", AfterTools "after_tools",
    }
}

impl InboxFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        if let Self::MessageAdmitted(fact) = self {
            visit(&fact.message.body.text);
            fact.message.metadata.iter().for_each(&mut *visit);
            fact.message.skills.iter().for_each(|skill| visit(&skill.body));
            fact.message.images.iter().for_each(|image| visit(&image.data));
        }
    }
}
