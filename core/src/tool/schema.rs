//! JSON schemas, derived from the argument types, with their keys in order. What a provider takes of them is the
//! business of whoever asks it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of one argument type, without references: types that contain themselves have none.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut value);
    if let Some(root) = value.as_object_mut() {
        // The tool's own description says what it is for.
        root.remove("description");
        // Providers ask for it, even where there is nothing to say.
        root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    value
}

/// Takes out what every reader assumes: no number is negative. And what the types of fields say of themselves, where the
/// tool's description says it.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.get("minimum").and_then(Value::as_u64) == Some(0) {
        object.remove("minimum");
    }
    if object.get("description").and_then(Value::as_str) == Some("") {
        object.remove("description");
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    if let Some(items) = object.get_mut("items") {
        if let Some(one) = items.as_object_mut() {
            // The list describes what it holds.
            one.remove("description");
        }
        tidy(items);
    }
}
