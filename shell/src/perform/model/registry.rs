//! Which providers there are, and whether a model could be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_core::model::ModelRef;
use reqwest::Url;

use super::endpoint::Endpoint;
use super::http::{self, Clients, HttpClient};
use super::provider::{Credential, ProviderSpec, TransportKind};
use super::scripted::{ScenarioError, Scripted};

/// Why a model can't be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("there is no provider {provider:?}{}; the providers are: {}", nearest(provider, known), known.join(", "))]
    Unknown { provider: String, known: Vec<String> },
    #[error("{model} needs a key: {remedy}")]
    MissingKey { model: ModelRef, remedy: String },
    #[error("{origin} contains characters that no key has; copy it again without line breaks")]
    BadKey { origin: String },
    #[error(
        "{origin} is not an address of a server: {problem}; expected something like http://127.0.0.1:11434/v1"
    )]
    BadUrl { origin: String, problem: String },
    #[error("provider {provider}: {problem}")]
    BadOption { provider: String, problem: String },
    #[error("the provider {provider} can't be used: {problem}")]
    Unusable { provider: String, problem: String },
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// All providers of the runtime. Cheap to clone; clients are made when they are first needed.
#[derive(Clone)]
pub struct Providers {
    specs: Arc<BTreeMap<String, ProviderSpec>>,
    /// Providers that are configured in a way that nothing can be made of, with the reason.
    unusable: Arc<BTreeMap<String, String>>,
    pub(super) client: Arc<dyn HttpClient>,
    pub(super) scripted: Scripted,
}

