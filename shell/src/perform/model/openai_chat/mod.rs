//! `openai_chat_completions`: one `POST {base}/chat/completions` without streaming (contract: providers.md,
//! Transports). Also every compatible local server, so reading is lenient where servers differ, and what is
//! sent is what all of them know.

mod answer;
mod failure;
mod request;
#[cfg(test)]
mod tests;

use holon_core::model::{FailureKind, ModelRequest};

use super::endpoint::Endpoint;
use super::http::Clients;
use super::{Failure, Reply};
use crate::text::Texts;

/// One attempt.
pub(super) async fn attempt(
    clients: &Clients,
    texts: &Texts,
    endpoint: &Endpoint<'_>,
    request: &ModelRequest,
) -> Result<Reply, Failure> {
    let body = request::lower(texts, request).map_err(|problem| {
        Failure::new(FailureKind::Client, format!("the request can't be built: {problem}"))
    })?;
    let url = &endpoint.url;
    let received = clients.post(url, endpoint.key.as_ref(), body, request.timeout).await?;
    if !received.status.is_success() {
        return Err(failure::of_status(texts, &received, url));
    }
    if let Some(cut) = received.cut {
        return Err(cut);
    }
    answer::read(texts, &received.body).map_err(|problem| failure::of_answer(texts, problem, &received, url))
}
