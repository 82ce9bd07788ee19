//! What a user configures: flag over environment over `config.toml` over default (contract: surface.md,
//! Configuration). Two tables name everything there is, [`KEYS`] and [`OPTIONS`]; nothing else reads the files.

mod commands;
mod context_editing;
pub mod credentials;
mod default_model;
mod edit;
mod execution;
mod field;
mod keys;
mod kind;
mod listing;
mod models;
#[cfg(test)]
mod models_tests;
mod options;
mod origin;
mod page_origin;
pub mod prices;
mod problem;
pub mod providers;
mod request_parts;
mod rules;
mod schema;
mod server;
mod skills;
mod source;
mod store_url;
#[cfg(test)]
mod tests;
mod tool_servers;
#[cfg(test)]
mod tool_servers_tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holon_facts::config::ModelWindow;
use holon_facts::model_ref::ModelRef;
use holon_facts::{Config, Millis};
use holon_ledger::Durability;
use holon_models::{ModelOptions, known};
use holon_platform::Environment;
use holon_text::nearest::did_you_mean;
use source::{Leaf, Source, split};
use toml_edit::Value;

pub use commands::CommandSettings;
pub use default_model::DEFAULT_MODELS;
pub use edit::{EditError, Editor};
pub use execution::{CommandVariables, ExecutionSettings, SetVariables, VariablePattern};
pub use keys::{KEYS, Key};
pub use kind::{Kind, is_name};
pub use listing::Entry;
pub use models::{MODEL_KEYS, canonical};
use models::{ModelKey, model_key};
pub use options::{OPTIONS, ProviderSettings};
pub use origin::Origin;
pub use page_origin::PageOrigin;
pub(crate) use problem::quoted;
pub use problem::{OwnServer, Problem, SettingsError};
pub use request_parts::{HeaderText, Headers, Query};
pub use schema::schema;
pub use server::{Access, AuthMode, ServerSettings};
pub use skills::SkillSettings;
pub use source::SourceError;
pub use store_url::{StoreUrl, find_home};
pub use tool_servers::{
    DefinedServers, ServerVariables, TOOL_SERVER_KEYS, ToolServerSettings, ToolServers, is_server, passed,
};
use tool_servers::{McpKey, mcp_key};

/// A file with so many problems was not written for this: the rest of it is not looked at.
const MOST_PROBLEMS: usize = 100;

/// Everything that a runtime is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub model: Option<ModelRef>,
    pub fallbacks: Vec<ModelRef>,
    /// `5m` or `1h`.
    pub cache_ttl: String,
    pub durability: Durability,
    /// The database that holds the ledger; none for a file of the home.
    pub store_url: Option<StoreUrl>,
    /// The folder of the homes of agents; none for one in the home.
    pub store_agents: Option<PathBuf>,
    /// Labels of cells that a node of this home may own.
    pub store_labels: Vec<String>,
    /// What nodes have that have the folders of this machine; none where all have them.
    pub workspace_node: Option<String>,
    pub commands: CommandSettings,
    pub execution: ExecutionSettings,
    pub skills: SkillSettings,
    /// Whether tokens are redacted by their shape as well.
    pub redact_token_shapes: bool,
    pub run: RunSettings,
    /// Whether a prompt starts the runtime of its home.
    pub autostart: bool,
    pub telemetry: TelemetrySettings,
    /// Whether files of workspaces are kept as turns find and leave them.
    pub keep_trees: bool,
    pub server: ServerSettings,
    /// The core's configuration, still without models.
    pub core: Config,
    pub providers: BTreeMap<String, ProviderSettings>,
    pub models: BTreeMap<ModelRef, ModelOptions>,
    /// Servers of tools, and who may use them.
    pub tool_servers: ToolServers,
    /// Where the values come from that are not defaults, by dotted name.
    origins: BTreeMap<String, Origin>,
    file: PathBuf,
    /// Why no default model was chosen although there is a key.
    own_server: Option<OwnServer>,
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

