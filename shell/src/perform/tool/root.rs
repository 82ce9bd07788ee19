//! The execution root: the folder that tools stay inside.

use std::path::{Component, Path, PathBuf};

use holon_facts::receipt::ToolErrorKind;

use super::Refusal;

/// Parts that a path below the root may have: whoever lists a folder goes down so far.
const PARTS: usize = 64;
/// Characters of a path that are shown where it has more.
const SHOWN: usize = 80;

/// A root with all symbolic links resolved, and as it was given.
#[derive(Debug)]
pub(super) struct Root(PathBuf, PathBuf);

impl Root {
    /// `confined`: the folder must be what was bound, and not a link that has taken its place.
    pub(super) fn open(path: &str, confined: bool) -> Result<Self, Refusal> {
        let refusal = |problem: &str| {
            let message = format!("the execution root {path} can't be opened: {problem}");
            Refusal::new(ToolErrorKind::ExecutionRootViolation, message)
                .hint(
                    "UseWorkspace with workspace_id agent_home leads to your own home; the operator has to restore the \
                     folder, or: holon workspace use agent_home",
                )
                .retryable(false)
        };
        let root = Path::new(path).canonicalize().map_err(|problem| refusal(&problem.to_string()))?;
        if confined && root != Path::new(path) {
            return Err(refusal("a link has taken its place"));
        }
        Ok(Self(root, PathBuf::from(path)))
    }

    /// An absolute path inside the root, relative to it; none of any other path.
    pub(super) fn relative(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let inside = path.strip_prefix(&self.0).or_else(|_| path.strip_prefix(&self.1)).ok()?;
        inside.to_str().map(ToOwned::to_owned)
    }

    /// A folder to run in: `cwd`, or `workdir` relative to it.
    pub(super) fn folder(&self, cwd: &str, workdir: Option<&str>) -> Result<PathBuf, Refusal> {
        let wanted = Path::new(cwd).join(workdir.unwrap_or_default());
        let shown = wanted.display();
        let found = wanted.canonicalize().map_err(|problem| {
            Refusal::new(
                ToolErrorKind::CommandSpawnFailed,
                format!("the folder {shown} can't be opened: {problem}"),
            )
            .hint("workdir is relative to the current folder; list it to see what is there")
            .field("workdir")
        })?;
        if !found.starts_with(&self.0) {
            return Err(self.left(&shown.to_string()).field("workdir"));
        }
        if !found.is_dir() {
            let message = format!("{shown} is not a folder");
            return Err(Refusal::new(ToolErrorKind::CommandSpawnFailed, message).field("workdir"));
        }
        Ok(found)
    }

    /// The place of a file that may not exist yet, from a path relative to the root. The last component is
    /// not followed when it is a link; its folders are.
    pub(super) fn file(&self, path: &str) -> Result<PathBuf, Refusal> {
        let relative = Path::new(path);
        let plain =
            relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let (Some(name), true) = (relative.file_name(), plain && !path.contains('\0')) else {
            return Err(self.left(path));
        };
        if relative.components().count() > PARTS {
            let begins: String = path.chars().take(SHOWN).collect();
            let message = format!("{begins}…: the path has more than {PARTS} parts");
            return Err(Refusal::new(ToolErrorKind::PatchRejected, message).hint("choose a shorter path"));
        }
        let mut folder = self.0.clone();
        for part in relative.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            match folder.symlink_metadata() {
                Ok(_) => {
                    folder = folder.canonicalize().map_err(|problem| {
                        let message = format!("{path}: {} can't be opened: {problem}", folder.display());
                        Refusal::new(ToolErrorKind::ExecutionRootViolation, message)
                    })?;
                    if !folder.starts_with(&self.0) {
                        return Err(self.left(path));
                    }
                }
                Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {}
                Err(problem) if problem.kind() == std::io::ErrorKind::NotADirectory => {
                    return Err(not_a_folder(path));
                }
                Err(problem) => {
                    let message = format!("{path}: {} can't be read: {problem}", folder.display());
                    return Err(Refusal::new(ToolErrorKind::ToolExecutionFailed, message));
                }
            }
        }
        if folder.symlink_metadata().is_ok_and(|about| !about.is_dir()) {
            return Err(not_a_folder(path));
        }
        Ok(folder.join(name))
    }

    /// Where a link inside the root leads to, if that is inside as well.
    pub(super) fn follow(&self, path: &str, link: &Path) -> Result<PathBuf, Refusal> {
        match link.canonicalize() {
            Ok(target) if target.starts_with(&self.0) => Ok(target),
            Ok(_) | Err(_) => Err(self.left(path)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn left(&self, path: &str) -> Refusal {
        let message = format!("{path} leads out of the execution root {}", self.0.display());
        Refusal::new(ToolErrorKind::ExecutionRootViolation, message)
            .hint("use a relative path without .. that stays inside the execution root")
    }
}

fn not_a_folder(path: &str) -> Refusal {
    let message = format!("{path}: a part of the path before its name is a file, not a folder");
    Refusal::new(ToolErrorKind::PatchRejected, message).hint("list what is there, and choose another path")
}
