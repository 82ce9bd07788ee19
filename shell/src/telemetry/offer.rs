//! A document that is offered to a collector, and what became of it.

use std::time::Duration;

use holon_models::{DocumentPost, Posted};

use super::{Target, encoding};

/// What a collector made of a document.
pub(super) enum Taken {
    Yes,
    /// It will never take this.
    Never(String),
    NotNow(String, Option<Duration>),
}

impl Target {
    pub(super) async fn offer(&self, post: &DocumentPost, document: String) -> Taken {
        let (content_type, body) = match encoding::body(self.signal, self.encoding, document) {
            Ok(encoded) => encoded,
            Err(problem) => return Taken::Never(problem.to_string()),
        };
        match post.post(&self.url, &self.headers, content_type, body, self.timeout).await {
            Ok(posted) => taken(posted),
            Err(problem) => Taken::NotNow(problem, None),
        }
    }
}

/// Whoever refuses a key or an address may be put right, and loses nothing until then.
fn taken(posted: Posted) -> Taken {
    let Posted { status, retry_after, text } = posted;
    if status.is_success() {
        return Taken::Yes;
    }
    let line = text.lines().next().unwrap_or_default();
    let said = format!("{status} {}", holon_facts::content::clip(line, 200));
    match status.as_u16() {
        401 | 403 | 404 | 407 | 408 | 429 => Taken::NotNow(said, retry_after),
        400..=499 => Taken::Never(said),
        _ => Taken::NotNow(said, retry_after),
    }
}
