//! What a model does in its turns, and how its commands end: for scenarios over weeks, where a [`crate::script::Line`]
//! would have to count requests.

use std::collections::BTreeMap;

use holon_core::agent::Agent;
use holon_facts::ids::MessageId;
use holon_facts::model::{AnswerBlock, ModelAnswer, ProposedCall, StopReason, Timing};
use holon_facts::outcome::{CommandEnd, Outcome, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolFacts};
use holon_facts::usage::TokenUsage;
use holon_facts::{AgentId, Millis, Text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::performer::{Circumstances, Deliveries};

/// How long the model thinks, in microseconds.
const THINKS: u64 = 4_000_000;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The first chapter whose words occur in the occasion of a turn decides the turn.
    #[serde(default)]
    pub chapters: Vec<Chapter>,
    #[serde(default)]
    pub commands: Vec<Command>,
}

/// What a model does in turns of one kind. Several chapters for the same words alternate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// All of these occur: the kind of the message, its origin, its text, and for results of tasks the command and how
    /// it ended.
    pub when: Vec<String>,
    pub rounds: Vec<Round>,
}

/// One answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Round {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Tools with their arguments, in which `{item}` is the newest open work item and `{task}` the newest task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<(String, Value)>,
    /// Tokens of the request and the answer together.
    #[serde(default = "tokens")]
    pub tokens: u64,
}

fn tokens() -> u64 {
    6_000
}

/// How a command ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub cmd: String,
    pub seconds: u64,
    /// The status of each execution in turn, from the beginning again after the last.
    pub exits: Vec<i32>,
}

/// The progress of a story.
#[derive(Debug, Default)]
pub struct Progress {
    /// The chapter number of each message that had a turn.
    turns: BTreeMap<(AgentId, MessageId), usize>,
    /// How often there was a turn of each kind.
    played: BTreeMap<Vec<String>, usize>,
    /// How often each command was executed.
    executed: BTreeMap<String, usize>,
}

impl Story {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The next answer of the model in an agent's turn; none if the story has none.
    pub fn next_round(&self, agent: &Agent, progress: &mut Progress) -> Option<Round> {
        let run = agent.run.as_ref()?;
        let key = (agent.id.clone(), run.message);
        let chapter = match progress.turns.get(&key) {
            Some(chapter) => *chapter,
            None => {
                let chapter = self.next(&occasion(agent)?, progress)?;
                progress.turns.insert(key, chapter);
                chapter
            }
        };
        let round = self
            .chapters
            .get(chapter)?
            .rounds
            .get(run.conversation.rounds.len())
            .cloned()
            .unwrap_or_default();
        Some(round.about(agent))
    }

    /// The chapter for an occasion: chapters for the same words alternate.
    fn next(&self, occasion: &str, progress: &mut Progress) -> Option<usize> {
        let fits = |chapter: &&Chapter| chapter.when.iter().all(|word| occasion.contains(word.as_str()));
        let when = &self.chapters.iter().find(fits)?.when;
        let same: Vec<usize> = self
            .chapters
            .iter()
            .enumerate()
            .filter(|(_, chapter)| chapter.when == *when)
            .map(|(number, _)| number)
            .collect();
        let played = progress.played.entry(when.clone()).or_default();
        *played += 1;
        same.get((*played - 1) % same.len()).copied()
    }

    /// How long a command runs, and its exit status.
    pub fn executes(&self, cmd: &str, progress: &mut Progress) -> Option<(u64, i32)> {
        let command = self.commands.iter().find(|command| command.cmd == cmd)?;
        let executed = progress.executed.entry(cmd.to_owned()).or_default();
        *executed += 1;
        let exit = command.exits.get((*executed - 1) % command.exits.len().max(1)).copied().unwrap_or(0);
        Some((command.seconds, exit))
    }
}

impl Round {
    /// Replaces the placeholders with the agent's ids.
    fn about(mut self, agent: &Agent) -> Self {
        let item = agent.work.open().last().map(|item| item.id.to_string()).unwrap_or_default();
        let task = agent.tasks.active().last().map(|task| task.id.to_string()).unwrap_or_default();
        for (_, arguments) in &mut self.calls {
            let text = arguments.to_string().replace("{item}", &item).replace("{task}", &task);
            *arguments = serde_json::from_str(&text).unwrap_or_default();
        }
        self
    }

    pub fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }
}

/// The occasion of a turn, as chapters match it.
fn occasion(agent: &Agent) -> Option<String> {
    let run = agent.run.as_ref()?;
    let message = &run.about.incoming;
    let origin = serde_json::to_string(&message.origin).unwrap_or_default();
    let mut occasion = format!("{} {origin} {}", message.kind, message.body.text.preview());
    for task in agent.tasks.delivered_by(message.id) {
        let exit = task.end.as_ref().and_then(|end| end.exit_status);
        occasion += &format!(
            " {} {} {exit:?}",
            task.command().map_or(&*task.summary, |command| command.cmd.preview()),
            task.status
        );
    }
    Some(occasion)
}

/// The model gives this answer.
pub fn say(here: &mut Circumstances<'_>, round: &Round) -> Deliveries {
    let duration_ms = Millis(THINKS / 1_000);
    let timing = Timing { started_at: here.wall, completed_at: here.wall.after(duration_ms), duration_ms };
    let mut blocks = Vec::new();
    if !round.text.is_empty() {
        blocks.push(AnswerBlock::Text { text: Text::short(&round.text) });
    }
    let ordinal = here.site.ordinal;
    blocks.extend(round.calls.iter().enumerate().map(|(number, (tool, arguments))| {
        AnswerBlock::ToolCall(ProposedCall {
            call_id: format!("c{ordinal}_{number}"),
            tool_name: tool.clone(),
            arguments: Text::Inline(arguments.to_string()),
            inline: None,
        })
    }));
    let stop = if round.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let (input_tokens, output_tokens) = (round.tokens - round.tokens / 10, round.tokens / 10);
    let total_tokens = input_tokens + output_tokens;
    let usage = TokenUsage { input_tokens, output_tokens, total_tokens, cached_input_tokens: 0 };
    vec![(
        THINKS,
        Outcome::Answer {
            answer: ModelAnswer { blocks, stop, usage, timing, joined: None, delivery: None, stored: None },
        },
    )]
}

/// A command ends after so many seconds, with a status.
pub fn ends((seconds, exit): (u64, i32)) -> Deliveries {
    let facts = ToolFacts { exit_status: Some(exit), ..ToolFacts::default() };
    let receipt = Receipt::success(Text::short(if exit == 0 { "ok" } else { "it failed" }), facts);
    let (duration_ms, end) = (Millis::seconds(seconds), Some(CommandEnd::Exited));
    vec![(seconds * 1_000_000, Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms, end } })]
}
