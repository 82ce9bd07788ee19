//! The environment, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use reqwest::Url;

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

    /// The environment of this process. Values that are not text are left out, and remembered by name.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        Self::of(std::env::vars_os())
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
        const SUFFIXES: [&str; 4] = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];
        const ADDRESSES: [&str; 3] = ["_URL", "_proxy", "_PROXY"];
        self.variables.iter().filter_map(|(name, value)| {
            let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
            let secret = if ends(&SUFFIXES) {
                Some(value.clone())
            } else if ends(&ADDRESSES) {
                password(value)
            } else {
                None
            };
            secret.map(|secret| (name.clone(), secret))
        })
    }
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
        let pairs =
            [("X_API_KEY", "key"), ("https_proxy", "http://me:word@h:1"), ("A_URL", "http://h"), ("B", "b")];
        let environment = Environment::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let secrets: Vec<_> = environment.secrets().collect();
        let expected = [("X_API_KEY", "key"), ("https_proxy", "word")];
        assert_eq!(secrets, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
