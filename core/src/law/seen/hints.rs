//! Hints that wait, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::Seen;
use crate::agent::wake::{Hint, SUBJECTS};
use crate::event::WakeFact;
use crate::ids::WaitId;

/// The hints of one source.
#[derive(Debug, Clone)]
pub(in crate::law) struct Pending {
    pub(in crate::law) count: u64,
    /// The latest, with what those before it have said.
    pub(in crate::law) hint: Hint,
    /// What any of them was about.
    resources: BTreeSet<String>,
    waits: BTreeSet<WaitId>,
}

impl Pending {
    fn new(hint: &Hint) -> Self {
        let (resources, waits) = (BTreeSet::new(), BTreeSet::new());
        let mut pending = Self { count: 0, hint: hint.clone(), resources, waits };
        pending.named(hint);
        pending
    }

    /// More than are told apart need not be told apart.
    fn named(&mut self, hint: &Hint) {
        self.count += 1;
        if !self.overflows() {
            self.resources.extend(hint.resource.clone());
            self.waits.extend(hint.wait_id);
        }
    }

    fn overflows(&self) -> bool {
        self.resources.len() > SUBJECTS || self.waits.len() > SUBJECTS
    }

    /// Whether a hint among them is about what is waited for.
    pub(super) fn is_about(&self, wait: WaitId, subject: Option<&String>) -> bool {
        let meant = match subject {
            Some(subject) => self.hint.source == *subject || self.resources.contains(subject),
            None => self.hint.external_trigger_id.is_some(),
        };
        meant || self.waits.contains(&wait) || self.overflows()
    }
}

#[derive(Debug, Clone, Default)]
pub(in crate::law) struct Hints {
    /// By source.
    pub(in crate::law) pending: BTreeMap<String, Pending>,
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
        self.pending.values().map(|pending| pending.count).sum::<u64>() + self.others
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
                    let count = self.hints.pending.remove(folded).map_or(0, |pending| pending.count);
                    self.hints.others += count;
                }
                self.hinted(fact.sequence, &fact.hint, Pending::new(&fact.hint));
            }
            WakeFact::WakeHintCoalesced(fact) => {
                let mut hint = fact.hint.clone();
                let pending = match self.hints.pending.remove(&hint.source) {
                    None => Pending::new(&hint),
                    Some(mut pending) => {
                        pending.named(&hint);
                        let before = pending.hint;
                        if hint.body.is_none() {
                            (hint.body, hint.content_type) = (before.body, before.content_type);
                        }
                        hint.external_trigger_id = hint.external_trigger_id.or(before.external_trigger_id);
                        hint.repeats &= before.repeats;
                        Pending { hint, ..pending }
                    }
                };
                self.hinted(fact.sequence, &fact.hint, pending);
            }
            WakeFact::WakeTickQueued(fact) => {
                let told: Vec<Pending> = core::mem::take(&mut self.hints.pending).into_values().collect();
                self.hints.order.clear();
                let counted = core::mem::take(&mut self.hints.others) > 0;
                let own = !counted && told.iter().all(|pending| pending.hint.repeats);
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

    fn hinted(&mut self, sequence: u64, said: &Hint, pending: Pending) {
        self.hints.last = sequence;
        self.hints.order.insert(said.source.clone(), sequence);
        self.hints.pending.insert(said.source.clone(), pending);
        self.trigger.delivered = None;
        if !said.repeats && (said.body.is_some() || self.is_awaited(&Pending::new(said))) {
            self.heard();
        }
    }
}
