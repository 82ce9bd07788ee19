//! Hints that wait, as far as a law looks back.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::Seen;
use crate::agent::wake::Hint;
use crate::event::WakeFact;

#[derive(Debug, Clone, Default)]
pub(in crate::law) struct Hints {
    /// By source: how many, and the latest with what those before it have said.
    pub(in crate::law) pending: BTreeMap<String, (u64, Hint)>,
    /// In the order in which the first of each came.
    order: BTreeMap<String, u64>,
    /// Of sources that made room.
    others: u64,
    last: u64,
}

impl Hints {
    pub(in crate::law) fn next(&self) -> u64 {
        self.last + 1
    }

    pub(in crate::law) fn count(&self) -> u64 {
        self.pending.values().map(|(count, _)| count).sum::<u64>() + self.others
    }

    /// The source whose last hint is the oldest.
    pub(in crate::law) fn oldest(&self) -> Option<&String> {
        self.order.iter().min_by_key(|(_, sequence)| **sequence).map(|(source, _)| source)
    }

    pub(super) fn stopped(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }
}

impl Seen {
    pub(super) fn wake(&mut self, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                if let Some(folded) = &fact.folded {
                    self.hints.order.remove(folded);
                    let count = self.hints.pending.remove(folded).map_or(0, |(count, _)| count);
                    self.hints.others += count;
                }
                self.hinted(fact.sequence, &fact.hint, 1, fact.hint.clone());
            }
            WakeFact::WakeHintCoalesced(fact) => {
                let before = self.hints.pending.get(&fact.hint.source).cloned();
                let (count, before) = before.unwrap_or_else(|| (0, fact.hint.clone()));
                let mut hint = fact.hint.clone();
                if hint.body.is_none() {
                    (hint.body, hint.content_type) = (before.body, before.content_type);
                }
                hint.wait_id = hint.wait_id.or(before.wait_id);
                hint.repeats &= before.repeats;
                self.hinted(fact.sequence, &fact.hint, count + 1, hint);
            }
            WakeFact::WakeTickQueued(fact) => {
                let told = core::mem::take(&mut self.hints.pending).into_values().map(|(_, hint)| hint);
                let told: Vec<Hint> = told.collect();
                self.hints.order.clear();
                let counted = core::mem::take(&mut self.hints.others) > 0;
                let own = !counted && told.iter().all(|hint| hint.repeats);
                self.hints_about(fact.message_id, told);
                if let Some(entry) = self.queue.live.get_mut(&fact.message_id) {
                    entry.own = own;
                }
                if !fact.contentful {
                    self.queue.known(fact.message_id);
                }
            }
            WakeFact::ExternalTriggerProvisioned(fact) => self.trigger.provisioned(fact),
            WakeFact::ExternalTriggerDelivered(fact) => self.trigger.delivered(fact),
            WakeFact::ExternalTriggerRevoked(_) => self.trigger.active = false,
            WakeFact::WakeHintsShown(fact) => {
                for source in &fact.sources {
                    self.hints.pending.remove(source);
                    self.hints.order.remove(source);
                }
            }
        }
    }

    fn hinted(&mut self, sequence: u64, said: &Hint, count: u64, hint: Hint) {
        self.hints.last = sequence;
        self.hints.order.insert(hint.source.clone(), sequence);
        self.hints.pending.insert(hint.source.clone(), (count, hint));
        self.trigger.delivered = None;
        if !said.repeats && (said.body.is_some() || self.is_awaited(said)) {
            self.heard();
        }
    }
}
