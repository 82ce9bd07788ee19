//! Where an agent works.


pub(super) use holon_facts::call::UseWorkspace;
use holon_facts::call::{WorkMode};
use holon_facts::receipt::{SelfCall, ToolError, Verdict};
use holon_facts::workspace::WorkspaceId;

use super::BuiltIn;
use super::check::{self, invalid};

/// Most bytes of a path in a call.
const PATH_BYTES: usize = 4096;
/// Most bytes of what a worktree is called.
const LABEL_BYTES: usize = 64;

impl BuiltIn for UseWorkspace {
    const DESCRIPTION: &'static str = "\
        Work in another folder from now on, or go back to your own home. Not needed for a subfolder: use workdir. \
        Commands and patches stay inside its execution root, and no other agent works there meanwhile. mode isolated makes \
        a git worktree on a branch of its own, from the last commit.";

    fn check(&self) -> Result<(), ToolError> {
        let hint = "name a folder, or a workspace that you have used before";
        match (&self.path, &self.workspace_id) {
            (Some(_), None) | (None, Some(_)) => {}
            (Some(_), Some(_)) => {
                return Err(invalid("workspace_id", "stands beside path", "leave one of them out"));
            }
            (None, None) => return Err(invalid("path", "is missing, and so is workspace_id", hint)),
        }
        let isolated = self.mode == WorkMode::Isolated;
        if isolated && self.workspace_id.as_ref().is_some_and(WorkspaceId::is_agent_home) {
            return Err(invalid("mode", "is for git repositories", "name the repository"));
        }
        if let Some(label) = &self.isolation_label {
            let hint = "a word, of a worktree (mode isolated)";
            if !isolated || label.trim().is_empty() || label.len() > LABEL_BYTES {
                let problem =
                    format!("has {} bytes, expected 1 to {LABEL_BYTES} with mode isolated", label.len());
                return Err(invalid("isolation_label", &problem, hint));
            }
        }
        for (field, path) in [("path", &self.path), ("cwd", &self.cwd)] {
            let Some(path) = path else { continue };
            check::filled(field, path, PATH_BYTES, hint)?;
        }
        Ok(())
    }

    fn verdict(self) -> Result<Verdict, ToolError> {
        Ok(Verdict::OnSelf(SelfCall::Workspace(self)))
    }
}
