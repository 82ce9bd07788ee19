//! Takes texts out of the arguments of a call. They are JSON within a text, and decisions rest on their shape, so they are opened:
//! what the schema of a tool of ours knows keeps its key and its kind. Everything else is a text, keys and numbers too.

use std::sync::LazyLock;

use holon_core::tool::{self, Tool};
use holon_facts::model::ModelRef;
use holon_facts::tool::ToolSpec;
use holon_facts::{Millis, Wall};
use serde_json::{Map, Number, Value};

use super::redact::{Redactor, is_id, is_name};

static CATALOGUE: LazyLock<Vec<ToolSpec>> = LazyLock::new(tool::catalogue);

/// What stands between the names of a server and of its tool.
const OF_SERVER: &str = "__";

impl Redactor {
    /// The arguments of a call of this tool. What a tool of another program makes of them no decision asks.
    pub(super) fn arguments(&mut self, tool: &str, text: &str) -> String {
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => {
                let schema = CATALOGUE.iter().find(|spec| spec.name == *tool);
                let schema = schema.map_or(&Value::Null, |spec| &spec.schema);
                Value::Object(self.fields(schema, fields)).to_string()
            }
            // Nothing is as good as an empty object.
            Ok(_) | Err(_) if text.trim().is_empty() => text.to_owned(),
            Ok(_) | Err(_) => self.stands_for(text),
        }
    }

    fn fields(&mut self, schema: &Value, fields: Map<String, Value>) -> Map<String, Value> {
        let known = schema.get("properties");
        let field = |(name, value): (String, Value)| match known.and_then(|known| known.get(&name)) {
            Some(schema) => {
                let value = self.argument(&name, schema, value);
                (name, value)
            }
            // Null is as good as absent, whatever it stands under.
            None if value.is_null() => (self.stands_for(&name), Value::Null),
            None => (self.stands_for(&name), Value::String(self.stands_for(&value.to_string()))),
        };
        fields.into_iter().map(field).collect()
    }

    fn argument(&mut self, name: &str, schema: &Value, value: Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value,
            Value::Number(_) if has_type(schema, "integer") => value,
            // It is refused like any other number.
            Value::Number(_) => Value::Number(Number::from(0)),
            Value::String(text) => Value::String(self.text_of(name, schema, &text)),
            Value::Array(items) => {
                let of_items = schema.get("items").unwrap_or(&Value::Null);
                items.into_iter().map(|item| self.argument(name, of_items, item)).collect()
            }
            // The text of an object may be the object itself.
            Value::Object(fields) => Value::Object(self.fields(schema, fields)),
        }
    }

    fn text_of(&mut self, name: &str, schema: &Value, text: &str) -> String {
        if let Some(derived) = self.derived(text) {
            return derived.clone();
        }
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
        let is_listed = listed.filter_map(Value::as_str).any(|word| word == text);
        let stays = match name {
            "agent_id" | "workspace_id" => self.keeps(text),
            "model" => is_name(text) && text.parse::<ModelRef>().is_ok(),
            // Of a task, a duration, a time.
            "resource" => {
                is_id(text)
                    || self.keeps(text)
                    || Millis::parse(text).is_some()
                    || Wall::parse(text).is_some()
            }
            "task_id" | "work_item_id" => is_id(text),
            "tool" => Tool::named(text).is_some() || (is_name(text) && text.contains(OF_SERVER)),
            _ => false,
        };
        match name {
            _ if text.is_empty() || is_listed || stays => text.to_owned(),
            // Those of a tool of another program.
            "arguments" => self.arguments("", text),
            _ => self.stands_for(text),
        }
    }
}

fn has_type(schema: &Value, wanted: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == wanted,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == wanted),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Redact;
    use super::*;

    fn arguments(tool: &str, arguments: &Value) -> String {
        let mut redactor = Redactor::new(Redact::Texts, b"", ["main".to_owned()]);
        redactor.arguments(tool, &arguments.to_string())
    }

    fn stay(tool: &str, given: &Value) {
        assert_eq!(arguments(tool, given), given.to_string(), "{tool}");
    }

    #[test]
    fn what_decides_stays() {
        stay(
            "UpdateWorkItem",
            &json!({ "blocked_by": "", "plan_status": "ready", "work_item_id": "work_7" }),
        );
        stay("ListWorkItems", &json!({ "filter": "open", "include_todo_list": true, "limit": 7 }));
        for resource in ["task_3", "90s", "2026-11-27T15:06:46Z", "main"] {
            stay("WaitFor", &json!({ "resource": resource, "wake": "timer" }));
        }
        stay("SpawnAgent", &json!({ "agent_id": "main", "model": "local/test", "preset": "public_named" }));
        stay("ToolCall", &json!({ "arguments": "{}", "tool": "forge__issues" }));
        assert_eq!(Redactor::new(Redact::Strict, b"", []).arguments("TaskList", " "), " ");
    }

    #[test]
    fn what_a_schema_does_not_know_goes_with_its_key() {
        let canary = json!({ "canary_key": 4_711_123, "provider": "canary.example", "tools": ["canary@x"],
            "path": "/canary", "id": "msg_4711123", "flag": { "canary": true }, "model": "canary@x" });
        for tool in ["ExecCommand", "Sleep", "SpawnAgent", "forge__issues", "canary"] {
            let out = arguments(tool, &canary);
            assert!(!out.contains("canary") && !out.contains("4711123"), "{tool}: {out}");
            assert!(serde_json::from_str::<Value>(&out).unwrap().is_object(), "{tool}: {out}");
        }
        let nested = json!({ "tool": "forge__issues", "arguments": canary.to_string() });
        let out = arguments("ToolCall", &nested);
        assert!(!out.contains("canary") && out.contains("forge__issues"), "{out}");
        let todo = json!({ "objective": 4_711_123, "todo_list": [{ "text": "msg_4711123", "state": "canary",
            "canary": null }, "canary"], "plan_status": ["canary"] });
        let out = arguments("CreateWorkItem", &todo);
        assert!(!out.contains("canary") && !out.contains("4711123"), "{out}");
        for text in ["[\"canary\"]", "\"canary\"", "4711123", "{\"canary\""] {
            assert!(!Redactor::new(Redact::Texts, b"", []).arguments("Sleep", text).contains(text), "{text}");
        }
    }
}
