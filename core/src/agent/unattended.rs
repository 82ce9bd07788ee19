//! Turns that no operator caused stay within bounds (contract: scheduler.md, Nothing spins). Those that the agent causes
//! itself and that bring nothing on wait longer and longer, and at last for somebody outside; those of one day are
//! counted, and apart from them those that events from outside cause ([`super::outside`]).

use alloc::format;

use holon_facts::config::UnattendedPolicy;
use holon_facts::event::scheduling::{SelfTurnCounted, UnattendedTurnsExhausted, UnattendedTurnsRaised};
use holon_facts::hash;
use holon_facts::ids::{AgentId, RunId};
use holon_facts::message::Message;
use holon_facts::provenance::MessageKind;
use holon_facts::time::{Millis, Wall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inbox::Entry;
use super::outside;
use super::turn::report;
use super::work::debt::{Ended, Way};
use crate::host::tx::Tx;

/// Agents go on within so long after midnight, so that not all of them do at once.
const SPREAD: Millis = Millis::seconds(60);

/// What is counted of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unattended {
    /// Turns in a row that the agent caused itself and that brought nothing on.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub self_caused_turns: u32,
    /// A further one does not begin before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub(crate) fn is_fresh(&self) -> bool {
        *self == Self::default()
    }

    /// For those who look at it: none before the first turn that no operator caused.
    pub(crate) fn shown(&self) -> Option<Self> {
        Some(self.clone()).filter(|counted| !counted.is_fresh())
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
    pub(super) fn waits_for_time(&self) -> bool {
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

/// Counts a turn that has ended.
pub(crate) fn turn_ended(tx: &mut Tx<'_>, ended: &Ended, way: Option<Way>) {
    let counts = matches!(way, Some(Way::Settled | Way::Interrupted | Way::Dropped | Way::TooLong));
    if counts && ended.own && !ended.progress {
        count(tx, ended.run_id);
    }
    exhaust(tx, ended.run_id);
}

fn count(tx: &mut Tx<'_>, run_id: RunId) {
    let UnattendedPolicy { free_turns, deferrals, .. } = &tx.config.unattended;
    let turns = tx.agent().unattended.self_caused_turns.saturating_add(1);
    let over = turns.saturating_sub(*free_turns) as usize;
    let wait = over.checked_sub(1).and_then(|at| deferrals.get(at)).copied();
    let deferred_until = wait.map(|wait| tx.now().after(wait));
    let self_hold = over > deferrals.len();
    tx.record(SelfTurnCounted { run_id, turns, deferred_until, self_hold });
    if self_hold {
        let agent = &tx.agent().id;
        let text = format!(
            "{turns} turns in a row that the agent caused itself brought nothing on: it causes no further one. \
             Send a prompt, or start it (holon agent start {agent})."
        );
        report::needs_operator(tx, run_id, text, None);
    }
}

/// The day may have had its last turn without an operator.
fn exhaust(tx: &mut Tx<'_>, run_id: RunId) {
    let (now, policy, unattended) = (tx.now(), &tx.config.unattended, &tx.agent().unattended);
    let Unattended { day, turns_of_day: turns, outside_turns_of_day, .. } = *unattended;
    if day != now.day() || turns < policy.turns_per_day || unattended.exhausted(now).is_some() {
        return;
    }
    let until = tomorrow(&tx.agent().id, now);
    tx.record(UnattendedTurnsExhausted { run_id, turns, until, outside_turns: Some(outside_turns_of_day) });
    let text = format!(
        "{turns} turns that neither an operator nor an event from outside caused are all that a day may have \
         (limits.unattended_turns_per_day): further ones wait until {until}. Prompts and events have their turns \
         as always."
    );
    report::needs_operator(tx, run_id, text, None);
}

/// Only a start of the runtime changes the limit: what it has stopped goes on once it is raised.
pub(crate) fn recover(tx: &mut Tx<'_>) {
    let turns_per_day = tx.config.unattended.turns_per_day;
    let raised = |exhausted: Exhausted| exhausted.turns < turns_per_day;
    if tx.agent().unattended.exhausted.is_some_and(raised) {
        tx.record(UnattendedTurnsRaised { turns_per_day });
    }
}

/// Some time soon after the day has ended, always the same for an agent.
pub(crate) fn tomorrow(agent: &AgentId, now: Wall) -> Wall {
    let spread = hash::fnv(agent.as_str().as_bytes()) % SPREAD.0;
    now.next_day().after(Millis(spread))
}
