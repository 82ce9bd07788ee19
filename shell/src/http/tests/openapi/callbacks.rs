//! What deliveries to triggers and webhooks send (any JSON, or text and bytes of any type), and what the metrics are: their bodies are whatever others make of them,
//! and the description says which forms are taken.

use schemars::Schema;
use serde_json::{Value, json};

const DELIVERIES: &[&str] = &["/callbacks/wake/{token}", "/callbacks/enqueue/{token}"];

/// What a node keeps where no node owns the agent.
const KEPT: &[&str] =
    &["/agents/{agent_id}/enqueue", "/enqueue", "/webhooks/generic/{agent_id}", DELIVERIES[0], DELIVERIES[1]];

pub(super) fn describe(document: &mut Value, deposited: &Schema) {
    for path in KEPT {
        document["paths"][path]["post"]["responses"]["202"] = json!({
            "description": "Of several nodes none owns the agent: the request is kept, and the next owner carries it out or refuses it, once.",
            "content": { "application/json": { "schema": deposited } },
        });
    }
    for path in DELIVERIES {
        let body = &mut document["paths"][path]["post"]["requestBody"];
        body["content"] = json!({
            "application/json": { "schema": any() },
            "application/octet-stream": { "schema": { "type": "string", "format": "binary" } },
        });
    }
    let webhook = &mut document["paths"]["/webhooks/generic/{agent_id}"]["post"]["requestBody"];
    webhook["content"]["application/json"]["schema"] = any();
    let schemas = &mut document["components"]["schemas"];
    schemas["OpenMetrics"] = json!({
        "description": "OpenMetrics text 1.0.0: families `holon_…`, each with its type and its help.",
        "type": "string", "minLength": 6, "pattern": "# EOF\n$",
    });
    let metrics = &mut document["paths"]["/metrics"]["get"]["responses"]["200"];
    // Generators of clients know no text but plain text: the one makes a type of it, the other one has it to read.
    for kind in ["application/openmetrics-text", "text/plain"] {
        metrics["content"][kind]["schema"] = json!({ "$ref": "#/components/schemas/OpenMetrics" });
    }
}

fn any() -> Value {
    json!({ "description": "Any JSON document of another system." })
}
