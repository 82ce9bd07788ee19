use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::*;

const BRANCH: &str = "holon/task";

/// A repository with one commit, and a path beside it for a worktree.
struct Place {
    _folder: tempfile::TempDir,
    repo: PathBuf,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let place = Self::empty();
        fs::write(place.repo.join("file"), "one").unwrap();
        fs::write(place.repo.join(".gitignore"), "ignored\n").unwrap();
        place.commit(&place.repo, "first");
        place
    }

    /// Without a commit.
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (repo, path) = (top.join("repo"), top.join("trees/task"));
        fs::create_dir(&repo).unwrap();
        let place = Self { _folder: folder, repo, path };
        place.git(&["init", "-q", "-b", "main"]);
        place
    }

    fn worktree(&self) -> Worktree<'_> {
        Worktree { anchor: &self.repo, path: &self.path, branch: BRANCH, helper: None }
    }

    async fn add(&self) -> String {
        self.worktree().add().await.unwrap().base
    }

    async fn remove(&self, base: &str) -> Removal {
        self.worktree().remove(Some(base)).await.unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.repo, arguments)
    }

    fn commit(&self, at: &Path, message: &str) {
        git(at, &["add", "."]);
        git(at, &["commit", "-q", "--allow-empty", "-m", message]);
    }

    fn has_branch(&self) -> bool {
        !self.git(&["branch", "--list", BRANCH]).is_empty()
    }

    fn is_gone(&self) -> bool {
        let registered = self.git(&["worktree", "list"]).lines().count() > 1;
        !self.path.exists() && !self.has_branch() && !registered
    }

    /// The folder of the repository that stands for the worktree.
    fn registration(&self) -> PathBuf {
        self.repo.join(".git/worktrees/task")
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

fn git(at: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always", "-C"])
        .arg(at)
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

fn kept(why: KeptWhy, files: &[&str]) -> Removal {
    let changed_files = files.iter().map(|file| (*file).to_owned()).collect();
    Removal::Kept { why, changed_files, more: 0 }
}

#[tokio::test]
async fn a_clean_one_is_made_and_removed() {
    let place = Place::new();
    let base = place.add().await;
    assert_eq!(base, place.git(&["rev-parse", "HEAD"]));
    let around = place.path.parent().unwrap().metadata().unwrap();
    assert_eq!(around.permissions().mode() & 0o777, 0o700, "others do not get in");
    assert_eq!(git(&place.path, &["rev-parse", "--abbrev-ref", "HEAD"]), BRANCH);
    assert_eq!(fs::read_to_string(place.path.join("file")).unwrap(), "one");
    assert_eq!(place.remove(&base).await, Removal::Removed);
    assert!(place.is_gone());
    assert!(!place.path.parent().unwrap().exists(), "the empty folder above stays");
    assert_eq!(place.remove(&base).await, Removal::Removed, "a second time");
    assert_eq!(place.worktree().remove(None).await.unwrap(), Removal::Removed);
}

#[tokio::test]
async fn changes_keep_it_and_are_named() {
    let place = Place::new();
    place.git(&["config", "status.showUntrackedFiles", "no"]);
    let base = place.add().await;
    fs::write(place.path.join("file"), "two").unwrap();
    fs::create_dir(place.path.join("new folder")).unwrap();
    fs::write(place.path.join("new folder/ä\n"), "").unwrap();
    let changed = kept(KeptWhy::Changed, &["file", "new folder/ä\n"]);
    assert_eq!(place.remove(&base).await, changed);
    assert_eq!(fs::read_to_string(place.path.join("file")).unwrap(), "two");
    git(&place.path, &["checkout", "-q", "file"]);
    for number in 0..100 {
        fs::write(place.path.join(format!("new folder/{number}")), "").unwrap();
    }
    let Removal::Kept { changed_files, more, .. } = place.remove(&base).await else { panic!("removed") };
    assert_eq!((changed_files.len(), more), (64, 37));
    fs::remove_dir_all(place.path.join("new folder")).unwrap();
    fs::write(place.path.join("ignored"), "").unwrap();
    assert_eq!(place.remove(&base).await, Removal::Removed, "ignored files are no work");
    assert!(place.is_gone());
}

#[tokio::test]
async fn commits_keep_it_until_another_branch_has_them() {
    let place = Place::new();
    let base = place.add().await;
    fs::write(place.path.join("made"), "").unwrap();
    place.commit(&place.path, "work");
    let committed = kept(KeptWhy::Committed, &["made"]);
    assert_eq!(place.remove(&base).await, committed);
    assert_eq!(place.remove("--output=x").await, kept(KeptWhy::Committed, &[]));
    assert!(place.path.join("made").exists());
    // The folder alone is gone.
    fs::remove_dir_all(&place.path).unwrap();
    assert_eq!(place.remove(&base).await, committed);
    assert!(place.has_branch());
    place.git(&["worktree", "prune"]);
    assert_eq!(place.remove(&base).await, committed);
    let error = place.worktree().add().await.unwrap_err();
    assert!(error.to_string().contains("has commits that no other branch has"), "{error}");
    place.git(&["merge", "-q", BRANCH]);
    assert_eq!(place.add().await, place.git(&["rev-parse", "HEAD"]), "merged, it can be used");
    assert_eq!(place.remove(&base).await, Removal::Removed);
    assert!(place.is_gone());
}

#[tokio::test]
async fn commits_that_were_pushed_are_no_longer_only_here() {
    let place = Place::new();
    let base = place.add().await;
    place.commit(&place.path, "work");
    git(&place.path, &["update-ref", "refs/remotes/origin/task", "HEAD"]);
    assert_eq!(place.remove(&base).await, Removal::Removed);
    assert!(place.is_gone());
}

#[tokio::test]
async fn one_with_something_else_checked_out_is_left_alone() {
    let place = Place::new();
    let base = place.add().await;
    for other in [["checkout", "-q", "--detach"], ["checkout", "-q", "-b"]] {
        git(&place.path, &[&other[..], &["other"][..usize::from(other[2] == "-b")]].concat());
        for base in [Some(base.as_str()), None] {
            let removal = place.worktree().remove(base).await.unwrap();
            assert_eq!(removal, kept(KeptWhy::Mismatched, &[]), "{other:?}");
        }
        let error = place.worktree().add().await.unwrap_err();
        assert!(matches!(error, WorktreeError::Occupied { .. }), "{error}");
    }
    // The branch is in use elsewhere.
    place.git(&["checkout", "-q", BRANCH]);
    assert_eq!(place.remove(&base).await, kept(KeptWhy::Mismatched, &[]));
    place.git(&["worktree", "remove", place.path()]);
    assert_eq!(place.remove(&base).await, kept(KeptWhy::Mismatched, &[]));
    let error = place.worktree().add().await.unwrap_err();
    assert!(error.to_string().contains("is checked out in"), "{error}");
    assert!(place.has_branch());
}

#[tokio::test]
async fn what_an_attempt_has_left_is_taken_up() {
    let place = Place::new();
    let base = place.add().await;
    assert_eq!(place.add().await, base, "all of it");
    place.commit(&place.repo, "second");
    assert_eq!(place.add().await, base, "the anchor has gone on");
    place.git(&["worktree", "remove", place.path()]);
    assert_eq!(place.add().await, base, "the branch");
    fs::remove_dir_all(&place.path).unwrap();
    assert_eq!(place.add().await, base, "all but the folder");
    fs::write(place.path.join("file"), "two").unwrap();
    let error = place.worktree().add().await.unwrap_err();
    assert!(error.to_string().contains("is a worktree with changes"), "{error}");
    git(&place.path, &["checkout", "-q", "."]);
    assert_eq!(place.remove(&base).await, Removal::Removed);
    fs::create_dir_all(&place.path).unwrap();
    assert_ne!(place.add().await, base, "an empty folder");
    assert!(place.path.join("file").exists());
}

/// Everything that git may leave when it dies while it makes one.
#[tokio::test]
async fn half_made_ones_are_made_again_or_removed() {
    let breaks: [fn(&Place); 6] = [
        |place| drop(git(&place.repo, &["worktree", "lock", "--reason", "initializing", place.path()])),
        |place| fs::remove_file(place.registration().join("index")).unwrap(),
        |place| fs::remove_file(place.registration().join("HEAD")).unwrap(),
        |place| fs::remove_dir_all(&place.path).unwrap(),
        |place| {
            git(&place.repo, &["worktree", "lock", "--reason", "initializing", place.path()]);
            fs::remove_dir_all(&place.path).unwrap();
            fs::create_dir(&place.path).unwrap();
        },
        |place| {
            fs::remove_file(place.registration().join("HEAD")).unwrap();
            fs::remove_file(place.path.join("file")).unwrap();
            fs::remove_file(place.path.join(".gitignore")).unwrap();
        },
    ];
    for (number, broken) in breaks.into_iter().enumerate() {
        let place = Place::new();
        let base = place.add().await;
        broken(&place);
        // Files in a folder that git doesn't take for a worktree any more stay.
        let repaired = place.worktree().add().await;
        if number == 2 {
            assert!(matches!(repaired, Err(WorktreeError::Git(GitError::Refused { .. }))), "{repaired:?}");
            continue;
        }
        assert_eq!(repaired.unwrap().base, base, "{number}");
        assert_eq!(git(&place.path, &["status", "--porcelain"]), "", "{number}");
        broken(&place);
        assert_eq!(place.worktree().remove(None).await.unwrap(), Removal::Removed, "{number}");
        assert!(place.is_gone(), "{number}");
    }
}

#[tokio::test]
async fn one_that_nobody_was_given_goes_with_its_files_but_not_with_commits() {
    let place = Place::new();
    place.add().await;
    fs::write(place.path.join("file"), "two").unwrap();
    assert_eq!(place.worktree().remove(None).await.unwrap(), Removal::Removed);
    assert!(place.is_gone());
    place.git(&["checkout", "-q", "--detach"]);
    place.commit(&place.repo, "on no branch");
    place.add().await;
    assert_eq!(place.worktree().remove(None).await.unwrap(), Removal::Removed, "the anchor has it");
    place.add().await;
    place.commit(&place.path, "work");
    assert_eq!(place.worktree().remove(None).await.unwrap(), kept(KeptWhy::Committed, &[]));
    assert!(place.has_branch() && !place.path.exists());
}

#[tokio::test]
async fn what_is_somebody_elses_is_not_touched() {
    let place = Place::new();
    fs::create_dir_all(&place.path).unwrap();
    fs::write(place.path.join("mine"), "").unwrap();
    for base in [Some("0".repeat(40)), None] {
        let error = place.worktree().add().await.unwrap_err();
        assert!(error.to_string().ends_with("move it away, or choose another path"), "{error}");
        assert!(!place.has_branch());
        let removal = place.worktree().remove(base.as_deref()).await.unwrap();
        assert_eq!(removal, kept(KeptWhy::Mismatched, &[]));
    }
    // A worktree of another repository, with the same branch.
    fs::remove_dir_all(&place.path).unwrap();
    let other = Place::new();
    other.git(&["worktree", "add", "-q", "-b", BRANCH, place.path()]);
    let base = other.git(&["rev-parse", "HEAD"]);
    assert!(matches!(place.worktree().add().await, Err(WorktreeError::Occupied { .. })));
    assert_eq!(place.remove(&base).await, kept(KeptWhy::Mismatched, &[]));
    assert!(place.path.join("file").exists());
    // A copy leads to the registration of what it was copied from.
    let copied = Place::new();
    let base = copied.add().await;
    let copy = copied.path.with_file_name("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(copied.path.join(".git"), copy.join(".git")).unwrap();
    let copy = Worktree { path: &copy, ..copied.worktree() };
    assert_eq!(copy.remove(Some(&base)).await.unwrap(), kept(KeptWhy::Mismatched, &[]));
    // The repository itself.
    let own = Worktree { path: &copied.repo, branch: "main", ..copied.worktree() };
    assert!(matches!(own.add().await, Err(WorktreeError::Occupied { .. })));
    assert_eq!(own.remove(None).await.unwrap(), kept(KeptWhy::Mismatched, &[]));
}

#[tokio::test]
async fn an_anchor_without_a_commit_is_told_what_to_do() {
    let place = Place::empty();
    let error = place.worktree().add().await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoCommit { .. }), "{error}");
    let plain = tempfile::tempdir().unwrap();
    let error = Worktree { anchor: plain.path(), ..place.worktree() }.add().await.unwrap_err();
    assert!(matches!(error, WorktreeError::NoRepository { .. }), "{error}");
    assert!(
        error.to_string().starts_with("isolated work needs a git repository with at least one commit"),
        "{error}"
    );
    git(plain.path(), &["init", "-q", "--bare"]);
    let error = Worktree { anchor: plain.path(), ..place.worktree() }.add().await.unwrap_err();
    assert!(matches!(error, WorktreeError::Bare { .. }), "{error}");
    fs::create_dir(place.repo.join("sub")).unwrap();
    let error = Worktree { anchor: &place.repo.join("sub"), ..place.worktree() }.add().await.unwrap_err();
    assert!(matches!(error, WorktreeError::NotTop { .. }), "{error}");
    for name in ["-b", "a..b", "@{-1}", ""] {
        let error = Worktree { branch: name, ..place.worktree() }.add().await.unwrap_err();
        assert!(matches!(error, WorktreeError::Name { .. }), "{name}: {error}");
    }
    let error = Worktree { path: Path::new("trees/task"), ..place.worktree() }.add().await.unwrap_err();
    assert!(matches!(error, WorktreeError::Path { .. }), "{error}");
    assert!(!place.path.parent().unwrap().exists());
}

#[tokio::test]
async fn without_the_repository_the_folder_stays() {
    let place = Place::new();
    let base = place.add().await;
    fs::remove_dir_all(&place.repo).unwrap();
    assert_eq!(place.remove(&base).await, kept(KeptWhy::Mismatched, &[]));
    assert!(place.path.join("file").exists());
    fs::create_dir(&place.repo).unwrap();
    assert_eq!(place.remove(&base).await, kept(KeptWhy::Mismatched, &[]));
    fs::remove_dir_all(&place.path).unwrap();
    assert_eq!(place.remove(&base).await, Removal::Removed);
    fs::remove_dir_all(&place.repo).unwrap();
    assert_eq!(place.worktree().remove(None).await.unwrap(), Removal::Removed);
}

#[tokio::test]
async fn a_linked_worktree_is_an_anchor_too_and_links_in_paths_are_followed() {
    let place = Place::new();
    let linked = place.repo.with_file_name("linked");
    place.git(&["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
    place.commit(&linked, "there");
    let link = place.repo.with_file_name("link");
    std::os::unix::fs::symlink(place.repo.parent().unwrap(), &link).unwrap();
    let path = link.join("repo/.trees/task");
    let worktree = Worktree { anchor: &link.join("linked"), path: &path, branch: BRANCH, helper: None };
    let base = worktree.add().await.unwrap().base;
    assert_eq!(base, git(&linked, &["rev-parse", "HEAD"]));
    assert_eq!(worktree.add().await.unwrap().base, base);
    let beside = Worktree { anchor: &place.repo, ..worktree };
    assert_eq!(beside.remove(Some(&base)).await.unwrap(), Removal::Removed);
    assert!(!path.parent().unwrap().exists());
    assert!(linked.exists() && !place.has_branch());
}

#[tokio::test]
async fn what_git_refuses_is_told_in_its_words() {
    let place = Place::new();
    let base = place.add().await;
    place.git(&["worktree", "lock", "--reason", "mine", place.path()]);
    let Removal::Kept { why: KeptWhy::Stuck(words), .. } = place.remove(&base).await else {
        panic!("removed")
    };
    assert!(words.contains("locked working tree, lock reason: mine"), "{words}");
    assert!(place.path.join("file").exists() && place.has_branch());
    // A name that another branch's is a folder of.
    let inside = format!("{BRANCH}/more");
    let path = place.path.with_file_name("more");
    let error = Worktree { path: &path, branch: &inside, ..place.worktree() }.add().await.unwrap_err();
    assert!(error.to_string().contains("git worktree add"), "{error}");
    assert!(!path.exists());
    let (_asker, wanted) = watch::channel(());
    let nowhere = Environment::new([("PATH".to_owned(), "/nowhere".to_owned())]);
    let Err(error) = Ground::enter(place.worktree().site().unwrap(), &nowhere, wanted).await else {
        panic!("there is no git")
    };
    assert!(error.to_string().contains("install git"), "{error}");
}

#[tokio::test]
async fn nothing_of_the_repository_runs_but_its_filters() {
    let place = Place::new();
    let marker = place.repo.with_file_name("ran");
    let touch = format!("#!/bin/sh\ntouch {}\n", marker.display());
    let hooks = place.repo.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for name in ["post-checkout", "reference-transaction", "post-index-change"] {
        fs::write(hooks.join(name), &touch).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    place.git(&["config", "core.fsmonitor", hooks.join("post-checkout").to_str().unwrap()]);
    let base = place.add().await;
    fs::write(place.path.join("file"), "two").unwrap();
    assert!(matches!(place.remove(&base).await, Removal::Kept { .. }));
    fs::write(place.path.join("file"), "one").unwrap();
    assert_eq!(place.remove(&base).await, Removal::Removed);
    assert!(!marker.exists());
}

/// A repository whose checkout takes very long.
fn slow() -> (Place, PathBuf) {
    let place = Place::new();
    let marker = place.repo.with_file_name("begun");
    fs::write(place.repo.join(".gitattributes"), "file filter=slow\n").unwrap();
    place.commit(&place.repo, "filter");
    let filter = format!("touch {}; sleep 300; cat", marker.display());
    place.git(&["config", "filter.slow.smudge", &filter]);
    (place, marker)
}

/// Processes of this machine with an argument that holds these words.
fn processes(words: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(words))
    })
    .count()
}

#[tokio::test]
async fn who_is_no_longer_waited_for_ends_and_makes_room() {
    let (place, marker) = slow();
    {
        let worktree = place.worktree();
        let adding = worktree.add();
        let begun = async {
            while !marker.exists() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            added = adding => panic!("{added:?}"),
            () = begun => assert_ne!(processes(place.path()), 0),
        }
    }
    place.git(&["config", "filter.slow.smudge", "cat"]);
    let base = timeout(Duration::from_secs(20), place.add()).await.unwrap();
    assert_eq!(processes(place.path()), 0);
    assert_eq!(processes(marker.to_str().unwrap()), 0);
    assert!(!place.repo.join(".git/index.lock").exists());
    assert_eq!(place.remove(&base).await, Removal::Removed);
    assert!(place.is_gone());
}

#[tokio::test]
async fn two_at_once_wait_for_each_other_and_for_other_processes() {
    let place = Place::new();
    let (one, two) = (place.worktree(), place.path.with_file_name("two"));
    let two = Worktree { path: &two, branch: "two", ..one };
    let mut other = Command::new("flock").arg(place.repo.join(".git")).args(["sleep", "1"]).spawn().unwrap();
    sleep(Duration::from_millis(300)).await;
    let (first, second, third) = tokio::join!(one.add(), two.add(), one.add());
    assert!(other.try_wait().unwrap().is_some(), "the other process still has it");
    let base = first.unwrap().base;
    assert_eq!([second.unwrap().base, third.unwrap().base], [base.as_str(); 2]);
    let (one, two) = tokio::join!(one.remove(Some(&base)), two.remove(Some(&base)));
    assert_eq!((one.unwrap(), two.unwrap()), (Removal::Removed, Removal::Removed));
    assert!(place.is_gone());
}
