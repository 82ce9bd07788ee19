//! Server-sent events: a body that asks for what comes next only when its connection has taken what was before.
//! Nothing is buffered for whoever does not read.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use holon_api::Code;
use hyper::body::Frame;
use serde::Serialize;

use super::super::failure::Failure;
use super::super::header::sole;
use super::super::reply::Stream;
use super::super::route::Handled;

/// How a cursor comes that the client keeps.
pub(super) const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Something is said so often, if only that the connection is alive.
pub(in super::super) const HEARTBEAT: Duration = Duration::from_secs(15);
pub(in super::super) const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");

/// Who is sent something, step by step.
pub(in super::super) trait Steps: Sized + Send + 'static {
    /// What comes next, and who goes on; none at the end.
    fn step(self) -> impl Future<Output = Option<(Self, Bytes)>> + Send;
}

/// What is under way for a follower, who comes back with it.
type Next<F> = Pin<Box<dyn Future<Output = Option<(F, Bytes)>> + Send>>;

/// The body: one step is under way at a time.
struct Events<F> {
    next: Option<Next<F>>,
}

/// Answers with a stream that begins like this.
pub(in super::super) fn stream<F: Steps>(follower: F, begin: &'static str) -> Stream {
    let begin = async move { Some((follower, Bytes::from_static(begin.as_bytes()))) };
    let mut response = Response::new(Body::new(Events { next: Some(Box::pin(begin)) }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Stream(response)
}

/// The cursor that the client has kept.
pub(super) fn last_event_id(headers: &HeaderMap, expected: &str) -> Handled<Option<u64>> {
    let Some(value) = sole(headers, LAST_EVENT_ID)? else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        Failure::new(Code::InvalidHeader, format!("{LAST_EVENT_ID}: expected {expected}"))
            .detail("field", LAST_EVENT_ID)
    })
}

/// An event that moves no cursor; none if it can't be written, which is a mistake of this build.
pub(super) fn live(kind: &str, data: &impl Serialize) -> Option<String> {
    let json = serde_json::to_string(data).ok()?;
    Some(format!("event: {kind}\ndata: {json}\n\n"))
}

/// An event with the cursor behind it.
pub(super) fn at(id: u64, kind: &str, data: &impl Serialize) -> Option<String> {
    Some(format!("id: {id}\n{}", live(kind, data)?))
}

impl<F: Steps> hyper::body::Body for Events<F> {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let Some(step) = &mut self.next else { return Poll::Ready(None) };
        let Poll::Ready(step) = step.as_mut().poll(context) else { return Poll::Pending };
        let (follower, bytes) = match step {
            Some((follower, bytes)) => (Some(follower), Some(bytes)),
            None => (None, None),
        };
        self.next = follower.map(|follower| Box::pin(follower.step()) as _);
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
