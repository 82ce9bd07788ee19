//! Settings as a list of values with their origins, fit to be shown.

use holon_text::variables::{passwords, without_password};
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::models::{MODEL_KEYS, canonical, key_name};
use super::tool_servers::{TOOL_SERVER_KEYS, agent_name, option_name};
use super::{KEYS, Kind, OPTIONS, Origin, ProviderSettings, Settings};

/// One value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub key: String,
    /// Null where there is none.
    pub value: Json,
    pub origin: Origin,
}

impl Entry {
    /// The value as a person reads it, and as `config set` takes it.
    pub fn text(&self) -> String {
        text(&self.value)
    }
}

impl Settings {
    /// Every key with its value, then what the file says of providers, models and servers of tools.
    pub fn entries(&self) -> Vec<Entry> {
        let keys = KEYS.iter().map(|key| Entry {
            key: key.name.to_owned(),
            value: fit(&key.kind, key.get(self)),
            origin: self.origin(key.name),
        });
        let options = self.providers.iter().flat_map(|(id, provider)| {
            let entries = self.options(id, provider).into_iter();
            entries.filter(|entry| !entry.value.is_null())
        });
        let models = self.models.iter().flat_map(|(model, own)| {
            let entries = MODEL_KEYS.iter().map(|key| {
                let name = key_name(model, key.name);
                Entry { value: key.get(own), origin: self.origin(&name), key: name }
            });
            entries.filter(|entry| !entry.value.is_null())
        });
        let servers = self.tool_servers.servers.iter().flat_map(|(server, own)| {
            let entries = TOOL_SERVER_KEYS.iter().map(|key| {
                let name = option_name(server, key.name);
                let value = fit(&key.kind, key.get(own));
                Entry { value, origin: self.origin(&name), key: name }
            });
            entries.filter(|entry| !entry.value.is_null())
        });
        let agents = self.tool_servers.agents.iter().map(|(agent, named)| {
            let name = agent_name(agent);
            Entry { value: json!(named), origin: self.origin(&name), key: name }
        });
        keys.chain(options).chain(models).chain(servers).chain(agents).collect()
    }

    /// Passwords inside addresses, with the keys that have them.
    pub fn passwords(&self) -> Vec<(String, String)> {
        let address = |kind: &Kind| matches!(kind, Kind::Url(_));
        let keys = KEYS.iter().filter(|key| address(&key.kind));
        let mut urls: Vec<_> = keys.map(|key| (key.name.to_owned(), key.get(self))).collect();
        for (id, own) in &self.providers {
            let options = OPTIONS.iter().filter(|key| address(&key.kind));
            urls.extend(options.map(|key| (format!("providers.{id}.{}", key.name), key.get(own))));
        }
        for (server, own) in &self.tool_servers.servers {
            let options = TOOL_SERVER_KEYS.iter().filter(|key| address(&key.kind));
            urls.extend(options.map(|key| (option_name(server, key.name), key.get(own))));
        }
        urls.extend(self.store_url.iter().map(|url| ("store.url".to_owned(), json!(url.as_str()))));
        let of = |(name, url): (String, Json)| {
            let found = url.as_str().into_iter().flat_map(passwords).collect::<Vec<_>>();
            found.into_iter().map(move |password| (name.clone(), password))
        };
        urls.into_iter().flat_map(of).collect()
    }

    /// The value of one key; none where no key has that name.
    pub fn entry(&self, name: &str) -> Option<Entry> {
        super::kind_of(name)?;
        let name = &canonical(name);
        let unset = || Entry { key: name.to_owned(), value: Json::Null, origin: Origin::Default };
        Some(self.entries().into_iter().find(|entry| entry.key == *name).unwrap_or_else(unset))
    }

    /// Every option of a provider, with these values.
    pub fn options(&self, id: &str, values: &ProviderSettings) -> Vec<Entry> {
        let entries = OPTIONS.iter().map(|key| {
            let name = format!("providers.{id}.{}", key.name);
            let value = fit(&key.kind, key.get(values));
            Entry { origin: self.origin(&name), key: name, value }
        });
        entries.collect()
    }
}

fn text(value: &Json) -> String {
    match value {
        Json::Null => "none".to_owned(),
        Json::String(text) => text.clone(),
        Json::Array(items) if items.is_empty() => "none".to_owned(),
        Json::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        Json::Bool(_) | Json::Number(_) | Json::Object(_) => value.to_string(),
    }
}

/// A value fit to be shown: an address without its password.
fn fit(kind: &Kind, value: Json) -> Json {
    match value.as_str() {
        Some(url) if matches!(kind, Kind::Url(_)) => json!(without_password(url)),
        Some(_) | None => value,
    }
}
