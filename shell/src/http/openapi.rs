//! The description of the surface, OpenAPI 3.1, made of the table of routes and the types of their handlers.

use holon_api::rows::ShowOpenApi;
use holon_api::{ErrorBody, Header, HeaderValue, OpenApi, RouteAccess as Access};
use schemars::Schema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::App;
use super::route::{Call, Described, Handled, Route};
use super::table;

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
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.row.method.as_str().to_ascii_lowercase()] = operation;
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
pub(super) async fn openapi(_: App, _: Call<ShowOpenApi>) -> Handled<OpenApi> {
    Ok(OpenApi(document()))
}

fn operation(route: &Route, generator: &mut SchemaGenerator, error: &Schema) -> Value {
    let described = (route.describe)(generator);
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
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
    if matches!(route.row.access, Access::Control | Access::Signed) {
        // None, too: the socket, and loopback without a configured token.
        operation["security"] = json!([{ "control_token": [] }, {}]);
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let path = route.path.replace(['{', '}'], "").replace(['/', '-', '.'], "_");
    let path = if path == "_" { "_root".to_owned() } else { path };
    format!("{}{path}", route.row.method.as_str().to_ascii_lowercase())
}

fn parameters(route: &Route, described: &Described) -> Vec<Value> {
    let mut parameters = Vec::new();
    let named = described.path.get("properties").and_then(Value::as_object);
    for (name, schema) in named.into_iter().flatten() {
        if route.path.contains(&format!("{{{name}}}")) {
            parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
    }
    let query = described.query.get("properties").and_then(Value::as_object);
    for (name, schema) in query.into_iter().flatten() {
        parameters.push(json!({ "name": name, "in": "query", "schema": without_null(schema) }));
    }
    for Header { name, about, value } in route.row.headers {
        let schema = match value {
            HeaderValue::Name => {
                json!({ "type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]([ -~]*[!-~])?$" })
            }
            HeaderValue::Number => json!({ "type": "integer", "minimum": 0, "format": "uint64" }),
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
        route.row.status.as_str().to_owned(),
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
