//! The providers that are built in, and what the environment says about them.

use std::sync::Arc;

use holon_core::model::ModelRef;
use reqwest::Url;
use reqwest::header::HeaderValue;

use super::http::Clients;
use super::scripted::{ScenarioError, Scripted};

const PUBLIC_OPENAI: &str = "https://api.openai.com/v1";
const LOCAL: &str = "http://127.0.0.1:11434/v1";
const KNOWN: [&str; 3] = ["local", "openai-chat", "scripted"];

/// What the environment says about providers. Read by the caller, once; an empty value counts as absent.
#[derive(Clone, Default)]
pub struct ProviderEnvironment {
    /// `OPENAI_BASE_URL`; the public one with `/v1` when absent.
    pub openai_base_url: Option<String>,
    /// `OPENAI_API_KEY`; needed for the public URL only.
    pub openai_api_key: Option<String>,
    /// `HOLON_LOCAL_BASE_URL`; `http://127.0.0.1:11434/v1` when absent.
    pub local_base_url: Option<String>,
}

impl ProviderEnvironment {
    /// Every value that must never be written down, with the name that stands for it.
    pub fn secrets(&self) -> Vec<(String, String)> {
        let mut secrets = Vec::new();
        if let Some(key) = present(self.openai_api_key.as_deref()) {
            secrets.push(("OPENAI_API_KEY".to_owned(), key.to_owned()));
        }
        for (name, url) in
            [("OPENAI_BASE_URL", &self.openai_base_url), ("HOLON_LOCAL_BASE_URL", &self.local_base_url)]
        {
            let password = url
                .as_deref()
                .and_then(|url| Url::parse(url.trim()).ok())
                .and_then(|url| url.password().map(ToOwned::to_owned));
            secrets.extend(password.map(|password| (name.to_owned(), password)));
        }
        secrets
    }
}

/// Why a model can't be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("there is no provider {provider:?}{}; the providers are: {}", nearest(provider), KNOWN.join(", "))]
    Unknown { provider: String },
    #[error("{model} needs a key: set {variable}, or point {url_variable} at a server that needs none")]
    MissingKey { model: ModelRef, variable: &'static str, url_variable: &'static str },
    #[error("{variable} contains characters that no key has; copy it again without line breaks")]
    BadKey { variable: &'static str },
    #[error("{variable} is not an address of a server: {problem}; expected something like {LOCAL}")]
    BadUrl { variable: &'static str, problem: String },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// All providers of the runtime. Cheap to clone; clients are made when they are first needed.
#[derive(Clone)]
pub struct Providers {
    environment: Arc<ProviderEnvironment>,
    pub(super) clients: Clients,
    pub(super) scripted: Scripted,
}

/// How a model is reached.
pub(super) enum Transport<'a> {
    Scripted(&'a str),
    OpenAiChat(Endpoint),
}

/// A server and what it wants to see.
pub(super) struct Endpoint {
    /// `{base}/chat/completions`.
    pub(super) url: Url,
    pub(super) authorization: Option<HeaderValue>,
}

impl Providers {
    pub fn new(environment: ProviderEnvironment) -> Self {
        Self {
            environment: Arc::new(environment),
            clients: Clients::default(),
            scripted: Scripted::default(),
        }
    }

    /// Whether a model could be asked: its provider exists, has its key, and its scenario can be read. Sends
    /// nothing.
    pub fn check(&self, model: &ModelRef) -> Result<(), ProviderError> {
        match self.transport(model)? {
            Transport::Scripted(name) => self.scripted.check(name).map_err(ProviderError::from),
            Transport::OpenAiChat(_) => Ok(()),
        }
    }

    pub(super) fn transport<'a>(&self, model: &'a ModelRef) -> Result<Transport<'a>, ProviderError> {
        let environment = &self.environment;
        match model.provider() {
            "scripted" => Ok(Transport::Scripted(model.model())),
            "local" => {
                let base = present(environment.local_base_url.as_deref()).unwrap_or(LOCAL);
                let url = endpoint("HOLON_LOCAL_BASE_URL", base)?;
                Ok(Transport::OpenAiChat(Endpoint { url, authorization: None }))
            }
            "openai-chat" => {
                let base = present(environment.openai_base_url.as_deref()).unwrap_or(PUBLIC_OPENAI);
                let url = endpoint("OPENAI_BASE_URL", base)?;
                let authorization = match present(environment.openai_api_key.as_deref()) {
                    Some(key) => Some(bearer("OPENAI_API_KEY", key)?),
                    None if url.host_str() == Some("api.openai.com") => {
                        return Err(ProviderError::MissingKey {
                            model: model.clone(),
                            variable: "OPENAI_API_KEY",
                            url_variable: "OPENAI_BASE_URL",
                        });
                    }
                    None => None,
                };
                Ok(Transport::OpenAiChat(Endpoint { url, authorization }))
            }
            other => Err(ProviderError::Unknown { provider: other.to_owned() }),
        }
    }
}

