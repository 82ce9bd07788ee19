//! The environment, read once.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::OnceLock;

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

    /// Every variable that is text.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
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
}
