//! What a user configures: flag over environment over `config.toml` over default (contract: surface.md,
//! Configuration). Two tables name everything there is, [`KEYS`] and [`OPTIONS`]; nothing else reads the files.

mod commands;
pub mod credentials;
mod default_model;
mod edit;
mod execution;
mod field;
mod keys;
mod kind;
mod listing;
mod options;
mod origin;
mod page_origin;
pub mod prices;
mod problem;
pub mod providers;
mod rules;
mod schema;
mod server;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holon_facts::config::ModelWindow;
use holon_facts::model_ref::ModelRef;
use holon_facts::{Config, Millis};
use holon_ledger::sqlite::Durability;
use holon_platform::Environment;
use holon_text::nearest::did_you_mean;
use source::{Leaf, Source};
use toml_edit::Value;

pub use commands::CommandSettings;
pub use default_model::DEFAULT_MODELS;
pub use edit::{EditError, Editor};
pub use execution::{CommandVariables, ExecutionSettings, SetVariables, VariablePattern};
pub use keys::{KEYS, Key};
pub use kind::{Kind, is_name};
pub use listing::Entry;
pub use options::{OPTIONS, ProviderSettings};
pub use origin::Origin;
pub use page_origin::PageOrigin;
pub(crate) use problem::quoted;
pub use problem::{Problem, SettingsError};
pub use schema::schema;
pub use server::{Access, AuthMode, ServerSettings};
pub use source::SourceError;

/// A file with so many problems was not written for this: the rest of it is not looked at.
const MOST_PROBLEMS: usize = 100;

/// Everything that a runtime is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub model: Option<ModelRef>,
    pub fallbacks: Vec<ModelRef>,
    pub durability: Durability,
    pub commands: CommandSettings,
    pub execution: ExecutionSettings,
    /// Whether tokens are redacted by their shape as well.
    pub redact_token_shapes: bool,
    pub run: RunSettings,
    /// Whether a prompt starts the runtime of its home.
    pub autostart: bool,
    pub server: ServerSettings,
    /// The core's configuration, still without models.
    pub core: Config,
    pub providers: BTreeMap<String, ProviderSettings>,
    /// Where the values come from that are not defaults, by dotted name.
    origins: BTreeMap<String, Origin>,
    file: PathBuf,
}

/// What concerns one-shot runs alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSettings {
    /// Homes of temporary runs that are kept.
    pub keep: u64,
    /// Waits up to this long for due timers.
    pub idle_limit: Millis,
    /// Providers that are away are asked again for so long.
    pub patience: Millis,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { keep: 50, idle_limit: Millis::seconds(60), patience: Millis::seconds(120) }
    }
}

/// A name below `providers` in its parts.
enum ProviderKey<'a> {
    Option(&'a str, &'static Key<ProviderSettings>),
    Unknown(&'a str, &'a str),
    BadId,
}

impl Settings {
    /// The defaults; `file` is where `config.toml` would be.
    pub fn new(file: &Path) -> Self {
        Self {
            model: None,
            fallbacks: Vec::new(),
            durability: Durability::Full,
            commands: CommandSettings::default(),
            execution: ExecutionSettings::default(),
            redact_token_shapes: true,
            run: RunSettings::default(),
            autostart: true,
            server: ServerSettings::default(),
            core: Config::new(Vec::new()),
            providers: BTreeMap::new(),
            origins: BTreeMap::new(),
            file: file.to_owned(),
        }
    }

    /// Reads `config.toml`, where there is one, then the environment.
    ///
    /// # Errors
    /// The first problem: its file and line or its variable, its key, what was expected, and what to do.
    pub fn load(file: &Path, environment: &Environment) -> Result<Self, SettingsError> {
        let (settings, problems) = Self::survey(file, environment)?;
        SettingsError::first(problems)?;
        Ok(settings)
    }

