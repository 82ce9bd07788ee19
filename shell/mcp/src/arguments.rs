//! Whether arguments are what a tool takes. Schemas come from servers: none of them may cost more than the call that it is for.

use std::collections::BTreeMap;

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use holon_platform::spawn;
use serde_json::{Map, Value};

use crate::connection::CallError;

/// A schema that leads to more places than that for one value is left to its server.
const MOST_PLACES: u64 = 10_000;
/// The same for one that leads deeper: every level takes from the stack.
const MOST_LEVELS: usize = 256;

/// Whether arguments are what a schema asks for, away from the threads that must not wait. The check goes on to its end, which
/// has a bound, although nobody waits any more.
///
/// # Errors
/// They are not.
pub(crate) async fn checked(schema: Value, arguments: &Map<String, Value>) -> Result<(), CallError> {
    let arguments = Value::Object(arguments.clone());
    // Where the check itself fails, its server says what it wants.
    spawn::blocking(move || check(&schema, &arguments)).await.unwrap_or(Ok(()))
}

/// References lead nowhere: nothing is read or fetched for them.
fn check(schema: &Value, arguments: &Value) -> Result<(), CallError> {
    const PLACE: &str = "holon:///arguments";
    if !is_cheap(schema, arguments) {
        return Ok(());
    }
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    let compiled: Result<SchemaIndex, _> =
        compiler.add_resource(PLACE, schema.clone()).and_then(|()| compiler.compile(PLACE, &mut schemas));
    // Its own server can read it, or will say so.
    let Ok(index) = compiled else { return Ok(()) };
    schemas.validate(arguments, index).map_err(|error| CallError::Arguments(format!("{error:#}")))
}

struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is not looked at").into())
    }
}

/// Whether a check visits few places of a schema. A few lines that refer to each other can lead to more than anybody counts.
fn is_cheap(schema: &Value, arguments: &Value) -> bool {
    let mut places = Places { root: schema, known: BTreeMap::new() };
    size(schema) <= MOST_PLACES && places.of(schema, depth(arguments), 0) <= MOST_PLACES
}

fn size(value: &Value) -> u64 {
    let below: u64 = match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    1 + below
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(entries) => entries.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + below.unwrap_or(0)
}

/// Counts the places of a schema that one path through a value leads to, at most.
struct Places<'a> {
    root: &'a Value,
    /// By what is referred to, and how deep the value is there.
    known: BTreeMap<(&'a str, usize), u64>,
}

impl<'a> Places<'a> {
    /// Those of a part of the schema, for a value that is so deep.
    fn of(&mut self, part: &'a Value, depth: usize, level: usize) -> u64 {
        if level > MOST_LEVELS {
            return u64::MAX;
        }
        match part {
            Value::Array(items) => self.of_all(items, depth, level),
            Value::Object(entries) => {
                let named = entries.get("$id").or_else(|| entries.get("id"));
                // What is below is a document of its own: references in it lead elsewhere.
                if named.is_some_and(Value::is_string) && !std::ptr::eq(part, self.root) {
                    return u64::MAX;
                }
                entries.iter().fold(1, |sum: u64, (key, value)| {
                    sum.saturating_add(self.of_keyword(key, value, depth, level))
                })
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        }
    }

    fn of_all(&mut self, parts: impl IntoIterator<Item = &'a Value>, depth: usize, level: usize) -> u64 {
        parts.into_iter().fold(1, |sum: u64, part| sum.saturating_add(self.of(part, depth, level + 1)))
    }

    fn of_keyword(&mut self, key: &str, value: &'a Value, depth: usize, level: usize) -> u64 {
        match (key, value) {
            ("$ref", Value::String(to)) => self.of_reference(to, depth, level),
            ("$dynamicRef" | "$recursiveRef", _) => u64::MAX,
            // Visited where something refers to them.
            ("$defs" | "definitions", _) => 1,
            ("const" | "enum" | "default" | "examples", _) => size(value),
            ("properties" | "patternProperties", Value::Object(parts)) => match depth.checked_sub(1) {
                Some(depth) => self.of_all(parts.values(), depth, level),
                None => 1,
            },
            ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                self.of_all(parts.values(), depth, level)
            }
            (
                "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties",
                _,
            ) => match depth.checked_sub(1) {
                Some(depth) => self.of(value, depth, level + 1),
                None => 1,
            },
            _ => self.of(value, depth, level + 1),
        }
    }

