//! One POST of JSON and its answer, piece by piece. Knows nothing of providers: it says where in the transport
//! a request failed, and leaves the meaning of statuses and bodies to the caller. Dropping what it returns
//! closes the connection. What carries the request is an [`HttpClient`].

mod body;
mod client;
mod document_post;
mod failure;
mod http_client;
mod reqwest_client;
#[cfg(test)]
mod tests;
mod timeouts;

use bytes::Bytes;
use holon_facts::Millis;
use http::header::HeaderMap;
use http::{Method, Request, Uri};
use timeouts::Timeouts;
use url::Url;

use super::answer::Failure;
use crate::options::ProviderOptions;

pub(super) use body::Received;
pub(super) use client::{Clients, check};
pub use document_post::{DocumentPost, Posted};
pub(super) use failure::located;
pub use http_client::{Answer, Broken, How, HttpClient, Sending};

/// Longest answer that is read, in bytes.
pub(super) const BODY_BYTES: usize = 32 << 20;

/// Longest list of models that is read, in bytes, and for how long.
const LIST_BYTES: usize = 1 << 20;
const LIST: Millis = Millis(3_000);

/// What is sent, and how long it may take.
pub(super) struct Ask<'a> {
    pub(super) url: &'a Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) options: &'a ProviderOptions,
    /// Bound on the whole of it, and how much of that is over already.
    pub(super) timeout: Millis,
    pub(super) passed: Millis,
}

/// Sends, and waits for the head of the answer.
pub(super) async fn post(client: &dyn HttpClient, ask: Ask<'_>) -> Result<Received, Failure> {
    send(client, Method::POST, ask).await
}

/// What a server lists at an address; nothing where that fails in any way.
pub(super) async fn list(
    client: &dyn HttpClient,
    url: &Url,
    headers: HeaderMap,
    options: &ProviderOptions,
    left: Millis,
) -> Option<Vec<u8>> {
    let ask = Ask { url, headers, body: Vec::new(), options, timeout: LIST.min(left), passed: Millis(0) };
    let mut received = send(client, Method::GET, ask).await.ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = received.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LIST_BYTES {
            return None;
        }
    }
    received.status.is_success().then_some(body)
}

async fn send(client: &dyn HttpClient, method: Method, ask: Ask<'_>) -> Result<Received, Failure> {
    let Ask { url, headers, body, options, timeout, passed } = ask;
    let timeouts = Timeouts::begin(options, (passed, timeout));
    let (left, late) = timeouts.until_first_byte();
    let uri: Uri = url.as_str().parse().map_err(|error| failure::no_address(&error, url))?;
    let mut request = Request::new(Bytes::from(body));
    (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, uri, headers);
    match tokio::time::timeout(left, client.send(request, options)).await {
        Ok(Ok(answer)) => Ok(Received::new(answer, url.clone(), timeouts)),
        Ok(Err(broken)) => Err(failure::not_sent(broken, url, options)),
        Err(_) => Err(timeouts.failure(late, url)),
    }
}
