//! An agent's state at one position of its log, as JSON. Snapshot and tail give what the whole log gives.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// Version of the form below. A snapshot of another version is not read: the log is folded instead.
pub const SNAPSHOT_VERSION: u16 = 3;

/// The state of one agent through `agent.event_seq`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSnapshot {
    pub version: u16,
    pub agent: Agent,
}

/// A snapshot that can't be used; the log can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the snapshot has version {got}, this build reads {SNAPSHOT_VERSION}")]
    Version { got: u16 },
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

impl AgentSnapshot {
    pub fn of(agent: &Agent) -> Self {
        Self { version: SNAPSHOT_VERSION, agent: agent.clone() }
    }

    pub fn encode(&self) -> Result<String, SnapshotError> {
        serde_json::to_string(self).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }

    pub fn decode(text: &str) -> Result<Self, SnapshotError> {
        #[derive(Deserialize)]
        struct Header {
            version: u16,
        }
        let damaged = |error: serde_json::Error| SnapshotError::Damaged(error.to_string());
        let header: Header = serde_json::from_str(text).map_err(damaged)?;
        if header.version != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version { got: header.version });
        }
        serde_json::from_str(text).map_err(damaged)
    }
}
