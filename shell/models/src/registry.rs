//! Which providers there are, and whether a model could be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use holon_facts::model::{AttemptFailure, FailureKind, ModelAnswer, ModelRequest, Timing};
use holon_facts::model_ref::ModelRef;
use holon_facts::{Millis, Now};
use holon_platform::clock;
use holon_text::{TextError, Texts};
use serde_json::Value;
use url::Url;

use super::answer::Reply;
use super::http::{Clients, HttpClient};
use super::parts::joined_answer;
use super::protocol::TRANSPORTS;
use super::provider::{
    Attempt, Credential, Login, Provider, ProviderError, ProviderSpec, RefusedLogins, Show,
};
use super::tools::Tools;

/// All providers of the runtime. Cheap to clone; clients are made when they are first needed.
#[derive(Clone)]
pub struct Providers {
    known: Arc<BTreeMap<String, Configured>>,
    /// Providers that are configured in a way that nothing can be made of, with the reason.
    unusable: Arc<BTreeMap<String, String>>,
    client: Arc<dyn HttpClient>,
    tools: Arc<Tools>,
    /// Models that exist, for errors about one that does not.
    models: Arc<Vec<ModelRef>>,
    refused: Arc<RefusedLogins>,
}

/// A request that can't be lowered.
#[derive(Debug, thiserror::Error)]
pub enum LowerError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error(transparent)]
    Text(#[from] TextError),
}

/// A provider as it is configured, and what speaks to it.
struct Configured {
    spec: ProviderSpec,
    provider: Arc<dyn Provider>,
}

impl Providers {
    /// Of two specs with the same id the later one counts. `tools` are those that a request may offer.
    pub fn new(specs: Vec<ProviderSpec>, tools: Tools) -> Self {
        let made = TRANSPORTS.map(|transport| (transport, (transport.provider)()));
        let of = |spec: &ProviderSpec| {
            let found = made.iter().find(|(transport, _)| *transport == spec.transport);
            found.map_or_else(spec.transport.provider, |(_, provider)| provider.clone())
        };
        let known = specs.into_iter().map(|spec| (spec.id.clone(), Configured { provider: of(&spec), spec }));
        Self {
            known: Arc::new(known.collect()),
            unusable: Arc::default(),
            client: Arc::new(Clients::default()),
            tools: Arc::new(tools),
            models: Arc::default(),
            refused: Arc::default(),
        }
    }

    /// Models that are named when a server has none of a name and lists none itself.
    #[must_use]
    pub fn knowing(self, models: Vec<ModelRef>) -> Self {
        Self { models: Arc::new(models), ..self }
    }

    /// Providers that fail closed when they are chosen, with the reason.
    #[must_use]
    pub fn except(self, unusable: BTreeMap<String, String>) -> Self {
        Self { unusable: Arc::new(unusable), ..self }
    }

    /// The same servers on another network.
    #[must_use]
    pub fn over(self, client: impl HttpClient + 'static) -> Self {
        Self { client: Arc::new(client), ..self }
    }

    /// Whether a model could be asked: its provider exists, has its key, its certificates and its scenario can
    /// be read. Sends nothing.
    pub fn check(&self, model: &ModelRef) -> Result<(), ProviderError> {
        let (spec, provider) = self.find(model)?;
        provider.check(spec, model)
    }

    /// Every value that must never be written down, with the name that stands for it.
    pub fn secrets(&self) -> Vec<(String, String)> {
        self.known.values().flat_map(|known| secrets(&known.spec)).collect()
    }

