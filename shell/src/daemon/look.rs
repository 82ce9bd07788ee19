//! Who has a home: told by its lock, which dies with its process, never by files alone.

use std::path::PathBuf;

use super::metadata::Metadata;
use super::socket;
use crate::home::Home;
use crate::ledger::{HomeLock, LockError};

/// Who has a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Nobody; what a runtime that was killed left behind is named.
    Nobody { stale: Vec<PathBuf> },
    /// A runtime that said that it is ready.
    Ready(Box<Metadata>),
    /// A process that did not say so: a runtime that starts or ends, or a one-shot run.
    Busy { pid: Option<u32> },
}

/// Looks; changes nothing.
///
/// # Errors
/// A home that can't be locked by anybody.
pub fn look(home: &Home) -> Result<Found, LockError> {
    let pid = match HomeLock::probe(home.root()) {
        Ok(()) => {
            let (metadata, socket) = (Metadata::path(home), home.socket());
            // What stands in the socket's place and is somebody else's was not left behind.
            let socket = socket::is_leftover(&socket).unwrap_or(false).then_some(socket);
            let metadata = metadata.symlink_metadata().is_ok().then_some(metadata);
            return Ok(Found::Nobody { stale: metadata.into_iter().chain(socket).collect() });
        }
        Err(LockError::Held { pid, .. }) => pid,
        Err(error @ LockError::Unusable { .. }) => return Err(error),
    };
    // Metadata of somebody else than the holder was left behind.
    let metadata = Metadata::read(home).ok().flatten();
    let metadata = metadata.filter(|metadata| Some(metadata.process.pid) == pid && metadata.is_alive());
    Ok(match metadata {
        Some(metadata) => Found::Ready(Box::new(metadata)),
        None => Found::Busy { pid },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervise::process;
    use crate::supervise::protocol::Identity;

    fn metadata(process: Identity) -> Metadata {
        let Identity { pid, started, boot_id } = process;
        serde_json::from_value(serde_json::json!({ "pid": pid, "started": started, "boot_id": boot_id }))
            .unwrap()
    }

    #[test]
    fn the_lock_says_who_is_there_and_files_only_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        assert_eq!(look(&home).unwrap(), Found::Nobody { stale: Vec::new() });
        let lock = HomeLock::acquire(home.root()).unwrap();
        let own = process::own_identity().unwrap();
        assert_eq!(look(&home).unwrap(), Found::Busy { pid: Some(own.pid) });
        metadata(Identity { started: own.started + 1, ..own.clone() }).write(&home).unwrap();
        assert_eq!(
            look(&home).unwrap(),
            Found::Busy { pid: Some(own.pid) },
            "an earlier process of that number"
        );
        metadata(own).write(&home).unwrap();
        assert!(matches!(look(&home).unwrap(), Found::Ready(_)));
        drop(lock);
        std::fs::write(home.socket(), "somebody else's").unwrap();
        assert_eq!(look(&home).unwrap(), Found::Nobody { stale: vec![Metadata::path(&home)] });
    }
}
