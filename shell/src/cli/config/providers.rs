//! `holon config providers`: which servers there are, and how each one is reached.

use anyhow::anyhow;
use clap::Subcommand;
use holon_models::{Credential, ProviderSpec};
use holon_text::nearest::did_you_mean;
use serde_json::{Value as Json, json};

use super::flags::OptionFlags;
use super::{ConfigHome, save, told};
use crate::cli::exit::Exit;
use crate::cli::hints;
use crate::cli::output::{self, Failure};
use crate::settings::providers::{Configured, shown};
use crate::settings::{Editor, Entry, Kind, Origin, Settings, is_name, kind_of};

#[derive(Debug, Subcommand)]
pub(super) enum ProvidersCommand {
    /// Print every provider, built in or configured
    List,
    /// Print every option of one provider and its source
    Show {
        /// Name the provider as `holon config providers list` shows it
        id: String,
    },
    /// Change a provider, or add one
    Set {
        /// Name the provider; a name of your own adds one
        id: String,
        #[command(flatten)]
        options: OptionFlags,
    },
    /// Remove a provider's options from config.toml
    Remove {
        /// Name the provider as `holon config providers list` shows it
        id: String,
    },
}

pub(super) fn providers(cfg: &ConfigHome, command: ProvidersCommand) -> Result<Exit, Failure> {
    match command {
        ProvidersCommand::List => list(cfg),
        ProvidersCommand::Show { id } => show(cfg, &id),
        ProvidersCommand::Set { id, options } => set(cfg, &id, &options),
        ProvidersCommand::Remove { id } => remove(cfg, &id),
    }
}

fn list(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    told(&problems);
    let configured = Configured::new(&settings, &cfg.environment, &cfg.credentials());
    let usable = configured.specs.iter().map(|spec| {
        let about = shown(spec, None);
        let entry = |name: &str| {
            let name = format!("providers.{}.{name}", spec.id);
            let entries = settings.options(&spec.id, &about);
            entries.into_iter().find(|entry| entry.key == name).map_or_else(String::new, |entry| entry.text())
        };
        json!({
            "id": spec.id,
            "transport": entry("transport"),
            "base_url": entry("base_url"),
            "key": key(&spec.credential),
            "configured": settings.providers.contains_key(&spec.id),
        })
    });
    let unusable = configured
        .unusable
        .iter()
        .map(|(id, reason)| json!({ "id": id, "problem": reason, "configured": true }));
    let mut all: Vec<Json> = usable.chain(unusable).collect();
    all.sort_by_key(|provider| provider["id"].to_string());
    cfg.print(&json!({ "ok": true, "providers": all }), || {
        let cell = |provider: &Json, name: &str| provider[name].as_str().unwrap_or_default().to_owned();
        let rows = all.iter().map(|provider| match provider["problem"].as_str() {
            Some(problem) => vec![cell(provider, "id"), format!("can't be used: {problem}")],
            None => ["id", "transport", "base_url", "key"].map(|name| cell(provider, name)).into(),
        });
        let head = ["PROVIDER", "TRANSPORT", "ADDRESS", "KEY"];
        Ok(output::list(&head, rows)?)
    })?;
    Ok(Exit::Completed)
}

fn show(cfg: &ConfigHome, id: &str) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    told(&problems);
    let configured = Configured::new(&settings, &cfg.environment, &cfg.credentials());
    let own = settings.providers.get(id);
    let spec = configured.specs.iter().find(|spec| spec.id == id);
    let problem = configured.unusable.get(id);
    let values = match (spec, own) {
        (Some(spec), own) => shown(spec, own),
        (None, Some(own)) => own.clone(),
        (None, None) => return Err(no_provider(&configured, id)),
    };
    let mut entries = settings.options(id, &values);
    for entry in &mut entries {
        name_variable(cfg, spec, entry);
    }
    let remedy = spec.and_then(|spec| remedy(&spec.credential));
    let key = spec.map(|spec| key(&spec.credential));
    cfg.print(
        &json!({ "id": id, "options": entries, "key": key, "remedy": remedy, "problem": problem }),
        || {
            let mut rows: Vec<Vec<String>> = entries
                .iter()
                .map(|entry| vec![entry.key.clone(), entry.text(), entry.origin.to_string()])
                .collect();
            let remedy = hints::hint(remedy.unwrap_or_default());
            rows.extend(key.map(|key| vec!["key".to_owned(), key, remedy]));
            rows.extend(problem.map(|problem| vec!["problem".to_owned(), problem.clone()]));
            Ok(output::table(&rows)?)
        },
    )?;
    Ok(Exit::Completed)
}

