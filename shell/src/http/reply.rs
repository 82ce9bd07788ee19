//! Replies that are no failure, and what the description says of them.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::marker::PhantomData;

/// What a route replies with.
pub(super) trait Reply: Send {
    const STATUS: StatusCode = StatusCode::OK;
    const MEDIA: &'static str = "application/json";

    fn respond(self) -> Response;
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// A JSON document.
pub(super) struct Answer<T>(pub(super) T);

/// A JSON document that says that something new is there.
pub(super) struct Made<T>(pub(super) T);

/// A document of a type that was written as JSON before.
pub(super) struct Written<T> {
    json: String,
    of: PhantomData<fn() -> T>,
}

/// Text of some other format.
pub(super) struct OpenMetrics(pub(super) String);

/// Server-sent events.
pub(super) struct Stream(pub(super) Response);

impl<T> Written<T> {
    pub(super) fn new(json: String) -> Self {
        Self { json, of: PhantomData }
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Answer<T> {
    fn respond(self) -> Response {
        axum::Json(self.0).into_response()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Made<T> {
    const STATUS: StatusCode = StatusCode::CREATED;

    fn respond(self) -> Response {
        (Self::STATUS, axum::Json(self.0)).into_response()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl<T: JsonSchema> Reply for Written<T> {
    fn respond(self) -> Response {
        ([(CONTENT_TYPE, HeaderValue::from_static(Self::MEDIA))], self.json).into_response()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

impl Reply for OpenMetrics {
    const MEDIA: &'static str = "application/openmetrics-text";

    fn respond(self) -> Response {
        let kind = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        ([(CONTENT_TYPE, kind)], self.0).into_response()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }
}

impl Reply for Stream {
    const MEDIA: &'static str = "text/event-stream";

    fn respond(self) -> Response {
        self.0
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<String>()
    }
}
