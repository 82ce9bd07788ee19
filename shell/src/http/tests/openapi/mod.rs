//! The description of the surface as the table of routes and the types of their handlers make it. What is served is its
//! snapshot.

mod callbacks;
mod checks;
mod events;
mod names;
mod streams;
mod tight;

use axum::http::Method;
use holon_api::{
    Body as _, Code, Deposited, Endpoint, ErrorBody, Header, HeaderValue, Reply, RouteAccess as Access, Row,
};
use holon_facts::Event;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::envelope::Provenance;
use crate::http::table;

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
        let route = route.described;
        let operation = operation(&route, &mut generator, &error);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.row.method.as_str().to_ascii_lowercase()] = operation;
    }
    let streamed = streams::schemas(&mut generator);
    let payloads = Event::schemas(&mut generator);
    let provenance = generator.subschema_for::<Provenance>();
    let deposited = generator.subschema_for::<Deposited>();
    let mut schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    events::describe(&mut schemas, payloads, &provenance);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Holon",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The control surface of a Holon runtime. `docs/http.md` explains it.",
        },
        "tags": names::tags(),
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "control_token": { "type": "http", "scheme": "bearer" },
                "stream_token": { "type": "apiKey", "in": "query", "name": "token" },
                "console_session": {
                    "type": "apiKey", "in": "cookie", "name": "holon_session_HOME",
                    "description": "The session of a browser that `POST /console/login` has begun; HOME differs by home.",
                },
                "console_csrf": {
                    "type": "apiKey", "in": "header", "name": "x-holon-csrf",
                    "description": "What the session shows with each change, as `GET /console/session` has it.",
                },
            },
        },
    });
    streams::describe(&mut document, &streamed);
    callbacks::describe(&mut document, &deposited);
    tight::describe(&mut document);
    document
}

/// What the description says of a route.
pub(in super::super) struct Described {
    pub(in super::super) row: Row,
    path: &'static str,
    pub(in super::super) summary: &'static str,
    types: fn(&mut SchemaGenerator) -> Types,
}

impl Described {
    pub(in super::super) fn of<E: Endpoint>((path, summary): (&'static str, &'static str)) -> Self {
        Self { row: E::ROW, path, summary, types: types::<E> }
    }

    /// Every code that the route can answer with.
    pub(in super::super) fn codes(&self) -> Vec<Code> {
        self.row.codes(self.path)
    }
}

/// The types of an endpoint, for people and programs.
struct Types {
    path: Schema,
    query: Schema,
    body: Option<BodyDescribed>,
    reply: Schema,
    media: &'static str,
}

struct BodyDescribed {
    schema: Schema,
    required: bool,
    media: &'static str,
    bytes: usize,
}

fn types<E: Endpoint>(generator: &mut SchemaGenerator) -> Types {
    let schema = E::Body::schema(generator);
    Types {
        path: E::Path::json_schema(generator),
        query: E::Query::json_schema(generator),
        body: schema.map(|schema| BodyDescribed {
            schema,
            required: E::Body::REQUIRED,
            media: E::Body::MEDIA,
            bytes: E::Body::BYTES,
        }),
        reply: E::Reply::schema(generator),
        media: E::Reply::MEDIA,
    }
}

fn operation(route: &Described, generator: &mut SchemaGenerator, error: &Schema) -> Value {
    let types = (route.types)(generator);
    let mut operation = json!({
        "operationId": names::operation_id(&route.row, route.path),
        "tags": [names::tag(route.path)],
        "summary": route.summary,
        "parameters": parameters(route, &types),
        "responses": responses(route, &types, error),
    });
    if let Some(body) = &types.body {
        operation["requestBody"] = json!({
            "required": body.required,
            "description": format!("At most {} bytes.", body.bytes),
            "content": { body.media: { "schema": body.schema } },
        });
    }
    // None, too: the socket, and loopback without a configured token.
    let session = match route.row.method {
        Method::GET | Method::HEAD => json!({ "console_session": [] }),
        _ => json!({ "console_session": [], "console_csrf": [] }),
    };
    match route.row.access {
        Access::Control => operation["security"] = json!([{ "control_token": [] }, session, {}]),
        Access::Signed => operation["security"] = json!([{ "control_token": [] }, {}]),
        Access::Stream => {
            operation["security"] = json!([{ "control_token": [] }, { "stream_token": [] }, session, {}]);
        }
        Access::Open | Access::Token | Access::Login => {}
    }
    operation
}

fn parameters(route: &Described, types: &Types) -> Vec<Value> {
    let mut parameters = Vec::new();
    let named = types.path.get("properties").and_then(Value::as_object);
    for (name, schema) in named.into_iter().flatten() {
        if route.path.contains(&format!("{{{name}}}")) {
            parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
        }
    }
    let query = types.query.get("properties").and_then(Value::as_object);
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

fn responses(route: &Described, types: &Types, error: &Schema) -> Value {
    let mut responses = Map::new();
    responses.insert(
        route.row.status.as_str().to_owned(),
        json!({ "description": "Done.", "content": { types.media: { "schema": types.reply } } }),
    );
    if let Some((status, about)) = route.row.or_status {
        let content = json!({ types.media: { "schema": types.reply } });
        responses.insert(status.as_str().to_owned(), json!({ "description": about, "content": content }));
    }
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
