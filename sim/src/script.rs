//! Scripted outcomes of performers, which replace random ones.

use holon_core::tool::Tool;
use holon_facts::model::{
    AnswerBlock, AttemptFailure, FailureKind, ModelAnswer, ProposedCall, StopReason, Timing,
};
use holon_facts::outcome::{CommandEnd, Outcome, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::usage::TokenUsage;
use holon_facts::workspace::ExecutionBinding;
use holon_facts::{Millis, Text, Wall};
use serde::{Deserialize, Serialize};

use crate::commands::{arguments, ended};
use crate::performer::Deliveries;
use crate::tools::{Up, context};

/// "The second request of agent 1 to its provider is answered after 20 ms with …"
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub agent: u32,
    /// Counted from 1, per agent; calls of tools, supervisors and requests to the provider apart.
    pub nth: u64,
    /// Microseconds.
    #[serde(default)]
    pub after: u64,
    #[serde(flatten)]
    pub deed: Deed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "snake_case")]
pub enum Deed {
    /// The provider answers with text and calls, by the ids that the model gives to its calls.
    Says {
        #[serde(default)]
        text: String,
        /// Commands.
        #[serde(default)]
        calls: Vec<String>,
        /// Number of the command in each of these calls.
        #[serde(default, skip_serializing_if = "is_plain")]
        command: u32,
        /// After the commands, calls of a tool that needs no supervisor.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        patches: Vec<String>,
        /// After these, calls about tasks: the tool and its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asks: Vec<(String, String)>,
    },
    /// The provider fails. `resets_in` in microseconds from the wall clock at the time of the request.
    Fails {
        kind: FailureKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resets_in: Option<i64>,
    },
    ProviderSilent,
    ToolDone {
        output: String,
    },
    ToolFails,
    ToolSilent,
    /// A command that was asked to end has ended.
    CommandStopped,
    /// The instruction files are read.
    Reads,
    /// A supervisor comes up and waits for its start signal.
    Prepares,
    PrepareFails,
    PrepareSilent,
    /// A call shows a task.
    TaskLooks,
    TaskFails,
    TaskSilent,
    /// The folder to work in is found.
    Finds {
        root: String,
    },
}

impl Deed {
    pub fn component(&self) -> &'static str {
        match self {
            Self::Says { .. } | Self::Fails { .. } | Self::ProviderSilent => "provider",
            Self::ToolDone { .. } | Self::ToolFails | Self::ToolSilent | Self::CommandStopped => "tool",
            Self::Reads => "context",
            Self::Prepares | Self::PrepareFails | Self::PrepareSilent => "supervisor",
            Self::TaskLooks | Self::TaskFails | Self::TaskSilent => "task",
            Self::Finds { .. } => "workspace",
        }
    }
}

impl Line {
    /// The outcomes of this deed; `up` is the supervisor that comes up, if any.
    pub fn deliveries(&self, wall: Wall, up: Option<Up>) -> Deliveries {
        let duration_ms = Millis(self.after / 1_000);
        let timing = Timing { started_at: wall, completed_at: wall.after(duration_ms), duration_ms };
        let outcome = match &self.deed {
            Deed::ProviderSilent | Deed::ToolSilent | Deed::PrepareSilent | Deed::TaskSilent => {
                return Vec::new();
            }
            Deed::Prepares => match up {
                Some(up) => up.prepared(),
                None => return Vec::new(),
            },
            Deed::Says { text, calls, command, patches, asks } => {
                Outcome::Answer { answer: answer(text, (calls, *command), patches, asks, timing) }
            }
            Deed::Fails { kind, retry_after, resets_in } => Outcome::AttemptFailed {
                failure: AttemptFailure {
                    kind: *kind,
                    message: Text::short("as the script says"),
                    retry_after_ms: retry_after.map(Millis),
                    resets_at: resets_in.map(|micros| Wall(wall.0.saturating_add(micros))),
                    usage: None,
                    timing,
                    diagnostics: None,
                    delivery: None,
                },
            },
            Deed::Reads => Outcome::Context { context: context(Text::short("be brief"), duration_ms) },
            Deed::ToolDone { output } => {
                let receipt = Receipt::success(Text::short(output), ToolFacts::default());
                Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms, end: None } }
            }
            Deed::TaskLooks => {
                let receipt = Receipt::success(Text::short("it goes on"), ToolFacts::default());
                Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms, end: None } }
            }
            Deed::Finds { root } => Outcome::found(ExecutionBinding::project(root.clone(), root.clone())),
            Deed::TaskFails => failed(ToolErrorKind::ToolExecutionFailed, duration_ms),
            Deed::ToolFails => failed(ToolErrorKind::ToolExecutionFailed, duration_ms),
            Deed::CommandStopped => Outcome::Tool { outcome: ended(CommandEnd::Stopped) },
            Deed::PrepareFails => failed(ToolErrorKind::CommandSpawnFailed, duration_ms),
        };
        vec![(self.after, outcome)]
    }
}

fn failed(kind: ToolErrorKind, duration_ms: Millis) -> Outcome {
    let receipt = Receipt::failure(ToolError::new(kind, "as the script says"));
    Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms, end: None } }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_plain(command: &u32) -> bool {
    *command == 0
}

fn answer(
    text: &str,
    (calls, command): (&[String], u32),
    patches: &[String],
    asks: &[(String, String)],
    timing: Timing,
) -> ModelAnswer {
    let mut blocks = Vec::new();
    let silent = calls.is_empty() && patches.is_empty() && asks.is_empty();
    if !text.is_empty() || silent {
        blocks.push(AnswerBlock::Text { text: Text::short(text) });
    }
    let proposed = |tool: &str, arguments: &str, call_id: &str| {
        AnswerBlock::ToolCall(ProposedCall {
            call_id: call_id.into(),
            tool_name: tool.into(),
            arguments: Text::Inline(arguments.into()),
            inline: None,
        })
    };
    blocks.extend(calls.iter().map(|id| proposed(Tool::ExecCommand.name(), arguments(command), id)));
    blocks.extend(patches.iter().map(|id| proposed(Tool::ApplyPatch.name(), r#"{"patch":"--- a"}"#, id)));
    blocks.extend(asks.iter().map(|(tool, arguments)| proposed(tool, arguments, "")));
    let stop = if silent { StopReason::EndTurn } else { StopReason::ToolUse };
    let usage = TokenUsage { input_tokens: 1, output_tokens: 1, total_tokens: 2, cached_input_tokens: 0 };
    ModelAnswer { blocks, stop, usage, timing, joined: None, delivery: None, stored: None }
}
