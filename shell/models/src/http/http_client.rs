//! What carries requests: reqwest in production ([`super::Clients`]), a client over a simulated network in
//! tests. Both get the same request, and tell in the same words what broke; patience with an answer is kept
//! above them.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use holon_facts::model::FailureKind;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;

use crate::options::ProviderOptions;

/// An answer whose body comes piece by piece. Dropping it closes the connection, or ends its stream.
pub type Answer = Response<UnsyncBoxBody<Bytes, Broken>>;

/// Until the head of an answer is there. Dropping it gives the request up.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<Answer, Broken>> + Send + 'a>>;

/// Sends requests over a network.
pub trait HttpClient: Send + Sync {
    /// Connects within the options' time for it, and sends. The address of the request is absolute; it may have
    /// a name and a password. Redirects are not followed: they would carry the key elsewhere.
    fn send<'a>(&'a self, request: Request<Bytes>, options: &'a ProviderOptions) -> Sending<'a>;
}

/// A request or an answer that broke.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", causes.join(": "))]
pub struct Broken {
    pub how: How,
    /// The error, and what caused it: the last one says most. Without addresses, which may have passwords.
    pub causes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// There is nothing to connect with.
    NoClient(FailureKind),
    /// What was to be sent is no request.
    NoRequest,
    NoConnection,
    /// There was no connection within the time for it.
    ConnectTooLate,
    /// The other end of a connection was not heard of for too long.
    TooLate,
    /// A connection ended before the answer did.
    CutOff,
}
