//! What a user configures: flag over environment over `config.toml` over default (contract: surface.md,
//! Configuration). One table names every key; nothing else reads the file.

mod keys;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_core::Config;
use holon_core::config::{ConfigError, WhileStopped};
use holon_core::model::ModelRef;
use holon_core::time::Millis;

pub use keys::{KEYS, Key};

use crate::ledger::Durability;

/// Everything that a runtime is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub model: Option<ModelRef>,
    pub fallbacks: Vec<ModelRef>,
    pub durability: Durability,
    pub core: CoreSettings,
    pub run: RunSettings,
}

/// What concerns one-shot runs alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// Homes of temporary runs that are kept.
    pub keep: u64,
    /// What is due within so long is waited for.
    pub idle_limit: Millis,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { keep: 50, idle_limit: Millis::seconds(60) }
    }
}

/// Values that replace the core's own defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreSettings {
    pub rounds: Option<u32>,
    pub turn_wall_time: Option<Millis>,
    pub turn_tokens: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub context_window: Option<u64>,
    pub model_timeout: Option<Millis>,
    pub tool_timeout: Option<Millis>,
    pub queue_entries: Option<u64>,
    pub queue_bytes: Option<u64>,
    pub concurrent_turns: Option<u64>,
    pub retries: Option<u32>,
    pub hold_on_outage: Option<bool>,
    pub while_stopped: Option<WhileStopped>,
}

/// The variables that the runtime looks at, read once.
#[derive(Debug, Clone, Default)]
pub struct Environment(BTreeMap<String, String>);

/// A configuration that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is not TOML: {problem}")]
    Syntax { path: PathBuf, problem: String },
    #[error("{path}: there is no key {key}{nearest}")]
    UnknownKey { path: PathBuf, key: String, nearest: String },
    #[error("{origin}: {key}: {problem}")]
    Value { origin: String, key: String, problem: String },
    #[error(
        "no model is configured: set HOLON_MODEL, model.default in {path}, or --model, for example \
             local/qwen3; `holon demo` needs none"
    )]
    NoModel { path: PathBuf },
    #[error(transparent)]
    Limits(#[from] ConfigError),
}

impl Environment {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// The environment of this process; variables that are not text are left out.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        Self(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    /// A variable that is set to something.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable, for what commands may see of it.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        self.0.iter().map(|(name, value)| (name.into(), value.into()))
    }

    /// Values that must never be seen, with the names that stand for them.
    pub fn secrets(&self) -> impl Iterator<Item = (String, String)> {
        const SUFFIXES: [&str; 4] = ["_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];
        self.0
            .iter()
            .filter(|(name, _)| SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
            .map(|(name, value)| (name.clone(), value.clone()))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            fallbacks: Vec::new(),
            durability: Durability::Full,
            core: CoreSettings::default(),
            run: RunSettings::default(),
        }
    }
}

impl Settings {
    /// Reads `config.toml`, where there is one, then the environment.
    ///
    /// # Errors
    /// Names the file, the key, and what was expected.
    pub fn load(path: &Path, environment: &Environment) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        match fs::read_to_string(path) {
            Ok(text) => settings.read(path, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(SettingsError::Unreadable { path: path.to_owned(), source }),
        }
        for key in KEYS {
            if let Some(name) = key.variable
                && let Some(value) = environment.get(name)
            {
                settings.set(key, &key.value_of(value), &format!("the environment variable {name}"))?;
            }
        }
        Ok(settings)
    }

    /// The core's configuration for this model, or the configured one.
    pub fn core_config(&self, model: Option<ModelRef>, path: &Path) -> Result<Config, SettingsError> {
        let no_model = || SettingsError::NoModel { path: path.to_owned() };
        let first = model.or_else(|| self.model.clone()).ok_or_else(no_model)?;
        let others = self.fallbacks.iter().filter(|fallback| **fallback != first);
        let models = std::iter::once(&first).chain(others).cloned().collect();
        let mut config = Config::new(models);
        self.core.replace(&mut config);
        config.check()?;
        Ok(config)
    }

