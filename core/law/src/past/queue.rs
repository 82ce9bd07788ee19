//! The messages of the agent that are not terminal, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use holon_facts::event::inbox::{MessageAdmitted, MessageRequeued};
use holon_facts::fence::Fence;
use holon_facts::ids::{MessageId, RunId};
use holon_facts::message::{MessageKind, Priority};

#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    pub(crate) live: BTreeMap<MessageId, Entry>,
    pub(crate) waiting: BTreeSet<(Priority, MessageId)>,
    /// The message of the last run that was aborted.
    pub(crate) aborted: Option<MessageId>,
    /// Live messages that tell what work is owed.
    pub(crate) ticks: BTreeSet<MessageId>,
    /// Live messages that report the end of a sleep.
    pub(crate) slept: BTreeSet<MessageId>,
}

/// A message that is not terminal.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) kind: MessageKind,
    pub(crate) priority: Priority,
    pub(crate) interjects: bool,
    pub(crate) crashes: u32,
    /// An operator says it, or who stands in for one.
    pub(crate) by_operator: bool,
    /// Its agent knows what it says.
    pub(crate) known: bool,
    /// Its agent has brought it about.
    pub(crate) own: bool,
    /// None while it waits.
    pub(crate) claim: Option<Claim>,
    /// Prompts that were taken into its turn and wait with it.
    pub(crate) interjected: Vec<MessageId>,
    /// The message into whose turn it was taken, and with which it waits.
    pub(crate) host: Option<MessageId>,
    /// The message whose interrupted turn was for it, too.
    pub(crate) beside: Option<MessageId>,
    /// Prompts that were taken in after its last round.
    pub(crate) tail: u32,
    /// The fence of its runs.
    pub(crate) fence: Option<Fence>,
    /// Its interrupted runs have said or done something that the next one goes on from.
    pub(crate) worked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    ByRun(RunId),
    /// Taken without a model; over within its step.
    Reduced,
}

impl Queue {
    pub(super) fn admit(&mut self, fact: &MessageAdmitted) {
        let message = &fact.message;
        let entry = Entry {
            kind: message.kind,
            priority: message.priority,
            interjects: message.interjects(),
            crashes: 0,
            known: false,
            by_operator: message.is_by_operator(),
            own: matches!(message.kind, MessageKind::SystemTick | MessageKind::InternalFollowup)
                && !message.is_by_operator(),
            claim: None,
            interjected: Vec::new(),
            host: None,
            beside: None,
            tail: 0,
            fence: None,
            worked: false,
        };
        self.waiting.insert((message.priority, message.id));
        self.live.insert(message.id, entry);
    }

    pub(super) fn known(&mut self, id: MessageId) {
        if let Some(entry) = self.live.get_mut(&id).filter(|entry| entry.claim.is_none()) {
            entry.known |= entry.interjected.is_empty();
        }
    }

    pub(super) fn delivers_result(&mut self, id: MessageId, repeated: bool) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.own = repeated && (entry.own || entry.kind == MessageKind::TaskResult);
        }
    }

    pub(super) fn claim(&mut self, id: MessageId, claim: Claim) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = Some(claim);
            entry.host = None;
            self.waiting.remove(&(entry.priority, id));
        }
    }

    pub(super) fn put_back(&mut self, fact: &MessageRequeued) {
        let id = fact.message_id;
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = None;
            entry.crashes = fact.crashes;
            entry.host = fact.interjected_into;
            self.waiting.insert((entry.priority, id));
        }
        if let Some(host) = fact.interjected_into.and_then(|host| self.live.get_mut(&host)) {
            host.interjected.push(id);
        }
    }

    /// Whether it has to be shown, whatever it says itself: an operator has interjected into its turn.
    pub(super) fn carries(&self, id: MessageId) -> bool {
        self.live.get(&id).is_some_and(|entry| !entry.interjected.is_empty())
    }

    /// A run begins that takes along what waits with its message.
    pub(super) fn begun(&mut self, id: MessageId, fence: Option<Fence>) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.interjected.clear();
            entry.fence = fence;
        }
    }

    pub(super) fn settle(&mut self, id: MessageId) {
        if let Some(entry) = self.live.remove(&id) {
            for id in &entry.interjected {
                if let Some(freed) = self.live.get_mut(id) {
                    freed.host = None;
                }
            }
            self.waiting.remove(&(entry.priority, id));
            self.ticks.remove(&id);
            self.slept.remove(&id);
        }
    }
}
