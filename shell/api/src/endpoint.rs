//! What an endpoint is: one row for people and programs, and the types of what is asked and answered. The server's table,
//! the description, and both kinds of clients are made of the same rows.

use std::future::Future;
use std::time::Duration;

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::body::Body;
use super::client_error::ClientError;
use super::code::Code;
use super::path::Path;
use super::reply::{Document, Reply};

/// Something that can be asked of a runtime.
pub trait Endpoint: Sized + Send + Sync + 'static {
    const ROW: Row;
    type Path: Path;
    type Query: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Body: Body + Sync;
    type Reply: Reply;

    /// How long the runtime may wait before it answers, because the request asks for that.
    fn waits(_: &Self::Query) -> Duration {
        Duration::ZERO
    }
}

/// What an endpoint is called, who may use it, and what may go wrong.
#[derive(Debug, Clone)]
pub struct Row {
    /// The method of `Control` that asks it, or what a client follows.
    pub name: &'static str,
    pub method: Method,
    /// The parameters of [`Endpoint::Path`] stand in braces.
    pub path: &'static str,
    /// One line.
    pub summary: &'static str,
    /// The same for the default agent: another path, and its summary.
    pub of_default: Option<(&'static str, &'static str)>,
    pub access: Access,
    /// Headers that it looks at, each with what it means.
    pub headers: &'static [Header],
    /// Codes beyond those that the row itself brings along.
    pub fails: &'static [Code],
    /// Of a reply that is no failure.
    pub status: StatusCode,
    /// Another one of such a reply, and what it means.
    pub or_status: Option<(StatusCode, &'static str)>,
}

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who can connect: nothing is shown that is anybody's secret.
    Open,
    /// Whoever has a token in the path that was signed here; whether it is in force, the agent decides.
    Token,
    /// Whoever has the one-time token of a login link, in the body.
    Login,
    /// Whoever signs what is sent, where signatures are asked for; otherwise whoever the policy lets in.
    Signed,
    /// Whoever the policy lets in.
    Control,
    /// The same, and whoever has a token for streams in the query.
    Stream,
}

/// A header that a route looks at.
#[derive(Debug)]
pub struct Header {
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    pub value: HeaderValue,
}

/// What a header holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderValue {
    /// Visible ASCII characters, at most 256.
    Name,
    Number,
}

/// One request.
#[derive(Debug)]
pub struct Request<E: Endpoint> {
    pub path: E::Path,
    pub query: E::Query,
    pub body: E::Body,
    /// Names one intention: the runtime takes it once, however often it comes.
    pub key: Option<String>,
}

/// Result of a request.
pub type Asked<T> = Result<Document<T>, ClientError>;

/// Whoever can be asked this: a runtime over HTTP, or the one of this process.
pub trait Ask<E: Endpoint>: Sync {
    fn ask(&self, request: Request<E>) -> impl Future<Output = Asked<E::Reply>> + Send;
}

impl Row {
    /// Every code that the route can answer with at a path of its own.
    pub fn codes(&self, path: &str) -> Vec<Code> {
        let mut codes = vec![Code::InvalidHead, Code::InvalidQuery, Code::Draining, Code::Internal];
        if matches!(self.access, Access::Control | Access::Signed | Access::Stream) {
            codes.extend([Code::MissingToken, Code::WrongToken, Code::ForbiddenOrigin, Code::ConfinedCaller]);
            codes.push(Code::SessionEnded);
            if self.method != Method::GET {
                codes.push(Code::WrongCsrf);
            }
        }
        if self.access == Access::Login {
            codes.extend([Code::WrongToken, Code::ForbiddenOrigin, Code::ConfinedCaller]);
        }
        if self.access == Access::Signed {
            codes.extend([Code::MissingSignature, Code::WrongSignature]);
        }
        if path.contains("{agent_id}") || path.contains("{session_id}") {
            codes.push(Code::InvalidPath);
        }
        if self.method == Method::POST {
            codes.extend([
                Code::InvalidBody,
                Code::RequestTimeout,
                Code::TooLarge,
                Code::UnsupportedMediaType,
                Code::DiskFull,
                Code::LedgerLocked,
                Code::DatabaseAway,
                Code::Moving,
                Code::NotStoredYet,
                Code::NotAnswered,
            ]);
        }
        codes.extend(self.fails);
        codes.sort_unstable();
        codes.dedup();
        codes
    }
}