    /// For whoever waits beside a runtime, which has a configuration of its own: whatever else is wrong with the
    /// files does not matter. The problem with this value, where there is one, comes beside the default.
    pub fn idle_limit(file: &Path, environment: &Environment) -> (Millis, Option<String>) {
        match Self::survey(file, environment) {
            Ok((settings, problems)) => {
                let problem = problems.into_iter().find(|problem| problem.key == "run.idle_limit_ms");
                (settings.run.idle_limit, problem.map(|problem| problem.to_string()))
            }
            Err(error) => (RunSettings::default().idle_limit, Some(error.to_string())),
        }
    }

    /// The socket that is configured, for whoever looks for a runtime: whatever else is wrong with the files does not
    /// matter.
    pub fn socket(file: &Path, environment: &Environment) -> Option<PathBuf> {
        let named = environment.get("HOLON_SOCKET_PATH").map(PathBuf::from);
        named.or_else(|| Self::survey(file, environment).ok()?.0.server.socket)
    }

    /// As [`Settings::load`], with every problem and every value that has none.
    ///
    /// # Errors
    /// A file that is no TOML.
    pub fn survey(file: &Path, environment: &Environment) -> Result<(Self, Vec<Problem>), SettingsError> {
        Ok(Self::of(&Source::read(file)?, environment)?)
    }

    /// The settings of a file's text.
    fn of(source: &Source, environment: &Environment) -> Result<(Self, Vec<Problem>), SourceError> {
        let mut settings = Self::new(&source.path);
        let mut problems = Vec::new();
        for leaf in source.leaves(&is_group)? {
            if problems.len() == MOST_PROBLEMS {
                break;
            }
            let origin = Origin::File { path: source.path.clone(), line: leaf.line };
            problems.extend(settings.take(&leaf, &origin).err());
        }
        for key in KEYS {
            let Some(name) = key.variable else { continue };
            if environment.is_not_text(name) {
                let what = "the value is not UTF-8".to_owned();
                problems.push(problem(&Origin::variable(name), key.name, what));
            }
            if let Some(text) = environment.get(name) {
                problems.extend(settings.put(key, &key.kind.parse(text), Origin::variable(name)).err());
            }
        }
        problems.extend(rules::broken(&settings));
        Ok((settings, problems))
    }

    /// A value from a flag of the command line.
    ///
    /// # Errors
    /// Names the flag and what was expected.
    pub fn flag(&mut self, flag: &str, name: &str, text: &str) -> Result<(), SettingsError> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else { return Ok(()) };
        let origin = Origin::Flag { flag: flag.to_owned() };
        let problems = self.put(key, &key.kind.parse(text), origin).err().into_iter();
        SettingsError::first(problems.chain(rules::broken(self)).collect())
    }

    /// The core's configuration, with the chain of models.
    ///
    /// # Errors
    /// There is no model.
    pub fn core_config(&self) -> Result<Config, SettingsError> {
        let no_model = || SettingsError::NoModel { path: self.file.clone() };
        let first = self.model.as_ref().ok_or_else(no_model)?;
        let others = self.fallbacks.iter().filter(|fallback| *fallback != first);
        let models: Vec<ModelRef> = std::iter::once(first).chain(others).cloned().collect();
        let mut config = Config { models, ..self.core.clone() };
        let window = |model: &ModelRef| {
            let tokens = self.providers.get(model.provider())?.context_window_tokens?;
            Some(ModelWindow { model: model.clone(), tokens })
        };
        config.context.windows = config.models.iter().filter_map(window).collect();
        config.prices = prices::effective(&self.core.prices);
        if let Err(error) = config.check() {
            let first = problem(&self.origin(error.key), error.key, error.problem);
            return Err(SettingsError::Invalid { first, more: 0 });
        }
        Ok(config)
    }

    /// Where the value of a key comes from.
    pub fn origin(&self, name: &str) -> Origin {
        self.origins.get(name).cloned().unwrap_or(Origin::Default)
    }

    /// Where `config.toml` is, or would be.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn take(&mut self, leaf: &Leaf, origin: &Origin) -> Result<(), Problem> {
        let name = leaf.name.as_str();
        if let Some(rest) = name.strip_prefix("providers.") {
            return self.take_option(name, rest, &leaf.value, origin);
        }
        match KEYS.iter().find(|key| key.name == name) {
            Some(key) => self.put(key, &leaf.value, origin.clone()),
            None => Err(unknown(origin, name)),
        }
    }

    fn take_option(&mut self, name: &str, rest: &str, value: &Value, origin: &Origin) -> Result<(), Problem> {
        match provider_key(rest) {
            ProviderKey::Option("scripted", _) => {
                Err(problem(origin, name, "the provider scripted has no options".to_owned()))
            }
            ProviderKey::Option(id, key) => {
                let provider = self.providers.entry(id.to_owned()).or_default();
                key.set(provider, value).map_err(|what| problem(origin, name, what))?;
                self.origins.insert(name.to_owned(), origin.clone());
                Ok(())
            }
            ProviderKey::Unknown(..) => Err(unknown(origin, name)),
            ProviderKey::BadId => {
                let what = format!("expected providers.<id>.<option>, the id as {}", Kind::Name.expected());
                Err(problem(origin, name, what))
            }
        }
    }

    fn put(&mut self, key: &Key<Self>, value: &Value, origin: Origin) -> Result<(), Problem> {
        key.set(self, value).map_err(|what| problem(&origin, key.name, what))?;
        self.origins.insert(key.name.to_owned(), origin);
        Ok(())
    }
}

