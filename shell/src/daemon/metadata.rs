//! `run/daemon.json`: what a runtime says of itself while it is ready. Whoever reads it compares the process
//! before believing it: a runtime that was killed leaves it behind.

use std::io;
use std::path::PathBuf;

use holon_facts::Wall;
use holon_platform::process::{self, Identity};
use serde::{Deserialize, Serialize};

use super::fingerprint::Fingerprint;
use super::private;
use crate::home::Home;

/// What other versions may have left out has a default: they must be able to read each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    #[serde(flatten)]
    pub process: Identity,
    #[serde(default)]
    pub started_at: Option<Wall>,
    #[serde(default)]
    pub version: Option<String>,
    #[serde(default)]
    pub home_dir: Option<PathBuf>,
    #[serde(default)]
    pub socket_path: Option<PathBuf>,
    /// Where it listens, the port that it got included.
    #[serde(default)]
    pub http_addr: Option<String>,
    #[serde(default)]
    pub advertise_url: Option<String>,
    #[serde(default)]
    pub access: Option<String>,
    #[serde(default)]
    pub auth: Option<String>,
    #[serde(default)]
    pub fingerprint: Option<Fingerprint>,
    /// The options that it was started with, as arguments and without secrets: a restart uses them again. None where
    /// they are not known.
    #[serde(default)]
    pub options: Option<Vec<String>>,
    /// The short name of the fingerprint, where the runtime told it instead of the file.
    #[serde(skip)]
    pub fingerprint_digest: Option<String>,
}

impl Metadata {
    /// Of a process of which nothing else is known.
    pub fn of(process: Identity) -> Self {
        Self {
            process,
            started_at: None,
            version: None,
            home_dir: None,
            socket_path: None,
            http_addr: None,
            advertise_url: None,
            access: None,
            auth: None,
            fingerprint: None,
            options: None,
            fingerprint_digest: None,
        }
    }

    pub fn path(home: &Home) -> PathBuf {
        home.run_file("daemon.json")
    }

    /// What a runtime has left, dead or alive; a file that nobody can read says nothing.
    ///
    /// # Errors
    /// The file can't be read, or is no metadata.
    pub fn read(home: &Home) -> io::Result<Option<Self>> {
        private::read(&Self::path(home))
    }

    /// # Errors
    /// The folder can't be written to.
    pub fn write(&self, home: &Home) -> io::Result<()> {
        private::write(&Self::path(home), self)
    }

    /// # Errors
    /// The folder can't be written to.
    pub fn remove(home: &Home) -> io::Result<()> {
        private::remove(&Self::path(home))
    }

    /// Whether the very process that wrote it is alive.
    pub fn is_alive(&self) -> bool {
        process::is_alive(&self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_versions_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.create().unwrap();
        assert_eq!(Metadata::read(&home).unwrap(), None);
        let older = r#"{ "pid": 1, "started": 2, "boot_id": "b", "something_newer": [1] }"#;
        std::fs::write(Metadata::path(&home), older).unwrap();
        let read = Metadata::read(&home).unwrap().unwrap();
        assert_eq!((read.process.pid, read.version.clone(), read.options.clone()), (1, None, None));
        assert!(!read.is_alive(), "process 1 of another start of the kernel");
        read.write(&home).unwrap();
        assert_eq!(Metadata::read(&home).unwrap(), Some(read));
        std::fs::write(Metadata::path(&home), "half").unwrap();
        assert!(Metadata::read(&home).is_err());
        Metadata::remove(&home).unwrap();
        Metadata::remove(&home).unwrap();
        assert_eq!(Metadata::read(&home).unwrap(), None);
    }
}
