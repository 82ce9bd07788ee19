//! What operators do to agents.

use holon_facts::episode::Compaction;
use holon_facts::identity::{AgentSpec, Visibility};
use holon_facts::label::{AgentLabel, Description};
use holon_facts::lifecycle::ControlOutcome;
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, EventSeq, RunId};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::word::{optional_word, word};

/// Starts, stops or archives an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Control")]
pub struct ControlAgent {
    #[serde(deserialize_with = "word")]
    pub action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Start,
    Stop,
    /// Stops the agent, and takes it out of lists; `start` brings it back.
    Archive,
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
    /// Set when the request used a deprecated word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// A new agent.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAgent {
    /// The folder that it works in, from the root; its own home by default. It must be there.
    #[schemars(regex(pattern = "^/"))]
    pub workspace_root: Option<String>,
    /// Where its commands run, inside of `workspace_root`, which it is by default.
    #[schemars(regex(pattern = "^/"))]
    pub cwd: Option<String>,
    /// `public` by default; a private agent is in no list.
    #[serde(default, deserialize_with = "optional_word")]
    pub visibility: Option<Visibility>,
    /// The model that it asks first; the runtime's own by default.
    pub model: Option<ModelRef>,
    /// Its standing instructions, which become `AGENTS.md` in its home: at most 256 KiB. A file that is there already is
    /// not overwritten, and the request is refused.
    #[schemars(length(min = 1, max = 262_144))]
    pub instructions: Option<String>,
    /// What its home is made from: the id of a template, an absolute folder, or an address on GitHub. Not with
    /// `instructions`.
    #[schemars(length(min = 1, max = 4_096))]
    pub template: Option<String>,
    /// What it is for, in one line.
    pub description: Option<Description>,
}

/// A second name for an agent; its id stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// In the form of an id; the id of the agent, or none, takes the name away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentId>,
}

/// What an agent is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Describe {
    /// None takes the description away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
}

/// What became of the conversation that requests showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompactReply {
    pub ok: bool,
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub compaction: Compaction,
}

/// How an agent is shown now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelReply {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Whether the request changed anything.
    pub changed: bool,
    #[serde(flatten)]
    pub label: AgentLabel,
}

/// Most bytes of the standing instructions that an agent is created with.
pub const INSTRUCTIONS_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    pub ok: bool,
    pub agent_id: AgentId,
    pub identity: AgentSpec,
    /// Where its own files are.
    pub agent_home: String,
}

/// A new agent whose log begins as a copy of this one's.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkAgent {
    /// The name of the new agent.
    pub agent_id: AgentId,
    /// The last event to copy, or the end of the step before it; all of them by default.
    #[serde(default, deserialize_with = "whole_number")]
    pub event_seq: Option<EventSeq>,
    /// The model that the new agent asks first, instead of the one that the copied agent asks.
    pub model: Option<ModelRef>,
    /// The first answer after that event; no model is asked for it.
    pub answer: Option<GivenAnswer>,
    /// Work in a new worktree with the files of that moment.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub files: bool,
}

/// An answer in the place of a model's: a text, calls of tools, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<GivenCall>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GivenCall {
    pub tool: String,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub arguments: serde_json::Map<String, serde_json::Value>,
}

/// Also one that is written as `5.0` or `1e3`: to a JSON schema those are integers. One that is too large to count is
/// beyond any event.
fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<EventSeq>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(from)? else { return Ok(None) };
    let whole = |number: &f64| number.fract() == 0.0 && *number >= 0.0;
    let written = |number: f64| number as u64;
    let seq = number.as_u64().or_else(|| number.as_f64().filter(whole).map(written));
    let expected = || D::Error::custom(format!("expected the number of an event, not {number}"));
    seq.map(EventSeq).map(Some).ok_or_else(expected)
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
    /// Where it works with the files of that moment, if those were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_root: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_is_what_a_schema_calls_one() {
        let seq = |number: &str| {
            let body = format!(r#"{{"agent_id":"copy","event_seq":{number}}}"#);
            serde_json::from_str::<ForkAgent>(&body).ok().map(|fork| fork.event_seq.map(|seq| seq.0))
        };
        assert_eq!(
            (seq("5"), seq("5.0"), seq("1e3"), seq("null")),
            (Some(Some(5)), Some(Some(5)), Some(Some(1_000)), Some(None))
        );
        assert_eq!((seq("1e40"), seq("36893488147419103232")), (Some(Some(u64::MAX)), Some(Some(u64::MAX))));
        assert_eq!((seq("5.5"), seq("-1"), seq("-1.0"), seq("\"5\"")), (None, None, None, None));
    }
}