    /// One attempt, without retry, within the request's time for it.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(
        &self,
        texts: &Texts,
        request: &ModelRequest,
        show: Show<'_>,
    ) -> Result<ModelAnswer, AttemptFailure> {
        let started = clock::now();
        let (client, tools, models) = (&*self.client, &*self.tools, self.models.as_slice());
        // One that is renewed while the request is on its way counts as another one.
        let login = self.login(request.model.provider());
        let attempted = match self.find(&request.model) {
            Ok((spec, provider)) => {
                provider.attempt(Attempt { client, texts, spec, tools, models, request, show }).await
            }
            Err(problem) => Err(problem.into()),
        };
        match attempted {
            Ok(Reply { blocks, stop, usage, delivery, stored, .. }) => {
                let joined = joined_answer(texts, &request.continues, &blocks);
                Ok(ModelAnswer { blocks, stop, usage, timing: timing(started), joined, delivery, stored })
            }
            Err(failure) => {
                if let (Some(login), FailureKind::Auth) = (login, failure.kind) {
                    self.refused.note(request.model.provider(), login.ok());
                }
                Err(failure.redacted(texts, timing(started)))
            }
        }
    }

    /// Whether requests to a provider show a login, which somebody may renew.
    pub fn has_login(&self, provider: &str) -> bool {
        let known = self.known.get(provider);
        known.is_some_and(|known| matches!(known.spec.credential, Credential::Login { .. }))
    }

    /// Whether a provider's login is one that could be shown, and another one than was refused last. Reads its file.
    pub fn login_is_new(&self, provider: &str) -> bool {
        let login = self.login(provider).and_then(Result::ok);
        login.is_some_and(|login| self.refused.is_other(provider, &login))
    }

    /// The login of a provider as its file is now; none where it has none.
    fn login(&self, provider: &str) -> Option<Result<Login, String>> {
        let Credential::Login { path } = &self.known.get(provider)?.spec.credential else { return None };
        Some(Login::read(path, clock::now().wall))
    }

    /// The body of a request, as its provider is sent it, and the name of the transport. Sends nothing.
    ///
    /// # Errors
    /// When the provider is not configured, or a text can't be read.
    pub fn lower(
        &self,
        texts: &Texts,
        request: &ModelRequest,
    ) -> Result<(&'static str, Option<Value>), LowerError> {
        let (spec, provider) = self.find(&request.model)?;
        let body = provider.lower(spec, (texts, &self.tools), request).transpose()?;
        Ok((spec.transport.name(), body))
    }

    /// The models that a provider's server lists; none where it lists none in time.
    pub async fn models_of(&self, provider: &str, within: Millis) -> Vec<String> {
        match self.known.get(provider) {
            Some(known) => known.provider.models(&*self.client, &known.spec, within).await,
            None => Vec::new(),
        }
    }

    /// The provider of a model, and how it is spoken to.
    fn find(&self, model: &ModelRef) -> Result<(&ProviderSpec, &dyn Provider), ProviderError> {
        if let Some(problem) = self.unusable.get(model.provider()) {
            let (provider, problem) = (model.provider().to_owned(), problem.clone());
            return Err(ProviderError::Unusable { provider, problem });
        }
        let known = self.known.get(model.provider());
        known.map(|known| (&known.spec, &*known.provider)).ok_or_else(|| {
            let known = self.known.keys().cloned().collect();
            ProviderError::Unknown { provider: model.provider().to_owned(), known }
        })
    }
}

fn timing(started: Now) -> Timing {
    let ended = clock::now();
    // The wall clock may have been set back meanwhile; a timeline never runs backwards.
    let completed_at = ended.wall.max(started.wall);
    Timing { started_at: started.wall, completed_at, duration_ms: ended.mono.since(started.mono) }
}

/// The key, and passwords inside addresses.
fn secrets(spec: &ProviderSpec) -> Vec<(String, String)> {
    let mut secrets = Vec::new();
    if let Credential::Key { value, origin } = &spec.credential {
        secrets.push((origin.clone(), value.trim().to_owned()));
    }
    if let Credential::Login { path } = &spec.credential
        && let Ok(login) = Login::read(path, clock::now().wall)
    {
        secrets.push((format!("login of {}", spec.id), login.token));
    }
    let proxy = spec.options.proxy.as_deref().map(|proxy| (format!("proxy of {}", spec.id), proxy));
    for (name, url) in proxy.into_iter().chain([(spec.base_url_origin.clone(), spec.base_url.as_str())]) {
        let parsed = Url::parse(url.trim()).ok();
        let password = parsed.and_then(|url| url.password().map(ToOwned::to_owned));
        secrets.extend(password.map(|password| (name, password)));
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in::built_in;

    fn check(variables: &[(&str, &str)], model: &str) -> Result<(), String> {
        let model = ModelRef::new(model).unwrap();
        providers(variables).check(&model).map_err(|error| error.to_string())
    }

    fn providers(variables: &[(&str, &str)]) -> Providers {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Providers::new(built_in(get), Tools::default())
    }

    #[test]
    fn unknown_providers_get_the_nearest_and_all() {
        for (wrong, meant) in
            [("opena-chat/x", "openai-chat"), ("opena/x", "openai"), ("antropic/x", "anthropic")]
        {
            let error = check(&[], wrong).unwrap_err();
            assert!(error.contains(&format!("did you mean {meant:?}?")), "{error}");
            assert!(
                error.contains("anthropic, local, openai, openai-chat, openai-codex, scripted"),
                "{error}"
            );
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
        let error = Providers::new(specs, Tools::default()).check(&model).unwrap_err().to_string();
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
