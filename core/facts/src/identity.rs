//! Who an agent is and where it works.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, EventSeq, TaskId};
use crate::label::Description;
use crate::model_ref::ModelRef;
use crate::template::AgentTemplate;
use crate::workspace::ExecutionBinding;

names! { AgentKind { Default "default", Named "named", Child "child" } }

names! { Visibility { Public "public", Private "private" } }

names! { Ownership { SelfOwned "self_owned", ParentSupervised "parent_supervised" } }

names! { ProfilePreset { PublicNamed "public_named", PrivateChild "private_child" } }

/// What is fixed when an agent is created.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpec {
    pub kind: AgentKind,
    pub visibility: Visibility,
    pub ownership: Ownership,
    pub profile_preset: ProfilePreset,
    /// Who created it; audit only.
    pub lineage_parent_agent_id: Option<AgentId>,
    /// Who supervises it; none for those that look after themselves.
    pub supervisor: Option<Supervisor>,
    /// How many supervisors there are above it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub depth: u32,
    /// Of whose log its own begins as a copy.
    pub forked_from: Option<ForkedFrom>,
    /// Who is at the top of its supervision tree; none is itself.
    pub tree: Option<AgentId>,
    /// It works in a worktree of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub isolated: bool,
    /// Where it works first.
    pub execution: ExecutionBinding,
    /// Anchors of its other workspaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// What its home was made from; none is the runtime's default.
    pub template: Option<AgentTemplate>,
    /// Those of them, and of where it works first, that no operator has named: whoever created it had chosen them itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untrusted: Vec<String>,
}

/// What a new agent begins with and an operator may change at any time: recorded in the step that creates it.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialSettings {
    /// Asked first instead of the runtime's own.
    pub model: Option<ModelRef>,
    /// What the agent is for.
    pub description: Option<Description>,
}

/// An agent at a past event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    pub agent_id: AgentId,
    /// The last event that was copied.
    pub event_seq: EventSeq,
    /// Whether the first answer after it was given by whoever made the copy, and not by a model.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub answer_given: bool,
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
            supervisor: None,
            depth: 0,
            forked_from: None,
            tree: None,
            isolated: false,
            execution,
            attached: Vec::new(),
            template: None,
            untrusted: Vec::new(),
        }
    }

    /// Skills of the user are for the default agent alone.
    pub fn has_user_skills(&self) -> bool {
        self.kind == AgentKind::Default
    }

    /// It lives for one run (`holon run` without `--agent`): nobody knows it by name, and nobody waits for it.
    pub fn is_temporary(&self) -> bool {
        self.visibility == Visibility::Private && self.supervisor.is_none()
    }
}

/// Who supervises an agent, and as which task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Supervisor {
    pub agent_id: AgentId,
    pub task_id: TaskId,
}
