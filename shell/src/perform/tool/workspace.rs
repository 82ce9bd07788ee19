//! The folder that an agent wants to work in.

use holon_core::agent::workspace::ExecutionBinding;
use holon_core::effect::WorkspaceTarget;
use holon_core::tool::ToolErrorKind;

use super::Refusal;
use crate::workplace::{Folder, Search, WorkplaceError};

pub(in crate::perform) fn find(
    search: Search<'_>,
    target: &WorkspaceTarget,
    cwd: Option<&str>,
) -> Result<ExecutionBinding, Refusal> {
    let (found, field) = match target {
        WorkspaceTarget::Path { path } => (search.path(path, cwd), "path"),
        WorkspaceTarget::Attached { anchor } => (search.attached(anchor, cwd), "workspace_id"),
        WorkspaceTarget::AgentHome => (search.agent_home(cwd), "workspace_id"),
    };
    found.map_err(|error| refused(&error, field))
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
