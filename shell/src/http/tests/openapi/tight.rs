//! Schemas without a boolean where a program expects an object.

use serde_json::{Value, json};

/// Under these names a schema stands, and under the last one a schema under each name.
const SCHEMAS: &[&str] = &["additionalProperties", "items", "schema", "propertyNames", "not"];

pub(super) fn describe(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (name, value) in object.iter_mut() {
                if SCHEMAS.contains(&name.as_str()) && *value == true {
                    *value = json!({});
                }
                if name == "properties" {
                    let properties = value.as_object_mut().into_iter().flatten();
                    properties
                        .filter(|(_, schema)| **schema == true)
                        .for_each(|(_, schema)| *schema = json!({}));
                }
                describe(value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(describe),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
