//! What a turn has in front of it anyway, and what it is not to know of yet: neither is remembered.

use holon_facts::event::TurnFact;
use holon_facts::ids::MessageId;
use holon_facts::{AgentId, Event, EventSeq, Record};
use holon_ledger::error::LedgerError;
use holon_ledger::read::{Landmark, Reader};
use holon_memory::{Document, Kind};

/// Results that a turn may have in front of it, beside those that it looks for. More are not made up for.
pub(super) const MARGIN: usize = 16;

/// The turn that an agent is in.
pub(super) struct Turn {
    began: EventSeq,
    messages: Vec<String>,
}

impl Turn {
    /// None of an agent that is in none.
    pub(super) fn of(ledger: &Reader, agent: &AgentId) -> Result<Option<Self>, LedgerError> {
        let newest = |landmark| ledger.newest_landmark(agent, landmark, EventSeq(i64::MAX.unsigned_abs()));
        let (began, ended) = (newest(Landmark::TurnStarted)?, newest(Landmark::TurnTerminal)?);
        let Some(began) = began.filter(|began| Some(*began) > ended) else { return Ok(None) };
        let record = ledger.record(agent, began)?;
        let Some(Record { event: Event::Turn(TurnFact::TurnStarted(fact)), .. }) = record else {
            return Ok(None);
        };
        let messages = fact.interjected.iter().chain([&fact.message_id]).map(MessageId::to_string);
        Ok(Some(Self { began, messages: messages.collect() }))
    }

    /// Whether a document is a message that the turn is for, or one that came after its beginning: such a message is either
    /// shown already, or waits.
    pub(super) fn has(&self, document: &Document) -> bool {
        let came = document.events.first().copied().unwrap_or_default();
        document.source.kind == Kind::Message
            && (came > self.began.0 || self.messages.contains(&document.source.id))
    }
}
