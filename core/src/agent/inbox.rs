//! The queue of one agent: bands, claims, and idempotency keys (contract: agent.md, Queue). What is
//! terminal leaves the state; the log keeps it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use holon_facts::config::QueueLimits;
use holon_facts::event::InboxFact;
use holon_facts::event::inbox::{MessageAdmitted, MessageRequeued, RequeueCause};
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, TimerId};
use holon_facts::message::Message;
use holon_facts::provenance::{MessageKind, Priority};
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

use crate::agent::episode::Changes;
use crate::agent::keys::Keys;
use crate::agent::turn::notice::Notice;
use crate::agent::turn::recap::Recap;
use crate::agent::turn::{Note, Round};
use crate::agent::unattended;
use crate::continuation::liveness_only;

/// Entries that wait, entries that a run has claimed, and the keys that were seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    queued: BTreeMap<Priority, BTreeMap<MessageId, Entry>>,
    /// Those of `queued` that need no model: under a hold they are taken from behind whatever waits.
    liveness: BTreeSet<(Priority, MessageId)>,
    claimed: BTreeMap<MessageId, Entry>,
    /// Over queued and claimed entries: what came from outside, and the runtime's own evidence.
    ingress: Totals,
    evidence: Totals,
    keys: Keys<MessageId>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Totals {
    entries: u64,
    bytes: u64,
}

/// A message on its way, with what its earlier runs left behind.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub message: Message,
    /// Crashed runs without anything new, in a row.
    #[serde(default)]
    pub crashes: u32,
    /// The agent knows what it says already: it needs no model.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub known: bool,
    /// The agent itself brought it about (contract: scheduler.md, Nothing spins).
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub own: bool,
    /// When an outage first put the message back.
    pub held_since: Option<Wall>,
    /// Rounds of interrupted runs, which the next run continues from; they are with the run while there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Round>,
    /// What of them is told in short.
    #[serde(default)]
    pub recap: Recap,
    /// Notes after them, which no round has followed yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What is told with it, and with the results that its runs take beside it, since its first run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// What its first run began with.
    #[serde(default, skip_serializing_if = "Changes::is_empty")]
    pub changes: Changes,
    /// Its last run was interrupted after it had shown what stands: the next one goes on from there.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub goes_on: bool,
    /// Prompts that interrupted runs have taken in, in that order: the next run takes them along. Whatever else becomes
    /// of what the message itself says, they are an operator's word that a model has to see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interjected: Vec<MessageId>,
    /// The message into whose turn it was taken: it waits with that one, and not for itself.
    pub host: Option<MessageId>,
    /// What the tags of fences are derived from, since its first run.
    pub fence: Option<Fence>,
}

/// What an interrupted run leaves to the next one of its message.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) rounds: Vec<Round>,
    pub(super) notes: Vec<Note>,
    pub(super) recap: Recap,
    pub(super) notices: Vec<Notice>,
    pub(super) changes: Changes,
    pub(super) goes_on: bool,
}

impl Entry {
    /// Whether no run has begun with it that the next one goes on from.
    pub(crate) fn is_fresh(&self) -> bool {
        self.carried.is_empty() && self.notes.is_empty() && self.interjected.is_empty()
    }
}

impl Inbox {
    /// The entries that wait, in the order in which they are taken.
    pub fn queued(&self) -> impl Iterator<Item = &Entry> {
        self.queued.values().flat_map(BTreeMap::values)
    }

    pub fn queued_entries(&self) -> u64 {
        self.queued.values().map(|band| band.len() as u64).sum()
    }

    /// Entries of one band that wait.
    pub fn depth(&self, priority: Priority) -> u64 {
        self.queued.get(&priority).map_or(0, |band| band.len() as u64)
    }

    /// The first entry that needs no model.
    pub fn first_liveness(&self) -> Option<&Entry> {
        let (priority, id) = self.liveness.first()?;
        self.queued.get(priority)?.get(id)
    }

    pub fn queued_entry(&self, id: MessageId) -> Option<&Entry> {
        self.queued.values().find_map(|band| band.get(&id))
    }

    /// The entry that waits for the turn in which a message is shown: its own, or the one into whose turn it was taken.
    pub fn turn_of(&self, id: MessageId) -> Option<&Entry> {
        let entry = self.queued_entry(id)?;
        entry.host.map_or(Some(entry), |host| self.queued_entry(host))
    }

    /// Prompts that wait with the message into whose turn they were taken, and no such message waits with them.
    pub(crate) fn stray(&self) -> Option<MessageId> {
        let bound = self.queued().filter_map(|entry| Some((entry.message.id, entry.host?)));
        let mut stray = bound
            .filter(|(id, host)| self.queued_entry(*host).is_none_or(|host| !host.interjected.contains(id)));
        stray.next().map(|(id, _)| id)
    }

