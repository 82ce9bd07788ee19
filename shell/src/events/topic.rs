//! What has just happened to one agent, for all who follow it: written into envelopes once, kept for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holon_facts::{AgentId, EventSeq, Record};
use holon_ledger::read::Reader;
use tokio::sync::{broadcast, watch};

use super::Event;
use super::presented::{self, Presenting};
use crate::envelope::Envelopes;
use crate::live::Live;

/// Events that are kept for followers who are a little behind; the others read the ledger.
const KEPT: usize = 1_024;
/// Bytes of them.
const KEPT_BYTES: usize = 1 << 20;
/// Pieces of live text that a follower may be behind before it misses some.
const LIVE: usize = 256;

pub(super) struct Topic {
    agent: AgentId,
    reader: Arc<Reader>,
    pub(super) presenting: Presenting,
    recent: Mutex<Recent>,
    /// The last durable event.
    last: watch::Sender<EventSeq>,
    live: broadcast::Sender<Live>,
}

#[derive(Default)]
struct Recent {
    /// Made when the first record comes; none after a record that could not be put into one.
    envelopes: Option<Envelopes>,
    events: VecDeque<Arc<Event>>,
    bytes: usize,
}

/// What a topic has for a follower.
pub(super) enum Available {
    Events(Vec<Arc<Event>>),
    /// They are in the ledger only.
    Earlier,
    Nothing,
}

impl Topic {
    pub(super) fn new(reader: Arc<Reader>, agent: AgentId) -> Self {
        let (last, _) = watch::channel(EventSeq(0));
        let (live, _) = broadcast::channel(LIVE);
        Self { agent, reader, presenting: Presenting::default(), recent: Mutex::default(), last, live }
    }

    pub(super) fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The ledger holds these already.
    pub(super) fn begins_after(&self, last: EventSeq) {
        self.last.send_if_modified(|known| {
            let later = last > *known;
            *known = last.max(*known);
            later
        });
    }

    pub(super) fn publish(&self, record: &Record) {
        self.keep(record);
        self.begins_after(record.event_seq);
    }

    pub(super) fn show(&self, live: Live) {
        // Nobody looks: that is fine.
        drop(self.live.send(live));
    }

    pub(super) fn changes(&self) -> watch::Receiver<EventSeq> {
        self.last.subscribe()
    }

    pub(super) fn live(&self) -> broadcast::Receiver<Live> {
        self.live.subscribe()
    }

    /// At most so many of the events after a cursor. Those whose presentation is asked for, and was not when they came,
    /// are in the ledger only.
    pub(super) fn after(&self, cursor: EventSeq, most: usize, present: bool) -> Available {
        if *self.last.borrow() <= cursor {
            return Available::Nothing;
        }
        let recent = self.recent();
        let first = recent.events.front().map(|event| event.seq);
        let Some(skipped) = first.and_then(|first| cursor.next().0.checked_sub(first.0)) else {
            return Available::Earlier;
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let later = recent.events.iter().skip(skipped).take(most);
        let whole = later.take_while(|event| !present || event.presentation.is_some());
        let events: Vec<Arc<Event>> = whole.cloned().collect();
        if events.is_empty() { Available::Earlier } else { Available::Events(events) }
    }

    /// An event that can't be kept is left to the ledger, with all that come after it.
    fn keep(&self, record: &Record) {
        let mut recent = self.recent();
        let follows = recent.events.back().is_none_or(|last| last.seq.next() == record.event_seq);
        if !follows {
            *recent = Recent::default();
        }
        match recent.event(&self.reader, record, self.presenting.is_asked_for()) {
            Ok(event) => recent.push(event),
            Err(_) => *recent = Recent::default(),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn event(
        &mut self,
        reader: &Arc<Reader>,
        record: &Record,
        present: bool,
    ) -> Result<Event, super::EventsError> {
        let envelopes = match self.envelopes.take() {
            Some(envelopes) => envelopes,
            None => Envelopes::from(reader.clone(), record.agent.clone(), record.event_seq)?,
        };
        let json = self.envelopes.insert(envelopes).line(record)?;
        let presentation = presented::of(record, present)?;
        Ok(Event { seq: record.event_seq, kind: record.event.kind(), json, presentation })
    }

    fn push(&mut self, event: Event) {
        self.bytes += bytes(&event);
        self.events.push_back(Arc::new(event));
        while self.events.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= bytes(&oldest);
        }
    }
}

fn bytes(event: &Event) -> usize {
    event.json.len() + event.presentation.as_ref().map_or(0, String::len)
}
