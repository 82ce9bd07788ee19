//! The folder that an agent wants to work in.

use std::path::{Path, PathBuf};

use holon_core::effect::WorkspaceTarget;
use holon_facts::receipt::ToolErrorKind;
use holon_facts::workspace::ExecutionBinding;
use holon_supervise::confine::Confinement;

use super::Refusal;
use crate::workplace::{self, Folder, Search, WorkplaceError};

/// Where an agent is to work, and the repository that it is part of.
#[derive(Debug)]
pub(in crate::perform) struct ResolvedWorkspace {
    pub(in crate::perform) execution: ExecutionBinding,
    /// What stands for the project. It is looked for once: a command could change what leads there.
    pub(in crate::perform) project: PathBuf,
}

pub(in crate::perform) fn find(
    search: Search<'_>,
    target: &WorkspaceTarget,
    cwd: Option<&str>,
    confinement: Option<&Confinement>,
) -> Result<ResolvedWorkspace, Refusal> {
    let (found, field) = match target {
        WorkspaceTarget::Path { path } => (search.path(path, cwd), "path"),
        WorkspaceTarget::Attached { anchor } => (search.attached(anchor, cwd), "workspace_id"),
        WorkspaceTarget::AgentHome => (search.agent_home(cwd), "workspace_id"),
    };
    let execution = found.map_err(|error| refused(&error, field))?;
    let root = PathBuf::from(&execution.execution_root);
    let project = workplace::anchor_of(&root).unwrap_or_else(|| root.clone());
    if let Some(confinement) = confinement {
        // Whoever could go anywhere could write anywhere. A worktree is made of what stands for the project.
        let home = search.home.canonicalize().unwrap_or_else(|_| search.home.to_owned());
        let strange = |folder: &&PathBuf| !confinement.may_use(folder, search.attached, &home);
        if let Some(strange) = [&root, &project].into_iter().find(strange) {
            return Err(out_of_bounds(strange).field(field));
        }
    }
    Ok(ResolvedWorkspace { execution, project })
}

fn out_of_bounds(folder: &Path) -> Refusal {
    let message = format!(
        "{} is outside of the workspaces that this agent knows, and it is confined to them",
        folder.display()
    );
    Refusal::new(ToolErrorKind::ExecutionRootViolation, message)
        .hint("ask the operator to let you know the folder: holon workspace attach")
}

fn refused(error: &WorkplaceError, field: &str) -> Refusal {
    let (kind, hint) = match error {
        WorkplaceError::Outside { .. } => {
            (ToolErrorKind::ExecutionRootViolation, "name a folder inside of the execution root")
        }
        WorkplaceError::Missing { .. }
        | WorkplaceError::File { .. }
        | WorkplaceError::NotText { .. }
        | WorkplaceError::Closed { .. } => {
            (ToolErrorKind::InvalidToolInput, "name a folder that is there and can be read")
        }
    };
    let field = match error.folder() {
        Folder::Workspace => field,
        Folder::Cwd => "cwd",
    };
    Refusal::new(kind, error.to_string()).hint(hint).field(field)
}
