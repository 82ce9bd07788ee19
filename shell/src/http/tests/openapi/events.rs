//! One schema for the envelope of each kind of event, and one for any of them that tells them apart by `type`.

use holon_facts::Event;
use schemars::Schema;
use serde_json::{Map, Value, json};

/// Replaces the envelope with one of its kinds.
pub(super) fn describe(
    schemas: &mut Map<String, Value>,
    payloads: Vec<(&'static str, Schema)>,
    provenance: &Schema,
) {
    let Some(envelope) = schemas.get("Envelope").cloned() else { panic!("there is no envelope") };
    let (mut kinds, mut mapping) = (Vec::new(), Map::new());
    for ((kind, payload), (named, version)) in payloads.into_iter().zip(Event::kinds()) {
        assert_eq!(kind, named);
        let name = format!("{}Event", camel(kind));
        let mut event = envelope.clone();
        event["description"] = json!("A durable event of the kind that `type` names.");
        event["properties"]["type"] = json!({ "type": "string", "const": kind });
        event["properties"]["v"] = json!({
            "type": "integer", "minimum": 1, "maximum": version, "description": "Version of the payload.",
        });
        event["properties"]["provenance"] = json!(provenance);
        event["properties"]["payload"] = json!(payload);
        let path = format!("#/components/schemas/{name}");
        kinds.push(json!({ "$ref": path }));
        mapping.insert(kind.to_owned(), json!(path));
        assert!(schemas.insert(name, event).is_none(), "{kind}: the name is taken");
    }
    let one = |about: &str, kinds: &[Value], mapping: &Map<String, Value>| {
        json!({
            "description": about, "oneOf": kinds,
            "discriminator": { "propertyName": "type", "mapping": mapping },
        })
    };
    schemas.insert("Envelope".to_owned(), one("One durable event.", &kinds, &mapping));
    let damaged = "#/components/schemas/DamagedEvent";
    kinds.push(json!({ "$ref": damaged }));
    mapping.insert("event_damaged".to_owned(), json!(damaged));
    schemas.insert(
        "AnyEvent".to_owned(),
        one("An event of some agent, or what is left of one.", &kinds, &mapping),
    );
}

fn camel(kind: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    kind.split('_').map(word).collect()
}
