//! Durable events as they happen, as server-sent events. A follower has a cursor and asks for what comes
//! next only when its connection has taken what was before: nothing is buffered for whoever does not read.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use holon_api::rows::FollowEvents;
use holon_api::{LiveAttempt, LiveOutput, LiveText};
use holon_facts::{AgentId, EventSeq};

use super::super::App;
use super::super::reply::Stream;
use super::super::route::{Call, Handled};
use super::agents::check_cursor;
use super::sse::{self, HEARTBEAT, LAST_EVENT_ID, Steps};
use crate::events::{Delivery, Event, EventsError, Subscription};
use crate::live::Live;

/// What the client is told to wait before it connects again.
const BEGIN: &str = ": events\nretry: 1000\n\n";

pub(in super::super) async fn stream(app: App, call: Call<FollowEvents>) -> Handled<Stream> {
    let seen = sse::last_event_id(&call.from.headers, "the number of an event")?.map(EventSeq);
    let (agent, live, present) = (call.path.agent_id, call.query.live, call.query.present);
    let (after, name) = match seen {
        Some(seen) => (Some(seen), LAST_EVENT_ID),
        None => (call.query.after_seq, "after_seq"),
    };
    let (_, subscription) = subscribe(&app, agent, after, name, present).await?;
    let leave = Box::pin(app.shutdown.asked());
    let follower = Follower { subscription, live, present, leave };
    Ok(sse::stream(follower, BEGIN))
}

/// Follows an agent from behind an event, or from what is new; says which event is before the first one.
pub(in super::super) async fn subscribe(
    app: &App,
    agent: AgentId,
    after: Option<EventSeq>,
    name: &'static str,
    present: bool,
) -> Handled<(EventSeq, Subscription)> {
    app.blocking(move |app| {
        let last = app.last_event(&agent)?;
        check_cursor(name, after, last)?;
        let after = after.unwrap_or(last);
        Ok((after, app.hub.follow(app.reader.clone(), &agent, after, present)?))
    })
    .await
}

/// One who follows.
struct Follower {
    subscription: Subscription,
    live: bool,
    present: bool,
    leave: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Steps for Follower {
    async fn step(mut self) -> Option<(Self, Bytes)> {
        let Self { subscription, live, present, leave } = &mut self;
        let seen = tokio::select! {
            biased;
            () = leave => return None,
            seen = seen(subscription, *live) => seen,
            () = tokio::time::sleep(HEARTBEAT) => return Some((self, sse::ALIVE)),
        };
        // A stream that can't go on ends; the client resumes after its last event and is told why.
        let text = match seen.ok()? {
            Delivery::Events(events) => durable(&events, *present),
            Delivery::Live(live) => shown(live)?,
        };
        Some((self, Bytes::from(text)))
    }
}

async fn seen(subscription: &mut Subscription, live: bool) -> Result<Delivery, EventsError> {
    if live { subscription.next_or_live().await } else { subscription.next().await.map(Delivery::Events) }
}

fn durable(events: &[std::sync::Arc<Event>], present: bool) -> String {
    let mut text = String::with_capacity(events.iter().map(|event| event.json.len() + 80).sum());
    for event in events {
        text.push_str(&format!(
            "id: {}\nevent: {}\ndata: {}\n\n",
            event.seq,
            event.kind,
            event.envelope(present)
        ));
    }
    text
}

fn shown(live: Live) -> Option<String> {
    match live {
        Live::Attempt { agent: agent_id, op } => sse::live("live_attempt", &LiveAttempt { agent_id, op }),
        Live::Text { agent: agent_id, op, piece: text } => {
            sse::live("live_text", &LiveText { agent_id, op, text })
        }
        Live::Output { agent: agent_id, op, lines: text } => {
            sse::live("live_output", &LiveOutput { agent_id, op, text })
        }
    }
}
