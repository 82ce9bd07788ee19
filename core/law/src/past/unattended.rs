//! Turns that no operator caused, as far as a law looks back.

use holon_facts::event::scheduling::{SelfTurnCounted, UnattendedTurnsExhausted};
use holon_facts::event::turn::{TurnStarted, TurnTerminal};
use holon_facts::ids::MessageId;
use holon_facts::message::MessageKind;
use holon_facts::terminal::{TurnKind, TurnReason};
use holon_facts::time::Wall;

use super::Past;

/// What has been counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unattended {
    /// Turns in a row that the agent caused itself and that brought nothing on.
    pub(crate) turns: u32,
    until: Option<Wall>,
    held: bool,
    /// Turns without an operator of the day that the last of them began on: the agent's own, and those of others.
    day: i64,
    pub(crate) own_of_day: u32,
    pub(crate) outside_of_day: u32,
    exhausted: Option<Wall>,
    /// Earlier builds counted all of them together, and let all of them wait.
    pub(crate) apart: bool,
}

impl Unattended {
    pub(super) fn clear(&mut self) {
        (self.turns, self.until, self.held) = (0, None, false);
    }

    pub(super) fn counted(&mut self, fact: &SelfTurnCounted) {
        (self.turns, self.until, self.held) = (fact.turns, fact.deferred_until, fact.self_hold);
    }

    pub(super) fn exhausted(&mut self, fact: &UnattendedTurnsExhausted) {
        (self.exhausted, self.apart) = (Some(fact.until), fact.outside_turns.is_some());
    }

    pub(super) fn raised(&mut self) {
        self.exhausted = None;
    }

    pub(super) fn stepped(&mut self, from: Wall, to: Wall) {
        self.until = self.until.map(|until| until.shifted(from, to));
        self.exhausted = self.exhausted.map(|until| until.shifted(from, to));
    }

    /// Whether a day had all the turns that it may have, and no higher limit was met since.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted.is_some()
    }

    /// Whether the agent may cause no turn itself.
    pub(crate) fn waits(&self, at: Wall) -> bool {
        self.held || self.until.is_some_and(|until| until > at)
    }
}

fn is_event(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::ChannelEvent | MessageKind::WebhookEvent | MessageKind::CallbackEvent)
}

impl Past {
    /// Whether the call in progress leaves its agent a message.
    pub(crate) fn enqueues(&self) -> bool {
        self.run.as_ref().and_then(super::Run::open_call).is_some_and(|call| call.enqueues && call.started)
    }

    /// Whether a message has to wait: its agent has brought it about, and that brought nothing on lately.
    pub(crate) fn waits(&self, message: MessageId, at: Wall) -> bool {
        let worked = self.queue.live.get(&message).is_some_and(|entry| entry.worked);
        let own = self.queue.live.get(&message).is_some_and(|entry| entry.own && (!entry.known || worked));
        // What was interjected waits with the message of its turn.
        let with = self.queue.live.get(&message).is_some_and(|entry| entry.host.is_some());
        let own = own && !self.queue.carries(message);
        with || self.deferred(message, at)
            || (own && self.unattended.waits(at) && (worked || !self.stale(message, at)))
    }

    /// Whether the day has had enough turns that no operator caused, unless its limit was raised since.
    pub(crate) fn may_be_exhausted(&self, message: MessageId, at: Wall) -> bool {
        let entry = self.queue.live.get(&message);
        let entry = entry.filter(|entry| !entry.by_operator && entry.interjected.is_empty());
        entry.is_some() && self.unattended.exhausted.is_some_and(|until| until > at)
    }

    /// Whether nothing is told of what is owed: turns for it have to wait.
    pub(crate) fn may_stay_silent(&self, at: Wall) -> bool {
        self.sleep.is_some_and(|sleep| sleep.lasts(at)) || self.is_restrained(at)
    }

    /// Whether nothing begins a turn that nobody outside causes.
    pub(crate) fn is_restrained(&self, at: Wall) -> bool {
        self.unattended.held || self.unattended.exhausted.is_some_and(|until| until > at)
    }

    /// Whether somebody outside causes the turn of a message.
    fn is_from_outside(&self, message: MessageId) -> bool {
        let entry = self.queue.live.get(&message);
        entry.is_some_and(|entry| is_event(entry.kind) || (self.delivers_hints(message) && !entry.own))
    }

    /// The first event from outside that waits.
    pub(crate) fn waiting_event(&self) -> Option<MessageId> {
        let mut live = self.queue.live.iter();
        live.find(|(_, entry)| is_event(entry.kind) && entry.claim.is_none()).map(|(id, _)| *id)
    }

    pub(super) fn unattended_started(&mut self, fact: &TurnStarted, at: Wall) {
        let entry = |id: &MessageId| self.queue.live.get(id);
        let own = core::iter::once(&fact.message_id)
            .chain(&fact.also)
            .all(|id| entry(id).is_some_and(|entry| entry.own));
        let asked = entry(&fact.message_id).is_some_and(|entry| entry.by_operator);
        if let Some(run) = &mut self.run {
            run.own = own && fact.interjected.is_empty();
        }
        if !asked {
            let outside = self.is_from_outside(fact.message_id);
            let counted = &mut self.unattended;
            if counted.day != at.day() {
                (counted.day, counted.own_of_day, counted.outside_of_day) = (at.day(), 0, 0);
            }
            counted.own_of_day += u32::from(!outside);
            counted.outside_of_day += u32::from(outside);
        }
    }

    /// A run has ended; it was `own` if its agent caused it and nobody said anything in it.
    pub(super) fn unattended_ended(&mut self, fact: &TurnTerminal, own: bool) {
        let counts = match fact.kind {
            TurnKind::Interrupted => {
                !matches!(fact.reason, Some(TurnReason::Outage | TurnReason::Quota | TurnReason::Credentials))
            }
            TurnKind::BudgetExhausted => !fact.held,
            TurnKind::Aborted => false,
            TurnKind::Completed
            | TurnKind::Failed
            | TurnKind::ContextLengthExceeded
            | TurnKind::LimitReached => true,
        };
        if fact.progress {
            self.unattended.clear();
        } else if own && counts {
            self.promised.uncounted = Some(fact.run_id);
        }
    }
}
