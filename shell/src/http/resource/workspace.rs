//! The folder that a new agent works in.

use std::path::Path;

use holon_api::Code;
use holon_facts::workspace::ExecutionBinding;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::Handled;
use crate::workplace::{self, Folder, WorkplaceError};

/// Where commands run: `cwd` inside the workspace, both as they really are; none when none was asked for.
///
/// # Errors
/// A folder that is none, can't be read, is not named from the root, or lies outside.
pub(super) fn asked(workspace: Option<&str>, cwd: Option<&str>) -> Handled<Option<ExecutionBinding>> {
    let root = match (workspace, cwd) {
        (Some(workspace), _) => named("workspace_root", workspace)?,
        (None, Some(_)) => {
            let problem = "cwd: it lies inside of a `workspace_root`: name that, too";
            return Err(Failure::new(Code::InvalidWorkspace, problem).detail("field", "cwd"));
        }
        (None, None) => return Ok(None),
    };
    let cwd = cwd.map_or(Ok(root), |path| named("cwd", path))?;
    Ok(Some(workplace::bind(root, cwd).map_err(|error| unusable(error, "workspace_root"))?))
}

/// The agent's own home.
pub(super) fn own(home: &Path) -> Handled<ExecutionBinding> {
    workplace::agent_home(home).map_err(|error| unusable(error, "workspace_root"))
}

pub(super) fn named<'a>(field: &'static str, path: &'a str) -> Handled<&'a Path> {
    let path = Path::new(path);
    if path.is_absolute() {
        return Ok(path);
    }
    // The runtime's own folder says nothing to whoever asks.
    let problem = format!("{field}: {} does not begin at the root", path.display());
    Err(Failure::new(Code::InvalidBody, problem).detail("field", field))
}

/// An agent is to have a folder, as a field has named it: where it is of this machine alone, only such nodes own its cell from
/// now on.
pub(super) async fn had(app: &App, execution: &ExecutionBinding, field: &'static str) -> Handled<()> {
    app.roots.bind(&execution.execution_root).await.map_err(|error| {
        Failure::new(Code::InvalidWorkspace, format!("{field}: {error}"))
            .detail("field", field)
            .hint(error.hint())
    })
}

#[expect(clippy::needless_pass_by_value, reason = "an error is turned into another")]
pub(super) fn unusable(error: WorkplaceError, root: &'static str) -> Box<Failure> {
    let field = match error.folder() {
        Folder::Workspace => root,
        Folder::Cwd => "cwd",
    };
    Failure::new(Code::InvalidWorkspace, format!("{field}: {error}")).detail("field", field)
}
