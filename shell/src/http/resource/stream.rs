//! Durable events as they happen, as server-sent events. A follower has a cursor and asks for what comes
//! next only when its connection has taken what was before: nothing is buffered for whoever does not read.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Response};
use bytes::Bytes;
use holon_core::EventSeq;
use hyper::body::Frame;
use serde::Serialize;

use super::super::App;
use super::super::api::{LiveAttempt, LiveText, StreamQuery};
use super::super::body::Empty;
use super::super::code::Code;
use super::super::failure::Failure;
use super::super::header::sole;
use super::super::reply::Stream;
use super::super::route::{Call, Handled};
use super::agents::check_cursor;
use crate::events::{Event, EventsError, Seen, Subscription};
use crate::live::Live;

/// How a cursor comes that the client keeps.
const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Says that the connection is alive when nothing else does.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// What the client is told to wait before it connects again.
const BEGIN: &str = ": events\nretry: 1000\n\n";

pub(in super::super) async fn stream(app: App, call: Call<StreamQuery, Empty>) -> Handled<Stream> {
    let seen = last_event_id(&call.headers)?;
    let (agent, live) = (call.agent, call.query.live);
    let (after, name) = match seen {
        Some(seen) => (Some(seen), LAST_EVENT_ID),
        None => (call.query.after_seq, "after_seq"),
    };
    let shared = app.clone();
    let subscription = app
        .blocking(move |app| {
            let last = app.last_event(&agent)?;
            check_cursor(name, after, last)?;
            Ok(app.hub.follow(shared.reader.clone(), &agent, after.unwrap_or(last))?)
        })
        .await?;
    let leave = Box::pin(app.shutdown.asked());
    let follower = Follower { subscription, live, leave };
    let begin = async { Some((follower, Bytes::from_static(BEGIN.as_bytes()))) };
    let mut response = Response::new(Body::new(Events { next: Some(Box::pin(begin)) }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(Stream(response))
}

fn last_event_id(headers: &HeaderMap) -> Handled<Option<EventSeq>> {
    let Some(value) = sole(headers, LAST_EVENT_ID)? else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    number.map(|number| Some(EventSeq(number))).ok_or_else(|| {
        Failure::new(Code::InvalidHeader, format!("{LAST_EVENT_ID}: expected the number of an event"))
            .detail("field", LAST_EVENT_ID)
    })
}

/// One who follows.
struct Follower {
    subscription: Subscription,
    live: bool,
    leave: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What a follower is sent next, and who goes on; none at the end.
type Step = Option<(Follower, Bytes)>;

/// The body: one step is under way at a time.
struct Events {
    next: Option<Pin<Box<dyn Future<Output = Step> + Send>>>,
}

impl hyper::body::Body for Events {
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

impl Follower {
    async fn step(mut self) -> Step {
        let Self { subscription, live, leave } = &mut self;
        let seen = tokio::select! {
            biased;
            () = leave => return None,
            seen = seen(subscription, *live) => seen,
            () = tokio::time::sleep(HEARTBEAT) => return Some((self, Bytes::from_static(b": alive\n\n"))),
        };
        // A stream that can't go on ends; the client resumes after its last event and is told why.
        let text = match seen.ok()? {
            Seen::Events(events) => durable(&events),
            Seen::Live(live) => shown(live)?,
        };
        Some((self, Bytes::from(text)))
    }
}

async fn seen(subscription: &mut Subscription, live: bool) -> Result<Seen, EventsError> {
    if live { subscription.next_or_live().await } else { subscription.next().await.map(Seen::Events) }
}

fn durable(events: &[std::sync::Arc<Event>]) -> String {
    let mut text = String::with_capacity(events.iter().map(|event| event.json.len() + 80).sum());
    for event in events {
        text.push_str(&format!("id: {}\nevent: {}\ndata: {}\n\n", event.seq, event.kind, event.json));
    }
    text
}

fn shown(live: Live) -> Option<String> {
    match live {
        Live::Attempt { agent: agent_id, op } => data("live_attempt", &LiveAttempt { agent_id, op }),
        Live::Text { agent: agent_id, op, piece: text } => {
            data("live_text", &LiveText { agent_id, op, text })
        }
    }
}

fn data(kind: &str, data: &impl Serialize) -> Option<String> {
    let json = serde_json::to_string(data).ok()?;
    Some(format!("event: {kind}\ndata: {json}\n\n"))
}
