//! Pages of durable events.

use std::borrow::Cow;

use holon_api::rows::ListEvents;
use holon_api::{EventsPage, Order};
use holon_facts::EventSeq;

use super::super::App;
use super::super::reply::Written;
use super::super::route::{Call, Handled};
use super::agents::{bounded, check_cursor};
use crate::events::{self, Page, Span};

/// Events of one page, where nothing else is asked for, and at most.
pub(super) const EVENTS: (u32, u32) = (128, 512);

pub(in super::super) async fn events(app: App, call: Call<ListEvents>) -> Handled<Written<EventsPage>> {
    let query = call.query;
    let limit = bounded("limit", query.limit, EVENTS, 1)?;
    let order = match query.order.unwrap_or_default() {
        Order::Asc => events::Order::Asc,
        Order::Desc => events::Order::Desc,
    };
    let (agent, present) = (call.path.agent_id, query.present);
    app.blocking(move |app| {
        let last = app.last_event(&agent)?;
        check_cursor("after_seq", query.after_seq, last)?;
        // One past the last is where a walk to the past begins.
        check_cursor("before_seq", query.before_seq, last.next())?;
        let span = Span { after: query.after_seq, before: query.before_seq, limit, order };
        let page = events::page(&app.reader, &agent, span, present)?;
        Ok(Written::new(written(&page, present)))
    })
    .await
}

fn written(Page { events, last: EventSeq(last), more }: &Page, present: bool) -> String {
    let envelopes = events.iter().map(|event| event.envelope(present));
    // What comes next begins where this ends.
    let next = events.last().filter(|_| *more).map(|event| format!(r#","next":{}"#, event.seq));
    let next = next.unwrap_or_default();
    page_of(envelopes, &format!(r#""last_event_seq":{last},"more":{more}{next}"#))
}

/// A page of envelopes, which are JSON already, and the fields behind them.
pub(super) fn page_of<'a>(envelopes: impl Iterator<Item = Cow<'a, str>>, fields: &str) -> String {
    let mut json = String::from(r#"{"ok":true,"events":["#);
    for (number, envelope) in envelopes.enumerate() {
        if number > 0 {
            json.push(',');
        }
        json.push_str(&envelope);
    }
    json.push_str("],");
    json.push_str(fields);
    json.push('}');
    json
}
