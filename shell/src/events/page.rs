//! Pages of an agent's events, from the ledger alone.

use std::sync::Arc;

use holon_facts::{AgentId, EventSeq};
use holon_ledger::read::Reader;

use super::{Event, EventsError, presented};
use crate::envelope::Envelopes;

/// Which events a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Only later ones.
    pub after: Option<EventSeq>,
    /// Only earlier ones.
    pub before: Option<EventSeq>,
    /// At most so many.
    pub limit: usize,
    pub order: Order,
}

/// From which end a page is filled, and how it is ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The oldest first.
    #[default]
    Asc,
    /// The newest first.
    Desc,
}

#[derive(Debug)]
pub struct Page {
    pub events: Vec<Event>,
    /// The last event of the agent.
    pub last: EventSeq,
    /// Whether the span has more in the direction of the order.
    pub more: bool,
}

/// Reads one page, with what events mean to people where that is asked for. Its cost is what it returns.
///
/// # Errors
/// When there is no such agent, or one of the events is damaged.
pub fn page(reader: &Arc<Reader>, agent: &AgentId, span: Span, present: bool) -> Result<Page, EventsError> {
    let last = reader.last_event(agent)?;
    let lowest = span.after.unwrap_or(EventSeq(0)).next();
    let highest = span.before.map_or(last, |before| EventSeq(before.0.saturating_sub(1))).min(last);
    let limit = span.limit as u64;
    if lowest > highest || limit == 0 {
        return Ok(Page { events: Vec::new(), last, more: lowest <= highest });
    }
    let (from, to) = match span.order {
        Order::Asc => (lowest, highest.min(EventSeq(lowest.0.saturating_add(limit - 1)))),
        Order::Desc => (lowest.max(EventSeq((highest.0 + 1).saturating_sub(limit))), highest),
    };
    let mut envelopes = Envelopes::from(reader.clone(), agent.clone(), from)?;
    let mut events = Vec::new();
    for record in reader.records(agent, EventSeq(from.0 - 1), to)? {
        let record = record?;
        let json = envelopes.line(&record)?;
        let presentation = presented::of(&record, present)?;
        events.push(Event { seq: record.event_seq, kind: record.event.kind(), json, presentation });
    }
    let more = match span.order {
        Order::Asc => to < highest,
        Order::Desc => from > lowest,
    };
    if span.order == Order::Desc {
        events.reverse();
    }
    Ok(Page { events, last, more })
}
