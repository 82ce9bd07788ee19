//! From a folder that somebody names to where an agent works: the anchor that stands for the project, the execution root,
//! and where commands start (contract: tasks.md, Workspaces).

use std::path::{Path, PathBuf};

use holon_facts::workspace::{ExecutionBinding, ProjectionKind};

use super::repository::Repository;
use super::{Folder, WorkplaceError, inside, real, text};

/// What is looked for, and for whom.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// What a relative path is relative to.
    pub from: &'a Path,
    /// The agent's own home.
    pub home: &'a Path,
    /// Anchors of the workspaces that the agent knows.
    pub attached: &'a [String],
}

impl Search<'_> {
    /// A folder as somebody named it. In a git repository its top is the root; commands start in the folder itself.
    ///
    /// # Errors
    /// A folder that is none or can't be read, or a `cwd` outside of the root.
    pub fn path(&self, path: &str, cwd: Option<&str>) -> Result<ExecutionBinding, WorkplaceError> {
        let found = real(Folder::Workspace, &self.from.join(path))?;
        if self.home.canonicalize().is_ok_and(|home| home == found) {
            return self.agent_home(cwd);
        }
        let repository = Repository::around(&found);
        let root = repository.as_ref().map_or(found.as_path(), |repository| repository.top.as_path());
        let root = real(Folder::Workspace, root)?;
        let cwd = match cwd {
            Some(cwd) => inside(&root, &root.join(cwd))?,
            None => found.clone(),
        };
        let binding = ExecutionBinding::project(text(&root), text(&cwd));
        // A worktree of a project that is known is that project, elsewhere.
        let parent = repository.and_then(|repository| repository.main).map(|main| text(&main));
        Ok(match parent.filter(|parent| self.attached.contains(parent)) {
            Some(workspace_anchor) => ExecutionBinding {
                workspace_anchor,
                projection_kind: ProjectionKind::GitWorktreeRoot,
                ..binding
            },
            None => binding,
        })
    }

    /// A workspace that the agent knows, by its anchor.
    ///
    /// # Errors
    /// As for a path; the folder may be gone.
    pub fn attached(&self, anchor: &str, cwd: Option<&str>) -> Result<ExecutionBinding, WorkplaceError> {
        let root = real(Folder::Workspace, Path::new(anchor))?;
        let cwd = inside(&root, &cwd.map_or_else(|| root.clone(), |cwd| root.join(cwd)))?;
        // Its name stays, wherever a link of that name leads by now.
        let workspace_anchor = anchor.to_owned();
        Ok(ExecutionBinding { workspace_anchor, ..ExecutionBinding::project(text(&root), text(&cwd)) })
    }

    /// The agent's own home.
    ///
    /// # Errors
    /// As for a path.
    pub fn agent_home(&self, cwd: Option<&str>) -> Result<ExecutionBinding, WorkplaceError> {
        let home: PathBuf = real(Folder::Workspace, self.home)?;
        let cwd = inside(&home, &cwd.map_or_else(|| home.clone(), |cwd| home.join(cwd)))?;
        Ok(ExecutionBinding { cwd: text(&cwd), ..ExecutionBinding::agent_home(text(&home)) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use holon_facts::workspace::WorkspaceKind;

    use super::*;

    struct Place {
        folder: tempfile::TempDir,
        attached: Vec<String>,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["home", "plain/sub", "repo/src"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            Self { folder, attached: Vec::new() }
        }

        fn path(&self, name: &str) -> String {
            text(&self.folder.path().canonicalize().unwrap().join(name))
        }

        fn find<T>(&self, find: impl FnOnce(Search<'_>) -> T) -> T {
            let (from, home) = (self.folder.path().to_owned(), self.folder.path().join("home"));
            find(Search { from: &from, home: &home, attached: &self.attached })
        }

        fn git(&self, at: &str, arguments: &[&str]) {
            let done = Command::new("git")
                .args(["-c", "user.name=x", "-c", "user.email=x@x", "-C", &self.path(at)])
                .args(arguments)
                .output()
                .unwrap();
            assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }

    #[test]
    fn a_folder_is_a_workspace_of_its_own_and_a_repository_begins_at_its_top() {
        let place = Place::new();
        let plain = place.find(|search| search.path("plain/sub", None)).unwrap();
        assert_eq!((plain.execution_root, plain.cwd), (place.path("plain/sub"), place.path("plain/sub")));
        place.git("repo", &["init", "-q"]);
        let repo = place.find(|search| search.path("repo/src", None)).unwrap();
        assert_eq!(
            (&repo.workspace_anchor, &repo.execution_root),
            (&place.path("repo"), &place.path("repo"))
        );
        assert_eq!(repo.cwd, place.path("repo/src"));
        let top = place.find(|search| search.path("repo/src", Some("."))).unwrap();
        assert_eq!(top.cwd, place.path("repo"));
        let home = place.find(|search| search.path("home", None)).unwrap();
        assert_eq!(home.kind, WorkspaceKind::AgentHome);
        assert_eq!(home, place.find(|search| search.agent_home(None)).unwrap());
    }

    #[test]
    fn a_worktree_of_a_known_repository_is_that_project() {
        let mut place = Place::new();
        place.git("repo", &["init", "-q"]);
        place.git("repo", &["commit", "-q", "--allow-empty", "-m", "x"]);
        place.git("repo", &["worktree", "add", "-q", &place.path("tree"), "-b", "other"]);
        let alone = place.find(|search| search.path("tree", None)).unwrap();
        assert_eq!(alone.workspace_anchor, place.path("tree"));
        place.attached = vec![place.path("repo")];
        let known = place.find(|search| search.path("tree", None)).unwrap();
        assert_eq!(known.workspace_anchor, place.path("repo"));
        assert_eq!(known.execution_root, place.path("tree"));
        assert_eq!(known.projection_kind, ProjectionKind::GitWorktreeRoot);
        let back = place.find(|search| search.attached(&place.path("repo"), Some("src"))).unwrap();
        assert_eq!((back.execution_root, back.cwd), (place.path("repo"), place.path("repo/src")));
    }

    #[test]
    fn nobody_starts_outside_of_the_root() {
        let place = Place::new();
        symlink(place.path("repo"), place.path("plain/out")).unwrap();
        for cwd in ["..", "out", "/", "sub/../.."] {
            let refused = place.find(|search| search.path("plain", Some(cwd))).unwrap_err();
            assert!(matches!(refused, WorkplaceError::Outside { .. }), "{cwd}: {refused}");
        }
        for (path, cwd) in [("nowhere", None), ("plain", Some("nowhere"))] {
            let refused = place.find(|search| search.path(path, cwd)).unwrap_err();
            assert!(matches!(refused, WorkplaceError::Missing { .. }), "{path}: {refused}");
        }
    }
}