/// A variable of a built-in provider wins over the file.
fn name_variable(cfg: &ConfigHome, spec: Option<&ProviderSpec>, entry: &mut Entry) {
    let Some(spec) = spec.filter(|_| entry.key.ends_with(".base_url")) else { return };
    if cfg.environment.get(&spec.base_url_origin).is_some() {
        entry.origin = Origin::Environment { variable: spec.base_url_origin.clone() };
    }
}

fn set(cfg: &ConfigHome, id: &str, flags: &OptionFlags) -> Result<Exit, Failure> {
    if !is_name(id) {
        return Err(Failure::usage(anyhow!("the id of a provider is {}", Kind::Name.expected())));
    }
    if flags.0.is_empty() {
        let error = anyhow!("nothing to set: give at least one option, such as --base-url");
        return Err(Failure::usage(error).hint("holon config providers set --help"));
    }
    let mut editor = Editor::config(&cfg.home)?;
    for (option, text) in &flags.0 {
        let name = format!("providers.{id}.{option}");
        let Some(kind) = kind_of(&name) else { continue };
        let value = kind.parse(text);
        let flag = option.replace('_', "-");
        kind.check(&value).map_err(|what| Failure::usage(anyhow!("--{flag}: {what}")))?;
        editor.set(&name, value)?;
    }
    let settings: Settings = editor.settings(&cfg.environment)?;
    let configured = Configured::new(&settings, &cfg.environment, &cfg.credentials());
    if let Some(problem) = configured.unusable.get(id) {
        let error = anyhow!("the provider {id} could not be used like that: {problem}");
        return Err(Failure::usage(error).hint("holon config providers set --help"));
    }
    save(editor)?;
    let file = cfg.home.config().display().to_string();
    let names: Vec<&str> = flags.0.iter().map(|(name, _)| *name).collect();
    cfg.print(&json!({ "id": id, "done": "set", "options": names, "file": file }), || {
        Ok(output::line(&format!("provider {id}: set {} ({file})", names.join(", ")))?)
    })?;
    Ok(Exit::Completed)
}

fn remove(cfg: &ConfigHome, id: &str) -> Result<Exit, Failure> {
    let mut editor = Editor::config(&cfg.home)?;
    let name = format!("providers.{id}");
    if !is_name(id) || !editor.unset(&name)? {
        let (settings, _) = cfg.survey()?;
        let configured = Configured::new(&settings, &cfg.environment, &cfg.credentials());
        if configured.specs.iter().any(|spec| spec.id == id) {
            let error = anyhow!("the provider {id} is built in, and config.toml changes nothing of it");
            return Err(Failure::new(Exit::NotFound, error).hint(format!("holon config providers show {id}")));
        }
        return Err(no_provider(&configured, id));
    }
    save(editor)?;
    let file = cfg.home.config().display().to_string();
    cfg.print(&json!({ "id": id, "done": "removed", "file": file }), || {
        Ok(output::line(&format!("provider {id}: removed ({file})"))?)
    })?;
    Ok(Exit::Completed)
}

fn no_provider(configured: &Configured, id: &str) -> Failure {
    let ids = configured.specs.iter().map(|spec| spec.id.as_str());
    let near = did_you_mean(id, ids.chain(configured.unusable.keys().map(String::as_str)));
    Failure::new(Exit::NotFound, anyhow!("there is no provider {id}{near}"))
        .hint("holon config providers list")
}

/// What can be said of a key: never the key.
fn key(credential: &Credential) -> String {
    match credential {
        Credential::Unneeded => "none needed".to_owned(),
        Credential::Key { origin, .. } => format!("set ({origin})"),
        Credential::Login { path } => format!("the login in {}", path.display()),
        Credential::Missing { .. } => "missing".to_owned(),
    }
}

/// How a key that is missing can be given.
fn remedy(credential: &Credential) -> Option<&str> {
    match credential {
        Credential::Missing { remedy } => Some(remedy),
        Credential::Unneeded | Credential::Login { .. } | Credential::Key { .. } => None,
    }
}
