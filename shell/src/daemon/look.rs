//! Who has a home: told by its lock, which dies with its process, never by files alone. And what is left in its
//! place when nobody has it.

use std::io;
use std::path::PathBuf;

use holon_platform::Environment;

use super::metadata::Metadata;
use super::socket;
use crate::home::Home;
use crate::settings::Settings;
use holon_ledger::sqlite::{HomeLock, LockError};

/// Who has a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeResult {
    Nobody,
    /// A runtime that has reported that it is ready.
    Ready(Box<Metadata>),
    /// A process that did not say so: a runtime that starts or ends, or a one-shot run.
    Busy {
        pid: Option<u32>,
    },
}

impl ProbeResult {
    /// The process that has the home and did not say that it is ready.
    pub fn busy(&self) -> Option<u32> {
        match self {
            Self::Busy { pid } => *pid,
            Self::Nobody | Self::Ready(_) => None,
        }
    }
}

/// Looks; changes nothing.
///
/// # Errors
/// A home that can't be locked by anybody.
pub fn look(home: &Home) -> Result<ProbeResult, LockError> {
    let pid = match HomeLock::probe(home.root()) {
        Ok(()) => return Ok(ProbeResult::Nobody),
        Err(LockError::Held { pid, .. }) => pid,
        Err(error @ LockError::Unusable { .. }) => return Err(error),
    };
    // Metadata of somebody else than the holder was left behind. A holder that nothing names is the process that the
    // metadata names, if that lives.
    let metadata = Metadata::read(home).ok().flatten();
    let metadata =
        metadata.filter(|metadata| pid.is_none_or(|pid| metadata.process.pid == pid) && metadata.is_alive());
    Ok(match metadata {
        Some(metadata) => ProbeResult::Ready(Box::new(metadata)),
        None => ProbeResult::Busy { pid },
    })
}

/// Where a runtime of a home listens that does not say where: at the socket that is configured, or at the home's own.
pub fn sockets(home: &Home, environment: &Environment) -> Vec<PathBuf> {
    let configured = Settings::socket(&home.config(), environment);
    let mut sockets: Vec<PathBuf> = configured.into_iter().chain([home.socket()]).collect();
    sockets.dedup();
    sockets
}

/// What a runtime that was killed left behind: its metadata, its home's socket, and the one that it said it listens
/// at. Of a home that nobody has; changes nothing.
pub fn leftovers(home: &Home) -> Vec<PathBuf> {
    let metadata = Metadata::path(home);
    let metadata = metadata.symlink_metadata().is_ok().then_some(metadata);
    // A socket that is only configured may be another home's, which does not listen yet: a start takes care of it.
    let said = Metadata::read(home).ok().flatten().and_then(|metadata| metadata.socket_path);
    let mut sockets = vec![home.socket()];
    sockets.extend(said.filter(|said| !sockets.contains(said)));
    // What stands in the socket's place and is somebody else's was not left behind.
    sockets.retain(|socket| socket::is_leftover(socket).unwrap_or(false));
    metadata.into_iter().chain(sockets).collect()
}

/// Takes [`leftovers`] away, unless somebody has taken the home meanwhile: then they are no leftovers any more.
///
/// # Errors
/// A home that can't be locked by anybody, or the metadata can't be removed. A socket that stays is refused in words
/// by whoever wants to listen there.
pub fn clean(home: &Home) -> Result<io::Result<()>, LockError> {
    let left = leftovers(home);
    if left.is_empty() {
        return Ok(Ok(()));
    }
    let lock = match HomeLock::acquire(home.root()) {
        Ok(lock) => lock,
        Err(LockError::Held { .. }) => return Ok(Ok(())),
        Err(error @ LockError::Unusable { .. }) => return Err(error),
    };
    for path in left.iter().filter(|path| **path != Metadata::path(home)) {
        socket::make_room(path).ok();
    }
    let removed = Metadata::remove(home);
    drop(lock);
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use holon_platform::process;
    use holon_platform::process::Identity;

    use super::*;

    fn metadata(process: Identity) -> Metadata {
        let Identity { pid, started, boot_id } = process;
        serde_json::from_value(serde_json::json!({ "pid": pid, "started": started, "boot_id": boot_id }))
            .unwrap()
    }

    #[test]
    fn the_lock_says_who_is_there_and_files_only_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        assert_eq!(look(&home).unwrap(), ProbeResult::Nobody);
        let lock = HomeLock::acquire(home.root()).unwrap();
        let own = process::own_identity().unwrap();
        assert_eq!(look(&home).unwrap(), ProbeResult::Busy { pid: Some(own.pid) });
        metadata(Identity { started: own.started + 1, ..own.clone() }).write(&home).unwrap();
        assert_eq!(
            look(&home).unwrap(),
            ProbeResult::Busy { pid: Some(own.pid) },
            "an earlier process of that number"
        );
        metadata(own).write(&home).unwrap();
        assert!(matches!(look(&home).unwrap(), ProbeResult::Ready(_)));
        clean(&home).unwrap().unwrap();
        assert!(matches!(look(&home).unwrap(), ProbeResult::Ready(_)), "what is in use is not left behind");
        std::fs::write(home.run_file("lock"), "").unwrap();
        assert!(matches!(look(&home).unwrap(), ProbeResult::Ready(_)), "a lock whose owner nothing names");
        drop(lock);
        std::fs::write(home.socket(), "somebody else's").unwrap();
        // A process that another test starts has a copy of the lock until it executes its program.
        let nobody = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            look(&home).unwrap() == ProbeResult::Nobody
        });
        assert!(nobody);
        assert_eq!(leftovers(&home), [Metadata::path(&home)]);
        clean(&home).unwrap().unwrap();
        assert_eq!(leftovers(&home), [] as [PathBuf; 0]);
        assert!(home.socket().exists());
    }

    #[test]
    fn every_socket_that_a_runtime_said_it_listens_at_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        assert_eq!(leftovers(&home), [] as [PathBuf; 0]);
        clean(&home).unwrap().unwrap();
        assert!(!home.root().exists(), "nothing is made where nothing is");
        home.create().unwrap();
        let [configured, before, strangers] = ["now.sock", "before.sock", "other.sock"].map(|name| {
            let path = folder.path().join(name);
            drop(UnixListener::bind(&path).unwrap());
            path
        });
        let config = format!("[server]\nsocket = '{}'\n[limits]\nrounds = 'wrong'\n", configured.display());
        std::fs::write(home.config(), config).unwrap();
        let dead = Identity { pid: 1, started: 2, boot_id: "another".to_owned() };
        let metadata = Metadata { socket_path: Some(before.clone()), ..metadata(dead) };
        metadata.write(&home).unwrap();
        drop(UnixListener::bind(home.socket()).unwrap());
        let expected = [Metadata::path(&home), home.socket(), before];
        assert_eq!(leftovers(&home), expected);
        clean(&home).unwrap().unwrap();
        assert!(expected.iter().all(|path| !path.exists()), "{expected:?}");
        assert!(strangers.exists());
        assert!(configured.exists(), "it may be another home's");
    }
}
