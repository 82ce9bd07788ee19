//! How git is held back where an agent can write: filters that a repository names run with it.

use std::path::Path;

use holon_supervise::Helper;
use holon_supervise::confine::{Confinement, Network, Policy};

use crate::home::Home;

/// What git is held back from in the runtime's own work.
#[derive(Debug, Clone, Copy)]
pub struct HeldBack<'a> {
    /// This binary.
    pub supervisor: &'a Path,
    /// Of the agent whose files git looks at; none under `host_local`.
    pub policy: Option<&'a Policy>,
}

impl HeldBack<'_> {
    /// Under `confined` git can do what a command of the agent can. Otherwise it writes into the repository and that folder
    /// alone, where the kernel holds writes back; none where it does not.
    pub fn helper(self, anchor: &Path, folder: &Path) -> Option<Helper> {
        let policy = match self.policy {
            Some(policy) => policy.clone(),
            None => {
                let kernel = Confinement::new(Network::On, &[], None, folder, Home::shared(folder)).ok()?;
                kernel.for_worktrees(anchor, folder)
            }
        };
        Some(Helper::new(self.supervisor, policy))
    }
}
