//! What a runtime is started with, from the files of a home and the environment.

use anyhow::anyhow;
use holon_facts::Config;
use holon_facts::model_ref::ModelRef;
use holon_models::Providers;
use holon_platform::Environment;
use holon_supervise::confine::{Confinement, Unconfinable};
use holon_text::{Secrets, variables};

use super::output::Failure;
use crate::daemon::{TOKEN_VARIABLE, Token};
use crate::driver::{Gate, Observer, Start};
use crate::home::Home;
use crate::live::LiveSink;
use crate::perform;
use crate::perform::tool::CommandEnvironment;
use crate::settings::credentials::Credentials;
use crate::settings::{CommandVariables, Settings};
use crate::templates::Templates;
use crate::trigger_address::TriggerKey;

/// Settings, models and keys of a home.
pub(super) struct Setup {
    pub(super) settings: Settings,
    pub(super) config: Config,
    pub(super) providers: Providers,
    /// Secrets beyond those that the environment's names give away.
    pub(super) secrets: Vec<(String, String)>,
    pub(super) credentials: Credentials,
    /// What commands are held back from; none under `host_local`.
    pub(super) confinement: Option<Confinement>,
    /// Models of the chain that can't be asked, each with the reason.
    pub(super) unusable: Vec<String>,
}

impl Setup {
    /// Reads everything; `model` stands for `model.default`.
    ///
    /// # Errors
    /// When a file or a value can't be used, when no model can be asked, or the one that was named can't.
    pub(super) fn load(home: &Home, environment: &Environment, model: Option<&str>) -> Result<Self, Failure> {
        let mut settings = Settings::load(&home.config(), environment)?;
        if let Some(model) = model {
            settings.flag("--model", "model.default", model)?;
        }
        let confinement = settings.execution.confinement(environment, home.root()).map_err(unconfinable)?;
        let credentials = Credentials::load(&home.credentials())?;
        let configured = settings.choose_model(environment, &credentials);
        let config = settings.core_config()?;
        let providers = configured.providers();
        let of_home = of_home(home).into_iter();
        let secrets = providers.secrets().into_iter().chain(configured.secrets).chain(of_home).collect();
        let unusable = candidates(&config.models, &providers, model.is_some())?;
        Ok(Self { settings, config, providers, secrets, credentials, confinement, unusable })
    }

    /// A runtime that stays in its home.
    pub(super) fn start(
        self,
        home: &Home,
        environment: &Environment,
        live: LiveSink,
        observer: Observer,
    ) -> Start {
        Start {
            ledger: home.ledger(),
            durability: self.settings.durability,
            config: self.config,
            secrets: Secrets::new(variables::secrets(environment).chain(self.secrets))
                .with_shapes(self.settings.redact_token_shapes),
            providers: self.providers,
            reserve: Some(home.root().to_owned()),
            performing: perform::Settings {
                templates: Templates::new(home, environment).with_github(&self.settings.skills.github_url),
                commands: self.settings.commands,
                confinement: self.confinement,
                skills: self.settings.skills.skills(environment),
                keep_trees: self.settings.keep_trees,
                servers: self.settings.tool_servers.defined(home.root(), environment, &self.credentials),
                ..perform::Settings::new(
                    home.clone(),
                    commands_see(environment, &self.settings.execution.environment),
                )
            },
            live,
            tools_from: Gate::open(),
            turns: None,
            observer,
        }
    }
}

/// Whatever is secret in a home, for who shows what is stored there: variables, every credential, what is configured, and what the
/// home has made for itself. A file that can't be used gives none, and keeps nobody from looking.
pub(super) fn known_secrets(home: &Home, environment: &Environment) -> Secrets {
    let home = Home::at(Home::shared(home.root()));
    let credentials = Credentials::survey(&home.credentials()).unwrap_or_default().0;
    let mut secrets: Vec<_> = credentials.secrets().chain(variables::secrets(environment)).collect();
    let mut shapes = true;
    if let Ok((mut settings, _)) = Settings::survey(&home.config(), environment) {
        let configured = settings.choose_model(environment, &credentials);
        secrets.extend(configured.providers().secrets());
        secrets.extend(configured.secrets);
        let token = Token::find(None, environment, settings.server.token_file.as_deref()).ok().flatten();
        secrets.extend(token.map(|token| (TOKEN_VARIABLE.to_owned(), token.expose().to_owned())));
        shapes = settings.redact_token_shapes;
    }
    secrets.extend(of_home(&home));
    Secrets::new(secrets).with_shapes(shapes)
}

/// Secrets that a home has made for itself, as far as they can be read: commands may print them.
pub(super) fn of_home(home: &Home) -> Vec<(String, String)> {
    let token = Token::known(home).ok().flatten().map(|token| token.expose().to_owned());
    let key = TriggerKey::text(home).ok().flatten();
    let named = [(TOKEN_VARIABLE, token), ("trigger.key", key)];
    named.into_iter().filter_map(|(name, secret)| Some((name.to_owned(), secret?))).collect()
}

/// What commands see of the runtime's environment.
pub(super) fn commands_see(environment: &Environment, chosen: &CommandVariables) -> CommandEnvironment {
    CommandEnvironment::new(environment.variables()).with(environment.variables(), chosen)
}

/// Nothing starts that would claim more than this machine does.
fn unconfinable(problem: Unconfinable) -> Failure {
    Failure::usage(problem).hint(problem.remedy())
}

/// What is wrong with candidates that the chain can go on without.
///
/// # Errors
/// When none can be asked, or the one that was named can't.
fn candidates(models: &[ModelRef], providers: &Providers, named: bool) -> Result<Vec<String>, Failure> {
    let mut unusable = Vec::new();
    for (at, model) in models.iter().enumerate() {
        match providers.check(model) {
            Ok(()) => {}
            Err(problem) if named && at == 0 => return Err(Failure::usage(problem)),
            Err(problem) => unusable.push(problem),
        }
    }
    if unusable.len() == models.len() {
        return Err(unusable
            .into_iter()
            .next()
            .map_or_else(|| Failure::usage(anyhow!("no model")), Failure::usage));
    }
    Ok(unusable.iter().map(ToString::to_string).collect())
}
