//! The tables of keys as a JSON schema of `config.toml`, for editors.

use serde_json::{Map, Value as Json, json};

use super::kind::NAME_PATTERN;
use super::tool_servers::{AGENT_KIND, TOOL_SERVER_KEYS};
use super::{KEYS, Key, MODEL_KEYS, OPTIONS, Settings};

/// The schema of `config.toml`.
pub fn schema() -> Json {
    let defaults = Settings::new("".as_ref());
    let mut groups: Map<String, Json> = Map::new();
    for key in KEYS {
        let mut about = about(key);
        let default = key.get(&defaults);
        if !default.is_null() {
            about["default"] = default;
        }
        put(&mut groups, key.name, about);
    }
    let options = OPTIONS.iter().map(|key| (key.name.to_owned(), about(key))).collect();
    groups.insert(
        "providers".to_owned(),
        json!({
            "type": "object",
            "patternProperties": { NAME_PATTERN: closed(options) },
            "additionalProperties": false,
        }),
    );
    let own = MODEL_KEYS.iter().map(|key| (key.name.to_owned(), about(key))).collect();
    groups.insert(
        "models".to_owned(),
        json!({
            "type": "object",
            "patternProperties": { "^[^/]+/.+$": closed(own) },
            "additionalProperties": false,
        }),
    );
    let of_server = TOOL_SERVER_KEYS.iter().map(|key| (key.name.to_owned(), about(key))).collect();
    let mut mcp = Map::new();
    mcp.insert(
        "servers".to_owned(),
        json!({
            "type": "object",
            "patternProperties": { "^[a-z0-9][a-z0-9-]{0,31}$": closed(of_server) },
            "additionalProperties": false,
        }),
    );
    let of_agent = json!({
        "type": "object",
        "additionalProperties": AGENT_KIND.schema(),
        "description": "the servers of tools that an agent may use, by the id of the agent",
    });
    mcp.insert("agents".to_owned(), of_agent);
    groups.insert("mcp".to_owned(), closed(mcp));
    let mut schema = closed(groups);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("config.toml of holon");
    schema
}

/// Puts what is known of a key into the tables that its name names.
fn put(groups: &mut Map<String, Json>, name: &str, about: Json) {
    let Some((group, rest)) = name.split_once('.') else {
        groups.insert(name.to_owned(), about);
        return;
    };
    let group = groups.entry(group).or_insert_with(|| closed(Map::new()));
    if let Some(properties) = group["properties"].as_object_mut() {
        put(properties, rest, about);
    }
}

fn about<S>(key: &Key<S>) -> Json {
    let mut about = key.kind.schema();
    about["description"] = json!(key.doc);
    if let Some(variable) = key.variable {
        about["x-environment-variable"] = json!(variable);
    }
    about
}

fn closed(properties: Map<String, Json>) -> Json {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}
