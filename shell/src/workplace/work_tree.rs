//! How many files of a working tree differ from its last commit.

use std::path::Path;
use std::time::Duration;

use holon_facts::execution::{WorkTree, WorkTreeUnknown};
use holon_platform::Environment;
use tokio::sync::watch;
use tokio::time::timeout;

use super::HeldBack;
use super::git::{Git, GitError, args};

/// How long git may count: a turn waits for it.
const LIMIT: Duration = Duration::from_secs(2);
/// A line for each file and each submodule that stands elsewhere, and one for an untracked folder.
const STATUS: [&str; 6] =
    ["status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty", "--no-renames"];

/// Asks git, for two seconds at most.
pub async fn work_tree(folder: &Path, held_back: HeldBack<'_>, installed: bool) -> WorkTree {
    if !installed {
        return WorkTree::Unknown { reason: WorkTreeUnknown::NoGit };
    }
    match timeout(LIMIT, count(folder, held_back)).await {
        Ok(Ok(0)) => WorkTree::Clean,
        Ok(Ok(files)) => WorkTree::Changed { files },
        Ok(Err(GitError::Missing)) => WorkTree::Unknown { reason: WorkTreeUnknown::NoGit },
        Ok(Err(GitError::Slow { .. } | GitError::Busy { .. })) | Err(_) => {
            WorkTree::Unknown { reason: WorkTreeUnknown::Slow }
        }
        Ok(Err(
            GitError::Start(_)
            | GitError::Lost { .. }
            | GitError::Unwanted
            | GitError::Refused { .. }
            | GitError::Garbled { .. },
        )) => WorkTree::Unknown { reason: WorkTreeUnknown::Refused },
    }
}

async fn count(folder: &Path, held_back: HeldBack<'_>) -> Result<u64, GitError> {
    let (asker, wanted) = watch::channel(());
    let helper = held_back.helper(folder, folder);
    let git = Git::begin(folder, &Environment::of_process(), helper, wanted).await?;
    let printed = git.run(folder, &args(&STATUS)).await?;
    drop(asker);
    Ok(printed.zeros)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let done = Command::new("git").arg("-C").arg(folder).args(who).args(arguments).status();
        assert!(done.unwrap().success(), "{arguments:?}");
    }

    #[tokio::test]
    async fn files_are_counted_as_git_does() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path();
        let counted = async || {
            // Without the binary nothing is held back, which a test of the crate does not have.
            let (asker, wanted) = watch::channel(());
            let git = Git::begin(top, &Environment::of_process(), None, wanted).await.unwrap();
            let printed = git.run(top, &args(&STATUS)).await.unwrap();
            drop(asker);
            printed.zeros
        };
        git(top, &["init", "-q"]);
        assert_eq!(counted().await, 0);
        fs::write(top.join("a"), "1").unwrap();
        fs::write(top.join(".gitignore"), "ignored\n").unwrap();
        git(top, &["add", "."]);
        git(top, &["commit", "-q", "-m", "first"]);
        assert_eq!(counted().await, 0);
        fs::rename(top.join("a"), top.join("b")).unwrap();
        fs::create_dir(top.join("new")).unwrap();
        for name in ["ignored", "new/1", "new/2", "a line\nand another"] {
            fs::write(top.join(name), "x").unwrap();
        }
        assert_eq!(counted().await, 4, "a, b, new/, and a name of two lines");
    }

    #[tokio::test]
    async fn a_submodule_that_stands_elsewhere_counts() {
        let place = tempfile::tempdir().unwrap();
        let (top, other) = (place.path().join("top"), place.path().join("other"));
        for folder in [&top, &other] {
            fs::create_dir(folder).unwrap();
            git(folder, &["init", "-q"]);
            git(folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
        }
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
        git(&top, &[&add[..], &[other.to_str().unwrap(), "lib"]].concat());
        git(&top, &["commit", "-q", "-m", "second"]);
        let counted = async || {
            let (asker, wanted) = watch::channel(());
            let git = Git::begin(&top, &Environment::of_process(), None, wanted).await.unwrap();
            let printed = git.run(&top, &args(&STATUS)).await.unwrap();
            drop(asker);
            printed.zeros
        };
        assert_eq!(counted().await, 0);
        git(&top.join("lib"), &["commit", "-q", "--allow-empty", "-m", "more"]);
        assert_eq!(counted().await, 1);
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_not_asked() {
        let place = tempfile::tempdir().unwrap();
        let held_back = HeldBack { supervisor: Path::new("holon"), policy: None };
        let counted = work_tree(place.path(), held_back, false).await;
        assert_eq!(counted, WorkTree::Unknown { reason: WorkTreeUnknown::NoGit });
    }
}
