//! Documents for others than models, over the same clients: with their proxies and certificates.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use url::Url;

use super::client::Clients;
use super::http_client::HttpClient;
use crate::options::ProviderOptions;

/// Bytes of an answer that are kept.
const ANSWER_BYTES: usize = 2 << 10;

/// Posts documents. Cheap to clone; connections are kept.
#[derive(Clone, Default)]
pub struct DocumentPost {
    clients: Clients,
}

impl fmt::Debug for DocumentPost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DocumentPost")
    }
}

/// What a server said to a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub status: StatusCode,
    /// When it may be sent again, if the server names seconds.
    pub retry_after: Option<Duration>,
    /// The beginning of the answer.
    pub text: String,
}

impl DocumentPost {
    /// Sends a document, and waits so long for the whole answer.
    ///
    /// # Errors
    /// What broke, without the address.
    pub async fn post(
        &self,
        url: &Url,
        headers: &[(HeaderName, HeaderValue)],
        content_type: HeaderValue,
        document: Bytes,
        timeout: Duration,
    ) -> Result<Posted, String> {
        let uri: Uri = url.as_str().parse().map_err(|error| format!("it is no address: {error}"))?;
        let mut request = Request::new(document);
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, uri);
        request.headers_mut().insert(CONTENT_TYPE, content_type);
        request.headers_mut().extend(headers.iter().cloned());
        let late = || format!("no answer within {} ms", timeout.as_millis());
        tokio::time::timeout(timeout, self.send(request)).await.map_err(|_| late())?
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Posted, String> {
        let options = ProviderOptions::default();
        let answer = self.clients.send(request, &options).await.map_err(|broken| broken.to_string())?;
        let (head, mut body) = answer.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|broken| broken.to_string())?;
            let room = ANSWER_BYTES.saturating_sub(text.len());
            if let Ok(piece) = frame.into_data() {
                text.extend_from_slice(&piece[..piece.len().min(room)]);
            }
        }
        let seconds =
            head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Ok(Posted {
            status: head.status,
            retry_after: seconds.map(Duration::from_secs),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    }
}
