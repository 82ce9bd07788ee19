//! JSON schemas, derived from the argument types, with their keys in order. What a provider takes of them is the
//! business of whoever asks it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The schema of one argument type, without references: types that contain themselves have none.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = value.as_object_mut() {
        // The tool's own description says what it is for.
        root.remove("description");
        // Providers ask for it, even where there is nothing to say.
        root.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    value
}
