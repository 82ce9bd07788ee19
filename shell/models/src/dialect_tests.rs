use std::collections::BTreeMap;

use holon_core::tool::{catalogue, schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::dialect::{SchemaMode, translate};
use super::tools::parameters;

fn of<T: JsonSchema>(mode: SchemaMode) -> Value {
    let mut schema = schema::of::<T>();
    translate(&mut schema, mode);
    schema
}

/// What strict modes know. Sizes, patterns, formats and defaults are refused by one provider or another.
const STRICT: [&str; 8] =
    ["type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"];

/// Everything that breaks a rule of some provider's strict mode.
fn violations(at: &str, schema: &Value, depth: usize, found: &mut Vec<String>) {
    let Some(object) = schema.as_object() else {
        found.push(format!("{at}: no schema"));
        return;
    };
    let mut say = |problem: &str| found.push(format!("{at}: {problem}"));
    for keyword in object.keys().filter(|keyword| !STRICT.contains(&keyword.as_str())) {
        say(&format!("{keyword} is not known"));
    }
    if depth > 5 {
        say("too deep");
    }
    let types: Vec<&str> = match schema["type"].as_array() {
        Some(several) => several.iter().filter_map(Value::as_str).collect(),
        None => schema["type"].as_str().into_iter().collect(),
    };
    if types.is_empty() == schema["anyOf"].is_null() {
        say("neither a type nor alternatives, or both");
    }
    if let Some(words) = schema["enum"].as_array()
        && words.contains(&Value::Null) != types.contains(&"null")
    {
        say("its enum and its type differ about null");
    }
    if types.contains(&"object") {
        let properties = schema["properties"].as_object();
        let names: Option<Vec<_>> = properties.map(|all| all.keys().map(|name| json!(name)).collect());
        if types.len() > 1 {
            say("null beside an object");
        }
        if schema["additionalProperties"] != json!(false) {
            say("open");
        }
        if names.as_ref() != schema["required"].as_array() {
            say("not all properties are required");
        }
        for (name, property) in properties.into_iter().flatten() {
            violations(&format!("{at}.{name}"), property, depth + 1, found);
        }
    }
    if types.contains(&"array") {
        violations(&format!("{at}[]"), &schema["items"], depth + 1, found);
    }
    for (index, one) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        violations(&format!("{at}|{index}"), one, depth, found);
    }
}

fn check_strict(schema: &Value) {
    let mut found = Vec::new();
    violations("root", schema, 0, &mut found);
    assert!(found.is_empty(), "{found:#?}\n{schema:#}");
    assert_eq!(schema["type"], "object", "the root is an object");
}

#[test]
fn every_tool_is_what_providers_take() {
    for spec in catalogue() {
        let name = spec.name.as_str();
        assert!(
            name.len() <= 64
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        );
        assert!((1..=1_024).contains(&spec.description.len()), "{name}");
        check_strict(&parameters(&spec, SchemaMode::Strict));
        let relaxed = parameters(&spec, SchemaMode::Relaxed);
        assert_eq!(relaxed["type"], "object", "{name}");
        check_closed(&relaxed);
        assert!(!relaxed.to_string().contains("\"null\""), "optional is what is not required: {relaxed}");
    }
}

/// In either mode objects are closed, and no keyword is one that some provider refuses.
fn check_closed(schema: &Value) {
    let Some(object) = schema.as_object() else { return };
    for refused in ["$ref", "$schema", "$defs", "oneOf", "allOf", "const", "format", "title"] {
        assert!(!object.contains_key(refused), "{refused} in {schema:#}");
    }
    if let Some(properties) = schema["properties"].as_object() {
        assert_eq!(schema["additionalProperties"], json!(false), "{schema:#}");
        properties.values().for_each(check_closed);
    }
    check_closed(&schema["items"]);
    schema["anyOf"].as_array().into_iter().flatten().for_each(check_closed);
}

