//! `holon config models`: what is known of models, and what the file says instead.

use holon_facts::model_ref::ModelRef;
use holon_models::known::{self, AS_OF, KnownModel};
use serde_json::{Value as Json, json};

use super::{ConfigHome, told};
use crate::cli::exit::Exit;
use crate::cli::output::{self, Failure};
use crate::settings::{MODEL_KEYS, Settings};

pub(super) fn models(cfg: &ConfigHome) -> Result<Exit, Failure> {
    let (settings, problems) = cfg.survey()?;
    let listed: Vec<ModelRef> =
        chosen(&settings).into_iter().chain(known::KNOWN.iter().filter_map(named)).collect();
    let mut models: Vec<Json> = Vec::new();
    for model in &listed {
        if models.iter().all(|row| row["model"] != model.as_str()) {
            models.push(row(&settings, model));
        }
    }
    cfg.print(&json!({ "ok": true, "listed": AS_OF, "models": models }), || {
        let names = ["MODEL", "WINDOW", "ANSWER", "FEATURES", "SETTINGS", "FROM"];
        let cell = |value: &Json| match value {
            Json::String(text) => text.clone(),
            Json::Array(items) => items.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(","),
            Json::Object(map) => {
                map.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
            }
            Json::Null => "unknown".to_owned(),
            Json::Bool(_) | Json::Number(_) => value.to_string(),
        };
        let columns =
            ["model", "context_window_tokens", "max_output_tokens", "features", "settings", "origin"];
        let rows = models.iter().map(|row| columns.map(|name| cell(&row[name])).to_vec());
        output::list(&names, rows)?;
        told(&problems);
        Ok(())
    })?;
    Ok(Exit::Completed)
}

/// The models that are asked, and those that the file says something of.
fn chosen(settings: &Settings) -> Vec<ModelRef> {
    let asked = settings.model.iter().chain(&settings.fallbacks);
    asked.chain(settings.models.keys()).cloned().collect()
}

fn named(known: &KnownModel) -> Option<ModelRef> {
    ModelRef::new(&format!("{}/{}", known.provider, known.name)).ok()
}

fn row(settings: &Settings, model: &ModelRef) -> Json {
    let known = known::of(model);
    let (window, output) = settings.limits_of(model);
    let own = settings.models.get(model);
    let set = MODEL_KEYS.iter().filter_map(|key| {
        let value = key.get(own?);
        (!value.is_null()).then(|| (key.name.to_owned(), value))
    });
    json!({
        "model": model,
        "context_window_tokens": window,
        "max_output_tokens": output,
        "features": known.map(|known| known.features.iter().map(|feature| feature.name()).collect::<Vec<_>>()),
        "settings": Json::Object(set.collect()),
        "origin": known.map_or_else(|| "not known".to_owned(), |_| format!("documented {AS_OF}")),
    })
}
