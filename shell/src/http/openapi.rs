//! The description of the surface, OpenAPI 3.1, made of the table of routes and the types of their handlers.

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::App;
use super::auth::Access;
use super::reply::Answer;
use super::route::{self, Call, Described, Handled, Header, Route};
use super::table;
use crate::http::body::Empty;
use holon_api::{ErrorBody, Nothing};

/// The whole description; its order is fixed, so that a change of the surface shows.
pub(super) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorBody>();
    let mut paths = Map::new();
    for route in table::routes() {
        let operation = operation(&route, &mut generator, &error);
        let path = paths.entry(route.name.path).or_insert_with(|| json!({}));
        path[route.name.method.as_str().to_ascii_lowercase()] = operation;
    }
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Holon",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The control surface of a Holon runtime. `docs/http.md` explains it.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "control_token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// `GET /openapi.json`
pub(super) async fn openapi(_: App, _: Call<Nothing, Empty>) -> Handled<Answer<OpenApi>> {
    Ok(Answer(OpenApi(document())))
}

/// The description itself.
#[derive(serde::Serialize)]
pub(super) struct OpenApi(Value);

impl JsonSchema for OpenApi {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpenApi".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "description": "OpenAPI 3.1" })
    }
}

fn operation(route: &Route, generator: &mut SchemaGenerator, error: &Schema) -> Value {
    let described = (route.describe)(generator);
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.name.summary,
        "parameters": parameters(route, &described),
        "responses": responses(route, &described, error),
    });
    if let Some(body) = &described.body {
        operation["requestBody"] = json!({
            "required": body.required,
            "description": format!("At most {} bytes.", body.bytes),
            "content": { body.media: { "schema": body.schema } },
        });
    }
    if matches!(route.name.access, Access::Control | Access::Signed) {
        // None, too: the socket, and loopback without a configured token.
        operation["security"] = json!([{ "control_token": [] }, {}]);
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let path = route.name.path.replace(['{', '}'], "").replace(['/', '-', '.'], "_");
    let path = if path == "_" { "_root".to_owned() } else { path };
    format!("{}{path}", route.name.method.as_str().to_ascii_lowercase())
}

fn parameters(route: &Route, described: &Described) -> Vec<Value> {
    let mut parameters = Vec::new();
    for (name, schema) in [
        ("agent_id", "AgentId"),
        ("task_id", "TaskId"),
        ("timer_id", "TimerId"),
        ("work_item_id", "WorkItemId"),
    ] {
        if route.name.path.contains(&format!("{{{name}}}")) {
            let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
            parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
    }
    if route.name.path.contains("{token}") {
        let schema = json!({ "type": "string" });
        parameters.push(json!({ "name": "token", "in": "path", "required": true, "schema": schema }));
    }
    let query = described.query.get("properties").and_then(Value::as_object);
    for (name, schema) in query.into_iter().flatten() {
        parameters.push(json!({ "name": name, "in": "query", "schema": without_null(schema) }));
    }
    for Header { name, about, value } in route.headers {
        let schema = match value {
            route::Value::Name => {
                json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]([ -~]*[!-~])?$" })
            }
            route::Value::Number => json!({ "type": "integer", "minimum": 0, "format": "uint64" }),
        };
        parameters.push(json!({ "name": name, "in": "header", "description": about, "schema": schema }));
    }
    parameters
}

/// A parameter is there or not; it is never null.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_null = |value: &Value| value == "null" || value["type"] == "null";
    if let Some(types) = schema.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|kind| !is_null(kind));
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(any) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        any.retain(|kind| !is_null(kind));
        if let [only] = any.as_slice() {
            let only = only.clone();
            for (name, value) in only.as_object().into_iter().flatten() {
                schema[name] = value.clone();
            }
            schema.as_object_mut().and_then(|schema| schema.remove("anyOf"));
        }
    }
    schema.as_object_mut().and_then(|schema| schema.remove("default"));
    schema
}

fn responses(route: &Route, described: &Described, error: &Schema) -> Value {
    let mut responses = Map::new();
    responses.insert(
        described.status.as_str().to_owned(),
        json!({ "description": "Done.", "content": { described.media: { "schema": described.reply } } }),
    );
    let mut by_status: Vec<(String, Vec<&str>)> = Vec::new();
    for code in route.codes() {
        let status = code.status().as_str().to_owned();
        match by_status.iter_mut().find(|(known, _)| *known == status) {
            Some((_, names)) => names.push(code.name()),
            None => by_status.push((status, vec![code.name()])),
        }
    }
    for (status, names) in by_status {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let content = json!({ "application/json": { "schema": error } });
        responses.insert(status, json!({ "description": names.join(", "), "content": content }));
    }
    Value::Object(responses)
}
