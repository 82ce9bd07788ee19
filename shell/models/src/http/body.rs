//! An answer that has begun.

use std::time::Duration;

use bytes::Bytes;
use holon_facts::model::FailureKind;
use http::StatusCode;
use http::header::HeaderMap;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use url::Url;

use super::http_client::{Answer, Broken};
use super::timeouts::Timeouts;
use super::{BODY_BYTES, failure, located};
use crate::address::shown;
use crate::answer::Failure;

/// How much of a refusal is read, in bytes, and for how long: its status says most.
const REFUSAL_BYTES: usize = 64 << 10;
const REFUSAL: Duration = Duration::from_secs(10);
/// How long a stream that is over gets to end properly, so that its connection can be used again.
const ENDING: Duration = Duration::from_millis(50);

/// A status, headers, and the body as it comes.
pub(crate) struct Received {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: UnsyncBoxBody<Bytes, Broken>,
    url: Url,
    timeouts: Timeouts,
    bytes: usize,
}

impl Received {
    pub(super) fn new(answer: Answer, url: Url, timeouts: Timeouts) -> Self {
        let (head, body) = answer.into_parts();
        Self { status: head.status, headers: head.headers, body, url, timeouts, bytes: 0 }
    }

    /// The next piece of the body; none at its end.
    ///
    /// # Errors
    /// When it breaks off, takes too long, or is longer than [`BODY_BYTES`].
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        let (left, late) =
            if self.bytes == 0 { self.timeouts.until_first_byte() } else { self.timeouts.until_next() };
        let chunk = match tokio::time::timeout(left, data(&mut self.body)).await {
            Ok(Ok(chunk)) => chunk,
            Ok(Err(broken)) => return Err(failure::cut_off(broken, &self.url)),
            Err(_) => return Err(self.timeouts.failure(late, &self.url)),
        };
        self.bytes += chunk.as_ref().map_or(0, Bytes::len);
        if self.bytes > BODY_BYTES {
            let message = format!("the answer of {} is longer than {BODY_BYTES} bytes", shown(&self.url));
            return Err(located(Failure::new(FailureKind::InvalidResponse, message), "body", &self.url));
        }
        Ok(chunk)
    }

    /// What comes with a status that says that it is no answer; none where it is one.
    pub(crate) async fn refused(&mut self) -> Option<Vec<u8>> {
        if self.status.is_success() { None } else { Some(self.refusal().await) }
    }

    /// The beginning of a body whose status says that it is no answer; whatever of it can be had.
    async fn refusal(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                body.extend_from_slice(&chunk[..chunk.len().min(REFUSAL_BYTES - body.len())]);
                if body.len() == REFUSAL_BYTES {
                    return;
                }
            }
        };
        // What was read until then is enough.
        tokio::time::timeout(REFUSAL, reading).await.ok();
        body
    }

    /// Lets a stream whose last event was seen come to its end.
    pub(crate) async fn end(mut self) {
        let ending = async { while let Ok(Some(_)) = self.chunk().await {} };
        tokio::time::timeout(ENDING, ending).await.ok();
    }
}

/// The next piece of a body. What is no data stands at its end, and nobody needs it.
async fn data(body: &mut UnsyncBoxBody<Bytes, Broken>) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}
