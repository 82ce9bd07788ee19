//! Against the real program, in real repositories.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;

fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(arguments)
        .current_dir(folder)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}

/// A repository with three files and a folder.
fn repository() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir(top.join("sub")).unwrap();
    for name in ["a", "b", "c d", "sub/e"] {
        fs::write(top.join(name), name).unwrap();
    }
    git(&top, &["init", "-q"]);
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "start"]);
    (folder, top)
}

fn environment() -> Environment {
    Environment::new([("PATH".to_owned(), env!("PATH").to_owned())])
}

async fn seen(workspace: &Path, work: impl FnOnce()) -> Changes {
    let (before, gate) = Before::look(workspace, &environment(), None);
    gate.opened().await;
    work();
    before.changes(workspace).await
}

fn files(names: &[&str]) -> Changes {
    Changes::Files(names.iter().map(|name| (*name).to_owned()).collect())
}

#[tokio::test]
async fn modified_new_deleted_and_moved_files() {
    let (_folder, top) = repository();
    let changes = seen(&top, || {
        fs::write(top.join("a"), "other").unwrap();
        fs::remove_file(top.join("b")).unwrap();
        fs::rename(top.join("c d"), top.join("sub/c d")).unwrap();
        fs::write(top.join("ünïcode"), "").unwrap();
    });
    assert_eq!(changes.await, files(&["a", "b", "c d", "sub/c d", "ünïcode"]));
}

#[tokio::test]
async fn a_submodule_that_stands_elsewhere() {
    let ((_other, other), (_folder, top)) = (repository(), repository());
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    git(&top, &[&add[..], &[other.to_str().unwrap(), "lib"]].concat());
    git(&top, &["commit", "-qm", "submodule"]);
    let moved = || git(&top.join("lib"), &["commit", "-q", "--allow-empty", "-m", "more"]);
    assert_eq!(seen(&top, moved).await, files(&["lib"]));
    git(&top, &["add", "."]);
    let committed = || {
        moved();
        git(&top, &["commit", "-qam", "where it stands"]);
    };
    git(&top, &["commit", "-qm", "before"]);
    assert_eq!(seen(&top, committed).await, files(&["lib"]));
}

#[tokio::test]
async fn a_submodule_that_stood_elsewhere_before_counts_when_it_is_moved_again() {
    let ((_other, other), (_folder, top)) = (repository(), repository());
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    git(&top, &[&add[..], &[other.to_str().unwrap(), "lib"]].concat());
    git(&top, &["commit", "-qm", "submodule"]);
    let moved = || git(&top.join("lib"), &["commit", "-q", "--allow-empty", "-m", "more"]);
    moved();
    assert_eq!(seen(&top, || {}).await, files(&[]));
    assert_eq!(seen(&top, moved).await, files(&["lib"]));
    let only_kept_otherwise = || {
        git(&top.join("lib"), &["pack-refs", "--all"]);
        git(&top.join("lib"), &["checkout", "-q", "--detach"]);
    };
    assert_eq!(seen(&top, only_kept_otherwise).await, files(&[]));
    assert_eq!(seen(&top, moved).await, files(&["lib"]), "it is on no branch");
    assert_eq!(seen(&top, || git(&top, &["commit", "-qam", "where it stands"])).await, files(&[]));
    // Back to where the last commit has it.
    moved();
    let back = || git(&top, &["submodule", "--quiet", "update"]);
    assert_eq!(seen(&top, back).await, files(&["lib"]));
}

#[tokio::test]
async fn what_differed_before_counts_only_when_it_changed_again() {
    let (_folder, top) = repository();
    for name in ["a", "b", "new", "sub/other"] {
        fs::write(top.join(name), "dirty").unwrap();
    }
    let changes = seen(&top, || {
        fs::write(top.join("a"), "DIRTY").unwrap();
        fs::write(top.join("b"), "dirty").unwrap();
        fs::remove_file(top.join("new")).unwrap();
        // It differs in another way now, and is the same file.
        git(&top, &["add", "sub/other"]);
    });
    assert_eq!(changes.await, files(&["a", "new"]));
}

#[tokio::test]
async fn commits_count_and_committing_alone_does_not() {
    let (_folder, top) = repository();
    fs::write(top.join("b"), "dirty").unwrap();
    let changes = seen(&top, || {
        fs::write(top.join("a"), "changed").unwrap();
        git(&top, &["commit", "-qam", "both"]);
    });
    assert_eq!(changes.await, files(&["a"]));
}

#[tokio::test]
async fn the_first_commit_and_a_folder_inside() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fs::create_dir(top.join("sub")).unwrap();
    git(&top, &["init", "-q"]);
    let inside = top.join("sub");
    let changes = seen(&inside, || {
        fs::write(top.join("sub/one"), "1").unwrap();
        fs::write(top.join("two"), "2").unwrap();
        git(&top, &["add", "."]);
        git(&top, &["commit", "-qm", "first"]);
    });
    assert_eq!(changes.await, files(&["../two", "one"]));
}

#[tokio::test]
async fn no_repository_no_git_and_a_broken_repository() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(seen(folder.path(), || {}).await, Changes::NoRepository);
    fs::write(folder.path().join(".git"), "nonsense").unwrap();
    let Changes::Unknown(why) = seen(folder.path(), || {}).await else { panic!("it is no repository") };
    assert!(why.contains("git status"), "{why}");
    let nowhere = Environment::new([("PATH".to_owned(), "/nowhere".to_owned())]);
    let (before, gate) = Before::look(folder.path(), &nowhere, None);
    gate.opened().await;
    let Changes::Unknown(why) = before.changes(folder.path()).await else { panic!("there is no git") };
    assert!(why.contains("git can't be started"), "{why}");
}

#[tokio::test]
async fn looking_leaves_the_repository_alone() {
    let (_folder, top) = repository();
    let marker = top.join("ran");
    git(&top, &["config", "core.fsmonitor", &format!("touch {}", marker.display())]);
    // A later time than the index knows would make an unlocked status write it.
    fs::write(top.join("a"), "a").unwrap();
    let index = fs::read(top.join(".git/index")).unwrap();
    assert_eq!(seen(&top, || {}).await, files(&[]));
    assert_eq!(fs::read(top.join(".git/index")).unwrap(), index);
    assert!(!marker.exists(), "a program that the repository names was run");
}
