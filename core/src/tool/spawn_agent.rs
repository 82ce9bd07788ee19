//! Another agent.

pub(super) use holon_facts::call::SpawnAgent;
use holon_facts::call::{MESSAGE_BYTES, SpawnPreset};
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use holon_facts::workspace::WorkspaceMode;

use super::BuiltIn;
use super::check::{self, invalid};

impl BuiltIn for SpawnAgent {
    const DESCRIPTION: &'static str = "\
        Start another agent for work that can go on in parallel or would fill your context; do small things yourself. \
        A private child knows only its initial_message: state the task, how to verify it and what to report. You are \
        its operator. Its last text comes to you as the result of a task; TaskInput sends it more, TaskStop ends it. With \
        workspace_mode worktree it works on a branch of its own from the last commit, which stays for you to inspect. \
        public_named starts an independent agent that reports to operators.";

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