/// What a dotted name accepts; none where no key has that name.
pub fn kind_of(name: &str) -> Option<Kind> {
    if let Some(rest) = name.strip_prefix("providers.") {
        return match provider_key(rest) {
            ProviderKey::Option(_, key) => Some(key.kind),
            ProviderKey::Unknown(..) | ProviderKey::BadId => None,
        };
    }
    KEYS.iter().find(|key| key.name == name).map(|key| key.kind)
}

/// The environment variable that wins over a key of the file.
pub fn variable_of(name: &str) -> Option<&'static str> {
    KEYS.iter().find(|key| key.name == name).and_then(|key| key.variable)
}

/// The end of a sentence that says that there is no such key.
pub fn nearest_key(name: &str) -> String {
    match name.strip_prefix("providers.").map(provider_key) {
        Some(ProviderKey::Unknown(id, option)) => {
            let near = did_you_mean(option, OPTIONS.iter().map(|key| key.name));
            near.replacen("did you mean ", &format!("did you mean providers.{id}."), 1)
        }
        Some(ProviderKey::Option(..) | ProviderKey::BadId) | None => {
            did_you_mean(name, KEYS.iter().map(|key| key.name))
        }
    }
}

fn provider_key(rest: &str) -> ProviderKey<'_> {
    let Some((id, option)) = rest.split_once('.') else { return ProviderKey::BadId };
    if !is_name(id) {
        return ProviderKey::BadId;
    }
    match OPTIONS.iter().find(|key| key.name == option) {
        Some(key) => ProviderKey::Option(id, key),
        None => ProviderKey::Unknown(id, option),
    }
}

/// Whether a table of this name has keys in it.
pub(crate) fn is_group(name: &str) -> bool {
    let below = |key: &Key<Settings>| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    name == "providers" || name.strip_prefix("providers.").is_some_and(is_name) || KEYS.iter().any(below)
}

fn unknown(origin: &Origin, name: &str) -> Problem {
    problem(origin, name, format!("there is no such key{}", nearest_key(name)))
}

/// A problem with the command that helps where the value comes from.
fn problem(origin: &Origin, key: &str, what: String) -> Problem {
    let remedy = match origin {
        Origin::File { .. } | Origin::Default | Origin::Key { .. } => match kind_of(key) {
            Some(_) => format!("holon config set {} VALUE", quoted(key)),
            None => format!("holon config unset {}", quoted(key)),
        },
        Origin::Environment { variable } => format!("unset {variable}"),
        Origin::Flag { flag } => format!("leave {flag} out, or give another value"),
    };
    Problem { origin: origin.clone(), key: key.to_owned(), what, remedy }
}
