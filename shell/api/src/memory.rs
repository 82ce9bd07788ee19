//! What an agent remembers, as it is searched and shown: the same shapes in the results of tools and over HTTP.

use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, EventSeq, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is searched for.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryQuery {
    /// Words that stand in what is looked for; nothing of it is syntax. At most 1,000 characters.
    #[schemars(length(min = 1, max = 1_000))]
    pub query: String,
    /// At most so many results, 1 to 50; 10 by default.
    #[schemars(range(min = 1, max = 50))]
    pub limit: Option<u32>,
    /// Whether all workspaces are searched, rather than the active one alone.
    pub include_all_workspaces: Option<bool>,
}

/// How much of a text is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryTextQuery {
    /// At most so many characters, 1 to 50,000; 12,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50_000))]
    pub max_chars: Option<u32>,
}

/// What a search found, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFound {
    pub results: Vec<MemoryHit>,
    /// `all` words of the query are in each result, or `any`: fewer than three documents have all.
    #[serde(rename = "match")]
    pub matched: String,
    pub index: MemoryIndex,
}

/// A result, with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryHit {
    #[serde(flatten)]
    pub source: MemorySource,
    /// The text around the first hit, at most 300 characters.
    pub snippet: String,
    pub score: f64,
}

/// What a text of the memory comes from.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySource {
    /// Stands for the text; only a search hands it out.
    pub source_ref: String,
    /// `agent_memory`, `note`, `workspace_profile`, `brief`, `episode`, `work_item`, `work_plan` or `message`.
    pub kind: String,
    /// Whose word it is: `operator`, or the agent's `own`.
    pub standing: String,
    /// `agent`, or `workspace`.
    pub scope_kind: String,
    pub workspace_id: Option<WorkspaceId>,
    pub agent_id: AgentId,
    /// The file that it is, where it is one.
    pub source_path: Option<String>,
    pub title: String,
    pub updated_at: Wall,
    pub metadata: MemoryMetadata,
}

/// Where the text is on record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMetadata {
    /// The id of the brief, episode, item or message, or the name of the file.
    pub id: String,
    /// The events that it is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub event_seqs: Vec<EventSeq>,
}

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryIndex {
    /// `ready`, or `index_building`: what comes after `indexed_through` is not searched yet.
    pub state: String,
    /// The position in the ledger that it goes up to, and the last one.
    pub indexed_through: u64,
    pub ledger_position: u64,
}

/// A text of the memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryText {
    #[serde(flatten)]
    pub source: MemorySource,
    pub content: String,
    /// Whether there is more of it.
    pub truncated: bool,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemorySearched {
    pub ok: bool,
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub found: MemoryFound,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryShown {
    pub ok: bool,
    #[serde(flatten)]
    pub text: MemoryText,
}

/// What there is to search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryStatus {
    pub ok: bool,
    pub agent_id: AgentId,
    pub index: MemoryIndex,
    /// The file of the index, which all agents of the home share, and its size.
    pub path: String,
    pub bytes: u64,
    /// Documents of this agent, in all and by kind.
    pub documents: u64,
    pub by_kind: Vec<MemoryCount>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCount {
    pub kind: String,
    pub documents: u64,
}
