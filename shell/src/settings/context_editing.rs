//! How context editing is written in the configuration.

use holon_core::tool::Tool;
use holon_models::{ClearToolUses, ContextEditing, KeptThinking, Trigger};
use serde_json::{Map, Value as Json, json};
use toml_edit::{InlineTable, Value};

/// Most of a number: no request is that long.
pub(super) const MOST: u64 = 10_000_000;

/// Reads `{ clear_tool_uses = { trigger = { input_tokens = 60000 }, keep = 5 }, clear_thinking = "all" }`.
pub(super) fn read(value: &Value) -> Option<ContextEditing> {
    let table = value.as_inline_table()?;
    known(table, &["clear_tool_uses", "clear_thinking"])?;
    let tool_uses = table.get("clear_tool_uses").map(tool_uses);
    let thinking = table.get("clear_thinking").map(thinking);
    let editing = ContextEditing { tool_uses: whole(tool_uses)?, thinking: whole(thinking)? };
    (editing != ContextEditing::default()).then_some(editing)
}

fn tool_uses(value: &Value) -> Option<ClearToolUses> {
    let table = value.as_inline_table()?;
    known(table, &["trigger", "keep", "clear_at_least", "exclude_tools", "clear_tool_inputs"])?;
    let tools = table.get("exclude_tools").map(|tools| tools.as_array()?.iter().map(tool).collect());
    Some(ClearToolUses {
        trigger: whole(table.get("trigger").map(trigger))?,
        keep: whole(table.get("keep").map(|keep| number(keep, 0)))?,
        clear_at_least: whole(table.get("clear_at_least").map(|least| number(least, 1)))?,
        exclude_tools: whole(tools)?.unwrap_or_default(),
        clear_tool_inputs: whole(table.get("clear_tool_inputs").map(Value::as_bool))?.unwrap_or_default(),
    })
}

fn trigger(value: &Value) -> Option<Trigger> {
    let table = value.as_inline_table().filter(|table| table.len() == 1)?;
    match (table.get("input_tokens"), table.get("tool_uses")) {
        (Some(tokens), None) => number(tokens, 1).map(Trigger::InputTokens),
        (None, Some(uses)) => number(uses, 1).map(Trigger::ToolUses),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

fn thinking(value: &Value) -> Option<KeptThinking> {
    if value.as_str() == Some("all") {
        return Some(KeptThinking::All);
    }
    number(value, 1).map(KeptThinking::Turns)
}

fn tool(value: &Value) -> Option<String> {
    value.as_str().and_then(Tool::named).map(|tool| tool.name().to_owned())
}

fn number(value: &Value, least: u64) -> Option<u64> {
    let number = u64::try_from(value.as_integer()?).ok()?;
    (least..=MOST).contains(&number).then_some(number)
}

/// A field that is absent is fine, one that can't be read is not.
fn whole<T>(field: Option<Option<T>>) -> Option<Option<T>> {
    match field {
        Some(read) => read.map(Some),
        None => Some(None),
    }
}

fn known(table: &InlineTable, names: &[&str]) -> Option<()> {
    table.iter().all(|(name, _)| names.contains(&name)).then_some(())
}

pub(super) fn show(editing: &ContextEditing) -> Json {
    let mut shown = Map::new();
    if let Some(clear) = &editing.tool_uses {
        let mut uses = Map::new();
        let mut put =
            |name: &str, value: Option<Json>| uses.extend(value.map(|value| (name.to_owned(), value)));
        put(
            "trigger",
            clear.trigger.map(|trigger| match trigger {
                Trigger::InputTokens(tokens) => json!({ "input_tokens": tokens }),
                Trigger::ToolUses(uses) => json!({ "tool_uses": uses }),
            }),
        );
        put("keep", clear.keep.map(Json::from));
        put("clear_at_least", clear.clear_at_least.map(Json::from));
        put("exclude_tools", Some(json!(clear.exclude_tools)).filter(|_| !clear.exclude_tools.is_empty()));
        put("clear_tool_inputs", clear.clear_tool_inputs.then_some(Json::Bool(true)));
        shown.insert("clear_tool_uses".to_owned(), Json::Object(uses));
    }
    if let Some(keep) = editing.thinking {
        let keep = match keep {
            KeptThinking::All => json!("all"),
            KeptThinking::Turns(turns) => json!(turns),
        };
        shown.insert("clear_thinking".to_owned(), keep);
    }
    Json::Object(shown)
}

pub(super) fn schema() -> Json {
    let count = |least: u64| json!({ "type": "integer", "minimum": least, "maximum": MOST });
    let one = |name: &str| json!({ "type": "object", "properties": { name: count(1) }, "required": [name], "additionalProperties": false });
    let tools: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
    json!({
        "type": "object",
        "properties": {
            "clear_tool_uses": {
                "type": "object",
                "properties": {
                    "trigger": { "anyOf": [one("input_tokens"), one("tool_uses")] },
                    "keep": count(0),
                    "clear_at_least": count(1),
                    "exclude_tools": { "type": "array", "items": { "type": "string", "enum": tools } },
                    "clear_tool_inputs": { "type": "boolean" },
                },
                "additionalProperties": false,
            },
            "clear_thinking": { "anyOf": [{ "const": "all" }, count(1)] },
        },
        "minProperties": 1,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_shown_and_anything_else_is_refused() {
        for text in [
            r#"{ clear_tool_uses = { } }"#,
            r#"{ clear_thinking = "all" }"#,
            r#"{ clear_thinking = 2, clear_tool_uses = { trigger = { tool_uses = 30 } } }"#,
            r#"{ clear_tool_uses = { trigger = { input_tokens = 60000 }, keep = 0, clear_at_least = 5000, exclude_tools = ["ApplyPatch"], clear_tool_inputs = true } }"#,
        ] {
            let value: Value = text.parse().unwrap();
            let shown = show(&read(&value).unwrap()).to_string();
            let again: Value = shown.replace("\":", "\"=").parse().unwrap();
            assert_eq!(read(&again), read(&value), "{shown}");
        }
        for wrong in [
            "true",
            "{ }",
            r#"{ clear_tool_uses = true }"#,
            r#"{ clear_tool_uses = { keep = -1 } }"#,
            r#"{ clear_tool_uses = { keep = 99999999 } }"#,
            r#"{ clear_tool_uses = { clear_at_least = 0 } }"#,
            r#"{ clear_tool_uses = { trigger = 5 } }"#,
            r#"{ clear_tool_uses = { trigger = { input_tokens = 1, tool_uses = 2 } } }"#,
            r#"{ clear_tool_uses = { exclude_tools = ["NoSuchTool"] } }"#,
            r#"{ clear_tool_uses = { more = 1 } }"#,
            r#"{ clear_thinking = 0 }"#,
            r#"{ clear_thinking = "some" }"#,
            r#"{ compact = 1 }"#,
        ] {
            assert_eq!(read(&wrong.parse().unwrap()), None, "{wrong}");
        }
    }
}
