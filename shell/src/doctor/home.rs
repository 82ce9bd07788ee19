//! The home: that it is there, that it can be written, and what it lies on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use holon_platform::Environment;
use rustix::fs::{Access, access, statvfs};

use super::Finding;
use crate::backup;
use crate::home::Home;
use crate::prune;
use crate::settings::{Origin, quoted};
use crate::trigger_address::TriggerKey;
use holon_ledger::sqlite::RESERVE_BYTES;

/// File systems that are reached over a network: locks and a loss of power may not mean there what they mean
/// on a disk.
const NETWORK: [&str; 7] = ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs"];
/// Space that a few days of work take.
const COMFORTABLE: u64 = 512 << 20;

pub(super) fn examine(home: &Home, origin: &Origin, environment: &Environment) -> Vec<Finding> {
    let (check, root) = ("home", home.root());
    let named = format!("{} ({origin})", root.display());
    let relative = environment.get("HOLON_HOME").filter(|named| !Path::new(named).is_absolute());
    let mut findings = Vec::new();
    if let (Origin::Environment { .. }, Some(relative)) = (origin, relative) {
        let what =
            format!("HOLON_HOME is {relative:?}: every folder that holon is started in has another home");
        findings.push(Finding::warning(check, what, format!("export HOLON_HOME={}", quoted(&path(root)))));
    }
    let place = nearest_existing(root);
    let writable = access(place, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    findings.push(match (place == root, writable) {
        (true, true) => Finding::fine(check, format!("{named} can be written")),
        (false, true) => Finding::fine(check, format!("{named} is made when it is needed")),
        (true, false) => {
            let what = format!("{named} can't be written by this user");
            Finding::problem(check, what, format!("ls -ld {}", quoted(&path(root))))
        }
        (false, false) => {
            let what = format!("{named} does not exist, and can't be made in {}", place.display());
            Finding::problem(check, what, "export HOLON_HOME=FOLDER")
        }
    });
    findings.extend(open_to_others(root));
    // A start would be refused.
    if let Err(error) = TriggerKey::known(home) {
        findings.push(Finding::problem(check, error.to_string(), error.hint()));
    }
    if let Err(error) = backup::may_start(home) {
        findings.push(Finding::problem("restored", error.to_string(), error.hint()));
    }
    findings.extend(space(place));
    findings.extend(worktrees(home));
    findings
}

/// A home that was there before keeps its mode; what a runtime makes in it is its owner's alone.
fn open_to_others(root: &Path) -> Option<Finding> {
    let mode = fs::metadata(root).ok()?.permissions().mode() & 0o777;
    let what = format!("{} can be entered by other users (mode {mode:04o})", root.display());
    let close = || Finding::warning("home", what, format!("chmod 700 {}", quoted(&path(root))));
    (mode & 0o011 != 0).then(close)
}

/// What temporary runs have left of a repository: nobody else knows of it.
fn worktrees(home: &Home) -> Vec<Finding> {
    let left = prune::with_worktrees(&home.runs()).into_iter().flat_map(|run| prune::worktrees(&run));
    let finding = |worktree: PathBuf| {
        let at = path(&worktree);
        let what = format!(
            "{at} is a worktree that a temporary run has left: it is not removed while it holds work"
        );
        Finding::warning("worktrees", what, removal(&worktree, &quoted(&at)))
    };
    left.map(finding).collect()
}

/// How to remove a worktree with its branch.
fn removal(worktree: &Path, at: &str) -> String {
    let git_folder = || {
        let link = fs::read_to_string(worktree.join(".git")).ok()?;
        Some(PathBuf::from(link.strip_prefix("gitdir: ")?.trim_end()))
    };
    let of_repository = |git: PathBuf| {
        let head = fs::read_to_string(git.join("HEAD")).ok()?;
        let branch = head.strip_prefix("ref: refs/heads/")?.trim_end().to_owned();
        // <repository>/.git/worktrees/<name>
        let repository = path(git.ancestors().nth(2)?);
        Some((quoted(&repository), quoted(&branch)))
    };
    match git_folder().and_then(of_repository) {
        Some((git, branch)) => format!(
            "look at it, then: git --git-dir {git} worktree remove --force {at} && git --git-dir {git} branch -D {branch}"
        ),
        None => format!("look at it, then: rm -r {at}"),
    }
}

/// Where the home lies, and how much room there is.
fn space(place: &Path) -> Vec<Finding> {
    let check = "disk";
    let Ok(about) = statvfs(place) else { return Vec::new() };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    let (mount, kind) = mounted(place).unwrap_or_else(|| ("/".to_owned(), "unknown".to_owned()));
    let what = format!("{} MiB free on {mount} ({kind})", free >> 20);
    let look = format!("df -h {}", quoted(&mount));
    let mut findings = vec![if free <= RESERVE_BYTES {
        Finding::problem(check, what, look)
    } else if free < COMFORTABLE {
        Finding::warning(check, what, look)
    } else {
        Finding::fine(check, what)
    }];
    if NETWORK.contains(&kind.as_str()) {
        let what =
            format!("{mount} is a network file system ({kind}): locks and durability depend on its server");
        findings.push(Finding::warning(check, what, "export HOLON_HOME=FOLDER, on a local disk"));
    }
    findings
}

/// The mount that a path lies on, and its kind.
fn mounted(place: &Path) -> Option<(String, String)> {
    let place = fs::canonicalize(place).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let fields = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        // Blanks stand there as octal numbers.
        let mount = fields.next()?.replace("\\040", " ");
        Some((mount, fields.next()?.to_owned()))
    });
    // Of two mounts on one place the later one is seen.
    fields.filter(|(mount, _)| place.starts_with(mount)).max_by_key(|(mount, _)| mount.len())
}

fn nearest_existing(path: &Path) -> &Path {
    path.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"))
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_others_can_enter_is_named() {
        let home = tempfile::tempdir().unwrap();
        let open = |mode: u32| {
            fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).unwrap();
            open_to_others(home.path()).is_some()
        };
        assert_eq!([0o700, 0o744, 0o755, 0o710, 0o701].map(open), [false, false, true, true, true]);
        assert!(open_to_others(&home.path().join("none")).is_none());
    }
}