/// What is exported of what happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The collector of traces, without the path of a signal.
    pub otlp_endpoint: Option<String>,
    /// Texts of turns are exported, too.
    pub include_content: bool,
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
            cache_ttl: "5m".to_owned(),
            durability: Durability::Full,
            store_url: None,
            store_agents: None,
            store_labels: Vec::new(),
            workspace_node: None,
            commands: CommandSettings::default(),
            execution: ExecutionSettings::default(),
            skills: SkillSettings::default(),
            redact_token_shapes: true,
            run: RunSettings::default(),
            autostart: true,
            telemetry: TelemetrySettings::default(),
            keep_trees: true,
            server: ServerSettings::default(),
            core: Config::new(Vec::new()),
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            tool_servers: ToolServers::default(),
            origins: BTreeMap::new(),
            file: file.to_owned(),
            own_server: None,
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

    /// The database that is configured, for whoever looks for the ledger. What is wrong with the files is left to
    /// [`Settings::load`].
    pub fn store(file: &Path, environment: &Environment) -> (Option<StoreUrl>, Option<PathBuf>) {
        let mentioned = || std::fs::read(file).is_ok_and(|text| text.windows(5).any(|part| part == b"store"));
        let named =
            ["HOLON_STORE_URL", "HOLON_STORE_AGENTS"].iter().any(|name| environment.get(name).is_some());
        if !named && !mentioned() {
            return (None, None);
        }
        let settings = Self::survey(file, environment);
        settings.map_or((None, None), |(settings, _)| (settings.store_url, settings.store_agents))
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
        problems.extend(models::broken(&settings));
        problems.extend(options::broken(&settings));
        problems.extend(tool_servers::broken(&settings));
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
        let no_model =
            || SettingsError::NoModel { path: self.file.clone(), own_server: self.own_server.clone() };
        let first = self.model.as_ref().ok_or_else(no_model)?;
        let others = self.fallbacks.iter().filter(|fallback| *fallback != first);
        let models: Vec<ModelRef> = std::iter::once(first).chain(others).cloned().collect();
        let mut config = Config { models, ..self.core.clone() };
        let reads = |model: &&ModelRef| known::takes_images(model, self.models.get(*model));
        let named =
            config.models.iter().chain(self.models.keys().filter(|model| !config.models.contains(*model)));
        config.context.windows = named.clone().filter_map(|model| self.window(model)).collect();
        config.images = named.filter(reads).cloned().collect();
        config.context.known = known::limits();
        let of_provider =
            |(id, own): (&String, &ProviderSettings)| Some((id.clone(), own.context_window_tokens?));
        config.context.of_providers = self.providers.iter().filter_map(of_provider).collect();
        config.prices = prices::effective(&self.core.prices);
        if let Err(error) = config.check() {
            let first = problem(&self.origin(error.key), error.key, error.problem);
            return Err(SettingsError::Invalid { first, more: 0 });
        }
        Ok(config)
    }

    /// Tokens that a model takes, and of one answer, where that has a bound of its own.
    pub fn limits_of(&self, model: &ModelRef) -> (u64, u64) {
        let window = self.window(model);
        let most = self.core.turn.max_output_tokens;
        let output = window.as_ref().and_then(|window| window.output).map_or(most, |output| output.min(most));
        (window.map_or(self.core.context.window_tokens, |window| window.tokens), output)
    }

    /// The first model that is asked and of which nothing is known or said, as a line for who runs it: what it takes is a
    /// guess.
    pub fn guessed_window(&self) -> Option<String> {
        let mut asked = self.model.iter().chain(&self.fallbacks);
        let said = self.origin("runtime.context_window_tokens") != Origin::Default;
        let model = asked.find(|model| model.provider() != "scripted" && self.window(model).is_none())?;
        let tokens = self.core.context.window_tokens;
        (!said).then(|| {
            format!(
                "nothing is known of {model}, which is taken to have a window of {tokens} tokens; `holon config set \
                 models.{model}.context_window_tokens TOKENS` changes it"
            )
        })
    }

    /// What a model takes: as the file says of it, or of its provider, otherwise as it is known; and so for its answers.
    fn window(&self, model: &ModelRef) -> Option<ModelWindow> {
        let own = self.models.get(model);
        let known = known::of(model);
        let of_provider = || self.providers.get(model.provider())?.context_window_tokens;
        let said = own.and_then(|own| own.context_window_tokens).or_else(of_provider);
        let output = own.and_then(|own| own.max_output_tokens).or_else(|| Some(known?.output));
        let tokens = said.or_else(|| Some(known?.window));
        if tokens.is_none() && output.is_none() {
            return None;
        }
        let tokens = tokens.unwrap_or(self.core.context.window_tokens);
        Some(ModelWindow { model: model.clone(), tokens, output })
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
        if let Some(rest) = name.strip_prefix("models.") {
            return self.take_model(name, rest, &leaf.value, origin);
        }
        if name.starts_with("mcp.") {
            return self.take_mcp(name, &leaf.value, origin);
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

    fn take_model(&mut self, name: &str, rest: &str, value: &Value, origin: &Origin) -> Result<(), Problem> {
        match model_key(rest) {
            ModelKey::Option(model, key) => {
                let own = self.models.entry(model).or_default();
                key.set(own, value).map_err(|what| problem(origin, name, what))?;
                self.origins.insert(name.to_owned(), origin.clone());
                Ok(())
            }
            ModelKey::Unknown(..) => Err(unknown(origin, name)),
            ModelKey::BadModel => {
                let what = "expected models.<model>.<option>, the model as \"provider/model\"".to_owned();
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
    if let Some(rest) = name.strip_prefix("models.") {
        return match model_key(rest) {
            ModelKey::Option(_, key) => Some(key.kind),
            ModelKey::Unknown(..) | ModelKey::BadModel => None,
        };
    }
    if let Some(rest) = name.strip_prefix("mcp.") {
        return match mcp_key(rest) {
            McpKey::Option(_, key) => Some(key.kind),
            McpKey::Agent(_) => Some(tool_servers::AGENT_KIND),
            McpKey::Unknown(..) | McpKey::BadName => None,
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
    if let Some(ModelKey::Unknown(_, option)) = name.strip_prefix("models.").map(model_key) {
        return did_you_mean(&option, MODEL_KEYS.iter().map(|key| key.name));
    }
    if let Some(McpKey::Unknown(server, option)) = name.strip_prefix("mcp.").map(mcp_key) {
        let near = did_you_mean(&option, TOOL_SERVER_KEYS.iter().map(|key| key.name));
        return near.replacen("did you mean ", &format!("did you mean mcp.servers.{server}."), 1);
    }
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
    let model =
        |rest: &str| split(rest).is_some_and(|parts| matches!(&*parts, [one] if ModelRef::new(one).is_ok()));
    name == "models"
        || name == "mcp"
        || name.strip_prefix("mcp.").is_some_and(tool_servers::is_mcp_group)
        || name.strip_prefix("models.").is_some_and(model)
        || name == "providers"
        || name.strip_prefix("providers.").is_some_and(is_name)
        || KEYS.iter().any(below)
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
