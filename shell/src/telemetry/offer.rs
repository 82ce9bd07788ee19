//! A document that is offered to a collector, and what became of it.

use std::time::Duration;

use holon_models::{DocumentPost, Posted};

use super::{Target, encoding};

/// What a collector made of a document.
pub(super) enum Taken {
    Yes,
    /// It will never take this.
    Never(String),
    /// It may take less at once.
    TooLarge(String),
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

/// Whoever refuses a key, an address or an encoding may be put right, and loses nothing until then.
fn taken(posted: Posted) -> Taken {
    let Posted { status, retry_after, text } = posted;
    if status.is_success() {
        return Taken::Yes;
    }
    let line = text.lines().next().unwrap_or_default();
    let said = format!("{status} {}", holon_facts::content::clip(line, 200));
    match status.as_u16() {
        413 => Taken::TooLarge(said),
        401 | 403 | 404 | 405 | 407 | 408 | 415 | 429 => Taken::NotNow(said, retry_after),
        400..=499 => Taken::Never(said),
        _ => Taken::NotNow(said, retry_after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_document_is_refused_for_is_for_good() {
        let of = |status: u16| {
            let status = status.try_into().unwrap();
            taken(Posted { status, retry_after: None, text: "why\nmore".to_owned() })
        };
        assert!(matches!(of(200), Taken::Yes));
        assert!(matches!(of(400), Taken::Never(said) if said == "400 Bad Request why"));
        assert!(matches!(of(413), Taken::TooLarge(..)));
        for status in [301, 401, 403, 404, 405, 415, 429, 500, 503] {
            assert!(matches!(of(status), Taken::NotNow(..)), "{status}");
        }
    }
}
