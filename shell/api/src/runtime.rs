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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeInfo {
    pub default_agent: AgentId,
    /// Shown only to clients that need no token or have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home_dir: Option<String>,
    /// The address on TCP; none where only the socket is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise_url: Option<String>,
    pub version: String,
}

/// Whether the runtime takes new work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    pub ok: bool,
    /// Whether new work is taken.
    pub ready: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub pid: u32,
    /// Of the configuration that is in effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
}

/// What the daemon's `status` shows of a runtime that lives. A client of another version leaves out what it
/// does not know and finds defaults for what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeStatus {
    pub ok: bool,
    pub pid: u32,
    #[serde(default)]
    pub version: String,
    pub home_dir: String,
    pub socket_path: String,
    /// The address on TCP; none where only the socket is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_addr: Option<String>,
    /// The address under which others reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise_url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<AuthMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Wall>,
    /// What keeps new work out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    #[serde(default)]
    pub activity: Document<Activity>,
    /// What all agents have spent together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spending: Option<Document<Spending>>,
    /// The newest turn that failed since the runtime began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeState {
    #[default]
    Idle,
    Waiting,
    Processing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastFailure {
    pub occurred_at: Wall,
    pub summary: String,
    pub phase: FailurePhase,
    /// Whose turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail_hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailurePhase {
    Startup,
    Shutdown,
    RuntimeTurn,
}

/// The runtime leaves: runs are interrupted, nothing is recorded as stopped, and the next start resumes all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shutdown {
    pub ok: bool,
    pub pid: u32,
}

impl RuntimeState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Processing => "processing",
        }
    }
}

impl FailurePhase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Shutdown => "shutdown",
            Self::RuntimeTurn => "runtime_turn",
        }
    }
}

/// A token for streams, where a client can send no headers: as `?token=` of a stream, and of nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamToken {
    pub ok: bool,
    pub token: String,
    /// No stream begins with it later; one that has begun goes on.
    pub expires_at: Wall,
}
