//! The files of a workspace at one moment, kept as a tree of its own repository, and given back in a worktree. An index and
//! refs of our own are used: the user's index, stash and branches stay as they are. Ignored files are left out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_facts::workspace::WorkspaceTree;
use holon_platform::{Environment, beneath, clock, spawn};
use holon_supervise::Helper;
use holon_supervise::confine::{self, Confinement};
use holon_text::hash;
use tokio::sync::watch;
use tokio::time::timeout;

use super::HeldBack;
use super::git::{Git, GitError, args};
use super::repository::{Repository, own_folder};
use super::worktree::{Worktree, WorktreeError};

/// How long keeping the files may take: the first tools of a turn wait for it.
const LIMIT: Duration = Duration::from_secs(3);
/// Files, and bytes of them, that have changed since the files were kept last; beyond them nothing is kept.
const FILES: u64 = 20_000;
const BYTES: u64 = 128 << 20;
/// Bytes of the names of those.
const NAMES: usize = 4 << 20;
/// Trees of one agent that stay; older ones are for git to remove.
const KEPT: usize = 200;

/// Whose files are kept: an agent of one home, where several share a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeper(String);

impl Keeper {
    /// The agent that has this home.
    pub fn new(agent_home: &Path) -> Self {
        let path = agent_home.display().to_string();
        let name = agent_home.file_name().unwrap_or_default().to_string_lossy();
        Self(format!("{name}-{}", &hash(path.as_bytes()).to_string()[..12]))
    }

    fn refs(&self) -> String {
        format!("refs/holon/trees/{}", self.0)
    }
}

/// Keeps the files around a folder as they are now. None where it is in no repository, or in one that is somebody's whole
/// home; where too much has changed, git is missing, too slow or refuses. `bound` is the folder of a project whose repository
/// it has to be, where an agent could put another one in its place.
pub async fn keep(
    folder: &Path,
    keeper: &Keeper,
    held_back: HeldBack<'_>,
    bound: Option<&Path>,
) -> Option<WorkspaceTree> {
    let repository = Repository::around(folder)?;
    let home = Environment::of_process().get("HOME").map(PathBuf::from);
    let whole_home =
        home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == repository.top);
    if whole_home || repository.top.parent().is_none() {
        return None;
    }
    let anchor = repository.main.as_deref().unwrap_or(&repository.top);
    if bound.is_some_and(|bound| bound != anchor) {
        return None;
    }
    let helper = held_back.helper(anchor, &repository.top);
    let (of, by, policy) = (repository.clone(), keeper.clone(), held_back.policy.cloned());
    let made = spawn::blocking(move || confine::under(policy.as_ref(), || private_index(&of.top, &by)));
    let index = made.await.ok()?.ok()??;
    timeout(LIMIT, take(&repository, keeper, (index, helper))).await.ok()?.ok()?
}

async fn take(
    repository: &Repository,
    keeper: &Keeper,
    (index, helper): (PathBuf, Option<Helper>),
) -> Result<Option<WorkspaceTree>, GitError> {
    let top = repository.top.as_path();
    let (asker, wanted) = watch::channel(());
    let git = Git::begin(top, &Environment::of_process(), helper, wanted).await?.with_index(index);
    let list = ["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard"];
    let changed = git.run_long(top, &args(&list), NAMES).await?;
    if changed.cut || changed.zeros > FILES || bytes(top, &changed.entries(usize::MAX).0) > BYTES {
        return Ok(None);
    }
    if changed.zeros > 0 {
        git.run(top, &args(&["add", "--all", "--", "."])).await?;
    }
    let tree = word(&git.run(top, &args(&["write-tree"])).await?.bytes);
    let (commit, of_commit) = head(&git, top).await?;
    let kept = WorkspaceTree { dirty: of_commit.as_deref() != Some(tree.as_str()), tree, commit };
    name(&git, top, keeper, &kept.tree).await?;
    drop(asker);
    Ok(Some(kept))
}

