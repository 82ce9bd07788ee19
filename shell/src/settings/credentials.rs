//! Keys of providers, in `credentials.toml`: `[credentials.<name>]` with `key = "…"`. The file is for its owner
//! alone, and no error or listing ever repeats anything of it but names.

use std::collections::BTreeMap;
use std::path::Path;

use super::kind::{Kind, is_name};
use super::source::{Leaf, Source};
use super::{Origin, Problem, SettingsError, did_you_mean, quoted};

/// Shortest key: a shorter one can't be redacted without redacting ordinary words.
const KEY_CHARS: usize = 8;
/// Longest key; signed tokens are long.
const KEY_BYTES: usize = 16 << 10;

/// Every key of the file, by its name.
#[derive(Clone, Default)]
pub struct Credentials {
    keys: BTreeMap<String, String>,
}

impl Credentials {
    /// Reads the file, where there is one.
    ///
    /// # Errors
    /// Also a file that others may read: whatever it holds is to be thought of as known by now.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let (credentials, problems) = Self::survey(path)?;
        SettingsError::first(problems)?;
        Ok(credentials)
    }

    /// As [`Credentials::load`], with every problem and every key that has none.
    pub fn survey(path: &Path) -> Result<(Self, Vec<Problem>), SettingsError> {
        let source = Source::read(path)?;
        private(&source)?;
        let mut credentials = Self::default();
        let mut problems = Vec::new();
        let is_group = |name: &str| name == "credentials" || name.starts_with("credentials.");
        for leaf in source.leaves(&is_group)? {
            let origin = Origin::File { path: path.to_owned(), line: leaf.line };
            problems.extend(credentials.take(&leaf).err().map(|(what, name)| {
                let remedy = match name {
                    Some(name) => format!("holon config credentials set {name}"),
                    None => format!("edit {}", quoted(&path.display().to_string())),
                };
                Problem { origin, key: leaf.name.clone(), what, remedy }
            }));
        }
        Ok((credentials, problems))
    }

    /// The same with one key more, which is in no file yet.
    #[must_use]
    pub fn with(mut self, name: &str, key: &str) -> Self {
        self.keys.insert(name.to_owned(), key.to_owned());
        self
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.keys.get(name).map(String::as_str)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Every key with the name that stands for it, used or not.
    pub fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        self.keys.iter().map(|(name, key)| (name.clone(), key.clone()))
    }

    /// Takes a leaf; the error says what is wrong, and with which credential.
    fn take(&mut self, leaf: &Leaf) -> Result<(), (String, Option<String>)> {
        let Some((name, field)) =
            leaf.name.strip_prefix("credentials.").and_then(|rest| rest.split_once('.'))
        else {
            let table = leaf.name.split('.').next().filter(|table| *table != "credentials");
            let near = did_you_mean(table.unwrap_or_default(), ["credentials"]);
            return Err((format!("expected a table [credentials.<name>] with a key in it{near}"), None));
        };
        if !is_name(name) {
            return Err((format!("a credential has {}", Kind::Name.expected()), None));
        }
        if field != "key" {
            return Err((format!("there is no such field{}", did_you_mean(field, ["key"])), None));
        }
        let text = leaf.value.as_str().ok_or_else(|| "expected a text".to_owned());
        let key = text.and_then(check).map_err(|what| (what, Some(name.to_owned())))?;
        self.keys.insert(name.to_owned(), key.to_owned());
        Ok(())
    }
}

/// A key that can be sent and redacted.
///
/// # Errors
/// What is wrong with it, without repeating it.
pub fn check(key: &str) -> Result<&str, String> {
    let key = key.trim();
    if key.chars().count() < KEY_CHARS {
        return Err(format!(
            "a key has at least {KEY_CHARS} characters, or it could not be kept out of texts"
        ));
    }
    if key.len() > KEY_BYTES {
        return Err(format!("a key has at most {KEY_BYTES} bytes"));
    }
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("a key has no blanks, line breaks or special characters; copy it again".to_owned());
    }
    Ok(key)
}

/// Refuses a file that anybody but its owner may read or write.
pub(super) fn private(source: &Source) -> Result<(), SettingsError> {
    match source.mode {
        Some(mode) if mode & 0o077 != 0 => {
            Err(SettingsError::OpenToOthers { path: source.path.clone(), mode })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn load(text: &str, mode: u32) -> Result<Credentials, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        Credentials::load(&path).map_err(|error| format!("{error} / {}", error.hint()))
    }

    #[test]
    fn keys_are_read_by_name() {
        let text =
            "[credentials.openai]\nkey = \"sk-canary-1\"\n[credentials]\nmy-server.key = 'sk-canary-2'\n";
        let credentials = load(text, 0o600).unwrap();
        assert_eq!(credentials.names().collect::<Vec<_>>(), ["my-server", "openai"]);
        assert_eq!(credentials.get("openai"), Some("sk-canary-1"));
        assert_eq!(credentials.secrets().count(), 2);
    }

    #[test]
    fn a_file_for_others_is_refused() {
        for mode in [0o644, 0o640, 0o602] {
            let error = load("", mode).err().unwrap();
            assert!(error.contains("chmod 600 ") && error.contains("may be read by others"), "{error}");
        }
        assert!(load("", 0o400).is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_without_the_key() {
        for (text, says) in [
            ("[credentials.a]\nkey = \"canary\"", ":2: credentials.a.key: a key has at least 8"),
            ("[credentials.a]\nkey = \"canary canary\"", "no blanks"),
            ("[credentials.a]\nkey = 1234567890", "expected a text"),
            ("[credentials.a]\nkeys = \"canary-canary\"", "did you mean key?"),
            ("[credentials.A]\nkey = \"canary-canary\"", "a credential has a name of"),
            ("[credential.a]\nkey = \"canary-canary\"", "did you mean credentials?"),
            ("openai = \"canary-canary\"", "expected a table"),
            ("key = canary-canary", "is not TOML"),
        ] {
            let error = load(text, 0o600).err().unwrap();
            assert!(error.contains(says) && !error.contains("canary"), "{error}");
        }
    }
}
