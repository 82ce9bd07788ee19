//! The file in the home that keeps sessions over a restart of the runtime: hashes of secrets, and when each was used.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::{fmt, io};

use holon_platform::entropy;
use serde::{Deserialize, Serialize};

use super::sessions::Session;
use crate::home::Home;
use crate::home::secret;

/// More than a hundred sessions take.
const BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    /// One writes at a time, and what it writes is what is so then: the last one wins.
    writing: Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    /// Browsers send cookies to all ports of a machine: those of two homes need two names.
    cookie: String,
    sessions: Vec<Session>,
}

impl Store {
    pub(super) fn of(home: &Home) -> Self {
        Self { path: home.run_file("console.json"), writing: Mutex::default() }
    }

    /// The name of the cookie, and the sessions. Where the file can't be read or is something else, all browsers are
    /// logged out.
    ///
    /// # Errors
    /// The kernel has no randomness.
    pub(super) fn read(&self) -> io::Result<(String, Vec<Session>)> {
        let unreadable = |problem: &dyn fmt::Display| {
            tracing::warn!("{}: {problem}; browsers have to log in again", self.path.display());
        };
        let read = secret::known(&self.path, BYTES).inspect_err(|error| unreadable(error)).ok().flatten();
        let document = read.and_then(|text| {
            serde_json::from_str::<Document>(&text).inspect_err(|error| unreadable(error)).ok()
        });
        match document {
            Some(Document { cookie, sessions }) if is_token(&cookie) => Ok((cookie, sessions)),
            Some(_) | None => Ok((format!("holon_session_{}", entropy::name()?), Vec::new())),
        }
    }

    pub(super) fn write(&self, cookie: &str, sessions: impl FnOnce() -> Vec<Session>) -> io::Result<()> {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let document = Document { cookie: cookie.to_owned(), sessions: sessions() };
        secret::put(&self.path, &serde_json::to_string(&document)?)
    }
}

/// Whether a text can stand as a name in a header.
fn is_token(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use holon_facts::Wall;

    use super::super::sessions::Sessions;
    use super::*;

    #[test]
    fn sessions_survive_and_their_secrets_are_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        home.create().unwrap();
        let store = Store::of(&home);
        let (name, none) = store.read().unwrap();
        assert!(name.starts_with("holon_session_") && none.is_empty(), "{name}");
        let now = Wall(1_000_000_000_000_000);
        let sessions = Sessions::new(none, now);
        let (secret, session) = sessions.begin(Some("browser"), now).unwrap();
        store.write(&name, || sessions.open(now)).unwrap();
        assert_eq!(store.read().unwrap(), (name.clone(), vec![session]));
        let path = home.run_file("console.json");
        assert!(!fs::read_to_string(&path).unwrap().contains(&secret));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Sessions::new(store.read().unwrap().1, now);
        assert!(again.find(&secret, now).is_some());

        for broken in ["{", "{\"cookie\":\"a b\",\"sessions\":[]}", ""] {
            fs::write(&path, broken).unwrap();
            let (other, sessions) = store.read().unwrap();
            assert!(sessions.is_empty() && other != name, "{broken}");
        }
    }
}
