//! The git repository that a folder is part of, as far as its files tell: nothing of it is executed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use holon_facts::execution::GitHead;
use holon_platform::regular;
use holon_supervise::confine::Readable;

/// Longest file that says where a worktree belongs.
const POINTER_BYTES: u64 = 8 << 10;
/// Most bytes that are read of the refs that a repository keeps in one file.
pub(crate) const REFS_BYTES: u64 = 256 << 10;
/// Longest name of a branch that is shown.
const BRANCH_BYTES: usize = 150;
/// Characters of the id of a commit that name it well enough.
const SHORT_ID: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The top of the working tree.
    pub(super) top: PathBuf,
    /// Where that is a worktree beside the main one: the main one.
    pub(super) main: Option<PathBuf>,
}

impl Repository {
    pub(super) fn around(folder: &Path) -> Option<Self> {
        let top = folder.ancestors().find(|folder| folder.join(".git").exists())?.to_owned();
        let main = main_of(&top);
        Some(Self { top, main })
    }

    /// What is checked out. None where the files are not as git writes them.
    pub(super) fn head(&self, readable: &Readable) -> Option<GitHead> {
        let head = text(readable.open(&own_folder(&self.top)?.join("HEAD")).ok()?)?;
        let head = head.trim_end();
        if let Some(name) = head.strip_prefix("ref: refs/heads/") {
            let good = !name.is_empty()
                && name.len() <= BRANCH_BYTES
                && !name.contains(|it: char| it.is_whitespace() || it.is_control());
            return good.then(|| GitHead::Branch { name: name.to_owned() });
        }
        let id = head.len() >= 40 && head.bytes().all(|it| it.is_ascii_hexdigit());
        id.then(|| GitHead::Detached { commit: head[..SHORT_ID].to_owned() })
    }
}

/// Where a repository keeps what is of this working tree alone.
pub(super) fn own_folder(top: &Path) -> Option<PathBuf> {
    let pointer = top.join(".git");
    if pointer.is_dir() {
        return Some(pointer);
    }
    let named = read(&pointer)?;
    Some(top.join(named.trim().strip_prefix("gitdir:")?.trim()))
}

/// The commit that is checked out in a folder with a repository of its own. None where files do not name it: what only a
/// git with the configuration of that repository could tell is not asked for.
pub(crate) fn commit_of(top: &Path) -> Option<String> {
    let own = own_folder(top)?;
    let head = read(&own.join("HEAD"))?;
    let Some(name) = head.trim_end().strip_prefix("ref: ") else { return Some(head.trim_end().to_owned()) };
    if !name.starts_with("refs/") || name.contains("..") {
        return None;
    }
    let shared = read(&own.join("commondir")).map_or_else(|| own.clone(), |common| own.join(common.trim()));
    let loose = read(&shared.join(name)).map(|id| id.trim_end().to_owned());
    loose.or_else(|| packed(&shared.join("packed-refs"), name))
}

/// The commit of a ref, in the file that git packs refs into.
fn packed(path: &Path, name: &str) -> Option<String> {
    let refs = BufReader::new(regular::open(path).ok()?.take(REFS_BYTES)).lines().map_while(Result::ok);
    refs.filter_map(|line| line.split_once(' ').map(|(id, named)| (id.to_owned(), named == name)))
        .find_map(|(id, found)| found.then_some(id))
}

/// A worktree has a file that names its folder in the repository, and there is one that leads to the repository.
fn main_of(top: &Path) -> Option<PathBuf> {
    let own = own_folder(top)?;
    let common = read(&own.join("commondir"))?;
    let common = own.join(common.trim()).canonicalize().ok()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

fn read(path: &Path) -> Option<String> {
    text(regular::open(path).ok()?)
}

fn text(file: File) -> Option<String> {
    let mut text = String::new();
    let bytes = file.take(POINTER_BYTES + 1).read_to_string(&mut text).ok()?;
    (bytes as u64 <= POINTER_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_checked_out_is_read_and_nothing_that_git_does_not_write() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join(".git");
        fs::create_dir_all(place.path().join("sub")).unwrap();
        fs::create_dir(&git).unwrap();
        let head = |written: &[u8]| {
            fs::write(git.join("HEAD"), written).unwrap();
            Repository::around(&place.path().join("sub")).unwrap().head(&Readable::default())
        };
        let branch = |name: &str| Some(GitHead::Branch { name: name.into() });
        assert_eq!(head(b"ref: refs/heads/feature/x\n"), branch("feature/x"));
        let id = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(head(id.as_bytes()), Some(GitHead::Detached { commit: "0123456789ab".into() }));
        let long = format!("ref: refs/heads/{}", "x".repeat(151));
        let huge = "ref: refs/heads/".to_owned() + &"x".repeat(9_000);
        for odd in
            ["", "ref: refs/heads/", "ref: refs/heads/a b", "ref: refs/heads/a\u{7}", "abc", &long, &huge]
        {
            assert_eq!(head(odd.as_bytes()), None, "{odd:.40}");
        }
        assert_eq!(head(b"ref: refs/heads/\xff"), None);
        fs::remove_file(git.join("HEAD")).unwrap();
        fs::create_dir(git.join("HEAD")).unwrap();
        assert_eq!(Repository::around(place.path()).unwrap().head(&Readable::default()), None);
    }

    #[test]
    fn the_commit_that_is_checked_out_is_read_of_either_kind_of_refs() {
        let place = tempfile::tempdir().unwrap();
        let git = place.path().join(".git");
        fs::create_dir_all(git.join("refs/heads")).unwrap();
        let write = |name: &str, text: &str| fs::write(git.join(name), text).unwrap();
        let commit = || commit_of(place.path());
        assert_eq!(commit(), None);
        write("HEAD", "0123\n");
        assert_eq!(commit().as_deref(), Some("0123"));
        write("HEAD", "ref: refs/heads/main\n");
        assert_eq!(commit(), None);
        write(
            "packed-refs",
            "# pack-refs with: peeled\n4567 refs/heads/main2\n89ab refs/heads/main\n^cdef\n",
        );
        assert_eq!(commit().as_deref(), Some("89ab"));
        write("refs/heads/main", "cdef\n");
        assert_eq!(commit().as_deref(), Some("cdef"));
        write("HEAD", "ref: refs/../packed-refs\n");
        assert_eq!(commit(), None);
        let copy = place.path().join("copy");
        fs::create_dir_all(git.join("worktrees/copy")).unwrap();
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join(".git"), "gitdir: ../.git/worktrees/copy\n").unwrap();
        write("worktrees/copy/HEAD", "ref: refs/heads/main\n");
        write("worktrees/copy/commondir", "../..\n");
        assert_eq!(commit_of(&copy).as_deref(), Some("cdef"));
    }

    #[test]
    fn a_worktree_has_a_head_of_its_own() {
        let place = tempfile::tempdir().unwrap();
        let (top, own) = (place.path().join("copy"), place.path().join("main/.git/worktrees/copy"));
        fs::create_dir_all(&top).unwrap();
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        fs::write(top.join(".git"), "gitdir: ../main/.git/worktrees/copy\n").unwrap();
        let head = || Repository::around(&top).unwrap().head(&Readable::default());
        assert_eq!(head(), Some(GitHead::Branch { name: "other".into() }));
        fs::write(top.join(".git"), "gitdir: ../nowhere\n").unwrap();
        assert_eq!(head(), None);
    }
}
