//! The folder that a new agent works in.

use std::path::{Path, PathBuf};

use holon_core::agent::identity::ExecutionBinding;
use rustix::fs::{Access, access};

use super::super::code::Code;
use super::super::failure::Failure;
use super::super::route::Handled;

/// Where commands run: `cwd` inside the workspace, both as they really are; none when none was asked for.
///
/// # Errors
/// A folder that is none, can't be read, is not named from the root, or lies outside.
pub(super) fn asked(workspace: Option<&str>, cwd: Option<&str>) -> Handled<Option<ExecutionBinding>> {
    let root = match (workspace, cwd) {
        (Some(workspace), _) => named("workspace_root", workspace)?,
        (None, Some(_)) => {
            return Err(invalid("cwd", "it lies inside of a `workspace_root`: name that, too".into()));
        }
        (None, None) => return Ok(None),
    };
    let cwd = cwd.map_or_else(|| Ok(root.clone()), |path| named("cwd", path))?;
    if cwd.starts_with(&root) {
        return Ok(Some(binding(&root, &cwd)));
    }
    Err(invalid("cwd", format!("{} is outside of {}", cwd.display(), root.display())))
}

/// The agent's own home.
pub(super) fn own(home: &Path) -> Handled<ExecutionBinding> {
    let home = real("workspace_root", home)?;
    Ok(binding(&home, &home))
}

fn binding(root: &Path, cwd: &Path) -> ExecutionBinding {
    let text = |path: &Path| path.display().to_string();
    ExecutionBinding { workspace_anchor: text(root), execution_root: text(root), cwd: text(cwd) }
}

fn named(field: &'static str, path: &str) -> Handled<PathBuf> {
    let path = Path::new(path);
    if !path.is_absolute() {
        // The runtime's own folder says nothing to whoever asks.
        let problem = format!("{field}: {} does not begin at the root", path.display());
        return Err(Failure::new(Code::InvalidBody, problem).detail("field", field));
    }
    real(field, path)
}

fn real(field: &'static str, path: &Path) -> Handled<PathBuf> {
    let shown = path.display();
    let real = path
        .canonicalize()
        .map_err(|error| invalid(field, format!("{shown} is not a folder to work in: {error}")))?;
    if !real.is_dir() {
        return Err(invalid(field, format!("{shown} is not a folder to work in: it is a file")));
    }
    // It becomes part of prompts and records, which are text.
    if real.to_str().is_none() {
        return Err(invalid(field, format!("{shown} is not UTF-8")));
    }
    access(&real, Access::READ_OK | Access::EXEC_OK)
        .map_err(|error| invalid(field, format!("{shown} can't be read: {error}")))?;
    Ok(real)
}

fn invalid(field: &'static str, problem: String) -> Box<Failure> {
    Failure::new(Code::InvalidWorkspace, format!("{field}: {problem}")).detail("field", field)
}
