//! `holon init`: a model, its key, and the proof that it answers. It asks only on a terminal.

mod offer;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use holon_facts::Millis;
use holon_facts::model_ref::ModelRef;
use holon_models::Credential;
use holon_platform::{Environment, spawn};
use offer::Offer;
use serde_json::json;

use super::config::credentials::read;
use super::exit::Exit;
use super::interrupts;
use super::output::{self, Failure};
use super::{attached_run, terminal};
use crate::home::Home;
use crate::settings::credentials::{Credentials, check};
use crate::settings::find_home;
use crate::settings::providers::Configured;
use crate::settings::{Editor, Settings, kind_of, variable_of};

/// A model that has not answered within this time is not ready to be used. A local server may have to load it first.
const ANSWER: Millis = Millis::seconds(120);

#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// Use this model, as provider/model [default: asks on a terminal; otherwise the model of the key that is set, or
    /// the only one of a local server]
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Set the address of the model's server, for example http://127.0.0.1:8000/v1
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,
    /// Read the provider's key from standard input with `-`; the command line never takes the key itself
    #[arg(long, value_name = "-", allow_hyphen_values = true)]
    key: Option<String>,
    /// Store the model without asking it for an answer
    #[arg(long)]
    no_check: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What is to be stored.
struct Plan {
    model: ModelRef,
    base_url: Option<String>,
    /// None where a variable or a file has it already.
    key: Option<String>,
}

/// What is there already.
struct Present {
    home: Home,
    environment: Environment,
    settings: Settings,
    credentials: Credentials,
}

pub(super) fn init(home: Option<PathBuf>, args: InitArgs) -> Result<Exit, Failure> {
    let environment = Environment::of_process();
    let home = find_home(home, &environment)?;
    let settings = Settings::load(&home.config(), &environment)?;
    let credentials = Credentials::load(&home.credentials())?;
    let present = Present { home, environment, settings, credentials };
    interrupts::block_on(|ending| async move { ending.or(Box::pin(whole(present, args))).await })
}

async fn whole(present: Present, args: InitArgs) -> Result<Exit, Failure> {
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !args.json;
    let Offer { model, base_url, .. } = match &args.model {
        Some(model) => Offer::of(ModelRef::new(model).map_err(Failure::usage)?, args.base_url.clone()),
        None => offer::choose(&present, asks).await?,
    };
    if let Some(url) = &base_url {
        check_url(&model, url)?;
    }
    let mut plan = Plan { model, base_url, key: None };
    plan.key = key(&present, &plan, args.key.as_deref(), asks).await?;
    let answered = if args.no_check { None } else { Some(probe(&present, &plan, args.json).await?) };
    store(&present.home, &plan)?;
    report(&present, &plan, answered, args.json)
}

fn check_url(model: &ModelRef, url: &str) -> Result<(), Failure> {
    let name = format!("providers.{}.base_url", model.provider());
    let Some(kind) = kind_of(&name) else {
        return Err(Failure::usage(anyhow!("{} is no name of a provider", model.provider())));
    };
    kind.check(&kind.parse(url)).map_err(|what| Failure::usage(anyhow!("--base-url: {what}")))
}

impl Present {
    /// The providers as they would be with the plan.
    fn configured(&self, plan: &Plan) -> Configured {
        let mut settings = self.settings.clone();
        let (id, credentials) = (plan.model.provider(), self.credentials.clone());
        if let Some(url) = &plan.base_url {
            settings.providers.entry(id.to_owned()).or_default().base_url = Some(url.clone());
        }
        let credentials = match &plan.key {
            Some(key) => credentials.with(id, key),
            None => credentials,
        };
        Configured::new(&settings, &self.environment, &credentials)
    }
}

/// The key, where the provider has none and needs one.
async fn key(
    present: &Present,
    plan: &Plan,
    from: Option<&str>,
    asks: bool,
) -> Result<Option<String>, Failure> {
    let id = plan.model.provider().to_owned();
    let configured = present.configured(plan);
    let spec = configured.specs.iter().find(|spec| spec.id == id);
    let missing = spec.and_then(|spec| match &spec.credential {
        Credential::Missing { remedy } => Some(remedy.clone()),
        Credential::Unneeded | Credential::Login { .. } | Credential::Key { .. } => None,
    });
    let typed = match (from, missing) {
        (Some("-"), _) => spawn::blocking(read).await??,
        (Some(_), _) => {
            let error = anyhow!("a key is never taken from the command line, where others can see it");
            return Err(Failure::usage(error).hint("holon init --model MODEL --key - < FILE"));
        }
        (None, None) => return Ok(None),
        (None, Some(_)) if asks => {
            spawn::blocking(move || terminal::secret(&format!("Key for {id}: "))).await??
        }
        (None, Some(remedy)) => {
            let error = anyhow!("{} needs a key, and there is no terminal to ask for it on", plan.model);
            return Err(Failure::usage(error).hint(format!("{remedy}; or --key - < FILE")));
        }
    };
    let key = check(&typed).map_err(|what| Failure::usage(anyhow!("{what}")))?;
    Ok(Some(key.to_owned()))
}

/// Asks the model; nothing is stored of one that does not answer.
async fn probe(present: &Present, plan: &Plan, quiet: bool) -> Result<Millis, Failure> {
    let providers = present.configured(plan).providers();
    providers.check(&plan.model).map_err(Failure::usage)?;
    if !quiet {
        output::note(&format!("holon: asking {} for an answer", plan.model));
    }
    providers.probe(&plan.model, ANSWER).await.map_err(|problem| {
        let error = anyhow!("{} did not answer, and nothing was stored: {problem}", plan.model);
        Failure::new(Exit::Failed, error).hint("the same command again, or with --no-check")
    })
}

fn store(home: &Home, plan: &Plan) -> Result<(), Failure> {
    let id = plan.model.provider();
    if let Some(key) = &plan.key {
        let mut editor = Editor::credentials(home)?;
        editor.set(&format!("credentials.{id}.key"), key.as_str().into())?;
        editor.save()?;
    }
    let mut editor = Editor::config(home)?;
    editor.set("model.default", plan.model.as_str().into())?;
    if let Some(url) = &plan.base_url {
        editor.set(&format!("providers.{id}.base_url"), url.as_str().into())?;
    }
    Ok(editor.save()?)
}

fn report(present: &Present, plan: &Plan, answered: Option<Millis>, json: bool) -> Result<Exit, Failure> {
    let Present { home, environment, .. } = present;
    let (model, config) = (&plan.model, home.config().display().to_string());
    let runs = attached_run::living(home).is_some();
    let variable = variable_of("model.default").filter(|name| environment.get(name).is_some());
    let document = json!({
        "ok": true, "model": model, "base_url": plan.base_url, "key_stored": plan.key.is_some(),
        "answered_after_ms": answered, "file": config, "restart_needed": runs,
    });
    output::shown(&document, json, || {
        let answers = answered.map_or_else(String::new, |after| format!(" answers after {after}, and"));
        output::line(&format!("{model}{answers} is the model now ({config})"))?;
        if let Some(variable) = variable {
            output::note(&format!("holon: {variable} is set and wins over the file"));
        }
        let next = if runs { "holon daemon restart" } else { "holon run \"what is in this folder?\"" };
        output::hint("try", next);
        Ok(())
    })
}