    /// The queued message that reports a timer.
    pub(super) fn tick_of(&self, timer: TimerId) -> Option<MessageId> {
        self.queued().find(|entry| entry.message.timer() == Some(timer)).map(|entry| entry.message.id)
    }

    /// Whether a message waits or is being dealt with.
    pub fn is_live(&self, id: MessageId) -> bool {
        self.claimed.contains_key(&id) || self.queued_entry(id).is_some()
    }

    /// Entries that a run has taken and not yet settled.
    pub fn claimed(&self, id: MessageId) -> Option<&Entry> {
        self.claimed.get(&id)
    }

    pub(super) fn claimed_mut(&mut self, id: MessageId) -> Option<&mut Entry> {
        self.claimed.get_mut(&id)
    }

    pub fn claimed_entries(&self) -> u64 {
        self.claimed.len() as u64
    }

    /// The prompts that a turn in progress takes in at its next safe point, in order. Those that belong to another turn
    /// wait for that one, and those with which a turn of their own has begun go on with it.
    pub fn interjections(&self) -> impl Iterator<Item = &Message> {
        self.queued
            .get(&Priority::Interject)
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|entry| entry.host.is_none() && entry.is_fresh())
            .map(|entry| &entry.message)
            .filter(|message| message.interjects())
    }

    /// Totals over what waits and what is claimed: entries, bytes.
    pub fn totals(&self) -> (u64, u64) {
        let (ingress, evidence) = (self.ingress, self.evidence);
        (ingress.entries + evidence.entries, ingress.bytes.saturating_add(evidence.bytes))
    }

    /// Whether one more message fits. Operators may use the reserve; the runtime's own evidence may fill the
    /// queue to four times the bounds, and takes nobody's place.
    pub fn has_room(&self, kind: MessageKind, bytes: u64, limits: &QueueLimits) -> bool {
        let (used, used_bytes) =
            if kind.is_from_outside() { (self.ingress.entries, self.ingress.bytes) } else { self.totals() };
        let (max_entries, max_bytes) = if !kind.is_from_outside() {
            (limits.entries.saturating_mul(4), limits.bytes.saturating_mul(4))
        } else if kind == MessageKind::OperatorPrompt {
            (limits.entries, limits.bytes)
        } else {
            (limits.entries - limits.reserved_entries, limits.bytes - limits.reserved_bytes)
        };
        used < max_entries && used_bytes.saturating_add(bytes) <= max_bytes
    }

    /// Idempotency keys of messages.
    pub(crate) fn keys(&self) -> &Keys<MessageId> {
        &self.keys
    }

    pub(super) fn apply(&mut self, at: Wall, fact: &InboxFact, left: Left) {
        match fact {
            InboxFact::MessageAdmitted(fact) => self.admit(at, fact),
            InboxFact::MessageDuplicate(_) => {}
            InboxFact::MessageDequeued(fact) => self.claim(fact.message_id),
            InboxFact::OperatorInterjectionAdmitted(fact) => self.claim(fact.message_id),
            InboxFact::MessageRequeued(fact) => self.requeue(at, fact, left),
            InboxFact::MessageProcessed(fact) => self.settle(fact.message_id),
            InboxFact::MessageAborted(fact) => self.settle(fact.message_id),
            InboxFact::MessageDropped(fact) => self.settle(fact.message_id),
        }
    }

    fn admit(&mut self, at: Wall, fact: &MessageAdmitted) {
        let message = fact.message.clone();
        let totals = self.totals_of(message.kind);
        totals.entries += 1;
        totals.bytes = totals.bytes.saturating_add(message.bytes());
        self.keys.forget(fact.expired_keys);
        if let Some(idempotency) = &fact.idempotency {
            self.keys.remember(at, idempotency, message.id);
        }
        self.put(Entry {
            own: unattended::is_own(&message),
            message,
            crashes: 0,
            known: false,
            held_since: None,
            carried: Vec::new(),
            notices: Vec::new(),
            recap: Recap::default(),
            notes: Vec::new(),
            changes: Changes::default(),
            goes_on: false,
            interjected: Vec::new(),
            host: None,
            fence: None,
        });
    }

    fn put(&mut self, entry: Entry) {
        if entry.known || liveness_only(entry.message.kind) {
            self.liveness.insert((entry.message.priority, entry.message.id));
        }
        self.queued.entry(entry.message.priority).or_default().insert(entry.message.id, entry);
    }

    fn queued_mut(&mut self, id: MessageId) -> Option<&mut Entry> {
        self.queued.values_mut().find_map(|band| band.get_mut(&id))
    }

    /// What a queued message says is known already. One that a run has taken is told by that run.
    pub(super) fn needs_no_model(&mut self, id: MessageId) {
        let Some(entry) = self.queued_mut(id).filter(|entry| entry.interjected.is_empty()) else { return };
        entry.known = true;
        let priority = entry.message.priority;
        self.liveness.insert((priority, id));
    }

    /// A queued message tells how a command has ended: the agent brought that about if it had begun it before. A message
    /// that reports several is the agent's own if all of them are.
    pub(super) fn delivers_result(&mut self, id: MessageId, repeated: bool) {
        let Some(entry) = self.queued_mut(id) else { return };
        entry.own = repeated && (entry.own || entry.message.kind == MessageKind::TaskResult);
    }

    /// Says whether the agent itself brought a queued message about.
    pub(super) fn set_own(&mut self, id: MessageId, own: bool) {
        if let Some(entry) = self.queued_mut(id) {
            entry.own = own;
        }
    }

    /// How long a message has waited for, the clock does not change.
    pub(super) fn clock_stepped(&mut self, from: Wall, to: Wall) {
        let all = self.queued.values_mut().flat_map(BTreeMap::values_mut).chain(self.claimed.values_mut());
        for entry in all {
            entry.held_since = entry.held_since.map(|since| since.shifted(from, to));
        }
    }

    fn claim(&mut self, id: MessageId) {
        let entry = self.queued.values_mut().find_map(|band| band.remove(&id));
        self.queued.retain(|_, band| !band.is_empty());
        if let Some(mut entry) = entry {
            entry.host = None;
            self.liveness.remove(&(entry.message.priority, id));
            self.claimed.insert(id, entry);
        }
    }

    fn requeue(&mut self, at: Wall, fact: &MessageRequeued, left: Left) {
        let Some(mut entry) = self.claimed.remove(&fact.message_id) else { return };
        entry.crashes = fact.crashes;
        entry.carried.extend(left.rounds);
        entry.notes = left.notes;
        entry.recap = left.recap;
        entry.notices = left.notices;
        entry.changes = left.changes;
        entry.goes_on = left.goes_on;
        let host = fact.interjected_into.and_then(|host| self.claimed.get_mut(&host));
        entry.host = host.as_ref().map(|host| host.message.id);
        if let Some(host) = host {
            host.interjected.push(fact.message_id);
        }
        if fact.cause == RequeueCause::Hold {
            entry.held_since.get_or_insert(at);
        }
        self.put(entry);
    }

    fn settle(&mut self, id: MessageId) {
        if let Some(entry) = self.claimed.remove(&id) {
            // Its turn has ended without them: each has one of its own.
            for id in &entry.interjected {
                if let Some(entry) = self.queued_mut(*id) {
                    entry.host = None;
                }
            }
            let totals = self.totals_of(entry.message.kind);
            totals.entries = totals.entries.saturating_sub(1);
            totals.bytes = totals.bytes.saturating_sub(entry.message.bytes());
        }
    }

    fn totals_of(&mut self, kind: MessageKind) -> &mut Totals {
        if kind.is_from_outside() { &mut self.ingress } else { &mut self.evidence }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Answer;
    use crate::testing::{World, config, ingress, prompt};
    use holon_facts::config::Config;
    use holon_facts::message::Ingress;
    use holon_facts::provenance::AdmissionContext;

    fn send(world: &mut World, kind: MessageKind) -> bool {
        let sent = ingress(kind, Priority::Background, "");
        let sent = Ingress { admission_context: AdmissionContext::RuntimeOwned, ..sent };
        matches!(world.send("main", sent), Answer::Admitted { .. })
    }

    /// How many of a kind fit on top of what is there.
    fn fill(world: &mut World, kind: MessageKind) -> usize {
        (0..100).take_while(|_| send(world, kind)).count()
    }

    #[test]
    fn evidence_takes_nobodys_place() {
        let queue = QueueLimits { entries: 5, reserved_entries: 2, ..config().queue };
        let mut world = World::new(Config { queue, ..config() });
        world.create("main");
        world.admit("main", prompt("the run in progress"));
        assert_eq!(fill(&mut world, MessageKind::TaskResult), 19);
        assert_eq!(fill(&mut world, MessageKind::WebhookEvent), 2);
        assert_eq!(fill(&mut world, MessageKind::OperatorPrompt), 2);
        assert_eq!(world.agent("main").inbox.totals().0, 24);
    }

    #[test]
    fn under_a_hold_what_needs_no_model_does_not_wait() {
        let mut world = World::held("main");
        assert!(send(&mut world, MessageKind::WebhookEvent));
        assert!(send(&mut world, MessageKind::BriefAck));
        let kinds: Vec<_> = world.agent("main").inbox.queued().map(|entry| entry.message.kind).collect();
        assert_eq!(kinds, [MessageKind::OperatorPrompt, MessageKind::WebhookEvent]);
    }
}