fn present(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn bearer(variable: &'static str, key: &str) -> Result<HeaderValue, ProviderError> {
    let mut value =
        HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| ProviderError::BadKey { variable })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The base with the path of the method; a query of the base is kept.
fn endpoint(variable: &'static str, base: &str) -> Result<Url, ProviderError> {
    let bad = |problem: String| ProviderError::BadUrl { variable, problem };
    let mut url = Url::parse(base).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad(format!("its scheme is {:?}", url.scheme())));
    }
    let path = format!("{}/chat/completions", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// Names the known provider that was probably meant.
fn nearest(name: &str) -> String {
    let name = name.to_lowercase();
    let beginning = KNOWN.iter().find(|known| known.starts_with(&name));
    let close = KNOWN.iter().filter(|known| distance(&name, known) <= 3);
    let meant = beginning.or_else(|| close.min_by_key(|known| distance(&name, known)));
    meant.map(|known| format!(", did you mean {known:?}?")).unwrap_or_default()
}

/// Edits between two short words.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(environment: ProviderEnvironment, model: &str) -> Result<(), String> {
        let model = ModelRef::new(model).unwrap();
        Providers::new(environment).check(&model).map_err(|error| error.to_string())
    }

    #[test]
    fn unknown_providers_get_the_nearest_and_all() {
        let error = check(ProviderEnvironment::default(), "opena-chat/x").unwrap_err();
        assert!(error.contains("did you mean \"openai-chat\"?"), "{error}");
        assert!(error.contains("local, openai-chat, scripted"), "{error}");
        let error = check(ProviderEnvironment::default(), "openai/x").unwrap_err();
        assert!(error.contains("did you mean \"openai-chat\"?"), "{error}");
        let error = check(ProviderEnvironment::default(), "zzzzzzzzzz/x").unwrap_err();
        assert!(!error.contains("mean"), "{error}");
    }

    #[test]
    fn a_key_is_needed_for_the_public_address_only() {
        let error = check(ProviderEnvironment::default(), "openai-chat/gpt").unwrap_err();
        assert!(error.contains("set OPENAI_API_KEY"), "{error}");
        let own = ProviderEnvironment {
            openai_base_url: Some("http://127.0.0.1:1/v1/".into()),
            openai_api_key: Some("  ".into()),
            ..ProviderEnvironment::default()
        };
        assert_eq!(check(own, "openai-chat/gpt"), Ok(()));
        let keyed = ProviderEnvironment {
            openai_api_key: Some("sk-canary-123456".into()),
            ..ProviderEnvironment::default()
        };
        assert_eq!(keyed.secrets(), [("OPENAI_API_KEY".into(), "sk-canary-123456".into())]);
        assert_eq!(check(keyed, "openai-chat/gpt"), Ok(()));
        assert_eq!(check(ProviderEnvironment::default(), "local/qwen3"), Ok(()));
    }

    #[test]
    fn bad_values_are_named_and_not_shown() {
        let environment = ProviderEnvironment {
            local_base_url: Some("localhost:11434".into()),
            openai_api_key: Some("sk-canary\n123456".into()),
            ..ProviderEnvironment::default()
        };
        let error = check(environment.clone(), "local/x").unwrap_err();
        assert!(error.starts_with("HOLON_LOCAL_BASE_URL is not an address"), "{error}");
        let error = check(environment, "openai-chat/x").unwrap_err();
        assert!(error.contains("OPENAI_API_KEY") && !error.contains("canary"), "{error}");
    }

    #[test]
    fn the_path_is_added_to_the_base() {
        let url = endpoint("X", "http://host:1/api/v1/?version=2").unwrap();
        assert_eq!(url.as_str(), "http://host:1/api/v1/chat/completions?version=2");
    }
}
