//! The providers as they are configured: what is built in, what the file changes of it, and which key each
//! one gets. The only place that knows all three.

use std::collections::BTreeMap;

use holon_core::tool::catalogue;
use holon_models::{
    Credential, ProviderOptions, ProviderSpec, Providers, TRANSPORTS, Tools, Transport, built_in,
};
use holon_platform::Environment;
use holon_text::variables;

use super::credentials::Credentials;
use super::request_parts::HeaderText;
use super::{ProviderSettings, Settings, prices};

/// All providers of a runtime.
#[derive(Debug)]
pub struct Configured {
    pub specs: Vec<ProviderSpec>,
    /// Providers that can't be used as they are configured, with the reason. They fail when they are chosen:
    /// one that nobody asks for stops nothing.
    pub unusable: BTreeMap<String, String>,
    /// Every value that must never be seen, with the name that stands for it, whether it is used or not.
    pub secrets: Vec<(String, String)>,
}

impl Configured {
    pub fn new(settings: &Settings, environment: &Environment, credentials: &Credentials) -> Self {
        let build = Build { settings, environment, credentials };
        let mut configured = Self { specs: Vec::new(), unusable: BTreeMap::new(), secrets: build.secrets() };
        let mut ids = settings.providers.clone();
        for spec in built_in(|name| environment.get(name).map(str::to_owned)) {
            let changes = ids.remove(&spec.id).unwrap_or_default();
            configured.take(spec.id.clone(), build.changed(spec, &changes));
        }
        for (id, changes) in ids {
            let made = build.made(&id, &changes);
            configured.take(id, made);
        }
        configured
    }

    /// The registry of these providers.
    pub fn providers(&self) -> Providers {
        let known = prices::built_in().map(|known| known.model).collect();
        Providers::new(self.specs.clone(), Tools::new(catalogue()))
            .except(self.unusable.clone())
            .knowing(known)
    }

    fn take(&mut self, id: String, made: Result<ProviderSpec, String>) {
        match made {
            Ok(spec) => self.specs.push(spec),
            Err(reason) => drop(self.unusable.insert(id, reason)),
        }
    }
}

struct Build<'a> {
    settings: &'a Settings,
    environment: &'a Environment,
    credentials: &'a Credentials,
}

impl Build<'_> {
    /// A built-in provider with what the file changes of it. Its variables win over the file.
    fn changed(&self, built_in: ProviderSpec, changes: &ProviderSettings) -> Result<ProviderSpec, String> {
        let mut spec = built_in;
        if let Some(name) = &changes.transport {
            spec.transport = transport(&spec.id, name)?;
        }
        let by_variable = self.environment.get(&spec.base_url_origin).is_some();
        if let (false, Some(base_url)) = (by_variable, &changes.base_url) {
            spec.base_url.clone_from(base_url);
            spec.base_url_origin = format!("providers.{}.base_url", spec.id);
        }
        spec.options = self.options(&spec.id, spec.options, changes)?;
        spec.models = self.settings.models_of(&spec.id);
        (spec.credential, spec.key_remedy) = self.credential(&spec, changes);
        Ok(spec)
    }

    /// A provider that only the file knows.
    fn made(&self, id: &str, changes: &ProviderSettings) -> Result<ProviderSpec, String> {
        let Some(name) = &changes.transport else {
            return Err(format!("it has no transport; {}", set(id, "transport", "openai_chat_completions")));
        };
        let transport = transport(id, name)?;
        let base_url = match &changes.base_url {
            Some(base_url) => base_url.clone(),
            None if !transport.has_address() => String::new(),
            None => {
                return Err(format!(
                    "it has no address; {}",
                    set(id, "base_url", "http://127.0.0.1:8080/v1")
                ));
            }
        };
        let mut spec = ProviderSpec {
            id: id.to_owned(),
            transport,
            base_url,
            base_url_origin: format!("providers.{id}.base_url"),
            credential: Credential::Unneeded,
            key_remedy: String::new(),
            options: self.options(id, ProviderOptions::default(), changes)?,
            models: self.settings.models_of(id),
        };
        (spec.credential, spec.key_remedy) = self.credential(&spec, changes);
        Ok(spec)
    }

    /// The key: of the variable, otherwise of `credentials.toml`, under the name that is configured or else the
    /// provider's own. And how another one is given.
    fn credential(&self, spec: &ProviderSpec, changes: &ProviderSettings) -> (Credential, String) {
        if let Credential::Login { .. } = &spec.credential {
            return (spec.credential.clone(), spec.key_remedy.clone());
        }
        let variable = match &changes.api_key_env {
            Some(name) => self.environment.get(name).map(|value| (value.trim().to_owned(), name.clone())),
            None => match &spec.credential {
                Credential::Key { value, origin } => Some((value.clone(), origin.clone())),
                Credential::Unneeded | Credential::Login { .. } | Credential::Missing { .. } => None,
            },
        };
        let name = changes.credential.as_deref().unwrap_or(&spec.id);
        let stored = || self.credentials.get(name).map(|key| (key.to_owned(), name.to_owned()));
        let variable = variable.filter(|(value, _)| !value.is_empty());
        let store = format!("`holon config credentials set {name}`");
        let again = match (&variable, stored().is_some(), &changes.api_key_env) {
            (Some((_, variable)), _, _) => format!("set {variable}"),
            (None, false, Some(variable)) => format!("set {variable} or use {store}"),
            (None, false, None) if !spec.key_remedy.is_empty() => {
                format!("{} or use {store}", spec.key_remedy)
            }
            (None, true | false, _) => format!("use {store}"),
        };
        let key = variable.or_else(stored);
        let remedy = match (&changes.api_key_env, &spec.credential) {
            (Some(variable), _) => format!("set {variable}, or use {store}"),
            (None, Credential::Missing { remedy }) => format!("{remedy}, or use {store}"),
            (None, Credential::Unneeded | Credential::Login { .. } | Credential::Key { .. }) => {
                format!("use {store}")
            }
        };
        if key.is_none() && (changes.api_key_env.is_some() || changes.credential.is_some()) {
            return (Credential::Missing { remedy }, again);
        }
        (built_in::credential(key, &spec.base_url, || remedy), again)
    }

    fn options(
        &self,
        id: &str,
        built_in: ProviderOptions,
        changes: &ProviderSettings,
    ) -> Result<ProviderOptions, String> {
        let mut options = options(built_in, changes);
        options.cache_for_an_hour = self.settings.cache_ttl == "1h";
        for (name, text) in changes.headers.iter().flat_map(|headers| &headers.0) {
            let value = match text {
                HeaderText::Text(text) => text.clone(),
                HeaderText::Credential(credential) => {
                    let key = self.credentials.get(credential).ok_or_else(|| {
                        format!(
                            "its header {name} needs the credential {credential}, which is not there; `holon config \
                             credentials set {credential}`, then see `holon config providers show {id}`"
                        )
                    })?;
                    key.to_owned()
                }
            };
            options.headers.push((name.clone(), value));
        }
        Ok(options)
    }

    fn secrets(&self) -> Vec<(String, String)> {
        let mut secrets: Vec<_> =
            self.credentials.secrets().chain(variables::secrets(self.environment)).collect();
        secrets.extend(self.settings.execution.environment.secrets());
        for provider in self.settings.providers.values() {
            if let Some(name) = &provider.api_key_env
                && let Some(value) = self.environment.get(name)
            {
                secrets.push((name.clone(), value.trim().to_owned()));
            }
        }
        secrets.extend(self.settings.passwords());
        secrets
    }
}

