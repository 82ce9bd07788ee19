//! Whether arguments are what a tool takes. Schemas come from servers: none of them may cost more than the call that it is for.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use holon_platform::spawn;
use serde_json::{Map, Value};

use crate::catalogue::depth;
use crate::connection::CallError;

/// A schema that leads to more places than that for one value is left to its server.
const MOST_PLACES: u64 = 10_000;
/// So is one that leads to more for all values of the arguments: each of them may be an error that is kept.
const MOST_VISITS: u64 = 200_000;
/// The same for one that leads deeper: every level takes from the stack.
const MOST_LEVELS: usize = 256;
/// Bytes of what is wrong with arguments.
const MOST_TEXT: usize = 4 << 10;

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
    schemas.validate(arguments, index).map_err(|error| {
        let mut beginning = Beginning(String::new());
        if write!(beginning, "{error:#}").is_err() {
            beginning.0.push_str(" …");
        }
        CallError::Arguments(beginning.0)
    })
}

/// The beginning of a text: whoever writes more is stopped.
struct Beginning(String);

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MOST_TEXT {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url} is not looked at").into())
    }
}

/// Whether a check visits few places of a schema. A few lines that refer to each other can lead to more than anybody counts.
fn is_cheap(schema: &Value, arguments: &Value) -> bool {
    if size(schema) > MOST_PLACES {
        return false;
    }
    let mut counted = Places { root: schema, known: BTreeMap::new() };
    let Reach { places, levels } = counted.of(schema, depth(arguments), 0);
    let visits = places.saturating_mul(size(arguments));
    places <= MOST_PLACES && levels <= MOST_LEVELS && visits <= MOST_VISITS
}

fn size(value: &Value) -> u64 {
    let below: u64 = match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.values().map(size).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    1 + below
}

/// How many places a part of a schema leads to, and how deep.
#[derive(Debug, Clone, Copy)]
struct Reach {
    places: u64,
    levels: usize,
}

impl Reach {
    const ONE: Self = Self { places: 1, levels: 1 };
    const ENDLESS: Self = Self { places: u64::MAX, levels: usize::MAX };

    fn and(self, other: Self) -> Self {
        Self { places: self.places.saturating_add(other.places), levels: self.levels.max(other.levels) }
    }

    fn below(self) -> Self {
        Self { levels: self.levels.saturating_add(1), ..self }
    }
}

/// Counts the places of a schema that one path through a value leads to, at most.
struct Places<'a> {
    root: &'a Value,
    /// By what is referred to, and how deep the value is there.
    known: BTreeMap<(&'a str, usize), Reach>,
}

impl<'a> Places<'a> {
    /// Those of a part of the schema, for a value that is so deep.
    fn of(&mut self, part: &'a Value, depth: usize, level: usize) -> Reach {
        if level > MOST_LEVELS {
            return Reach::ENDLESS;
        }
        match part {
            Value::Array(items) => self.of_all(items, depth, level),
            Value::Object(entries) => {
                let named = entries.get("$id").or_else(|| entries.get("id"));
                // What is below is a document of its own: references in it lead elsewhere.
                if named.is_some_and(Value::is_string) && !std::ptr::eq(part, self.root) {
                    return Reach::ENDLESS;
                }
                let all = entries.iter().map(|(key, value)| self.of_keyword(key, value, depth, level));
                all.fold(Reach::ONE, Reach::and)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Reach::ONE,
        }
    }

    fn of_all(&mut self, parts: impl IntoIterator<Item = &'a Value>, depth: usize, level: usize) -> Reach {
        let all = parts.into_iter().map(|part| self.of(part, depth, level + 1).below());
        all.fold(Reach::ONE, Reach::and)
    }

    fn of_keyword(&mut self, key: &str, value: &'a Value, depth: usize, level: usize) -> Reach {
        match (key, value) {
            ("$ref", Value::String(to)) => self.of_reference(to, depth, level).below(),
            ("$dynamicRef" | "$recursiveRef", _) => Reach::ENDLESS,
            // Visited where something refers to them.
            ("$defs" | "definitions", _) => Reach::ONE,
            ("const" | "enum" | "default" | "examples", _) => Reach { places: size(value), levels: 1 },
            ("properties" | "patternProperties", Value::Object(parts)) => match depth.checked_sub(1) {
                Some(depth) => self.of_all(parts.values(), depth, level),
                None => Reach::ONE,
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
                Some(depth) => self.of(value, depth, level + 1).below(),
                None => Reach::ONE,
            },
            _ => self.of(value, depth, level + 1).below(),
        }
    }

    fn of_reference(&mut self, to: &'a str, depth: usize, level: usize) -> Reach {
        // A `%` stands for another character to whoever checks, and not here.
        let pointer = to.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
        let Some(part) = pointer.and_then(|pointer| self.root.pointer(pointer)) else {
            return Reach::ENDLESS;
        };
        if let Some(known) = self.known.get(&(to, depth)) {
            return *known;
        }
        // Until it is known: one that leads to itself has no end.
        self.known.insert((to, depth), Reach::ENDLESS);
        let reach = self.of(part, depth, level + 1);
        self.known.insert((to, depth), reach);
        reach
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

    /// The end of a chain is known before its beginning is looked at.
    #[test]
    fn a_chain_is_as_long_as_all_of_its_pieces() {
        let one = |n: usize| (format!("a{n:03}"), json!({"$ref": format!("#/$defs/a{:03}", n + 1)}));
        let chain = |length: usize, pieces: &[usize]| {
            let mut defs: Map<String, Value> = (0..length).map(one).collect();
            defs.insert(format!("a{length:03}"), json!({"type": "string"}));
            let to = |n: &usize| json!({"$ref": format!("#/$defs/a{n:03}")});
            let pieces: Vec<Value> = pieces.iter().map(to).collect();
            json!({"properties": {"x": {"anyOf": pieces}}, "$defs": defs})
        };
        let arguments = json!({"x": 1});
        assert!(is_cheap(&chain(100, &[50, 0]), &arguments));
        for pieces in [&[210, 0][..], &[300, 200, 100, 0]] {
            assert!(!is_cheap(&chain(420, pieces), &arguments), "{pieces:?}");
        }
    }

    #[test]
    fn a_reference_that_is_written_otherwise_is_followed_by_nobody() {
        let mut schema = doubling(22, |both| json!({ "allOf": both }));
        let text = schema.to_string().replace("#/$defs/a", "#/$defs/%61");
        schema = serde_json::from_str(&text).unwrap();
        for n in 0..=22 {
            schema["$defs"][format!("%61{n}")] = json!(true);
        }
        assert!(!is_cheap(&schema, &json!({"x": 1})));
    }

    #[test]
    fn many_values_are_as_costly_as_many_places_and_what_is_wrong_is_cut() {
        let every =
            json!({"properties": {"x": {"items": {"allOf": vec![json!({"type": "integer"}); 2_000]}}}});
        let values = |count: usize| json!({"x": vec!["a"; count]});
        assert_eq!(check(&every, &values(10_000)), Ok(()), "left to its server");
        let wrong = check(&every, &values(20)).unwrap_err();
        assert!(matches!(&wrong, CallError::Arguments(why) if why.ends_with(" …") && why.len() < 5_000));
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
