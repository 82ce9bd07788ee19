//! What commands are held back from, as it is configured.

use std::path::{Path, PathBuf};

use holon_core::execution::ExecutionProfile;

use super::Environment;
use crate::confine::{Confinement, Network, Unconfinable};

/// Most folders that can be named.
pub(super) const FOLDERS: usize = 64;

/// The keys below `execution`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSettings {
    pub profile: ExecutionProfile,
    pub network: Network,
    /// Folders below which confined commands may write, beside their own.
    pub writable: Vec<PathBuf>,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self { profile: ExecutionProfile::HostLocal, network: Network::On, writable: Vec::new() }
    }
}

impl ExecutionSettings {
    /// What commands are to be held back from, now; none under `host_local`.
    ///
    /// # Errors
    /// This machine doesn't do it.
    pub fn confinement(
        &self,
        environment: &Environment,
        home: &Path,
    ) -> Result<Option<Confinement>, Unconfinable> {
        match self.profile {
            ExecutionProfile::HostLocal => Ok(None),
            ExecutionProfile::Confined => {
                let tmpdir = environment.get("TMPDIR").map(Path::new);
                Confinement::new(self.network, &self.writable, tmpdir, home).map(Some)
            }
        }
    }
}
