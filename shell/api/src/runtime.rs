//! The runtime as a whole.

use std::collections::BTreeMap;

use holon_core::summary::spending::Spending;
use holon_facts::{AgentId, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::access::{Access, AuthMode};
use super::reply::Document;

/// A request or a query without anything in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// What listens here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    pub ok: bool,
    pub name: String,
    pub version: String,
    pub default_agent: AgentId,
    /// Where to read on.
    pub links: BTreeMap<String, String>,
}

/// Whether the runtime answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    pub ok: bool,
}

/// What a client has to know before it asks for anything else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handshake {
    pub ok: bool,
    pub protocol: Protocol,
    pub auth: Auth,
    /// Groups of routes that this build has.
    pub capabilities: Vec<String>,
    pub runtime: RuntimeInfo,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocol {
    pub name: String,
    pub version: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Auth {
    pub mode: AuthMode,
    /// Whether a token is required on the connection that asks.
    pub required: bool,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeInfo {
    pub default_agent: AgentId,
    /// Shown only to clients that need no token or have it.
    pub home_dir: Option<String>,
    /// The address on TCP; none where only the socket is served.
    pub listen: Option<String>,
    pub advertise_url: Option<String>,
    pub version: String,
}

/// Whether the runtime takes new work.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    pub ok: bool,
    /// Whether new work is taken.
    pub ready: bool,
    /// Why not.
    pub problem: Option<String>,
    pub pid: u32,
    /// Of the configuration that is in effect.
    pub config_fingerprint: Option<String>,
}

/// What the daemon's `status` shows of a runtime that lives. A client of another version leaves out what it
/// does not know and finds defaults for what is missing.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeStatus {
    pub ok: bool,
    pub pid: u32,
    #[serde(default)]
    pub version: String,
    pub home_dir: String,
    pub socket_path: String,
    /// The address on TCP; none where only the socket is served.
    pub http_addr: Option<String>,
    /// The address under which others reach it.
    pub advertise_url: Option<String>,
    pub access: Option<Access>,
    pub auth: Option<AuthMode>,
    pub config_fingerprint: Option<String>,
    pub started_at: Option<Wall>,
    /// What keeps new work out.
    pub problem: Option<String>,
    #[serde(default)]
    pub activity: Document<Activity>,
    /// What all agents have spent together.
    pub spending: Option<Document<Spending>>,
    /// The newest turn that failed since the runtime began.
    pub last_failure: Option<Document<LastFailure>>,
    /// Servers of tools; none where none are configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_servers: Vec<Document<ToolServer>>,
}

/// A program that has tools for agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolServer {
    pub name: String,
    /// `configured` (it does not run), `starting`, `ready` or `failed`.
    pub state: String,
    /// Why it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Since the runtime began.
    pub starts: u64,
    pub calls: u64,
    /// Calls that brought an error, of whatever kind.
    pub failed_calls: u64,
}

/// Public agents by what they are up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    #[serde(default)]
    pub state: RuntimeState,
    /// Agents that are not stopped.
    #[serde(default)]
    pub active_agent_count: u64,
    /// Background tasks of these agents that have not ended.
    #[serde(default)]
    pub active_task_count: u64,
    /// Agents that start or run.
    #[serde(default)]
    pub processing_agent_count: u64,
    /// Agents with something to do that do not run: they wait for a free slot, for providers, for a budget or for an allowance.
    #[serde(default)]
    pub waiting_agent_count: u64,
}

impl Activity {
    /// Of both together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            state: self.state.max(other.state),
            active_agent_count: self.active_agent_count.saturating_add(other.active_agent_count),
            active_task_count: self.active_task_count.saturating_add(other.active_task_count),
            processing_agent_count: self.processing_agent_count.saturating_add(other.processing_agent_count),
            waiting_agent_count: self.waiting_agent_count.saturating_add(other.waiting_agent_count),
        }
    }
}

holon_facts::names! {
    #[derive(Default)]
    RuntimeState {
        #[default]
        Idle "idle",
        Waiting "waiting",
        Processing "processing",
    }
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    pub occurred_at: Wall,
    pub summary: String,
    pub phase: FailurePhase,
    /// Whose turn failed.
    pub agent_id: Option<AgentId>,
    pub detail_hint: Option<String>,
}

holon_facts::names! {
    FailurePhase {
        Startup "startup",
        Shutdown "shutdown",
        RuntimeTurn "runtime_turn",
    }
}

/// The runtime leaves: runs are interrupted, nothing is recorded as stopped, and the next start resumes all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shutdown {
    pub ok: bool,
    pub pid: u32,
}

/// A token for streams, where a client can send no headers: as `?token=` of a stream, and of nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamToken {
    pub ok: bool,
    pub token: String,
    /// No stream begins with it later; one that has begun goes on.
    pub expires_at: Wall,
}