/// The commit that is checked out, and its tree; none before the first.
async fn head(git: &Git, top: &Path) -> Result<(Option<String>, Option<String>), GitError> {
    match git.run(top, &args(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])).await {
        Ok(printed) => {
            let tree = git.run(top, &args(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"])).await?;
            Ok((Some(word(&printed.bytes)), Some(word(&tree.bytes))))
        }
        Err(GitError::Refused { .. }) => Ok((None, None)),
        Err(error) => Err(error),
    }
}

/// Keeps git from removing the tree, and lets go of the oldest ones.
async fn name(git: &Git, top: &Path, keeper: &Keeper, tree: &str) -> Result<(), GitError> {
    let refs = keeper.refs();
    let list = ["for-each-ref", "--sort=refname", "--format=%(refname) %(objectname)%00", &refs];
    let printed = git.run_long(top, &args(&list), NAMES).await?;
    let (known, _) = printed.entries(usize::MAX);
    let known: Vec<&str> = known.iter().map(|line| line.trim()).collect();
    if known.last().and_then(|line| line.split_once(' ')).is_some_and(|(_, newest)| newest == tree) {
        return Ok(());
    }
    let new = format!("{refs}/{:020}", clock::now().wall.0);
    git.run(top, &args(&["update-ref", "--no-deref", &new, tree])).await?;
    for old in known.iter().take((known.len() + 1).saturating_sub(KEPT)) {
        let name = old.split_once(' ').map_or(*old, |(name, _)| name);
        git.run(top, &args(&["update-ref", "--no-deref", "-d", name])).await?;
    }
    Ok(())
}

/// An index beside the user's, which begins as that is: what has not changed need not be read.
fn private_index(top: &Path, keeper: &Keeper) -> Option<PathBuf> {
    let own = own_folder(top)?.canonicalize().ok()?;
    let folder = own.join("holon");
    fs::create_dir_all(&folder).ok()?;
    let index = folder.join(format!("{}.index", keeper.0));
    // One that was cut short by the end of its process is begun anew.
    let lock = folder.join(format!("{}.index.lock", keeper.0));
    fs::remove_file(lock).ok();
    if !index.exists() {
        let draft = folder.join(format!("{}.index.draft", keeper.0));
        if copy(&own.join("index"), &draft).is_ok() {
            fs::rename(&draft, &index).ok();
        }
    }
    Some(index)
}

/// Nothing but a file in its place: an agent can read the copy.
fn copy(index: &Path, draft: &Path) -> io::Result<()> {
    let mut from = beneath::open_real(index)?;
    io::copy(&mut from, &mut fs::File::create(draft)?).map(drop)
}

fn bytes(top: &Path, names: &[String]) -> u64 {
    let of = |name: &String| top.join(name).symlink_metadata().map_or(0, |about| about.len());
    names.iter().map(of).sum()
}

fn word(printed: &[u8]) -> String {
    String::from_utf8_lossy(printed).trim().to_owned()
}

/// Why the files of a moment can't be given back.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("{} is in no repository any more", folder.display())]
    NoRepository { folder: PathBuf },
    #[error("the files had no commit then, and a worktree begins with one")]
    NoCommit,
    #[error("the repository has the tree {tree} no longer")]
    Gone { tree: String },
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Makes a worktree in that folder, on a new branch, with the files as they were: what differs from the commit of then is
/// there as changes. `bound` is as for [`keep`]; git is held back as for any worktree. Gives the folder in it that the execution root was in its repository.
///
/// # Errors
/// All of [`TreeError`]; a worktree that was half made is taken up by another attempt.
pub async fn give_back(
    root: &Path,
    kept: &WorkspaceTree,
    (path, branch): (&Path, &str),
    (supervisor, confinement): (&Path, Option<&Confinement>),
    bound: Option<&Path>,
) -> Result<PathBuf, TreeError> {
    let repository =
        Repository::around(root).ok_or_else(|| TreeError::NoRepository { folder: root.to_owned() })?;
    let commit = kept.commit.as_deref().ok_or(TreeError::NoCommit)?;
    let anchor = repository.main.clone().unwrap_or_else(|| repository.top.clone());
    if bound.is_some_and(|bound| bound != anchor) {
        return Err(TreeError::NoRepository { folder: root.to_owned() });
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(GitError::Start)?;
    let policy = confinement.map(|confinement| confinement.for_worktrees(&anchor, folder));
    let helper = HeldBack { supervisor, policy: policy.as_ref() }.helper(&anchor, folder);
    let (_asker, wanted) = watch::channel(());
    {
        let git = Git::begin(&anchor, &Environment::of_process(), helper.clone(), wanted.clone()).await?;
        let known = git.run(&anchor, &args(&["cat-file", "-e", &format!("{}^{{tree}}", kept.tree)])).await;
        known.map_err(|_| TreeError::Gone { tree: kept.tree.clone() })?;
    }
    Worktree { anchor: &anchor, path, branch, helper: helper.as_ref() }.add().await?;
    let git = Git::begin(&anchor, &Environment::of_process(), helper, wanted).await?;
    git.run(path, &args(&["read-tree", "--reset", "-u", &kept.tree])).await?;
    git.run(path, &args(&["reset", "--quiet", "--soft", commit])).await?;
    git.run(path, &args(&["reset", "--quiet", "--mixed", commit])).await?;
    let inside = root.strip_prefix(&repository.top).unwrap_or(Path::new(""));
    // Without the stroke that joining nothing leaves at the end.
    let found: PathBuf = path.join(inside).components().collect();
    Ok(if found.is_dir() { found } else { path.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let who = ["-c", "user.name=n", "-c", "user.email=e@x"];
        let done = Command::new("git").arg("-C").arg(folder).args(who).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    fn repository() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let top = place.path();
        git(top, &["init", "-q", "-b", "main"]);
        fs::write(top.join("kept"), "one").unwrap();
        fs::write(top.join(".gitignore"), "ignored\n").unwrap();
        git(top, &["add", "."]);
        git(top, &["commit", "-qm", "first"]);
        place
    }

    async fn keeps(top: &Path) -> WorkspaceTree {
        let (repository, keeper) = (Repository::around(top).unwrap(), Keeper::new(Path::new("/homes/main")));
        let index = private_index(top, &keeper).unwrap();
        take(&repository, &keeper, (index, None)).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn files_are_kept_and_the_user_notices_nothing() {
        let place = repository();
        let top = place.path().canonicalize().unwrap();
        let clean = keeps(&top).await;
        assert!(!clean.dirty);
        fs::write(top.join("kept"), "two").unwrap();
        fs::write(top.join("new"), "three").unwrap();
        fs::write(top.join("ignored"), "four").unwrap();
        let before = git(&top, &["status", "--porcelain"]);
        let kept = keeps(&top).await;
        assert!(kept.dirty && kept.commit == clean.commit);
        assert_eq!(git(&top, &["status", "--porcelain"]), before);
        assert_eq!(git(&top, &["ls-tree", "--name-only", &kept.tree]), ".gitignore\nkept\nnew");
        assert_eq!(git(&top, &["branch", "--format=%(refname:short)"]), "main");
        assert_eq!(git(&top, &["log", "--all", "--format=%s"]), "first");
        assert_eq!(keeps(&top).await, kept, "nothing has changed");
        let refs = git(&top, &["for-each-ref", "--format=%(objectname)", "refs/holon"]);
        assert_eq!(refs, format!("{}\n{}", clean.tree, kept.tree));
    }

    #[test]
    fn no_copy_is_made_of_what_a_link_in_the_place_of_the_index_leads_to() {
        let place = repository();
        let top = place.path().canonicalize().unwrap();
        fs::write(top.join("elsewhere"), "secret").unwrap();
        fs::remove_file(top.join(".git/index")).unwrap();
        std::os::unix::fs::symlink(top.join("elsewhere"), top.join(".git/index")).unwrap();
        let index = private_index(&top, &Keeper::new(Path::new("/homes/main"))).unwrap();
        assert!(!index.exists() && !index.with_extension("index.draft").exists());
    }

    #[tokio::test]
    async fn too_much_is_not_kept() {
        let place = repository();
        let top = place.path().canonicalize().unwrap();
        fs::File::create(top.join("huge")).unwrap().set_len(BYTES + 1).unwrap();
        let (repository, keeper) = (Repository::around(&top).unwrap(), Keeper::new(Path::new("/homes/main")));
        let index = private_index(&top, &keeper).unwrap();
        assert_eq!(take(&repository, &keeper, (index, None)).await.unwrap(), None);
        let held_back = HeldBack { supervisor: Path::new("holon"), policy: None };
        let other = keep(&top, &keeper, held_back, Some(Path::new("/elsewhere"))).await;
        assert_eq!(other, None, "it is the repository of another folder");
    }
}
