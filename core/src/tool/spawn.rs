//! The argument type of the tool that begins other agents.

use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{Check, invalid};
use super::receipt::ToolError;
use crate::agent::task::WorkspaceMode;
use crate::ids::AgentId;
use crate::model::ModelRef;

/// Most bytes of what another agent is told.
pub const MESSAGE_BYTES: usize = 16 * 1024;

/// Begin another agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    /// What it is told first, and what it is to report; needed for a child. At most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_message: Option<String>,
    /// What kind of agent.
    #[serde(default)]
    pub preset: SpawnPreset,
    /// Its name; only of a public one, which needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Where a child works: where this agent does, or in a git worktree of that repository, on a branch of its own.
    #[serde(default, skip_serializing_if = "WorkspaceMode::is_inherit")]
    pub workspace_mode: WorkspaceMode,
    /// The model that it asks first, as provider/name; the one of this agent when omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
}

/// What kind of agent a call begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpawnPreset {
    /// A private one under supervision, whose result comes as the result of a task.
    #[default]
    PrivateChild,
    /// One of its own, which answers to operators.
    PublicNamed,
}

impl Check for SpawnAgent {
    fn check(&self) -> Result<(), ToolError> {
        let bytes = self.initial_message.as_ref().map_or(0, String::len);
        let blank = self.initial_message.as_ref().is_some_and(|message| message.trim().is_empty());
        if blank || bytes > MESSAGE_BYTES {
            let problem = format!("has {bytes} bytes, expected 1 to {MESSAGE_BYTES}");
            return Err(invalid(
                "initial_message",
                &problem,
                "details belong into a file, which it can name",
            ));
        }
        if self.preset == SpawnPreset::PrivateChild && self.agent_id.is_some() {
            let hint = "leave it out, or take preset public_named";
            return Err(invalid("agent_id", "can't be chosen for a child", hint));
        }
        if self.preset == SpawnPreset::PublicNamed && self.workspace_mode == WorkspaceMode::Worktree {
            let hint = "leave it out: a public agent begins in its own home, and goes elsewhere by itself";
            return Err(invalid("workspace_mode", "is for children", hint));
        }
        Ok(())
    }
}
