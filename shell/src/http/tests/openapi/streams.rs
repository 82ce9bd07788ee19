//! What the events of each stream carry: OpenAPI 3.1 has no word for it, so the reply names the schema of the data of
//! each type.

use holon_api::{Envelope, LiveAttempt, LiveOutput, LiveText, OutputEnd, OutputPiece};
use schemars::Schema;
use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};

/// Each stream with the types of its events, and what their data is; the type of other events is that of the data.
pub(super) fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, Vec<(&'static str, Schema)>)> {
    vec![
        (
            "/agents/{agent_id}/events/stream",
            vec![
                ("*", generator.subschema_for::<Envelope>()),
                ("live_attempt", generator.subschema_for::<LiveAttempt>()),
                ("live_text", generator.subschema_for::<LiveText>()),
                ("live_output", generator.subschema_for::<LiveOutput>()),
            ],
        ),
        ("/events/stream", vec![("*", generator.subschema_for::<holon_api::AnyEvent>())]),
        (
            "/agents/{agent_id}/tasks/{task_id}/output/stream",
            vec![
                ("output", generator.subschema_for::<OutputPiece>()),
                ("end", generator.subschema_for::<OutputEnd>()),
            ],
        ),
    ]
}

pub(super) fn describe(document: &mut Value, streamed: &[(&str, Vec<(&str, Schema)>)]) {
    for (path, events) in streamed {
        let reply = &mut document["paths"][path]["get"]["responses"]["200"];
        let named: Vec<String> = events
            .iter()
            .map(|(kind, schema)| {
                let schema = schema.get("$ref").and_then(Value::as_str).unwrap_or_default();
                let schema = schema.rsplit('/').next().unwrap_or_default();
                if *kind == "*" { format!("`{schema}`") } else { format!("`{schema}` of a `{kind}`") }
            })
            .collect();
        let about = format!("Server-sent events. The data of each is JSON: {}.", named.join(", "));
        let content = &mut reply["content"]["text/event-stream"];
        content["x-events"] =
            events.iter().map(|(kind, schema)| ((*kind).to_owned(), json!(schema))).collect();
        reply["description"] = json!(about);
    }
}
