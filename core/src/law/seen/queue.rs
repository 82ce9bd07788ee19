//! The messages of the agent that are not terminal, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::event::inbox::MessageAdmitted;
use crate::ids::{MessageId, RunId};
use crate::message::{MessageKind, Priority};

#[derive(Debug, Clone, Default)]
pub(in crate::law) struct Queue {
    pub(in crate::law) live: BTreeMap<MessageId, Entry>,
    pub(in crate::law) waiting: BTreeSet<(Priority, MessageId)>,
    /// The message of the last run that was aborted.
    pub(in crate::law) aborted: Option<MessageId>,
    /// Live messages that tell what work is owed.
    pub(in crate::law) ticks: BTreeSet<MessageId>,
    /// Live messages that tell of the end of a sleep.
    pub(in crate::law) slept: BTreeSet<MessageId>,
}

/// A message that is not terminal.
#[derive(Debug, Clone)]
pub(in crate::law) struct Entry {
    pub(in crate::law) kind: MessageKind,
    pub(in crate::law) priority: Priority,
    pub(in crate::law) interjects: bool,
    pub(in crate::law) crashes: u32,
    /// An operator says it, or who stands in for one.
    pub(in crate::law) by_operator: bool,
    /// Its agent knows what it says.
    pub(in crate::law) known: bool,
    /// Its agent has brought it about.
    pub(in crate::law) own: bool,
    /// None while it waits.
    pub(in crate::law) claim: Option<Claim>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::law) enum Claim {
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
        };
        self.waiting.insert((message.priority, message.id));
        self.live.insert(message.id, entry);
    }

    pub(super) fn known(&mut self, id: MessageId) {
        if let Some(entry) = self.live.get_mut(&id).filter(|entry| entry.claim.is_none()) {
            entry.known = true;
        }
    }

    pub(super) fn tells_result(&mut self, id: MessageId, repeated: bool) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.own = repeated && (entry.own || entry.kind == MessageKind::TaskResult);
        }
    }

    pub(super) fn claim(&mut self, id: MessageId, claim: Claim) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = Some(claim);
            self.waiting.remove(&(entry.priority, id));
        }
    }

    pub(super) fn put_back(&mut self, id: MessageId, crashes: u32) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = None;
            entry.crashes = crashes;
            self.waiting.insert((entry.priority, id));
        }
    }

    pub(super) fn settle(&mut self, id: MessageId) {
        if let Some(entry) = self.live.remove(&id) {
            self.waiting.remove(&(entry.priority, id));
            self.ticks.remove(&id);
            self.slept.remove(&id);
        }
    }
}
