//! The transcript as a projection of records: what was said in turns, by whom, and what came of it
//! (contract: agent.md, Transcript). Nothing stores it, and nothing decides from it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::event::turn::{FailureArtifact, TurnFact};
use holon_facts::event::{Event, InboxFact};
use holon_facts::ids::{EventSeq, MessageId, RoundIndex, RunId};
use holon_facts::message::Message;
use holon_facts::model::{AttemptRecord, Block, StopReason};
use holon_facts::receipt::{Receipt, ToolError};
use holon_facts::record::Record;
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use serde::Serialize;

/// One entry, at the position of the record that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptEntry {
    pub event_seq: EventSeq,
    pub at: Wall,
    #[serde(flatten)]
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    IncomingMessage {
        message: Message,
    },
    AssistantRound {
        run_id: RunId,
        round: RoundIndex,
        blocks: Arc<[Block]>,
        stop_reason: StopReason,
        input_tokens: u64,
        output_tokens: u64,
        data: RoundData,
    },
    ToolResults {
        run_id: RunId,
        round: RoundIndex,
        tool_name: alloc::string::String,
        receipt: Arc<Receipt>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ToolError>,
    },
    RuntimeFailure {
        run_id: RunId,
        message_id: MessageId,
        text: Text,
        failure: FailureArtifact,
        attempts: Vec<AttemptRecord>,
        token_usage: TokenUsage,
    },
    /// The runtime spoke to the model: a reminder, or that a run goes on after an interruption.
    ContinuationPrompt {
        run_id: RunId,
        text: alloc::string::String,
    },
}

/// What came along with a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoundData {
    pub token_usage: TokenUsage,
    pub attempts: Vec<AttemptRecord>,
}

/// Reads records in their order; keeps nothing but the attempts of the round in progress.
#[derive(Debug, Default)]
pub struct Transcript {
    attempts: Vec<AttemptRecord>,
}

impl Transcript {
    /// The entry that a record of one agent brings, if any.
    pub fn step(&mut self, record: &Record) -> Option<TranscriptEntry> {
        let entry = match &record.event {
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
                Entry::IncomingMessage { message: fact.message.clone() }
            }
            Event::Turn(fact) => self.turn(fact)?,
            Event::Inbox(_)
            | Event::Lifecycle(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Task(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => return None,
        };
        Some(TranscriptEntry { event_seq: record.event_seq, at: record.at, entry })
    }

    fn turn(&mut self, fact: &TurnFact) -> Option<Entry> {
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.attempts.clear();
                (fact.carried_rounds > 0).then(|| Entry::ContinuationPrompt {
                    run_id: fact.run_id,
                    text: crate::prompt::policy::CONTINUATION.into(),
                })
            }
            TurnFact::ProviderAttemptRecorded(fact) => {
                self.attempts.push(fact.attempt.clone());
                None
            }
            TurnFact::AssistantRoundRecorded(fact) => Some(Entry::AssistantRound {
                run_id: fact.run_id,
                round: fact.round,
                blocks: fact.blocks.clone(),
                stop_reason: fact.stop_reason,
                input_tokens: fact.token_usage.input_tokens,
                output_tokens: fact.token_usage.output_tokens,
                data: RoundData {
                    token_usage: fact.token_usage,
                    attempts: core::mem::take(&mut self.attempts),
                },
            }),
            TurnFact::ToolExecuted(fact) => {
                Some(tool(fact.run_id, fact.round, &fact.tool_name, &fact.receipt))
            }
            TurnFact::ToolExecutionFailed(fact) => {
                Some(tool(fact.run_id, fact.round, &fact.tool_name, &fact.receipt))
            }
            TurnFact::ReminderInjected(fact) => {
                Some(Entry::ContinuationPrompt { run_id: fact.run_id, text: fact.text.clone() })
            }
            TurnFact::RuntimeError(fact) => Some(Entry::RuntimeFailure {
                run_id: fact.run_id,
                message_id: fact.message_id,
                text: fact.failure.summary.clone(),
                failure: fact.failure.clone(),
                attempts: fact.attempts.clone(),
                token_usage: fact.token_usage,
            }),
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ToolsCatalogued(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ProvidersAwaited(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::BudgetExhausted(_)
            | TurnFact::TurnTerminal(_) => None,
        }
    }
}

fn tool(run_id: RunId, round: RoundIndex, tool_name: &str, receipt: &Arc<Receipt>) -> Entry {
    Entry::ToolResults {
        run_id,
        round,
        tool_name: tool_name.into(),
        error: receipt.error.clone(),
        receipt: receipt.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, calls, context, fails, prompt, tool_answers};
    use alloc::string::ToString;

    #[test]
    fn a_turn_reads_as_it_was() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", calls(&[("a", "ExecCommand", r#"{"cmd":"ls"}"#), ("b", "Nothing", "{}")]));
        world.complete("main", tool_answers("a file"));
        world.complete("main", fails(holon_facts::model::FailureKind::ContextLength));
        let mut transcript = Transcript::default();
        let kinds: Vec<_> = world
            .log
            .iter()
            .filter_map(|record| transcript.step(record))
            .map(|entry| {
                let json = serde_json::to_value(&entry).unwrap();
                (
                    json["kind"].as_str().unwrap().to_string(),
                    json["error"]["kind"].as_str().map(ToString::to_string),
                )
            })
            .collect();
        let plain = |kind: &str| (kind.to_string(), None);
        let expected = [
            plain("incoming_message"),
            plain("assistant_round"),
            plain("tool_results"),
            ("tool_results".to_string(), Some("unknown_tool".to_string())),
            plain("runtime_failure"),
        ];
        assert_eq!(kinds, expected);
    }
}
