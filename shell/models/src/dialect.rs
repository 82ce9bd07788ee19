//! The dialect: types, properties, items, enums, `anyOf`. Everything else that a derived schema may have is
//! translated into these, or left out: whoever performs a tool checks its arguments in any case.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// How optional properties are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaMode {
    /// Optional properties may be left out; `strict: false` on the wire.
    Relaxed,
    /// Every property required, optional ones nullable; no keyword that a provider's strict mode refuses.
    Strict,
}

/// What a schema may say in either mode.
const KEYWORDS: [&str; 8] =
    ["type", "description", "properties", "required", "additionalProperties", "items", "enum", "anyOf"];
/// What servers without a strict mode may make use of. Strict modes refuse some of them, and not all the same.
const RELAXED: [&str; 5] = ["default", "minimum", "maximum", "minItems", "maxItems"];

/// Says in the dialect what a schema without references says.
pub(super) fn translate(schema: &mut Value, mode: SchemaMode) {
    let Some(object) = schema.as_object_mut() else { return };
    alternatives(object);
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(word) = object.remove("const") {
        object.insert("enum".to_string(), Value::Array(vec![word]));
    }
    default(object, mode);
    object.retain(|keyword, _| {
        KEYWORDS.contains(&keyword.as_str())
            || (mode == SchemaMode::Relaxed && RELAXED.contains(&keyword.as_str()))
    });
    if let Some(items) = object.get_mut("items") {
        translate(items, mode);
    }
    if let Some(Value::Array(several)) = object.get_mut("anyOf") {
        several.iter_mut().for_each(|one| translate(one, mode));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|property| translate(property, mode));
        close(object, mode);
    }
}

/// A default of null says nothing, nor does a switch that is off. Strict modes refuse defaults: there it is said in words.
fn default(object: &mut Object, mode: SchemaMode) {
    match (object.remove("default"), mode) {
        (None | Some(Value::Null), _) | (Some(Value::Bool(false)), SchemaMode::Relaxed) => {}
        (Some(value), SchemaMode::Relaxed) => drop(object.insert("default".to_string(), value)),
        (Some(value), SchemaMode::Strict) => describe(object, &format!("Default: {value}.")),
    }
}

fn describe(object: &mut Object, more: &str) {
    let text = match object.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} {more}"),
        None => more.to_string(),
    };
    object.insert("description".to_string(), Value::String(text));
}

/// An object takes no other properties, and those that may be left out are nullable in strict mode only.
fn close(object: &mut Object, mode: SchemaMode) {
    object.insert("additionalProperties".to_string(), Value::Bool(false));
    let required: Vec<Value> = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else { return };
    let names: Vec<Value> = properties.keys().map(|name| Value::String(name.clone())).collect();
    let optional =
        properties.iter_mut().filter(|(name, _)| !required.contains(&Value::String((*name).clone())));
    for (_, property) in optional {
        match mode {
            SchemaMode::Relaxed => not_nullable(property),
            SchemaMode::Strict => nullable(property),
        }
    }
    if mode == SchemaMode::Strict {
        object.insert("required".to_string(), Value::Array(names));
    }
}

fn null() -> Value {
    Value::Object(Object::from_iter([("type".to_string(), Value::String("null".to_string()))]))
}

/// The types of a schema that are not null.
fn types(object: &Object) -> Vec<Value> {
    let all = match object.get("type") {
        Some(Value::Array(several)) => several.clone(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    all.into_iter().filter(|one| one != "null").collect()
}

fn set_type(object: &mut Object, mut types: Vec<Value>) {
    let value = if types.len() == 1 { types.remove(0) } else { Value::Array(types) };
    object.insert("type".to_string(), value);
}

/// Lets a property be null. Beside an object or a list that is said by `anyOf`, which all strict modes know.
fn nullable(property: &mut Value) {
    not_nullable(property);
    let Some(object) = property.as_object_mut() else { return };
    let types = types(object);
    if let Some(Value::Array(several)) = object.get_mut("anyOf") {
        several.push(null());
    } else if types.iter().any(|one| one == "object" || one == "array") {
        let description = object.remove("description");
        let inner = std::mem::take(property);
        let mut either = Object::from_iter([("anyOf".to_string(), Value::Array(vec![inner, null()]))]);
        either.extend(description.map(|text| ("description".to_string(), text)));
        *property = Value::Object(either);
    } else {
        if let Some(Value::Array(words)) = object.get_mut("enum") {
            words.push(Value::Null);
        }
        if !types.is_empty() {
            set_type(object, types.into_iter().chain([Value::String("null".to_string())]).collect());
        }
    }
}

fn not_nullable(property: &mut Value) {
    let Some(object) = property.as_object_mut() else { return };
    let types = types(object);
    if !types.is_empty() {
        set_type(object, types);
    }
    if let Some(Value::Array(words)) = object.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let Some(Value::Array(several)) = object.get_mut("anyOf") else { return };
    several.retain(|one| *one != null());
    if several.len() == 1 {
        let only = several.remove(0);
        object.remove("anyOf");
        merge(object, only);
    }
}

/// Takes a schema's keywords in where the object has none of that name.
fn merge(object: &mut Object, schema: Value) {
    if let Value::Object(inner) = schema {
        for (keyword, value) in inner {
            object.entry(keyword).or_insert(value);
        }
    }
}

/// `oneOf` and nested alternatives as one `anyOf`; words as one enum, with what is said of each in words.
fn alternatives(object: &mut Object) {
    let mut found = Vec::new();
    flatten(object, &mut found);
    if found.is_empty() {
        return;
    }
    let (mut words, mut about, mut others, mut or_null) = (Vec::new(), Vec::new(), Vec::new(), false);
    for one in found {
        if one == null() {
            or_null = true;
        } else if let Some(these) = literal(&one) {
            if let (Some(text), [word]) = (one.get("description").and_then(Value::as_str), &these[..]) {
                about.push(format!("{word}: {text}"));
            }
            words.extend(these);
        } else {
            others.push(one);
        }
    }
    if !words.is_empty() {
        let word = Value::String("string".to_string());
        others.push(Value::Object(Object::from_iter([
            ("type".to_string(), word),
            ("enum".to_string(), Value::Array(words)),
        ])));
    }
    if !about.is_empty() {
        describe(object, &about.join(" "));
    }
    if others.len() == 1 {
        merge(object, others.remove(0));
        if or_null {
            let mut whole = Value::Object(std::mem::take(object));
            nullable(&mut whole);
            merge(object, whole);
        }
        return;
    }
    others.extend(or_null.then(null));
    object.insert("anyOf".to_string(), Value::Array(others));
}

fn flatten(object: &mut Object, found: &mut Vec<Value>) {
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(several)) = object.remove(keyword) else { continue };
        for mut one in several {
            match one.as_object_mut() {
                Some(inner) if inner.contains_key("oneOf") || inner.contains_key("anyOf") => {
                    flatten(inner, found)
                }
                Some(_) | None => found.push(one),
            }
        }
    }
}

/// The words of a schema that is nothing but words.
fn literal(schema: &Value) -> Option<Vec<Value>> {
    let words = match (schema.get("const"), schema.get("enum")) {
        (Some(word), _) => vec![word.clone()],
        (None, Some(Value::Array(words))) => words.clone(),
        (None, _) => return None,
    };
    words.iter().all(Value::is_string).then_some(words)
}
