//! Turns that no operator caused stay within bounds (contract: scheduler.md, Nothing spins). Those that the agent causes
//! itself and that bring nothing on wait longer and longer, and at last for somebody outside; those of one day are
//! counted, and apart from them those that events from outside cause ([`super::outside`]).

use holon_facts::event::scheduling::SelfTurnCounted;
use holon_facts::message::Message;
use holon_facts::provenance::MessageKind;
use holon_facts::time::Wall;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::inbox::Entry;
use crate::agent::outside;

/// What is counted of them.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unattended {
    /// Turns in a row that the agent caused itself and that brought nothing on.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub self_caused_turns: u32,
    /// A further one does not begin before.
    pub self_deferred_until: Option<Wall>,
    /// Another one does not begin before external activity.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub self_hold: bool,
    /// The day of the last turn that no operator caused: so many days of UTC after 1970 began.
    #[serde(default)]
    pub day: i64,
    /// Turns of that day that neither an operator nor an event from outside caused.
    #[serde(default)]
    pub turns_of_day: u32,
    /// Turns of that day that events from outside caused.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub outside_turns_of_day: u32,
    /// As many as a day may have.
    pub exhausted: Option<Exhausted>,
}

/// A day had all the turns that it may have without an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exhausted {
    /// So many: a higher limit ends it.
    pub turns: u32,
    pub until: Wall,
}

impl Unattended {
    /// For those who look at it: none before the first turn that no operator caused.
    pub(crate) fn shown(&self) -> Option<Self> {
        Some(self.clone()).filter(|counted| !holon_facts::is_default(counted))
    }

    /// Somebody outside has said something, or a turn has brought something on.
    pub(super) fn clear(&mut self) {
        (self.self_caused_turns, self.self_deferred_until, self.self_hold) = (0, None, false);
    }

    pub(super) fn counted(&mut self, fact: &SelfTurnCounted) {
        self.self_caused_turns = fact.turns;
        (self.self_deferred_until, self.self_hold) = (fact.deferred_until, fact.self_hold);
    }

    /// A turn begins that no operator caused.
    pub(super) fn started(&mut self, at: Wall, from_outside: bool) {
        if self.day != at.day() {
            (self.day, self.turns_of_day, self.outside_turns_of_day) = (at.day(), 0, 0);
        }
        let turns = if from_outside { &mut self.outside_turns_of_day } else { &mut self.turns_of_day };
        *turns = turns.saturating_add(1);
    }

    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        self.self_deferred_until = self.self_deferred_until.map(|until| until.shifted(from, to));
        if let Some(exhausted) = &mut self.exhausted {
            exhausted.until = exhausted.until.shifted(from, to);
        }
    }

    /// The end of the deferral, while there is one.
    pub fn deferred(&self, now: Wall) -> Option<Wall> {
        self.self_deferred_until.filter(|until| *until > now)
    }

    /// Whether a moment on the clock matters to it.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.self_deferred_until.is_some() || self.exhausted.is_some()
    }

    /// When turns without an operator go on, while the day has had enough of them.
    pub fn exhausted(&self, now: Wall) -> Option<Wall> {
        self.exhausted.map(|exhausted| exhausted.until).filter(|until| *until > now)
    }

    /// Whether a turn for that message would have to wait.
    pub(super) fn restrains(&self, entry: &Entry, now: Wall) -> bool {
        let own = entry.own && (self.self_hold || self.deferred(now).is_some());
        let caused_by_others = || entry.message.is_by_operator() || outside::causes(entry);
        own || (self.exhausted(now).is_some() && !caused_by_others())
    }
}

/// Whether a message comes from the agent itself, as far as it tells by itself: of the result of a task, its command does.
pub(super) fn is_own(message: &Message) -> bool {
    matches!(message.kind, MessageKind::SystemTick | MessageKind::InternalFollowup)
        && !message.is_by_operator()
}
