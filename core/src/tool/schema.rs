//! JSON schemas of the tools, derived from the argument types, in a canonical key order.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{ApplyPatch, ExecCommand, ExecCommandBatch, Tool};

/// How optional properties are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// As the type says; `strict: false` on the wire.
    Relaxed,
    /// Every property required, optional ones nullable.
    Strict,
}

/// The schema of a tool's arguments.
pub fn schema(tool: Tool, mode: SchemaMode) -> Value {
    let generator =
        SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true).into_generator();
    let schema = match tool {
        Tool::ExecCommand => generator.into_root_schema_for::<ExecCommand>(),
        Tool::ExecCommandBatch => generator.into_root_schema_for::<ExecCommandBatch>(),
        Tool::ApplyPatch => generator.into_root_schema_for::<ApplyPatch>(),
    };
    let mut value = schema.to_value();
    if let Some(root) = value.as_object_mut() {
        root.remove("$schema");
        root.remove("title");
        root.remove("description");
    }
    normalise(&mut value, mode);
    value
}

fn normalise(value: &mut Value, mode: SchemaMode) {
    match value {
        Value::Object(object) => {
            object.remove("format");
            for (_, inner) in object.iter_mut() {
                normalise(inner, mode);
            }
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_string(), Value::Bool(false));
                if mode == SchemaMode::Strict {
                    require_all(object);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalise(item, mode)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn require_all(object: &mut serde_json::Map<String, Value>) {
    let required: Vec<String> = object
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(|name| name.as_str().map(ToString::to_string)).collect())
        .unwrap_or_default();
    let mut all = Vec::new();
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            if !required.contains(name) {
                make_nullable(property);
            }
            all.push(Value::String(name.clone()));
        }
    }
    object.insert("required".to_string(), Value::Array(all));
}

fn make_nullable(property: &mut Value) {
    let Some(object) = property.as_object_mut() else { return };
    object.remove("default");
    if let Some(Value::Array(values)) = object.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    let nullable = match object.get("type") {
        Some(Value::String(one)) => Value::Array(alloc::vec![Value::String(one.clone()), "null".into()]),
        Some(Value::Array(many)) if !many.contains(&"null".into()) => {
            Value::Array(many.iter().cloned().chain([Value::String("null".to_string())]).collect())
        }
        Some(_) | None => return,
    };
    object.insert("type".to_string(), nullable);
}
