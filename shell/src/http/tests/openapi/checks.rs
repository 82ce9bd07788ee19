//! What programs need that make clients of the description (`openapi-python-client`, `openapi-typescript`), checked by
//! our own means. `tests/tests/binary/clients.rs` runs those programs themselves, where they are installed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::document;

/// Every value of the document with the path to it.
fn each<'a>(value: &'a Value, path: &str, visit: &mut dyn FnMut(&str, &'a Value)) {
    visit(path, value);
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| each(value, &format!("{path}/{name}"), visit));
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| each(value, &format!("{path}/{at}"), visit));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn operations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
    })
}

fn is_identifier(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}

/// Words that a language keeps for itself.
const RESERVED: &[&str] =
    &["import", "class", "return", "yield", "delete", "default", "function", "global", "del"];

#[test]
fn operations_have_names_of_their_own_that_are_identifiers_and_one_tag_each() {
    let document = document();
    let tags: BTreeSet<&str> =
        document["tags"].as_array().unwrap().iter().filter_map(|tag| tag["name"].as_str()).collect();
    let (mut ids, mut used) = (BTreeMap::new(), BTreeSet::new());
    for (route, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(is_identifier(id) && id.contains('_') && !RESERVED.contains(&id), "{route}: {id}");
        let other = ids.insert(id, route.clone());
        assert_eq!(other, None, "{route}: {id} is taken");
        let [tag] = operation["tags"].as_array().unwrap().as_slice() else { panic!("{route}") };
        assert!(tags.contains(tag.as_str().unwrap()), "{route}: {tag}");
        used.insert(tag.as_str().unwrap());
        for parameter in operation["parameters"].as_array().unwrap() {
            let name = parameter["name"].as_str().unwrap();
            assert!(parameter["in"] == "header" || is_identifier(name), "{route}: {name}");
            assert!(parameter["schema"].is_object(), "{route}: {name}");
        }
    }
    assert_eq!(used, tags, "every tag is used");
}

#[test]
fn schemas_are_objects_with_types_and_names() {
    let document = document();
    let mut wrong = Vec::new();
    each(&document, "", &mut |path, value| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let within = path.rsplit('/').nth(1).unwrap_or_default();
        let is_schema = matches!(name, "schema" | "items" | "propertyNames")
            || name == "additionalProperties" && *value != false
            || within == "properties" && !path.ends_with("/properties/properties");
        if is_schema && !value.is_object() {
            wrong.push(path.to_owned());
        }
    });
    assert_eq!(wrong, [""; 0], "boolean schemas");
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let shapes = ["type", "oneOf", "anyOf", "allOf", "enum", "const", "$ref"];
    for (name, schema) in schemas {
        let plain = name.starts_with(|c: char| c.is_ascii_uppercase());
        assert!(plain && name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}: two types share a name");
        assert!(shapes.iter().any(|shape| schema.get(shape).is_some()), "{name} may be anything");
    }
}

#[test]
fn every_kind_of_event_has_a_schema_and_is_told_apart_by_its_type() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (any, more) in [("Envelope", 0), ("AnyEvent", 1)] {
        let discriminator = &schemas[any]["discriminator"];
        assert_eq!(discriminator["propertyName"], "type");
        let mapping = discriminator["mapping"].as_object().unwrap();
        let kinds: BTreeSet<&str> = holon_facts::Event::kinds().map(|(kind, _)| kind).collect();
        assert_eq!(mapping.len(), kinds.len() + more);
        for (kind, reference) in mapping {
            let schema = document.pointer(&reference.as_str().unwrap()[1..]).unwrap();
            let told = &schema["properties"]["type"];
            let told = told.get("const").or_else(|| {
                let named = document.pointer(&told["$ref"].as_str()?[1..])?;
                named.get("const").or(named["enum"].get(0))
            });
            assert_eq!(told, Some(&Value::from(kind.as_str())), "{kind}");
            assert!(schema["required"].as_array().unwrap().iter().any(|name| name == "type"), "{kind}");
        }
        let listed = schemas[any]["oneOf"].as_array().unwrap();
        let listed: BTreeSet<&str> = listed.iter().filter_map(|kind| kind["$ref"].as_str()).collect();
        assert_eq!(listed, mapping.values().filter_map(Value::as_str).collect());
    }
}

#[test]
fn numbers_of_requests_have_bounds() {
    let document = document();
    for (route, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().unwrap() {
            let schema = &parameter["schema"];
            if schema["type"] == "integer" && parameter["in"] == "query" {
                let bounded = schema["minimum"].is_number() && schema["maximum"].is_number();
                assert!(bounded || schema["format"] == "uint64", "{route}: {parameter}");
            }
            if schema["type"] == "string" {
                assert!(
                    schema["maxLength"].is_number() || schema["pattern"].is_string(),
                    "{route}: {parameter}"
                );
            }
        }
    }
}
