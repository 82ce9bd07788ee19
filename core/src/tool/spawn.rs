//! The argument type of the tool that begins other agents.

use alloc::format;
use alloc::string::String;

use holon_facts::call::{MESSAGE_BYTES, SpawnAgent, SpawnPreset};
use holon_facts::receipt::ToolError;
use holon_facts::workspace::WorkspaceMode;

use super::arguments::{Check, invalid};

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
