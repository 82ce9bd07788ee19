//! An agent's state at one position of its log, as JSON. Snapshot and tail give what the whole log gives.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Version of the form below. A snapshot of another version is not read: the log is folded instead.
pub const SNAPSHOT_VERSION: u16 = 4;

/// The state of one agent through `agent.event_seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    pub version: u16,
    /// The build that folded it, where one says so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub build: String,
    pub agent: Agent,
}

/// What a snapshot says of itself before its state is read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SnapshotHeader {
    pub version: u16,
    #[serde(default)]
    pub build: String,
}

/// A snapshot that can't be used; the log can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the snapshot has version {got}, this build reads {SNAPSHOT_VERSION}")]
    Version { got: u16 },
    /// Another build may fold otherwise.
    #[error("the snapshot is of the build {got:?}")]
    Build { got: String },
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

impl SnapshotHeader {
    /// # Errors
    /// It is damaged.
    pub fn decode(text: &str) -> Result<Self, SnapshotError> {
        serde_json::from_str(text).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }
}

impl AgentSnapshot {
    pub fn of(agent: &Agent) -> Self {
        Self { version: SNAPSHOT_VERSION, build: String::new(), agent: agent.clone() }
    }

    /// The same, folded by a build of that name.
    #[must_use]
    pub fn by(self, build: &str) -> Self {
        Self { build: build.to_string(), ..self }
    }

    pub fn encode(&self) -> Result<String, SnapshotError> {
        serde_json::to_string(self).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }

    /// # Errors
    /// It has another form, or is damaged.
    pub fn decode(text: &str) -> Result<Self, SnapshotError> {
        let header = SnapshotHeader::decode(text)?;
        if header.version != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version { got: header.version });
        }
        serde_json::from_str(text).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }
}
