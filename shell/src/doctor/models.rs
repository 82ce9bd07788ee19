//! Models and the providers that they are asked at.

use std::fs;
use std::path::Path;

use holon_models::{Credential, ProviderSpec};
use holon_platform::Environment;
use holon_text::variables;

use super::Finding;
use crate::settings::credentials::Credentials;
use crate::settings::providers::Configured;
use crate::settings::{Kind, Settings, SettingsError};

/// What there is to say, and which values must not be said.
pub(super) fn examine(
    settings: Option<&Settings>,
    environment: &Environment,
    credentials: &Credentials,
) -> (Vec<Finding>, Vec<(String, String)>) {
    let Some(settings) = settings else {
        let secrets = credentials.secrets().chain(variables::secrets(environment));
        return (Vec::new(), secrets.collect());
    };
    let mut settings = settings.clone();
    let configured = settings.choose_model(environment, credentials);
    let mut findings = models(&settings, &configured);
    for (id, reason) in &configured.unusable {
        let remedy = format!("holon config providers show {id}");
        findings.push(Finding::warning("providers", format!("{id} can't be used: {reason}"), remedy));
    }
    for spec in &configured.specs {
        findings.extend(address(spec));
        findings.extend(ca_file(spec));
        let asked = settings.providers.get(&spec.id);
        let wants_key = asked.is_some_and(|asked| asked.credential.is_some() || asked.api_key_env.is_some());
        if let (true, Credential::Missing { remedy }) = (wants_key, &spec.credential) {
            findings.push(Finding::warning("providers", format!("{} has no key", spec.id), remedy.clone()));
        }
    }
    let registry = configured.providers().secrets();
    (findings, configured.secrets.into_iter().chain(registry).collect())
}

fn models(settings: &Settings, configured: &Configured) -> Vec<Finding> {
    let check = "models";
    let config = match settings.core_config() {
        Ok(config) => config,
        Err(error @ SettingsError::NoModel { own_server: None, .. }) => {
            return vec![Finding::problem(check, "no model is configured", error.hint())];
        }
        Err(error @ SettingsError::NoModel { own_server: Some(_), .. }) => {
            return vec![Finding::problem(check, error.to_string(), error.hint())];
        }
        // Only a model that is chosen needs a price.
        Err(SettingsError::Invalid { first, .. }) if first.key == "model.prices" => {
            return vec![Finding::of(check, &first)];
        }
        // Said already, with its place.
        Err(
            SettingsError::Invalid { .. } | SettingsError::Source(_) | SettingsError::OpenToOthers { .. },
        ) => {
            return Vec::new();
        }
    };
    let providers = configured.providers();
    let findings = config.models.iter().map(|model| match providers.check(model) {
        Ok(()) => Finding::fine(check, format!("{model} can be used; no request was sent to try it")),
        Err(problem) => {
            let remedy = format!("holon config providers show {}", model.provider());
            let known = configured.specs.iter().any(|spec| spec.id == model.provider())
                || configured.unusable.contains_key(model.provider());
            let remedy = if known { remedy } else { "holon config providers list".to_owned() };
            let said = problem.to_string();
            let what = if said.contains(model.as_str()) { said } else { format!("{model}: {said}") };
            Finding::problem(check, what, remedy)
        }
    });
    findings.chain(settings.guessed_window().map(|guess| Finding::fine(check, guess))).collect()
}

/// Only a variable can still be wrong here: what stands in the file was judged when it was read.
fn address(spec: &ProviderSpec) -> Option<Finding> {
    let kind = Kind::Url(&["http", "https"]);
    if spec.base_url.is_empty() || kind.check(&kind.parse(&spec.base_url)).is_ok() {
        return None;
    }
    let what = format!("{}: {} is not {}", spec.id, spec.base_url_origin, kind.expected());
    Some(Finding::warning("providers", what, format!("unset {}", spec.base_url_origin)))
}

fn ca_file(spec: &ProviderSpec) -> Option<Finding> {
    let path = spec.options.ca_file.as_deref()?;
    let remedy = format!("holon config providers set {} --ca-file FILE", spec.id);
    let problem = |what: String| Finding::problem("providers", format!("{}: {what}", spec.id), remedy);
    match readable(path) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => None,
        Ok(_) => Some(problem(format!("there is no PEM certificate in ca_file {}", path.display()))),
        Err(error) => Some(problem(format!("ca_file {} can't be read: {error}", path.display()))),
    }
}

fn readable(path: &Path) -> std::io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}
