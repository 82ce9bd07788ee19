//! Writes, by Landlock: files can be made, changed, renamed and removed only below some folders, and what is hidden can't be
//! read. A process that is held
//! back can't mount anything either, and can't look into or change processes outside of its own confinement.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::{ConfineError, Hidden};

/// The newest that is asked for. What a kernel doesn't know of it, it doesn't do; [`super::Report`] says so.
const NEWEST: ABI = ABI::V10;

/// Files that belong to nobody, and terminals.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// What becomes of processes outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// They get no signal, and abstract sockets of theirs can't be reached.
    Spared,
    /// They are what it is there for.
    Known,
}

/// Says how much the kernel knows.
pub(super) fn hold_back(
    writable: &[PathBuf],
    neighbours: Neighbours,
    hidden: Option<&Hidden>,
) -> Result<ABI, ConfineError> {
    let reads = if hidden.is_some() { BitFlags::from(AccessFs::ReadFile) } else { BitFlags::EMPTY };
    let readable =
        hidden.map(Hidden::readable).transpose().map_err(ConfineError::Hidden)?.unwrap_or_default();
    let all = AccessFs::from_write(NEWEST) | reads;
    // Device files lead around file systems, for those who may make them.
    let of_folders = all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let of_devices = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev | reads;
    let mut ruleset = Ruleset::default().handle_access(all)?;
    if neighbours == Neighbours::Spared {
        ruleset = ruleset.scope(Scope::from_all(NEWEST))?;
    }
    let folders = writable.iter().filter_map(|folder| rule(folder, of_folders));
    let devices = DEVICES.iter().filter_map(|device| rule(Path::new(device), of_devices));
    let readable = readable.iter().filter_map(|path| rule(path, reads));
    let rules = folders.chain(devices).chain(readable);
    let status = ruleset.create()?.add_rules(rules.map(Ok::<_, ConfineError>))?;
    let status = status.restrict_self()?;
    match (status.ruleset, status.landlock) {
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) => Ok(effective_abi),
        (RulesetStatus::NotEnforced, _)
        | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => Err(ConfineError::NoLandlock),
    }
}

/// None for what is elsewhere than its path says, or isn't there: links are followed when a file is opened, so that
/// is asked of the open file.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let open = PathFd::new(path).ok()?;
    let really = fs::read_link(format!("/proc/self/fd/{}", open.as_fd().as_raw_fd())).ok()?;
    let about = path.symlink_metadata().ok()?;
    // What is true of a file only, a file is given; terminals are below a folder.
    let access = if about.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    (really == path).then(|| PathBeneath::new(open, access))
}
