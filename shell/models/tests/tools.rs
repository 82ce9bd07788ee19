//! The schemas of all tools, as they go to providers, in files that a person can read. A change of one is a
//! change of what every model is shown.

use std::collections::BTreeSet;
use std::path::Path;

use holon_core::tool::{Tool, catalogue};
use holon_facts::receipt::ToolErrorKind;
use holon_facts::tokens;
use holon_facts::tool::ToolSpec;
use holon_models::{SchemaMode, parameters};
use serde_json::Value;

/// Each tool with its row in the catalogue, by whose name it is found.
fn tools() -> impl Iterator<Item = (Tool, ToolSpec)> {
    catalogue().into_iter().map(|spec| (Tool::named(spec.name.as_str()).expect("a tool of that name"), spec))
}

#[test]
fn schemas_are_those_of_the_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tools");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (tool, spec) in tools() {
        for (mode, suffix) in [(SchemaMode::Relaxed, "relaxed"), (SchemaMode::Strict, "strict")] {
            settings.set_description(tool.description());
            let name = format!("{tool}.{suffix}");
            settings.bind(|| insta::assert_json_snapshot!(name, parameters(&spec, mode)));
        }
    }
}

/// The names in the first column of a section's table.
fn column<'a>(page: &'a str, section: &str) -> BTreeSet<&'a str> {
    let sections = page.split("\n## ");
    let text = sections.into_iter().find(|text| text.lines().next() == Some(section));
    let text = text.unwrap_or_else(|| panic!("docs/tools.md has no section {section}"));
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn the_page_of_the_tools_names_what_there_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (tool, spec) in tools() {
        let schema = parameters(&spec, SchemaMode::Relaxed);
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields: BTreeSet<String> = properties
            .map(
                |(name, _)| {
                    if required.iter().any(|one| *one == name) { name.clone() } else { format!("{name}?") }
                },
            )
            .collect();
        let documented: BTreeSet<String> =
            column(&page, tool.name()).into_iter().map(str::to_owned).collect();
        assert_eq!(documented, fields, "the fields of {tool} in docs/tools.md");
    }
    let kinds: BTreeSet<&str> = ToolErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(column(&page, "Errors"), kinds);
}

#[test]
fn the_estimate_of_a_tool_is_near_and_never_too_low() {
    for (tool, spec) in tools() {
        let schemas =
            [SchemaMode::Relaxed, SchemaMode::Strict].map(|mode| parameters(&spec, mode).to_string());
        let described = tokens::estimate(tool.name()) + tokens::estimate(tool.description());
        let schema = schemas.iter().map(|schema| tokens::estimate(schema)).max().unwrap_or_default();
        let (tokens, estimate) = (described + schema, spec.est_tokens);
        assert!(tokens <= estimate && estimate <= tokens + 100, "{tool}: {tokens}, estimated {estimate}");
    }
}

/// For every tool: what a strict schema makes a model send, and what nobody may send.
#[test]
fn optional_fields_may_be_null_and_unknown_ones_may_not_be() {
    for (tool, spec) in tools() {
        let relaxed = parameters(&spec, SchemaMode::Relaxed);
        let required: Vec<&str> =
            relaxed["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut sent = serde_json::Map::new();
        for (name, property) in relaxed["properties"].as_object().unwrap() {
            let value = if required.contains(&name.as_str()) { sample(name, property) } else { Value::Null };
            sent.insert(name.clone(), value);
        }
        // The text of an object.
        if tool == Tool::ToolCall {
            sent.insert("arguments".into(), "{}".into());
        }
        // One of two is needed, which a schema of this kind can't say.
        if tool == Tool::UseWorkspace {
            sent.insert("path".into(), "/x".into());
        }
        let all = Value::Object(sent.clone()).to_string();
        assert_eq!(tool.verdict(&all).map(drop), Ok(()), "{tool}: {all}");
        for name in required {
            let mut without = sent.clone();
            without.insert(name.into(), Value::Null);
            let refused = tool.verdict(&Value::Object(without).to_string()).unwrap_err();
            assert_eq!(refused.field.as_deref(), Some(name), "{tool}");
        }
        sent.insert("levitate".into(), Value::Bool(true));
        let refused = tool.verdict(&Value::Object(sent).to_string()).unwrap_err();
        assert_eq!(
            (refused.kind, refused.field.as_deref()),
            (ToolErrorKind::InvalidToolInput, Some("levitate"))
        );
    }
}

/// The least that a schema takes, of a field with that name.
fn sample(name: &str, schema: &Value) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(Value::from(1)),
        Some("boolean") => Value::Bool(false),
        Some("array") => Value::Array([sample(name, &schema["items"])].into()),
        Some("object") => {
            let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            Value::Object(
                names.map(|name| (name.into(), sample(name, &schema["properties"][name]))).collect(),
            )
        }
        // As good as any for a command, and the only one for a task.
        Some(_) | None if name == "work_item_id" => Value::from("work_1"),
        Some(_) | None => Value::from("task_1"),
    }
}