/// How a model is reached.
pub(super) enum Transport<'a> {
    Scripted(&'a str),
    OpenaiResponses(Endpoint<'a>),
    OpenaiChatCompletions(Endpoint<'a>),
    AnthropicMessages(Endpoint<'a>),
}

impl Providers {
    /// Of two specs with the same id the later one counts.
    pub fn new(specs: Vec<ProviderSpec>) -> Self {
        Self {
            specs: Arc::new(specs.into_iter().map(|spec| (spec.id.clone(), spec)).collect()),
            unusable: Arc::default(),
            client: Arc::new(Clients::default()),
            scripted: Scripted::default(),
        }
    }

    /// Providers that fail closed when they are chosen, with the reason.
    #[must_use]
    pub fn except(self, unusable: BTreeMap<String, String>) -> Self {
        Self { unusable: Arc::new(unusable), ..self }
    }

    /// The same servers on another network.
    #[cfg(test)]
    #[must_use]
    pub(super) fn over(self, client: impl HttpClient + 'static) -> Self {
        Self { client: Arc::new(client), ..self }
    }

    /// Whether a model could be asked: its provider exists, has its key, its certificates and its scenario can
    /// be read. Sends nothing.
    pub fn check(&self, model: &ModelRef) -> Result<(), ProviderError> {
        match self.transport(model)? {
            Transport::Scripted(name) => self.scripted.check(name).map_err(ProviderError::from),
            Transport::OpenaiResponses(endpoint)
            | Transport::OpenaiChatCompletions(endpoint)
            | Transport::AnthropicMessages(endpoint) => {
                http::check(&endpoint.spec.options).map_err(|problem| {
                    let provider = endpoint.spec.id.clone();
                    ProviderError::BadOption { provider, problem: problem.to_string() }
                })
            }
        }
    }

    /// Every value that must never be written down, with the name that stands for it.
    pub fn secrets(&self) -> Vec<(String, String)> {
        self.specs.values().flat_map(secrets).collect()
    }

    pub(super) fn transport<'a>(&'a self, model: &'a ModelRef) -> Result<Transport<'a>, ProviderError> {
        if let Some(problem) = self.unusable.get(model.provider()) {
            let (provider, problem) = (model.provider().to_owned(), problem.clone());
            return Err(ProviderError::Unusable { provider, problem });
        }
        let Some(spec) = self.specs.get(model.provider()) else {
            let known = self.specs.keys().cloned().collect();
            return Err(ProviderError::Unknown { provider: model.provider().to_owned(), known });
        };
        Ok(match spec.transport {
            TransportKind::Scripted => Transport::Scripted(model.model()),
            TransportKind::OpenaiResponses => Transport::OpenaiResponses(Endpoint::new(spec, model)?),
            TransportKind::OpenaiChatCompletions => {
                Transport::OpenaiChatCompletions(Endpoint::new(spec, model)?)
            }
            TransportKind::AnthropicMessages => Transport::AnthropicMessages(Endpoint::new(spec, model)?),
        })
    }
}

/// The key, and passwords inside addresses.
fn secrets(spec: &ProviderSpec) -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    if let Credential::Key { value, origin } = &spec.credential {
        secrets.push((origin.clone(), value.trim().to_owned()));
    }
    let proxy = spec.options.proxy.as_deref().map(|proxy| (format!("proxy of {}", spec.id), proxy));
    for (name, url) in proxy.into_iter().chain([(spec.base_url_origin.clone(), spec.base_url.as_str())]) {
        let parsed = Url::parse(url.trim()).ok();
        let password = parsed.and_then(|url| url.password().map(ToOwned::to_owned));
        secrets.extend(password.map(|password| (name, password)));
    }
    secrets
}

/// Names the known provider that was probably meant.
fn nearest(name: &str, known: &[String]) -> String {
    let meant = crate::nearest::nearest(name, known.iter().map(String::as_str));
    meant.map(|known| format!(", did you mean {known:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perform::model::built_in::built_in;

    fn check(variables: &[(&str, &str)], model: &str) -> Result<(), String> {
        let model = ModelRef::new(model).unwrap();
        providers(variables).check(&model).map_err(|error| error.to_string())
    }

    fn providers(variables: &[(&str, &str)]) -> Providers {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Providers::new(built_in(get))
    }

    #[test]
    fn unknown_providers_get_the_nearest_and_all() {
        for (wrong, meant) in
            [("opena-chat/x", "openai-chat"), ("opena/x", "openai"), ("antropic/x", "anthropic")]
        {
            let error = check(&[], wrong).unwrap_err();
            assert!(error.contains(&format!("did you mean {meant:?}?")), "{error}");
            assert!(error.contains("anthropic, local, openai, openai-chat, scripted"), "{error}");
        }
        let error = check(&[], "zzzzzzzzzz/x").unwrap_err();
        assert!(!error.contains("mean"), "{error}");
    }

    #[test]
    fn a_missing_key_is_told_with_its_remedy() {
        for (model, variable) in [("openai-chat/x", "OPENAI_API_KEY"), ("anthropic/x", "ANTHROPIC_API_KEY")] {
            let error = check(&[], model).unwrap_err();
            assert!(error.contains(model) && error.contains(&format!("set {variable}")), "{error}");
            assert_eq!(check(&[(variable, "sk-canary-123456")], model), Ok(()));
        }
        assert_eq!(check(&[("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/")], "openai/x"), Ok(()));
        assert_eq!(check(&[], "local/qwen3"), Ok(()));
    }

    #[test]
    fn options_that_can_t_work_are_told_with_their_provider() {
        let mut specs = built_in(|_| None);
        for spec in &mut specs {
            spec.options.ca_file = Some("/nowhere/ca.pem".into());
        }
        let model = ModelRef::new("local/x").unwrap();
        let error = Providers::new(specs).check(&model).unwrap_err().to_string();
        assert!(error.starts_with("provider local: the certificates in /nowhere/ca.pem"), "{error}");
    }

    #[test]
    fn keys_and_passwords_are_secrets() {
        let found = providers(&[
            ("OPENAI_API_KEY", "sk-canary-123456"),
            ("HOLON_LOCAL_BASE_URL", "http://me:password1@h/v1"),
        ]);
        let secrets = found.secrets();
        assert!(secrets.contains(&("OPENAI_API_KEY".into(), "sk-canary-123456".into())));
        assert!(secrets.contains(&("HOLON_LOCAL_BASE_URL".into(), "password1".into())));
    }
}
