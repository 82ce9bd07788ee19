//! Replies that are no failure, on their way to whoever asked.

use std::marker::PhantomData;

use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use holon_api::{ClientError, Document, Endpoint, OpenMetrics, Reply};
use serde::Serialize;

const JSON: &str = "application/json";

/// What a handler replies with, over HTTP.
pub(super) trait Respond<E: Endpoint>: Send {
    fn respond(self) -> Response;
}

/// The same to somebody in this process.
pub(super) trait Answer<E: Endpoint>: Respond<E> {
    fn document(self) -> Result<Document<E::Reply>, ClientError>;
}

/// A document of a type that was written as JSON before.
pub(super) struct Written<T> {
    json: String,
    of: PhantomData<fn() -> T>,
}

/// A reply with the status of its endpoint, or with the other one that it may have.
pub(super) enum OrStatus<T> {
    Usual(T),
    Other(T),
}

/// A reply, and the cookie that its browser keeps from then on.
pub(super) struct WithCookie<T> {
    pub(super) reply: T,
    pub(super) cookie: Option<HeaderValue>,
}

/// Metrics, and whether their client asked for plain text.
pub(super) struct Text {
    pub(super) metrics: OpenMetrics,
    pub(super) plain: bool,
}

/// Server-sent events.
pub(super) struct Stream(pub(super) Response);

impl<T> Written<T> {
    pub(super) fn new(json: String) -> Self {
        Self { json, of: PhantomData }
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Respond<E> for T {
    fn respond(self) -> Response {
        json(E::ROW.status, &self)
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Answer<E> for T {
    fn document(self) -> Result<Document<T>, ClientError> {
        Ok(self.into())
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Respond<E> for OrStatus<T> {
    fn respond(self) -> Response {
        match self {
            Self::Usual(reply) => Respond::<E>::respond(reply),
            Self::Other(reply) => {
                let status = E::ROW.or_status.map_or(E::ROW.status, |(status, _)| status);
                json(status, &reply)
            }
        }
    }
}

/// A document as everybody else of this program writes it, so that each type is written by one piece of code.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Response {
    match serde_json::to_string(document) {
        Ok(json) => (status, [(CONTENT_TYPE, HeaderValue::from_static(JSON))], json).into_response(),
        Err(problem) => (StatusCode::INTERNAL_SERVER_ERROR, problem.to_string()).into_response(),
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Answer<E> for OrStatus<T> {
    fn document(self) -> Result<Document<T>, ClientError> {
        match self {
            Self::Usual(reply) | Self::Other(reply) => Ok(reply.into()),
        }
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Respond<E> for WithCookie<T> {
    fn respond(self) -> Response {
        let mut response = Respond::<E>::respond(self.reply);
        response.headers_mut().extend(self.cookie.map(|cookie| (SET_COOKIE, cookie)));
        response
    }
}

impl<E: Endpoint<Reply = T>, T: Reply + Serialize> Answer<E> for WithCookie<T> {
    fn document(self) -> Result<Document<T>, ClientError> {
        Ok(self.reply.into())
    }
}

impl<E: Endpoint> Respond<E> for Written<E::Reply> {
    fn respond(self) -> Response {
        ([(CONTENT_TYPE, HeaderValue::from_static(E::Reply::MEDIA))], self.json).into_response()
    }
}

impl<E: Endpoint> Answer<E> for Written<E::Reply> {
    fn document(self) -> Result<Document<E::Reply>, ClientError> {
        E::Reply::read(self.json.as_bytes()).map_err(|error| ClientError::Odd { problem: error.to_string() })
    }
}

impl<E: Endpoint<Reply = OpenMetrics>> Respond<E> for Text {
    fn respond(self) -> Response {
        let kind = if self.plain {
            "text/plain; charset=utf-8"
        } else {
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        };
        ([(CONTENT_TYPE, HeaderValue::from_static(kind))], self.metrics.0).into_response()
    }
}

impl<E: Endpoint<Reply = OpenMetrics>> Answer<E> for Text {
    fn document(self) -> Result<Document<OpenMetrics>, ClientError> {
        Ok(self.metrics.into())
    }
}

impl<E: Endpoint<Reply = holon_api::Stream>> Respond<E> for Stream {
    fn respond(self) -> Response {
        self.0
    }
}
