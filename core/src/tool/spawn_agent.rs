//! Another agent.

pub(super) use holon_facts::call::SpawnAgent;
use holon_facts::call::{MESSAGE_BYTES, SpawnPreset};
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use holon_facts::workspace::WorkspaceMode;

use super::BuiltIn;
use super::check::{self, invalid};

impl BuiltIn for SpawnAgent {
    const DESCRIPTION: &'static str = "\
        Begin another agent. A private child works on its own beside you: it sees nothing of what you know but its \
        initial message, and what it says last comes to you as the result of a task (TaskStatus, TaskInput to tell it \
        more, TaskStop). You are its operator: it asks you when it can't go on. With workspace_mode worktree it begins at \
        the last commit, and what it leaves on its branch stays for you to look at. With preset public_named you make an \
        agent of its own, which reports to operators and not to you.";

    fn check(&self) -> Result<(), ToolError> {
        let hint = "details belong into a file, which it can name";
        if let Some(message) = &self.initial_message {
            check::filled("initial_message", message, MESSAGE_BYTES, hint)?;
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

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Spawn(self)))
    }
}
