//! The profile `confined`, as a runtime was started with it: which folders the commands of an agent may write to.

use std::path::{Path, PathBuf};

use holon_facts::execution::ExecutionPolicy;
use holon_facts::workspace::{ExecutionBinding, ProjectionKind};

use super::{Hidden, Network, Policy, Readable, Report, hidden};

/// Folders that everybody may put something into.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// What there is of it for all agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Temporary folders, and those that the operator has named.
    everywhere: Vec<PathBuf>,
    network: Network,
    /// The runtime's own files.
    home: PathBuf,
    /// The folder that is hidden from commands: the home, or the one around a temporary run's home.
    hidden: PathBuf,
    /// Whether it can be.
    hides: bool,
}

/// The kernel does not do what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unconfinable {
    #[error(
        "execution.profile is \"confined\", and this kernel holds back no writes: it has no Landlock (Linux 5.13), or was \
         started without it"
    )]
    Writes,
    #[error(
        "execution.network is \"{0}\", and this kernel or processor holds back no sockets: it has no seccomp filters"
    )]
    Network(Network),
}

impl Unconfinable {
    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Writes => "holon config set execution.profile host_local",
            Self::Network(_) => "holon config set execution.network on",
        }
    }
}

impl Confinement {
    /// Folders are taken as they really are now: what becomes of their names later changes nothing. `hidden` is the
    /// folder that commands can't read: `home`, or one around it.
    ///
    /// # Errors
    /// The kernel doesn't enforce it.
    pub fn new(
        network: Network,
        writable: &[PathBuf],
        tmpdir: Option<&Path>,
        home: &Path,
        hidden: &Path,
    ) -> Result<Self, Unconfinable> {
        let kernel = Report::of_this_kernel();
        if kernel.landlock == 0 {
            return Err(Unconfinable::Writes);
        }
        if network != Network::On && !kernel.sockets {
            return Err(Unconfinable::Network(network));
        }
        let all = TEMPORARY.iter().map(Path::new).chain(tmpdir).chain(writable.iter().map(PathBuf::as_path));
        let mut everywhere: Vec<PathBuf> = all.filter_map(|folder| folder.canonicalize().ok()).collect();
        everywhere.sort();
        everywhere.dedup();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (home, hidden) = (real(home), real(hidden));
        let hides =
            !everywhere.iter().any(|folder| hidden.starts_with(folder)) && hidden::siblings(&hidden).is_ok();
        Ok(Self { everywhere, network, home, hidden, hides })
    }

    /// What whoever may write there can't read: the home, but for one agent's own part of it.
    fn hidden(&self, writable: &[PathBuf], agent_home: Option<&Path>) -> Option<Hidden> {
        let folder = self.hidden.clone();
        if !self.hides || writable.iter().any(|writable| folder.starts_with(writable)) {
            return None;
        }
        let own = agent_home.map(Path::to_owned).into_iter();
        Some(Hidden { folder, shown: own.chain([self.home.join("worktrees")]).collect() })
    }

    /// What the runtime reads for an agent that works there. A home that commands can read because they may write around
    /// it is no exception.
    pub fn readable(&self, at: &ExecutionBinding, agent_home: &Path) -> Readable {
        let bound = [&at.execution_root, &at.workspace_anchor].map(PathBuf::from);
        let own = [agent_home.to_owned(), self.home.join("worktrees")];
        let shown = bound.into_iter().chain(own).chain(self.everywhere.iter().cloned());
        Readable::but(Hidden { folder: self.hidden.clone(), shown: shown.collect() })
    }

    /// For git, which makes a worktree in this folder for an agent, or removes one: what a repository names as its filters
    /// runs with it.
    pub fn for_worktrees(&self, anchor: &Path, folder: &Path) -> Policy {
        let mut writable = vec![anchor.join(".git"), folder.to_owned()];
        writable.extend(self.everywhere.iter().cloned());
        let hidden = self.hidden(&writable, None);
        Policy { writable, network: self.network, hidden }
    }

    /// For the runtime, which puts what an agent begins with into its home, out of a copy in the runtime's own.
    pub fn for_home(&self, agent_home: &Path, copy: Option<&Path>) -> Policy {
        let writable = vec![agent_home.to_owned()];
        let mut hidden = self.hidden(&writable, None);
        if let Some(hidden) = &mut hidden {
            hidden.shown = copy.and_then(|copy| copy.canonicalize().ok()).into_iter().collect();
        }
        Policy { writable, network: self.network, hidden }
    }

    /// What commands are held back from under one of its policies, and what not.
    pub fn told(&self, policy: &Policy) -> ExecutionPolicy {
        let mut told = Report::of_this_kernel().of(policy);
        if policy.writable.iter().any(|folder| self.home.starts_with(folder)) {
            told.gaps.push(format!("{}, this runtime's own files, can be changed", self.home.display()));
        }
        let program = std::env::current_exe().ok();
        let within = |program: &PathBuf| policy.writable.iter().any(|folder| program.starts_with(folder));
        if let Some(program) = program.filter(within) {
            told.gaps.push(format!("{}, this program, can be changed", program.display()));
        }
        told
    }

    /// What all commands have in common.
    pub fn shared(&self) -> Policy {
        let hidden = self.hidden(&self.everywhere, None);
        Policy { writable: self.everywhere.clone(), network: self.network, hidden }
    }

    /// Whether commands can connect to others.
    pub fn has_network(&self) -> bool {
        self.network != Network::Off
    }

    /// Whether an agent may go there by itself: to what it knows, to its home, to what everybody may write to.
    pub fn may_use(&self, root: &Path, attached: &[String], agent_home: &Path) -> bool {
        let known = attached.iter().map(Path::new).chain([agent_home]);
        known.chain(self.everywhere.iter().map(PathBuf::as_path)).any(|known| root.starts_with(known))
    }

    /// For commands of an agent that works there.
    pub fn policy(&self, at: &ExecutionBinding, agent_home: &Path) -> Policy {
        let mut writable = vec![PathBuf::from(&at.execution_root)];
        // The commits of a worktree are kept there. What it says of that itself, a command could have written.
        let is_worktree = at.projection_kind == ProjectionKind::GitWorktreeRoot;
        let repository = is_worktree.then(|| Path::new(&at.workspace_anchor).join(".git"));
        for folder in repository.into_iter().chain([agent_home.to_owned()]).chain(self.everywhere.clone()) {
            if !writable.contains(&folder) {
                writable.push(folder);
            }
        }
        let hidden = self.hidden(&writable, Some(agent_home));
        Policy { writable, network: self.network, hidden }
    }
}
