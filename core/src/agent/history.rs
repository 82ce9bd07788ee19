//! What an agent remembers of turns that are over: bounded, whatever the age of the agent.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::content::{ContentId, Text, clip};
use holon_facts::event::turn::TurnTerminal;
use holon_facts::ids::{BriefId, MessageId, TaskId};
use holon_facts::message::{Message, Origin};
use holon_facts::outcome::{InstructionSource, LoadedContext, SourceScope};
use holon_facts::provenance::{AuthorityClass, MessageKind};
use holon_facts::receipt::ToolErrorKind;
use holon_facts::task::TaskStatus;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Wall;
use holon_facts::usage::TokenUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::task::{Task, Tasks};
use crate::agent::turn::{Note, Round, Run};
use crate::agent::wake::{Hints, Pending};

/// Exchanges that are kept for prompts; a prompt shows as many of the newest as its configuration says.
const KEPT: usize = 64;
/// Other things that a turn was told that are kept of it: the newest.
const HEARD: usize = 16;
/// References of a message that are kept.
const REFERENCES: usize = 8;
/// Bytes that are kept of a name.
const NAME_BYTES: usize = 200;
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

/// A message and what the agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    pub message_id: MessageId,
    pub kind: MessageKind,
    pub authority_class: AuthorityClass,
    /// Who sent it, where that has a name or refers to anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Sender>,
    pub text: Text,
    /// What else the turn was told: by hints and tasks that its message is about, by messages that came with it, and in
    /// its middle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<Heard>,
    pub at: Wall,
    pub end: TurnKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Text>,
    /// The last calls of a turn that did not complete: nobody has told what came of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Done>,
}

/// Who sent a message, and what it refers to; each name by its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    pub origin: Origin,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

/// One thing that a turn was told beside the text of its message; names by their beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "heard", rename_all = "snake_case")]
pub enum Heard {
    Hint {
        source: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<Text>,
    },
    Task {
        task_id: TaskId,
        status: TaskStatus,
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Text>,
    },
    /// It was taken with the turn's own message.
    Message {
        message_id: MessageId,
        kind: MessageKind,
        text: Text,
    },
    Interjection {
        message_id: MessageId,
        text: Text,
    },
}

impl Sender {
    /// None where the runtime itself says it: its kind tells who.
    fn of(message: &Message) -> Option<Self> {
        let named = !message.source_refs.is_empty() || message.correlation_id.is_some();
        let runtime = match &message.origin {
            Origin::Operator { actor_id } => actor_id.is_none(),
            Origin::Timer { .. } | Origin::Task { .. } => true,
            Origin::Channel { .. }
            | Origin::Webhook { .. }
            | Origin::Callback { .. }
            | Origin::System { .. } => false,
        };
        if runtime && !named {
            return None;
        }
        let refs = message.source_refs.iter().take(REFERENCES);
        Some(Self {
            origin: message.origin.map_ids(short),
            source_refs: refs.map(|(name, value)| (short(name), short(value))).collect(),
            correlation_id: message.correlation_id.as_deref().map(short),
        })
    }
}

fn short(name: &str) -> String {
    clip(name, NAME_BYTES)
}

impl Heard {
    pub fn text(&self) -> Option<&Text> {
        match self {
            Self::Hint { body, .. } => body.as_ref(),
            Self::Task { result, .. } => result.as_ref(),
            Self::Message { text, .. } | Self::Interjection { text, .. } => Some(text),
        }
    }

    fn hint(Pending { hint, .. }: &Pending) -> Self {
        let resource = hint.resource.as_deref().map(short);
        let (source, reason) = (short(&hint.source), short(&hint.reason));
        Self::Hint { source, reason, resource, body: hint.body.clone() }
    }

    fn task(task: &Task, result: bool) -> Self {
        let end = task.end.as_ref().filter(|_| result);
        let (status, summary) = (task.status, short(&task.summary));
        Self::Task { task_id: task.id, status, summary, result: end.and_then(|end| end.result.clone()) }
    }

    /// What a message that a turn takes tells of. The result of the one task that it is about, it says itself.
    pub(super) fn with(hints: &Hints, tasks: &Tasks, message: &Message) -> Vec<Self> {
        let tells = message.kind != MessageKind::TaskResult;
        let tasks = tasks.told_by(message.id).map(|task| Self::task(task, tells));
        tasks.chain(hints.told_by(message.id).map(Self::hint)).take(HEARD).collect()
    }

    /// All that a run was told, in order, at most so much of it.
    fn in_run(run: &Run) -> Vec<Self> {
        let also = run.about.also.iter().map(|message| {
            let (message_id, kind) = (message.id, message.kind);
            Self::Message { message_id, kind, text: message.body.text.clone() }
        });
        let notes =
            run.conversation.rounds.iter().flat_map(|round| &round.notes).chain(&run.conversation.notes);
        let later = notes.flat_map(|note| match note {
            Note::Interjection { message_id, text } => {
                alloc::vec![Self::Interjection { message_id: *message_id, text: text.clone() }]
            }
            Note::Hints { hints } => hints.iter().map(Self::hint).collect(),
            Note::Reminder { .. } | Note::Continuation => Vec::new(),
        });
        let mut all: Vec<Self> = run.about.heard.iter().cloned().chain(also).chain(later).collect();
        let over = all.len().saturating_sub(HEARD);
        all.drain(..over);
        all
    }
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
        let mut last: Vec<Self> = run
            .conversation
            .rounds
            .iter()
            .rev()
            .flat_map(|round| results(round).into_iter().rev())
            .take(CALLS)
            .collect();
        last.reverse();
        last
    }
}

impl History {
    /// A turn begins with these instructions.
    pub(super) fn loaded(&mut self, context: &LoadedContext) {
        self.instructions = context.sources.iter().map(LoadedInstructions::of).collect();
    }

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
        let heard = Heard::in_run(&run);
        let message = run.about.incoming;
        self.exchanges.push_back(Exchange {
            message_id: message.id,
            kind: message.kind,
            authority_class: message.authority_class,
            from: Sender::of(&message),
            heard,
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
    use crate::testing::{World, calls, context, prompt, says, tool_says};
    use alloc::string::String;
    use holon_facts::frame::Part;

    /// What the newest request shows of earlier messages.
    fn recent(world: &World) -> String {
        let request = world.requests.last().unwrap();
        let blocks = request.frame.context_blocks.iter().filter(|block| block.label == "recent_messages");
        blocks.flat_map(|block| &block.parts).map(Part::preview).collect()
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
