//! What commands are held back from and which variables they get, as it is configured.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use holon_facts::execution::ExecutionProfile;
use holon_platform::Environment;
use holon_supervise::confine::{Confinement, Network, Unconfinable};
use holon_text::variables::is_secret;
use serde_json::{Value as Json, json};
use toml_edit::Value;

use super::field::Field;
use super::kind::is_variable;
use crate::home::Home;

/// Most folders that can be named.
pub(super) const FOLDERS: usize = 64;
/// Most variables, or patterns of them, that can be named.
pub(super) const VARIABLES: usize = 64;
/// Bytes of the name of a variable, and of its value.
const NAME_BYTES: usize = 128;
const VALUE_BYTES: usize = 32 << 10;

/// The keys below `execution`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionSettings {
    pub profile: ExecutionProfile,
    pub network: Network,
    /// Folders below which confined commands may write, beside their own.
    pub writable: Vec<PathBuf>,
    pub environment: CommandVariables,
}

/// Variables that commands get by choice, beside those that they always get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandVariables {
    pub pass: Vec<VariablePattern>,
    pub set: SetVariables,
}

/// Variables of the runtime's own environment: one by its name, or all that begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariablePattern(String);

/// Variables with their values.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SetVariables(pub BTreeMap<String, String>);

impl VariablePattern {
    /// `NAME` or `PREFIX_*`.
    pub fn new(text: &str) -> Option<Self> {
        let name = text.strip_suffix('*').unwrap_or(text);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = name.bytes().next().map_or(text == "*", |first| !first.is_ascii_digit());
        let fits = begins && name.len() <= NAME_BYTES && name.bytes().all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it means this variable. A credential has to be named: no prefix lets it through.
    pub fn passes(&self, name: &str, value: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix) && !is_secret(name, value) && !is_reserved(name),
            None => self.0 == name,
        }
    }
}

impl CommandVariables {
    /// Values that must never be seen.
    pub fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        let secret = |(name, value): &(&String, &String)| is_secret(name, value);
        self.set.0.iter().filter(secret).map(|(name, value)| (name.clone(), value.clone()))
    }
}

/// The runtime's own, which tell a command where it is.
pub(super) fn is_reserved(name: &str) -> bool {
    name.starts_with("HOLON_")
}

impl Field for SetVariables {
    /// What stands in the file; none where it is no table of names and texts.
    fn read(value: &Value) -> Option<Self> {
        let table = value.as_inline_table().filter(|table| table.len() <= VARIABLES)?;
        let one = |(name, value): (&str, &Value)| {
            let named = is_variable(name) && !is_reserved(name);
            let value = value.as_str().filter(|value| value.len() <= VALUE_BYTES && !value.contains('\0'))?;
            named.then(|| (name.to_owned(), value.to_owned()))
        };
        table.iter().map(one).collect::<Option<_>>().map(Self)
    }

    /// For whoever shows it: without what is secret.
    fn show(&self) -> Json {
        let shown = |(name, value): (&String, &String)| {
            let value = if is_secret(name, value) { "[redacted]" } else { value.as_str() };
            (name.clone(), json!(value))
        };
        Json::Object(self.0.iter().map(shown).collect())
    }
}

impl fmt::Debug for SetVariables {
    /// Without the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            profile: ExecutionProfile::HostLocal,
            network: Network::On,
            writable: Vec::new(),
            environment: CommandVariables::default(),
        }
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
                Confinement::new(self.network, &self.writable, tmpdir, home, Home::shared(home)).map(Some)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_passes_what_it_names_and_no_credential_by_its_beginning() {
        let passes =
            |pattern: &str, name: &str| VariablePattern::new(pattern).unwrap().passes(name, "aB3-dE5-gH7");
        for (pattern, name) in [
            ("SSH_AUTH_SOCK", "SSH_AUTH_SOCK"),
            ("DOCKER_*", "DOCKER_HOST"),
            ("*", "EDITOR"),
            ("X_TOKEN", "X_TOKEN"),
        ] {
            assert!(passes(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("DOCKER_*", "DOCKE"),
            ("DOCKER", "DOCKER_HOST"),
            ("*", "X_TOKEN"),
            ("X_*", "X_TOKEN"),
            ("*", "HOLON_HOME"),
        ] {
            assert!(!passes(pattern, name), "{pattern} {name}");
        }
        for wrong in ["", "A B", "1A", "A=b", "A*B", "**", "-"] {
            assert!(VariablePattern::new(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn values_are_texts_and_secret_ones_are_not_shown() {
        let read = |text: &str| SetVariables::read(&text.parse().unwrap());
        let set = read("{ CI = '1', MY_TOKEN = 'canary-1234' }").unwrap();
        assert_eq!(set.show(), json!({ "CI": "1", "MY_TOKEN": "[redacted]" }));
        assert!(!format!("{set:?}").contains("canary"));
        for wrong in ["{ CI = 1 }", "{ HOLON_HOME = '/x' }", "{ 'A B' = 'x' }", "[]", "{ A = \"\\u0000\" }"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