    fn of_reference(&mut self, to: &'a str, depth: usize, level: usize) -> u64 {
        let Some(part) = to.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) else {
            return u64::MAX;
        };
        if let Some(known) = self.known.get(&(to, depth)) {
            return *known;
        }
        // Until it is known: one that leads to itself has no end.
        self.known.insert((to, depth), u64::MAX);
        let places = self.of(part, depth, level + 1);
        self.known.insert((to, depth), places);
        places
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_checked_without_looking_anywhere() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        assert_eq!(check(&schema, &json!({"n": 1})), Ok(()));
        let wrong = check(&schema, &json!({"n": "1"})).unwrap_err();
        assert!(matches!(&wrong, CallError::Arguments(why) if why.contains("/n")), "{wrong:?}");
        for unreadable in [json!({"$ref": "file:///etc/passwd"}), json!({"$ref": "http://127.0.0.1:1/x"})] {
            assert_eq!(check(&unreadable, &json!({})), Ok(()));
        }
    }

    /// Each definition refers to the next one twice: `keyword` has both.
    fn doubling(parts: usize, both: impl Fn(Value) -> Value) -> Value {
        let one = |n: usize| {
            let next = json!({"$ref": format!("#/$defs/a{}", n + 1)});
            (format!("a{n}"), both(json!([next.clone(), next])))
        };
        let mut defs: Map<String, Value> = (0..parts).map(one).collect();
        defs.insert(format!("a{parts}"), json!({"type": "string"}));
        json!({"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs})
    }

    #[tokio::test]
    async fn a_schema_that_leads_to_more_places_than_anybody_counts_is_left_to_its_server() {
        let all_of = |both: Value| json!({ "allOf": both });
        let arguments = json!({"x": 1});
        let arguments = arguments.as_object().unwrap();
        assert!(checked(doubling(3, all_of), arguments).await.is_err(), "a small one is checked");
        assert_eq!(checked(doubling(60, all_of), arguments).await, Ok(()));
        // A property that is called as what leads deeper leads no deeper.
        let items = json!({"properties": {"items": doubling(60, all_of)["properties"]["x"]}});
        let mut schema = doubling(60, all_of);
        schema["properties"] = items["properties"].clone();
        assert_eq!(check(&schema, &json!({"items": 1})), Ok(()));
    }

    #[test]
    fn what_refers_to_itself_is_checked_as_deep_as_the_arguments_are() {
        let node = json!({"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}});
        assert_eq!(check(&node, &json!({"n": 1, "next": {"n": 2, "next": {}}})), Ok(()));
        assert!(check(&node, &json!({"n": 1, "next": {"next": {"n": "2"}}})).is_err());
        let branches = json!({"$ref": "#/$defs/node", "$defs": {"node": {"allOf": [
            {"properties": {"a": {"$ref": "#/$defs/node"}}}, {"properties": {"a": {"$ref": "#/$defs/node"}}},
        ]}}});
        let deep = |levels: usize| (0..levels).fold(json!({"a": 1}), |below, _| json!({ "a": below }));
        assert!(is_cheap(&branches, &deep(3)) && !is_cheap(&branches, &deep(60)));
        for endless in [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]})] {
            assert_eq!(check(&endless, &json!({})), Ok(()));
        }
    }

    #[test]
    fn a_schema_that_leads_deep_or_elsewhere_is_left_to_its_server() {
        let one = |n: usize| (format!("a{n}"), json!({"$ref": format!("#/$defs/a{}", n + 1)}));
        let mut defs: Map<String, Value> = (0..2_000).map(one).collect();
        defs.insert("a2000".to_owned(), json!(false));
        let chain = json!({"$ref": "#/$defs/a0", "$defs": defs});
        assert_eq!(check(&chain, &json!({})), Ok(()));
        for elsewhere in [
            json!({"allOf": [{"$id": "other.json", "not": {}}]}),
            json!({"$dynamicRef": "#a", "not": {}}),
            json!({"$ref": "#a", "$defs": {"a": {"$anchor": "a", "not": {}}}}),
        ] {
            assert!(!is_cheap(&elsewhere, &json!({})), "{elsewhere}");
        }
        let named = json!({"$id": "https://a.example/x", "properties": {"id": {"type": "string"}}});
        assert!(is_cheap(&named, &json!({"id": "a"})));
    }
}