/// How urgent it is.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Documented {
    /// It can wait.
    Later,
    /// It can't.
    Now,
    Never,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Plain {
    One,
    Two,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    Timer { after_ms: u64 },
    Task { task_id: String, note: Option<String> },
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Item {
    cmd: String,
    workdir: Option<String>,
    /// A property whose name is a keyword.
    format: Option<Plain>,
}

/// Every shape that an argument may have.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Everything {
    documented: Documented,
    documented_or_null: Option<Documented>,
    plain_or_null: Option<Plain>,
    #[serde(default = "two")]
    plain_by_default: Plain,
    tagged: Tagged,
    tagged_or_null: Option<Tagged>,
    #[schemars(length(min = 1, max = 12))]
    items: Vec<Item>,
    items_or_null: Option<Vec<Item>>,
    item_or_null: Option<Item>,
    #[schemars(range(min = 1, max = 100))]
    #[serde(default)]
    limit: u32,
    float_or_null: Option<f64>,
    /// Whether to be quick.
    #[serde(default)]
    quick: bool,
}

fn two() -> Plain {
    Plain::Two
}

#[test]
fn every_shape_of_argument_has_a_strict_schema() {
    let strict = of::<Everything>(SchemaMode::Strict);
    check_strict(&strict);
    let of = |name: &str| strict["properties"][name].clone();
    let documented = "\"later\": It can wait. \"now\": It can't.";
    assert_eq!(of("documented")["enum"], json!(["never", "later", "now"]));
    assert!(of("documented")["description"].as_str().unwrap().ends_with(documented));
    assert_eq!(of("documented_or_null")["enum"], json!(["never", "later", "now", null]));
    assert_eq!(of("plain_or_null")["type"], json!(["string", "null"]));
    assert_eq!(of("plain_or_null")["enum"], json!(["one", "two", null]));
    assert_eq!(of("plain_by_default")["description"], "Default: \"two\".");
    assert_eq!(of("quick")["description"], "Whether to be quick. Default: false.");
    assert_eq!(of("limit")["type"], json!(["integer", "null"]));
    assert_eq!(of("tagged")["anyOf"][0]["properties"]["kind"], json!({"type": "string", "enum": ["timer"]}));
    assert_eq!(of("tagged_or_null")["anyOf"][2], json!({"type": "null"}));
    assert_eq!(of("items")["items"]["required"], json!(["cmd", "format", "workdir"]));
    assert_eq!(
        of("items_or_null")["anyOf"][0]["items"]["properties"]["format"]["enum"],
        json!(["one", "two", null])
    );
    assert_eq!(of("item_or_null")["anyOf"][1], json!({"type": "null"}));
}

#[test]
fn a_relaxed_schema_leaves_out_what_is_optional() {
    let relaxed = of::<Everything>(SchemaMode::Relaxed);
    let of = |name: &str| relaxed["properties"][name].clone();
    assert_eq!(relaxed["required"], json!(["documented", "tagged", "items"]));
    assert_eq!(of("documented_or_null")["enum"], json!(["never", "later", "now"]));
    assert_eq!(of("plain_or_null"), json!({"type": "string", "enum": ["one", "two"]}));
    assert_eq!(of("limit"), json!({"type": "integer", "default": 0, "minimum": 1, "maximum": 100}));
    assert_eq!(of("float_or_null"), json!({"type": "number"}));
    assert_eq!(of("items")["maxItems"], 12);
    assert_eq!(of("item_or_null")["required"], json!(["cmd"]));
    assert_eq!(of("tagged_or_null")["anyOf"].as_array().unwrap().len(), 2);
    for unknown in ["\"oneOf\"", "\"const\"", "\"$schema\"", "\"null\""] {
        assert!(!relaxed.to_string().contains(unknown), "{unknown} in {relaxed}");
    }
}

/// What no strict mode takes is found by the check, so that no tool comes to have it.
#[test]
fn open_objects_and_recursion_are_found() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Open {
        map: BTreeMap<String, String>,
        any: Value,
    }
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Recursive {
        inner: Vec<Self>,
    }
    for schema in [of::<Open>(SchemaMode::Strict), of::<Recursive>(SchemaMode::Strict)] {
        let mut found = vec![];
        violations("root", &schema, 0, &mut found);
        assert!(!found.is_empty(), "{schema}");
    }
}
