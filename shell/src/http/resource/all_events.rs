//! Durable events of all public agents, in the one order of the ledger: pages, and as they happen.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use holon_api::rows::{FollowAllEvents, ListAllEvents};
use holon_api::{AllEventsPage, Code, LedgerSeq as Position, Order};
use holon_ledger::read::{LedgerSeq, Stretch};

use super::super::App;
use super::super::failure::Failure;
use super::super::reply::{Stream, Written};
use super::super::route::{Call, Handled};
use super::agents::bounded;
use super::events::{EVENTS, page_of};
use super::sse::{self, HEARTBEAT, LAST_EVENT_ID, Steps};
use crate::events::{AllSubscription, PlacedEvent, PlacedPage, page_of_all};

/// What the client is told to wait before it connects again.
const BEGIN: &str = ": events of all public agents\nretry: 1000\n\n";

pub(in super::super) async fn page(app: App, call: Call<ListAllEvents>) -> Handled<Written<AllEventsPage>> {
    let query = call.query;
    let limit = bounded("limit", query.limit, EVENTS, 1)?;
    let newest = query.order.unwrap_or_default() == Order::Desc;
    let present = query.present;
    let (after, before) = (query.after.map(placed), query.before.map(placed));
    app.blocking(move |app| {
        let last = app.overview.last_of_all()?;
        check_position("after", after, last)?;
        // One past the last is where a walk to the past begins.
        check_position("before", before, LedgerSeq(last.0 + 1))?;
        let stretch = Stretch { after: after.unwrap_or_default(), before, limit, newest };
        Ok(Written::new(written(&page_of_all(&app.overview, stretch, present)?, present)))
    })
    .await
}

pub(in super::super) async fn stream(app: App, call: Call<FollowAllEvents>) -> Handled<Stream> {
    let seen = sse::last_event_id(&call.from.headers, "the position of an event")?;
    let (after, name) = match seen {
        Some(seen) => (Some(LedgerSeq(seen)), LAST_EVENT_ID),
        None => (call.query.after.map(placed), "after"),
    };
    let present = call.query.present;
    let subscription = subscribe(&app, after, name, present).await?;
    let leave = Box::pin(app.shutdown.asked());
    Ok(sse::stream(Follower { subscription, present, leave }, BEGIN))
}

/// Follows everybody from behind a position, or from what is new.
pub(in super::super) async fn subscribe(
    app: &App,
    after: Option<LedgerSeq>,
    name: &'static str,
    present: bool,
) -> Handled<AllSubscription> {
    app.blocking(move |app| {
        let last = app.overview.last_of_all()?;
        check_position(name, after, last)?;
        Ok(app.hub.follow_all(app.overview.clone(), after.unwrap_or(last), present))
    })
    .await
}

pub(in super::super) fn placed(Position(position): Position) -> LedgerSeq {
    LedgerSeq(position)
}

/// Refuses a cursor beyond the end: whoever has it has seen another ledger.
fn check_position(name: &str, position: Option<LedgerSeq>, last: LedgerSeq) -> Handled<()> {
    match position {
        Some(LedgerSeq(position)) if position > last.0 => {
            let text = format!("{name}: {position} is beyond the last position, {}", last.0);
            Err(Failure::new(Code::CursorAhead, text)
                .hint("begin again from a position that this runtime has sent")
                .detail("field", name)
                .detail("last_position", last.0))
        }
        Some(_) | None => Ok(()),
    }
}

/// One who follows.
struct Follower {
    subscription: AllSubscription,
    present: bool,
    leave: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Steps for Follower {
    async fn step(mut self) -> Option<(Self, Bytes)> {
        let Self { subscription, present, leave } = &mut self;
        let seen = tokio::select! {
            biased;
            () = leave => return None,
            seen = subscription.next() => seen,
            () = tokio::time::sleep(HEARTBEAT) => return Some((self, sse::ALIVE)),
        };
        // A stream that can't go on ends; the client resumes after its last event and is told why.
        let events = seen.ok()?;
        let mut text = String::with_capacity(events.iter().map(|event| event.json.len() + 80).sum());
        for event in &events {
            let (PlacedEvent { at, kind, .. }, json) = (&**event, event.envelope(*present));
            text.push_str(&format!("id: {}\nevent: {kind}\ndata: {json}\n\n", at.0));
        }
        Some((self, Bytes::from(text)))
    }
}

fn written(PlacedPage { events, reached, more, last }: &PlacedPage, present: bool) -> String {
    let envelopes = events.iter().map(|event| event.envelope(present));
    let next = if *more { format!(r#","next":{}"#, reached.0) } else { String::new() };
    page_of(envelopes, &format!(r#""last_position":{},"more":{more}{next}"#, last.0))
}
