//! What an agent remembers of turns that are over: bounded, whatever the age of the agent.

use alloc::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::content::Text;
use crate::event::turn::TurnTerminal;
use crate::ids::{BriefId, MessageId};
use crate::message::{AuthorityClass, Message, MessageKind};
use crate::model::TokenUsage;
use crate::terminal::{TurnKind, TurnReason};
use crate::time::Wall;

/// Exchanges that are kept for prompts; a prompt shows as many of the newest as its configuration says.
const KEPT: usize = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The newest turn, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<LastTurn>,
    /// How the newest turn ended that was the last of its message; a failure stands until a turn succeeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_settled: Option<TurnKind>,
    /// The newest last.
    pub exchanges: VecDeque<Exchange>,
    pub usage: TokenUsage,
    pub last_turn_usage: TokenUsage,
    pub model_rounds: u64,
    pub messages_settled: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_brief: Option<(BriefId, Wall)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastTurn {
    pub kind: TurnKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<TurnReason>,
    pub completed_at: Wall,
}

/// A message and what the agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub message_id: MessageId,
    pub kind: MessageKind,
    pub authority_class: AuthorityClass,
    pub text: Text,
    pub at: Wall,
    pub end: TurnKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text>,
}

impl History {
    /// A run has ended; `message` is what it was for.
    pub(super) fn turn_ended(&mut self, fact: &TurnTerminal, message: Option<Message>) {
        self.last_turn =
            Some(LastTurn { kind: fact.kind, reason: fact.reason, completed_at: fact.completed_at });
        self.usage = self.usage.plus(fact.token_usage);
        self.last_turn_usage = fact.token_usage;
        self.model_rounds = self.model_rounds.saturating_add(u64::from(fact.rounds));
        if !fact.kind.settles() {
            return;
        }
        // An aborted turn is no success: a failure before it stands.
        let failed_before = self.last_settled.is_some_and(TurnKind::failed);
        if !(failed_before && fact.kind == TurnKind::Aborted) {
            self.last_settled = Some(fact.kind);
        }
        let Some(message) = message else { return };
        self.exchanges.push_back(Exchange {
            message_id: message.id,
            kind: message.kind,
            authority_class: message.authority_class,
            text: message.body.text,
            at: message.created_at,
            end: fact.kind,
            answer: fact.last_assistant_message.clone(),
        });
        while self.exchanges.len() > KEPT {
            self.exchanges.pop_front();
        }
    }
}
