//! Who an agent is and where it works.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, EventSeq};
use crate::names::names;

names! { AgentKind { Default "default", Named "named", Child "child" } }
names! { Visibility { Public "public", Private "private" } }
names! { Ownership { SelfOwned "self_owned", ParentSupervised "parent_supervised" } }
names! { ProfilePreset { PublicNamed "public_named", PrivateChild "private_child" } }

/// What is fixed when an agent is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSpec {
    pub kind: AgentKind,
    pub visibility: Visibility,
    pub ownership: Ownership,
    pub profile_preset: ProfilePreset,
    /// Who created it; audit only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lineage_parent_agent_id: Option<AgentId>,
    /// Of whose log its own begins as a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    pub execution: ExecutionBinding,
}

/// An agent at a past event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    pub agent_id: AgentId,
    /// The last event that was copied.
    pub event_seq: EventSeq,
}

/// Where an agent's tools run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionBinding {
    /// Stable project identity; workspace instructions are read from here.
    pub workspace_anchor: String,
    /// The folder that `cwd` stays inside.
    pub execution_root: String,
    pub cwd: String,
}

impl AgentSpec {
    /// A public agent of its own.
    pub fn named(kind: AgentKind, execution: ExecutionBinding) -> Self {
        Self {
            kind,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            forked_from: None,
            execution,
        }
    }
}