    fn read(&mut self, path: &Path, text: &str) -> Result<(), SettingsError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| SettingsError::Syntax {
            path: path.to_owned(),
            problem: error.to_string(),
        })?;
        let mut values = Vec::new();
        flatten("", &table, &mut values);
        for (name, value) in values {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let nearest =
                    keys::nearest(&name).map_or(String::new(), |near| format!("; did you mean {near}?"));
                return Err(SettingsError::UnknownKey { path: path.to_owned(), key: name, nearest });
            };
            self.set(key, &value, &path.display().to_string())?;
        }
        Ok(())
    }

    fn set(&mut self, key: &Key, value: &toml::Value, origin: &str) -> Result<(), SettingsError> {
        (key.set)(self, value).map_err(|problem| SettingsError::Value {
            origin: origin.to_owned(),
            key: key.name.to_owned(),
            problem,
        })
    }
}

impl CoreSettings {
    fn replace(&self, config: &mut Config) {
        fn put<T: Clone>(target: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                target.clone_from(value);
            }
        }
        put(&mut config.turn.rounds, self.rounds.as_ref());
        put(&mut config.turn.wall_time, self.turn_wall_time.as_ref());
        config.turn.tokens = self.turn_tokens.or(config.turn.tokens);
        put(&mut config.turn.max_output_tokens, self.max_output_tokens.as_ref());
        put(&mut config.context.window_tokens, self.context_window.as_ref());
        put(&mut config.turn.model_timeout, self.model_timeout.as_ref());
        put(&mut config.turn.tool_timeout, self.tool_timeout.as_ref());
        put(&mut config.queue.entries, self.queue_entries.as_ref());
        put(&mut config.queue.bytes, self.queue_bytes.as_ref());
        put(&mut config.limits.concurrent_turns, self.concurrent_turns.as_ref());
        put(&mut config.retry.retries, self.retries.as_ref());
        put(&mut config.hold.on_outage, self.hold_on_outage.as_ref());
        put(&mut config.while_stopped, self.while_stopped.as_ref());
    }
}

/// Every leaf of the file under its dotted name.
fn flatten(prefix: &str, table: &toml::Table, values: &mut Vec<(String, toml::Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(inner) => flatten(&name, inner, values),
            toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)
            | toml::Value::Array(_) => values.push((name, value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, text).unwrap();
        let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::load(&path, &Environment::new(pairs))
    }

    #[test]
    fn the_environment_overrides_the_file() {
        let text = "[model]\ndefault = \"local/a\"\n[limits]\nrounds = 7\n";
        let settings = load(text, &[("HOLON_MODEL", "local/b")]).unwrap();
        assert_eq!(settings.model.unwrap().as_str(), "local/b");
        assert_eq!(settings.core.rounds, Some(7));
    }

    #[test]
    fn an_unknown_key_is_named_with_its_nearest_neighbour() {
        let error = load("[model]\ndefualt = \"local/a\"", &[]).unwrap_err().to_string();
        assert!(error.contains("there is no key model.defualt; did you mean model.default?"), "{error}");
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        let error = load("[limits]\nrounds = \"many\"", &[]).unwrap_err().to_string();
        assert!(error.contains("limits.rounds: expected a whole number"), "{error}");
        let error = load("", &[("HOLON_MODEL", "nonsense")]).unwrap_err().to_string();
        assert!(error.contains("HOLON_MODEL") && error.contains("provider/model"), "{error}");
    }

    #[test]
    fn a_home_without_a_file_has_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let settings = Settings::load(&path, &Environment::default()).unwrap();
        assert_eq!(settings, Settings::default());
        assert!(matches!(settings.core_config(None, &path), Err(SettingsError::NoModel { .. })));
    }

    #[test]
    fn the_docs_list_every_key_and_no_other() {
        let docs = include_str!("../../../docs/configuration.md");
        let listed: Vec<&str> = docs
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .filter(|name| name.contains('.'))
            .collect();
        let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
        assert_eq!(listed, known);
    }
}