/// A provider's spec as values of the table of options, for whoever shows them.
pub fn shown(spec: &ProviderSpec, configured: Option<&ProviderSettings>) -> ProviderSettings {
    let options = &spec.options;
    ProviderSettings {
        transport: Some(spec.transport.name().to_owned()),
        base_url: Some(spec.base_url.clone()).filter(|base_url| !base_url.is_empty()),
        path: options.path.clone(),
        query: configured.and_then(|configured| configured.query.clone()),
        headers: configured.and_then(|configured| configured.headers.clone()),
        key_header: options.key_header.clone(),
        api_key_env: configured.and_then(|configured| configured.api_key_env.clone()),
        credential: configured.and_then(|configured| configured.credential.clone()),
        stream: Some(options.stream),
        strict_tools: Some(options.strict_tools),
        freeform_tools: Some(options.freeform_tools),
        max_tokens_field: Some(spec.max_tokens_field()),
        prompt_cache_key: Some(spec.sends_prompt_cache_key()),
        incremental_responses: Some(options.incremental_responses),
        context_management: configured.and_then(|configured| configured.context_management.clone()),
        context_window_tokens: configured.and_then(|configured| configured.context_window_tokens),
        connect_timeout: Some(options.connect_timeout),
        first_byte_timeout: Some(options.first_byte_timeout),
        idle_timeout: Some(options.idle_timeout),
        accept_unofficial: Some(options.accept_unofficial),
        proxy: options.proxy.clone(),
        ca_file: options.ca_file.clone(),
    }
}

/// The names of all transports, for errors.
pub fn transports() -> String {
    TRANSPORTS.map(Transport::name).join(", ")
}

fn transport(id: &str, name: &str) -> Result<Transport, String> {
    holon_models::transport(name).ok_or_else(|| {
        format!(
            "providers.{id}.transport is {name:?}, which this version does not support; it supports {}",
            transports()
        )
    })
}

fn set(id: &str, option: &str, value: &str) -> String {
    format!("`holon config set providers.{id}.{option} {value}`")
}

fn options(mut options: ProviderOptions, changes: &ProviderSettings) -> ProviderOptions {
    fn put<T: Clone>(target: &mut T, value: Option<&T>) {
        if let Some(value) = value {
            target.clone_from(value);
        }
    }
    put(&mut options.stream, changes.stream.as_ref());
    put(&mut options.strict_tools, changes.strict_tools.as_ref());
    put(&mut options.freeform_tools, changes.freeform_tools.as_ref());
    options.max_tokens_field = changes.max_tokens_field.or(options.max_tokens_field);
    options.prompt_cache_key = changes.prompt_cache_key.or(options.prompt_cache_key);
    put(&mut options.incremental_responses, changes.incremental_responses.as_ref());
    put(&mut options.context_editing, changes.context_management.as_ref());
    put(&mut options.accept_unofficial, changes.accept_unofficial.as_ref());
    put(&mut options.connect_timeout, changes.connect_timeout.as_ref());
    put(&mut options.first_byte_timeout, changes.first_byte_timeout.as_ref());
    put(&mut options.idle_timeout, changes.idle_timeout.as_ref());
    options.path = changes.path.clone().or(options.path);
    options.key_header = changes.key_header.clone().or(options.key_header);
    options.query = changes.query.iter().flat_map(|query| query.0.clone()).collect();
    options.proxy = changes.proxy.clone().or(options.proxy);
    options.ca_file = changes.ca_file.clone().or(options.ca_file);
    options
}
