//! Hints that wait, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::WakeFact;
use holon_facts::hint::{Hint, HintWeight, SOURCES, SUBJECTS};
use holon_facts::ids::WaitId;
use holon_facts::wait::WaitKind;

use super::Past;
use super::waits::Wait;

/// The hints of one source.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) count: u64,
    /// The latest, with what those before it have said.
    pub(crate) hint: Hint,
    /// Its source, and those that it stands for.
    sources: BTreeSet<String>,
    /// What any of them was about.
    resources: BTreeSet<String>,
    waits: BTreeSet<WaitId>,
}

impl Pending {
    fn new(hint: &Hint) -> Self {
        let (resources, waits) = (BTreeSet::new(), BTreeSet::new());
        let sources = [hint.source.clone()].into();
        let mut pending = Self { count: 0, hint: hint.clone(), sources, resources, waits };
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
        let others = self.sources.iter().filter(|source| **source != self.hint.source);
        let subjects = others.chain(&self.resources).collect::<BTreeSet<_>>().len();
        subjects > SUBJECTS || self.waits.len() > SUBJECTS
    }

    /// What hints of another source, or later ones of this, were about.
    fn with(mut self, later: Self) -> Self {
        self.count += later.count;
        self.sources.extend(later.sources);
        self.resources.extend(later.resources);
        self.waits.extend(later.waits);
        let mut hint = self.hint;
        hint.external_trigger_id = hint.external_trigger_id.or(later.hint.external_trigger_id);
        hint.repeats &= later.hint.repeats;
        Self { hint, ..self }
    }

    /// Whether a hint among them is about what is waited for.
    pub(super) fn is_about(&self, wait: WaitId, subject: Option<&String>) -> bool {
        let meant = match subject {
            Some(subject) => self.sources.contains(subject) || self.resources.contains(subject),
            None => self.hint.external_trigger_id.is_some(),
        };
        meant || self.waits.contains(&wait) || self.overflows()
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    /// By source.
    pub(crate) pending: BTreeMap<String, Pending>,
    /// In the order in which the first of each came.
    order: BTreeMap<String, u64>,
    /// Sources that were folded and mattered, by their last hint.
    folded: BTreeMap<u64, Pending>,
    /// Hints of other folded sources, and the next wait when the first of those was folded.
    others: u64,
    others_before: Option<WaitId>,
    last: u64,
}

impl Hints {
    pub(crate) fn next(&self) -> u64 {
        self.last + 1
    }

    pub(crate) fn count(&self) -> u64 {
        self.pending.values().chain(self.folded.values()).map(|pending| pending.count).sum::<u64>()
            + self.others
    }

    /// Whose hints wait, but for those of which only the number is known.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &String> {
        self.pending.keys().chain(self.folded.values().map(|pending| &pending.hint.source))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.pending.len() >= SOURCES
    }

    /// The source whose last hint is the oldest.
    pub(crate) fn oldest(&self) -> Option<&String> {
        self.order.iter().min_by_key(|(_, sequence)| **sequence).map(|(source, _)| source)
    }

    fn fold(&mut self, source: &String, weight: Option<HintWeight>, next_wait: WaitId) {
        let sequence = self.order.remove(source).unwrap_or_default();
        let Some(pending) = self.pending.remove(source) else { return };
        match weight {
            None => self.others += pending.count,
            Some(HintWeight::Bare) => {
                self.others += pending.count;
                self.others_before.get_or_insert(next_wait);
            }
            Some(HintWeight::Contentful | HintWeight::Awaited) => {
                let mut same = self.folded.iter().filter(|(_, kept)| kept.hint.source == *source);
                let oldest = || self.folded.keys().next().filter(|_| self.folded.len() >= SOURCES);
                let with = same.next().map(|(sequence, _)| sequence).or_else(oldest).copied();
                let kept = with.and_then(|with| self.folded.remove(&with));
                let pending = kept.map_or_else(|| pending.clone(), |kept| kept.with(pending.clone()));
                self.folded.insert(sequence, pending);
            }
        }
    }

    pub(super) fn stopped(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }
}

impl Past {
    pub(super) fn wake(&mut self, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                self.hinted(fact.sequence, &fact.hint, Pending::new(&fact.hint));
                if let Some(folded) = &fact.folded {
                    self.hints.fold(folded, fact.folded_as, self.next.wait);
                }
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
                let Hints { mut pending, folded, others, last, mut order, .. } =
                    core::mem::take(&mut self.hints);
                let left: BTreeMap<String, Pending> =
                    fact.left.iter().filter_map(|source| pending.remove_entry(source)).collect();
                order.retain(|source, _| left.contains_key(source));
                let delivered: Vec<Pending> = pending.into_values().chain(folded.into_values()).collect();
                self.hints = Hints { pending: left, order, last, ..Hints::default() };
                let counted = others > 0;
                let own = !counted && delivered.iter().all(|pending| pending.hint.repeats);
                self.hints_about(fact.message_id, delivered);
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

    /// What the hints of a source mean; the least is folded first.
    fn weight(&self, pending: &Pending) -> HintWeight {
        let Pending { hint, waits, .. } = pending;
        match hint.body.is_some() || hint.correlation_id.is_some() || !waits.is_empty() {
            _ if self.is_awaited(pending) => HintWeight::Awaited,
            true => HintWeight::Contentful,
            false => HintWeight::Bare,
        }
    }

    /// The source that is folded for a hint of one more.
    pub(crate) fn folds(&self, hint: &Hint) -> Option<(String, HintWeight)> {
        let new = (self.weight(&Pending::new(hint)), self.hints.next(), &hint.source);
        let waiting = self.hints.order.iter().filter_map(|(source, sequence)| {
            Some((self.weight(self.hints.pending.get(source)?), *sequence, source))
        });
        let (weight, _, source) = waiting.chain([new]).min()?;
        self.hints.is_full().then(|| (source.clone(), weight))
    }

    /// Whether nobody waits for what waits of a source, and it says nothing.
    pub(crate) fn is_bare(&self, source: &String) -> bool {
        let pending = self.hints.pending.get(source);
        pending.is_some_and(|pending| self.weight(pending) == HintWeight::Bare)
    }

    /// Whether a folded hint mattered, or may be what somebody waits for since.
    pub(crate) fn folded_matters(&self) -> bool {
        let since = |wait: &Wait| self.hints.others_before.is_some_and(|before| wait.id >= before);
        let mut waits = self.waits.active.values().filter(|wait| wait.kind == WaitKind::External);
        !self.hints.folded.is_empty() || waits.any(since)
    }

    fn hinted(&mut self, sequence: u64, hint: &Hint, pending: Pending) {
        self.hints.last = sequence;
        self.hints.order.insert(hint.source.clone(), sequence);
        self.hints.pending.insert(hint.source.clone(), pending);
        self.trigger.delivered = None;
        if !hint.repeats && (hint.body.is_some() || self.is_awaited(&Pending::new(hint))) {
            self.external_activity();
        }
    }
}
