//! One POST of JSON and its answer, piece by piece. Knows nothing of providers: it says where in the transport
//! a request failed, and leaves the meaning of statuses and bodies to the caller. Dropping what it returns
//! closes the connection.

mod body;
mod client;
mod failure;
mod patience;
#[cfg(test)]
mod tests;

use holon_core::Millis;
use reqwest::Url;
use reqwest::header::HeaderMap;

pub(super) use body::Received;
pub(super) use client::{Clients, check};
pub(super) use failure::{located, shown};

use super::Failure;
use super::provider::ProviderOptions;
use patience::Patience;

/// Longest answer that is read, in bytes.
pub(super) const BODY_BYTES: usize = 32 << 20;

/// What is sent, and how long it may take.
pub(super) struct Ask<'a> {
    pub(super) url: &'a Url,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    pub(super) options: &'a ProviderOptions,
    /// Bound on the whole of it.
    pub(super) timeout: Millis,
}

impl Clients {
    /// Sends, and waits for the head of the answer. Redirects are not followed: they would carry the key
    /// elsewhere.
    pub(super) async fn post(&self, ask: Ask<'_>) -> Result<Received, Failure> {
        let Ask { url, headers, body, options, timeout } = ask;
        let patience = Patience::begin(options, timeout);
        let (left, late) = patience.until_first_byte();
        let answering = async {
            let client = self.client(url, options).await.map_err(|problem| {
                located(Failure::new(problem.kind(), problem.to_string()), "client", url)
            })?;
            let sent = client.post(url.clone()).headers(headers).body(body).send().await;
            sent.map_err(|error| failure::not_sent(error, url, options))
        };
        match tokio::time::timeout(left, answering).await {
            Ok(response) => Ok(Received::new(response?, url.clone(), patience)),
            Err(_) => Err(patience.failure(late, url)),
        }
    }
}
