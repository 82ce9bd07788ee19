//! What an agent remembers of turns that are over: bounded, whatever the age of the agent.

use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::{ContentId, Text};
use holon_facts::event::turn::TurnTerminal;
use holon_facts::ids::BriefId;
use holon_facts::outcome::{InstructionSource, LoadedContext, SourceScope};
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The newest turn, however it ended.
    pub last_turn: Option<LastTurn>,
    /// How the newest turn ended that was not interrupted; a failure stands until a turn succeeds.
    pub last_settled: Option<TurnKind>,
    /// What the newest turn said that did not come again.
    pub last_answer: Option<Text>,
    pub usage: TokenUsage,
    pub last_turn_usage: TokenUsage,
    pub model_rounds: u64,
    pub messages_settled: u64,
    pub last_brief: Option<(BriefId, Wall)>,
    /// The instruction files that the newest turn was given, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<LoadedInstructions>,
}

/// One file of standing instructions that a turn was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedInstructions {
    pub scope: SourceScope,
    pub path: String,
    /// Of what the model was shown.
    pub bytes: u64,
    /// SHA-256 of what the model was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_id: Option<ContentId>,
}

impl LoadedInstructions {
    fn of(source: &InstructionSource) -> Self {
        Self {
            scope: source.scope,
            path: source.path.clone(),
            bytes: source.content.bytes(),
            content_id: source.content_id.or_else(|| source.content.content().map(|content| content.id)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastTurn {
    pub kind: TurnKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<TurnReason>,
    pub completed_at: Wall,
}

impl History {
    /// A turn begins with these instructions.
    pub(super) fn loaded(&mut self, context: &LoadedContext) {
        self.instructions = context.sources.iter().map(LoadedInstructions::of).collect();
    }

    /// A run has ended.
    pub(super) fn turn_ended(&mut self, fact: &TurnTerminal) {
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
        if fact.settles() {
            self.last_answer.clone_from(&fact.last_assistant_message);
        }
    }
}
