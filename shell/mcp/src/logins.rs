//! Where logins at servers are kept: one file for each server, for its owner alone. A login is for one address: a server that
//! is moved elsewhere is not shown what another one has given.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::definition::{Definition, Reach};
use crate::kept;

/// Below the folder of all servers.
const FOLDER: &str = "logins";
/// A larger file is not one of ours.
const FILE_BYTES: u64 = 1 << 20;

/// The logins of a home.
#[derive(Debug, Clone)]
pub struct Logins {
    folder: PathBuf,
}

/// The place of the login at one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    path: PathBuf,
    url: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    url: String,
    login: Value,
}

impl Logins {
    /// In the folder where logs and lists of tools are, too.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.join(FOLDER) }
    }

    /// The place for a server that is reached over HTTP; programs have none.
    pub fn of_server(&self, definition: &Definition) -> Option<Login> {
        let Reach::Address { url, .. } = &definition.reach else { return None };
        Some(Login { path: self.path(&definition.name), url: url.clone() })
    }

    /// Forgets a login; false where there is none.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn forget(&self, server: &str) -> io::Result<bool> {
        let path = self.path(server);
        if !path.try_exists()? {
            return Ok(false);
        }
        // A process that renews it would write it again.
        let _renewed = lock(&path)?;
        kept::remove(&path)
    }

    fn path(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{server}.json"))
    }
}

impl Login {
    /// Whether somebody has logged in.
    pub fn is_there(&self) -> bool {
        self.read().is_some()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What was kept for this address.
    pub(crate) fn read(&self) -> Option<Value> {
        let kept: Kept = kept::read(&self.path, FILE_BYTES)?;
        (kept.url == self.url).then_some(kept.login)
    }

    pub(crate) fn write(&self, login: Value) -> io::Result<()> {
        kept::replace(&self.path, &Kept { url: self.url.clone(), login })
    }

    pub(crate) fn remove(&self) -> io::Result<bool> {
        kept::remove(&self.path)
    }

    /// Waits until no other process renews it.
    pub(crate) fn lock(&self) -> io::Result<File> {
        lock(&self.path)
    }
}

fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file =
        options.write(true).create(true).truncate(false).mode(0o600).open(path.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn at(url: &str) -> Definition {
        Definition::example("tracker", Reach::Address { url: url.into(), headers: BTreeMap::new() })
    }

    #[test]
    fn a_login_is_for_one_address_and_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let logins = Logins::of(folder.path());
        let login = logins.of_server(&at("https://one.example/mcp")).unwrap();
        assert!(!login.is_there());
        login.write(json!({ "client_id": "a" })).unwrap();
        assert_eq!(login.read(), Some(json!({ "client_id": "a" })));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&login.path), mode(&logins.folder)), (0o600, 0o700));
        drop(login.lock().unwrap());
        let moved = logins.of_server(&at("https://other.example/mcp")).unwrap();
        assert!(!moved.is_there(), "another server is shown nothing");
        assert!(logins.forget("tracker").unwrap());
        assert!(!logins.forget("tracker").unwrap() && !login.is_there());
    }
}
