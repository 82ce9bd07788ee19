//! What operators do to agents.

use holon_core::agent::identity::{AgentSpec, ExecutionBinding, Visibility};
use holon_core::lifecycle::ControlOutcome;
use holon_core::outcome::SourceScope;
use holon_core::prompt::frame::Stability;
use holon_core::{AgentId, EventSeq, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Starts or stops an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Start,
    Stop,
    /// Deprecated: means `stop`.
    Pause,
    /// Deprecated: means `start`.
    Resume,
}

/// Ends the run in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abort {
    /// Refused when it is not the run in progress; none means whichever is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default)]
    pub stop_after_abort: bool,
}

/// What a control request did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlReply {
    pub ok: bool,
    pub agent_id: AgentId,
    pub outcome: ControlOutcome,
    /// Set when the request used a word that will go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// A new agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// The folder that it works in, from the root; its own home by default. It must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^/"))]
    pub workspace_root: Option<String>,
    /// Where its commands run, inside of `workspace_root`, which it is by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^/"))]
    pub cwd: Option<String>,
    /// `public` by default; a private agent is in no list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub ok: bool,
    pub agent_id: AgentId,
    pub identity: AgentSpec,
    /// Where its own files are.
    pub agent_home: String,
}

/// A prompt that is shown, not sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebugPrompt {
    pub text: String,
}

/// What the model would be told if the text was the next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DebugPromptReply {
    pub ok: bool,
    pub agent_id: AgentId,
    pub agent_home: String,
    pub execution: ExecutionBinding,
    /// Files of standing instructions that are part of it.
    pub loaded_sources: Vec<Source>,
    /// In the order in which the model reads them.
    pub sections: Vec<PromptSection>,
    pub tools: Vec<String>,
    /// Estimated at four characters a token, without the tools' schemas.
    pub est_tokens: u64,
    pub prompt_cache_key: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub scope: SourceScope,
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptSection {
    pub label: String,
    pub stability: Stability,
    pub text: String,
}

/// A new agent whose log begins as a copy of this one's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkAgent {
    /// The name of the new agent.
    pub agent_id: AgentId,
    /// The last event to copy, or the end of the step before it; all of them by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_seq: Option<EventSeq>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    pub ok: bool,
    pub agent_id: AgentId,
    pub forked_from: AgentId,
    /// The last event that was copied.
    pub event_seq: EventSeq,
    /// Where its own files are: copies of the standing instructions and the memory as they are now.
    pub agent_home: String,
}
