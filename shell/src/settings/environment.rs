//! The environment, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::OnceLock;

use reqwest::Url;

use super::secret_names::is_secret;
use crate::text::{LEAST_CHARS, Secrets};

/// The variables that the runtime looks at.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Names of variables whose value is not UTF-8.
    not_text: BTreeSet<String>,
}

impl Environment {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect(), not_text: BTreeSet::new() }
    }

    /// The environment that this process was started with. Values that are not text are left out, and remembered by
    /// name.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        // Once: what is secret is taken out of the process's own (crate::shield).
        static READ: OnceLock<Environment> = OnceLock::new();
        READ.get_or_init(|| Self::of(std::env::vars_os())).clone()
    }

    fn of(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut environment = Self::default();
        for (name, value) in all {
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(environment.variables.insert(name, value)),
                Err(_) => drop(environment.not_text.insert(name)),
            }
        }
        environment
    }

    /// A variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether a variable is set to something that is not UTF-8.
    pub fn is_not_text(&self, name: &str) -> bool {
        self.not_text.contains(name)
    }

    /// The names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().chain(&self.not_text).map(String::as_str)
    }

    /// Every variable, for what commands may see of it.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.variables.iter().map(|(name, value)| (name.into(), value.into()))
    }

    /// Values that must never be seen, with the names that stand for them: what names give away, and passwords
    /// inside the addresses of servers and proxies.
    pub fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let secrets = self.variables.iter().filter_map(|(name, value)| {
            let secret = if is_secret(name, value) { Some(value.clone()) } else { password_of(name, value) };
            secret.filter(|secret| secret.chars().count() >= LEAST_CHARS).map(|secret| (name.clone(), secret))
        });
        secrets.take(MOST_SECRETS)
    }

    /// Whether the whole value of a variable is a credential, by its name or by its shape.
    pub fn is_secret(&self, name: &str) -> bool {
        let shaped = |value: &str| !Secrets::default().find(value).is_empty();
        self.get(name).is_some_and(|value| is_secret(name, value) || shaped(value))
    }
}

/// Credentials of an environment, at most: each of them is looked for in every text.
const MOST_SECRETS: usize = 1_000;

fn password_of(name: &str, value: &str) -> Option<String> {
    let ends = ["_URL", "_URI", "_DSN", "_PROXY"];
    let upper = name.to_ascii_uppercase();
    if ends.iter().any(|end| upper.ends_with(end)) { password(value) } else { None }
}

/// The password inside an address.
pub(super) fn password(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    url.password().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn values_that_are_not_text_are_remembered_by_name() {
        let odd = OsString::from_vec(vec![0xff]);
        let environment = Environment::of([("A".into(), odd), ("B".into(), "text".into())]);
        assert!(environment.is_not_text("A") && !environment.is_not_text("B"));
        assert_eq!((environment.get("A"), environment.get("B")), (None, Some("text")));
    }

    #[test]
    fn names_and_addresses_give_secrets_away() {
        let pairs = [
            ("X_API_KEY", "the-key-1"),
            ("https_proxy", "http://me:pass-word@h:1"),
            ("A_URL", "http://h"),
            ("B", "b"),
            ("SHORT_TOKEN", "key"),
        ];
        let environment = Environment::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let secrets: Vec<_> = environment.secrets().collect();
        let expected = [("X_API_KEY", "the-key-1"), ("https_proxy", "pass-word")];
        assert_eq!(secrets, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
