//! Settings as a list of values with their origins, fit to be shown.

use holon_text::variables::password;
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
            value: key.get(self),
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
                let value = match key.name {
                    "url" => without_password(key.get(own)),
                    _ => key.get(own),
                };
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
            let value = match key.kind {
                Kind::Url(_) => without_password(key.get(values)),
                Kind::Flag
                | Kind::Number { .. }
                | Kind::Dollars
                | Kind::Prices
                | Kind::Temperature
                | Kind::Share
                | Kind::Word(_)
                | Kind::Model
                | Kind::Models
                | Kind::Database
                | Kind::Address
                | Kind::Variable
                | Kind::Name
                | Kind::Transport
                | Kind::Path
                | Kind::Route
                | Kind::Query
                | Kind::Headers
                | Kind::Header
                | Kind::ContextEditing
                | Kind::Paths
                | Kind::Origins
                | Kind::Variables
                | Kind::SetVariables
                | Kind::Text
                | Kind::Texts
                | Kind::Names
                | Kind::ServerVariables => key.get(values),
            };
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

/// An address fit to be shown, whatever the length of its password.
fn without_password(url: Json) -> Json {
    let Some(text) = url.as_str() else { return url };
    match password(text) {
        Some(password) => json!(text.replacen(&format!(":{password}@"), ":[redacted]@", 1)),
        None => url,
    }
}
