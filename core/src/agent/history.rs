//! What an agent remembers of turns that are over: bounded, whatever the age of the agent.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::turn::{Round, Run};
use crate::content::Text;
use crate::event::turn::TurnTerminal;
use crate::ids::{BriefId, MessageId};
use crate::message::{AuthorityClass, MessageKind};
use crate::model::TokenUsage;
use crate::terminal::{TurnKind, TurnReason};
use crate::time::Wall;
use crate::tool::ToolErrorKind;

/// Exchanges that are kept for prompts; a prompt shows as many of the newest as its configuration says.
const KEPT: usize = 64;
/// Calls of a turn that are kept where it did not complete.
const CALLS: usize = 16;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    /// The newest turn, however it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<LastTurn>,
    /// How the newest turn ended that was not interrupted; a failure stands until a turn succeeds.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// The last calls of a turn that did not complete: nobody has told what came of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Done>,
}

/// A call, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    pub tool_name: String,
    pub arguments: Text,
    /// What it failed by; none when it was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<ToolErrorKind>,
}

impl Done {
    /// The last calls of a run that have a result, the oldest first.
    fn of(run: &Run) -> Vec<Self> {
        let results = |round: &Round| -> Vec<Self> {
            let calls = round.calls().zip(&round.results);
            calls
                .map(|((_, tool_name, arguments), receipt)| Self {
                    tool_name: tool_name.into(),
                    arguments: arguments.clone(),
                    failed: receipt.error.as_ref().map(|error| error.kind),
                })
                .collect()
        };
        let mut last: Vec<Self> =
            run.rounds.iter().rev().flat_map(|round| results(round).into_iter().rev()).take(CALLS).collect();
        last.reverse();
        last
    }
}

impl History {
    /// A run has ended.
    pub(super) fn turn_ended(&mut self, fact: &TurnTerminal, run: Option<Run>) {
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
        let Some(run) = run.filter(|_| fact.settles()) else { return };
        let calls = if fact.kind == TurnKind::Completed { Vec::new() } else { Done::of(&run) };
        let message = run.incoming;
        self.exchanges.push_back(Exchange {
            message_id: message.id,
            kind: message.kind,
            authority_class: message.authority_class,
            text: message.body.text,
            at: message.created_at,
            end: fact.kind,
            answer: fact.last_assistant_message.clone(),
            calls,
        });
        while self.exchanges.len() > KEPT {
            self.exchanges.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::input::ControlRequest;
    use crate::prompt::Part;
    use crate::testing::{World, calls, context, prompt, says, tool_says};
    use alloc::string::String;

    /// What the newest request shows of earlier messages.
    fn recent(world: &World) -> String {
        let request = world.requests.last().unwrap();
        let blocks = request.frame.context_blocks.iter().filter(|block| block.label == "recent_messages");
        let parts = blocks.flat_map(|block| &block.parts).map(|part| match part {
            Part::Rendered(text) => text.as_str(),
            Part::Given(text) | Part::Excerpt { text, .. } => text.preview(),
        });
        parts.collect()
    }

    fn works(world: &mut World) {
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let list = [("c1", "ExecCommand", r#"{"cmd":"echo one >> log"}"#), ("c2", "Levitate", "{}")];
        world.complete("main", calls(&list));
        world.complete("main", tool_says("done"));
    }

    #[test]
    fn a_turn_that_did_not_complete_leaves_word_of_its_calls() {
        let mut world = World::with_agent("main");
        works(&mut world);
        world.control("main", ControlRequest::Abort { run_id: None, stop_after_abort: false });
        world.admit("main", prompt("go on"));
        world.complete("main", context());
        let shown = recent(&world);
        assert!(shown.contains("echo one >> log") && shown.contains("(done)"), "{shown}");
        assert!(shown.contains("Levitate") && shown.contains("(failed: unknown_tool)"), "{shown}");
    }

    #[test]
    fn one_that_completed_has_told_it_itself() {
        let mut world = World::with_agent("main");
        works(&mut world);
        world.complete("main", says("all done"));
        world.admit("main", prompt("next"));
        world.complete("main", context());
        let shown = recent(&world);
        assert!(shown.contains("all done") && !shown.contains("echo one"), "{shown}");
    }
}
