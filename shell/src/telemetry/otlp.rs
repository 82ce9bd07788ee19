//! Spans as OTLP in JSON: a document is one `TracesData`, as collectors take it over HTTP and read it from files.

use holon_facts::Wall;
use holon_platform::{build, hex};
use serde_json::{Value, json};

use super::{Attribute, Span};

/// Spans that others cause to be made inside, and those that wait for a server.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;

/// Who has made the spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub service: String,
    /// More that is known of it, by name.
    pub attributes: Vec<(String, String)>,
}

impl Default for Resource {
    fn default() -> Self {
        Self { service: "holon".to_owned(), attributes: Vec::new() }
    }
}

/// Spans, each with the trace that it belongs to, as one line.
pub fn document<'a>(
    resource: &Resource,
    spans: impl IntoIterator<Item = (&'a [u8; 16], &'a Span)>,
) -> String {
    let spans: Vec<Value> = spans.into_iter().map(|(trace, one)| span(trace, one)).collect();
    json!({ "resourceSpans": [{
        "resource": self::resource(resource),
        "scopeSpans": [{ "scope": { "name": "holon" }, "spans": spans }],
    }] })
    .to_string()
}

pub(super) fn resource(resource: &Resource) -> Value {
    let own = [("service.name", resource.service.as_str()), ("service.version", build::version())];
    let others = resource.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let attributes: Vec<Value> = own
        .into_iter()
        .chain(others)
        .map(|(name, value)| attribute(name, &Attribute::Text(value.to_owned())))
        .collect();
    json!({ "attributes": attributes })
}

fn span(trace: &[u8; 16], span: &Span) -> Value {
    let mut attributes: Vec<Value> =
        span.attributes.iter().map(|(name, value)| attribute(name, value)).collect();
    attributes
        .extend(span.error.as_ref().map(|error| attribute("error.type", &Attribute::Text(error.clone()))));
    let mut document = json!({
        "traceId": hex::write(trace),
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
    if !span.links.is_empty() {
        let link = |link: &super::Link| json!({ "traceId": hex::write(&link.trace), "spanId": hex::write(&link.span) });
        document["links"] = span.links.iter().map(link).collect();
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
        Attribute::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    };
    json!({ "key": name, "value": value })
}

pub(super) fn nanos(at: Wall) -> String {
    u64::try_from(at.0).unwrap_or(0).saturating_mul(1_000).to_string()
}
