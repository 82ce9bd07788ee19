//! Spans as OTLP in JSON: one line is one `TracesData`, as collectors read them from files.

use holon_facts::Wall;
use holon_platform::{build, hex};
use serde_json::{Value, json};

use super::{Attribute, Span, Trace};

/// Spans that others cause to be made inside, and those that wait for a server.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

/// A trace as a line, without its end.
pub fn line(trace: &Trace) -> String {
    let spans: Vec<Value> = trace.spans.iter().map(|one| span(trace, one)).collect();
    json!({ "resourceSpans": [{
        "resource": { "attributes": [
            attribute("service.name", &Attribute::Text("holon".to_owned())),
            attribute("service.version", &Attribute::Text(build::version().to_owned())),
        ] },
        "scopeSpans": [{ "scope": { "name": "holon" }, "spans": spans }],
    }] })
    .to_string()
}

fn span(trace: &Trace, span: &Span) -> Value {
    let mut attributes: Vec<Value> =
        span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    attributes
        .extend(span.error.as_ref().map(|error| attribute("error.type", &Attribute::Text(error.clone()))));
    let mut document = json!({
        "traceId": hex::write(&trace.id),
        "spanId": hex::write(&span.id),
        "name": span.name,
        "kind": if span.client { CLIENT } else { INTERNAL },
        "startTimeUnixNano": nanos(span.begin),
        "endTimeUnixNano": nanos(span.end.max(span.begin)),
        "attributes": attributes,
    });
    if let Some(parent) = span.parent {
        document["parentSpanId"] = json!(hex::write(&parent));
    }
    if let Some(error) = &span.error {
        document["status"] = json!({ "code": ERROR, "message": error });
    }
    document
}

fn attribute(name: &str, value: &Attribute) -> Value {
    // Numbers of 64 bits are texts in JSON.
    let value = match value {
        Attribute::Text(text) => json!({ "stringValue": text }),
        Attribute::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": name, "value": value })
}

fn nanos(at: Wall) -> String {
    u64::try_from(at.0).unwrap_or(0).saturating_mul(1_000).to_string()
}
