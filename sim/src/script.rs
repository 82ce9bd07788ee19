//! What a scenario lets performers do word by word, instead of what would be drawn for them.

use holon_core::model::{
    AnswerBlock, AttemptFailure, FailureKind, ModelAnswer, ProposedCall, StopReason, Timing, TokenUsage,
};
use holon_core::outcome::{Outcome, ToolOutcome};
use holon_core::tool::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_core::{Millis, Text, Wall};
use serde::{Deserialize, Serialize};

use crate::provider::Deliveries;
use crate::tools::context;

/// "The second request of agent 1 to its provider is answered after 20 ms with …"
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub agent: u32,
    /// Counted from 1, per agent; calls of tools and requests to the provider apart.
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
    /// The provider says something and calls tools, by the ids that the model gives to its calls.
    Says {
        #[serde(default)]
        text: String,
        #[serde(default)]
        calls: Vec<String>,
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
    /// The instruction files are read.
    Reads,
}

impl Deed {
    pub fn component(&self) -> &'static str {
        match self {
            Self::Says { .. } | Self::Fails { .. } | Self::ProviderSilent => "provider",
            Self::ToolDone { .. } | Self::ToolFails | Self::ToolSilent => "tool",
            Self::Reads => "context",
        }
    }
}

impl Line {
    pub fn deliveries(&self, wall: Wall) -> Deliveries {
        let duration_ms = Millis(self.after / 1_000);
        let timing = Timing { started_at: wall, completed_at: wall.after(duration_ms), duration_ms };
        let outcome = match &self.deed {
            Deed::ProviderSilent | Deed::ToolSilent => return Vec::new(),
            Deed::Says { text, calls } => Outcome::Answer { answer: answer(text, calls, timing) },
            Deed::Fails { kind, retry_after, resets_in } => Outcome::AttemptFailed {
                failure: AttemptFailure {
                    kind: *kind,
                    message: Text::short("as the script says"),
                    retry_after_ms: retry_after.map(Millis),
                    resets_at: resets_in.map(|micros| Wall(wall.0.saturating_add(micros))),
                    usage: None,
                    timing,
                    diagnostics: None,
                },
            },
            Deed::Reads => Outcome::Context { context: context(Text::short("be brief"), duration_ms) },
            Deed::ToolDone { output } => {
                let receipt = Receipt::success(Text::short(output), ToolFacts::default());
                Outcome::Tool { outcome: ToolOutcome { receipt, duration_ms } }
            }
            Deed::ToolFails => {
                let error = ToolError::new(ToolErrorKind::ToolExecutionFailed, "as the script says");
                Outcome::Tool { outcome: ToolOutcome { receipt: Receipt::failure(error), duration_ms } }
            }
        };
        vec![(self.after, outcome)]
    }
}

fn answer(text: &str, calls: &[String], timing: Timing) -> ModelAnswer {
    let mut blocks = Vec::new();
    if !text.is_empty() || calls.is_empty() {
        blocks.push(AnswerBlock::Text { text: Text::short(text) });
    }
    blocks.extend(calls.iter().map(|call_id| {
        AnswerBlock::ToolCall(ProposedCall {
            call_id: call_id.clone(),
            tool_name: "ExecCommand".into(),
            arguments: Text::Inline(r#"{"cmd":"ls"}"#.into()),
            inline: None,
        })
    }));
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let usage = TokenUsage { input_tokens: 1, output_tokens: 1, total_tokens: 2, cached_input_tokens: 0 };
    ModelAnswer { blocks, stop, usage, timing }
}
