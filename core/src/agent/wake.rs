//! Wake hints (contract: work.md, Wake hints): signals, not messages. Those of a source are one until they are told, and
//! one message reports all.

pub(crate) mod fold;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::WakeFact;
use holon_facts::event::wake::{WakeHintCoalesced, WakeTickQueued};
use holon_facts::hint::{Hint, SUBJECTS};
use holon_facts::ids::{MessageId, WaitId};
use holon_facts::message::Message;
use holon_facts::subsystem::WAKE_HINT;
use holon_facts::time::Wall;
use holon_facts::trigger::{LastDelivery, REMEMBERED};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::external_trigger::ExternalTrigger;
use crate::agent::turn::Note;
use crate::agent::wait::Wait;

/// What several hints of one source are about, each once, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subjects {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait_ids: Vec<WaitId>,
    /// Hints that named others than these: since nobody knows which, they are about whatever is waited for.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub more: u64,
}

/// The hints of one source that wait: their number, the latest, and what all of them are about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pending {
    pub hint: Hint,
    /// A single one contains it.
    #[serde(default, skip_serializing_if = "Subjects::is_empty")]
    pub about: Subjects,
    pub count: u64,
    pub first_at: Wall,
    pub last_at: Wall,
    /// Of the latest.
    pub sequence: u64,
    /// Hints of too many sources: their subjects stay, their bodies do not.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub folded: bool,
}

/// All that wait, and those that live messages report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) pending: BTreeMap<String, Pending>,
    /// Sources that were folded, and had a body, a correlation or a waiter.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    folded: BTreeMap<String, Pending>,
    /// Hints of other folded sources.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    others: u64,
    /// The first wait that may be registered after the first of those: nobody knows whether it is for one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    others_before: Option<WaitId>,
    /// Number of the last hint.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub(crate) sequence: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    delivered: BTreeMap<MessageId, Vec<Pending>>,
    /// The last delivery of each source, the latest one at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    last_deliveries: Vec<LastDelivery>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
}

impl Subjects {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, hint: &Hint) {
        let resource = keep(&mut self.resources, hint.resource.as_ref());
        let wait = keep(&mut self.wait_ids, hint.wait_id.as_ref());
        if !(resource && wait) {
            self.more = self.more.saturating_add(1);
        }
    }
}

/// Whether it is among those that are kept now, or there is none.
fn keep<T: Clone + PartialEq>(kept: &mut Vec<T>, one: Option<&T>) -> bool {
    let Some(one) = one.filter(|one| !kept.contains(one)) else { return true };
    let room = kept.len() < SUBJECTS;
    if room {
        kept.push(one.clone());
    }
    room
}

impl Pending {
    /// Whether one of them is about what a wait for the outside is for.
    pub(crate) fn is_about(&self, wait: WaitId, subject: Option<&str>) -> bool {
        let named = |subject: &str| self.about.resources.iter().any(|resource| resource == subject);
        self.hint.is_about(wait, subject)
            || self.about.more > 0
            || self.about.wait_ids.contains(&wait)
            || subject.is_some_and(named)
    }
}

impl Hints {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What waits, by source.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.pending.values()
    }

    /// Hints that wait, those of which only the number is known included.
    pub fn count(&self) -> u64 {
        let named = self.pending().chain(self.folded()).map(|pending| pending.count);
        named.sum::<u64>().saturating_add(self.others)
    }

    /// Number of the last hint.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// What stands for the last delivery of a source.
    pub(crate) fn last_delivery(&self, source: &str) -> Option<u64> {
        self.last_deliveries.iter().find(|last| last.source == source).map(|last| last.digest)
    }

    fn delivered_through_trigger(&mut self, source: &str, digest: u64) {
        self.last_deliveries.retain(|last| last.source != source);
        if self.last_deliveries.len() >= REMEMBERED {
            self.last_deliveries.remove(0);
        }
        self.last_deliveries.push(LastDelivery { source: source.into(), digest });
    }

    /// Whether the agent may have sent itself all that waits.
    pub(crate) fn are_own(&self) -> bool {
        self.are_all_own(self.pending().chain(self.folded()))
    }

    /// Of hints of which only the number is known, nobody can say it.
    fn are_all_own<'a>(&self, mut hints: impl Iterator<Item = &'a Pending>) -> bool {
        self.others == 0 && hints.all(|pending| pending.hint.repeats)
    }

    /// What a live message reports.
    pub fn delivered_by(&self, message: MessageId) -> impl Iterator<Item = &Pending> + Clone {
        self.delivered.get(&message).into_iter().flatten()
    }

    /// A stop leaves none of them; what it has lost is told with whatever else the next start has to tell.
    pub(super) fn stopped(&mut self, lost: &[String]) {
        self.pending.clear();
        self.folded.clear();
        (self.others, self.others_before) = (0, None);
        self.lost = lost.to_vec();
    }

    /// Sources of the hints that the last stop has lost, until a turn begins.
    pub(crate) fn lost(&self) -> &[String] {
        &self.lost
    }

    pub(super) fn turn_begins(&mut self) {
        self.lost.clear();
    }

    /// The sources of all that waits, and of what these messages report.
    pub(crate) fn sources(&self, messages: &[MessageId]) -> Vec<String> {
        let delivered = messages.iter().flat_map(|message| self.delivered_by(*message));
        let sources: BTreeSet<&String> = self
            .pending()
            .chain(self.folded())
            .chain(delivered)
            .map(|pending| &pending.hint.source)
            .collect();
        sources.into_iter().cloned().collect()
    }

    /// Says whether the agent may have sent itself all that is told.
    fn delivered_by_tick(&mut self, fact: &WakeTickQueued) -> bool {
        let left = |source: &String| fact.left.contains(source);
        let pending = core::mem::take(&mut self.pending).into_iter();
        let (left, delivered): (BTreeMap<_, _>, BTreeMap<_, _>) =
            pending.partition(|(source, _)| left(source));
        self.pending = left;
        let delivered: Vec<Pending> =
            delivered.into_values().chain(core::mem::take(&mut self.folded).into_values()).collect();
        let own = self.are_all_own(delivered.iter());
        self.delivered.insert(fact.message_id, delivered);
        (self.others, self.others_before) = (0, None);
        own
    }

    pub(super) fn settled(&mut self, message: MessageId) {
        self.delivered.remove(&message);
    }

    /// One that says nothing takes nothing from one that said something, and none takes anything from what those
    /// before it were about: somebody may wait for that.
    fn coalesced(&mut self, at: Wall, fact: &WakeHintCoalesced) {
        self.sequence = fact.sequence;
        let Some(pending) = self.pending.get_mut(&fact.hint.source) else { return };
        let before = core::mem::replace(&mut pending.hint, fact.hint.clone());
        if pending.about.is_empty() {
            pending.about.add(&before);
        }
        pending.about.add(&fact.hint);
        if pending.hint.body.is_none() {
            (pending.hint.body, pending.hint.content_type) = (before.body, before.content_type);
        }
        pending.hint.wait_id = pending.hint.wait_id.or(before.wait_id);
        pending.hint.external_trigger_id = pending.hint.external_trigger_id.or(before.external_trigger_id);
        pending.hint.repeats &= before.repeats;
        pending.count = pending.count.saturating_add(1);
        (pending.last_at, pending.sequence) = (at, fact.sequence);
    }
}

impl Agent {
    /// The waits for the outside.
    fn external_waits(&self) -> impl Iterator<Item = &Wait> {
        self.active_waits().filter(|wait| wait.is_external())
    }

    /// The wait for the outside of which a hint says the token.
    pub(crate) fn wait_named_by(&self, hint: &Hint) -> Option<WaitId> {
        let token = hint.correlation_id.as_deref()?;
        self.external_waits().find(|wait| wait.has_token(token)).map(|wait| wait.id)
    }

    /// Whether it ends a wait that it names, by its token or its subject.
    pub(crate) fn ends_named_wait(&self, hint: &Hint) -> bool {
        let named = self.wait_named_by(hint);
        self.external_waits().any(|wait| {
            named == Some(wait.id)
                || (wait.subject.is_some() && hint.is_about(wait.id, wait.subject.as_deref()))
        })
    }

    /// Whether somebody waits for one of the hints of a source.
    pub(crate) fn is_awaited(&self, pending: &Pending) -> bool {
        self.external_waits().any(|wait| pending.is_about(wait.id, wait.subject.as_deref()))
    }

    pub(super) fn apply_wake(&mut self, at: Wall, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                self.hints.recorded(at, fact, self.next.wait);
                self.outside.hinted(at, &fact.hint);
                self.hinted(at, &fact.hint);
            }
            WakeFact::WakeHintCoalesced(fact) => {
                self.hints.coalesced(at, fact);
                self.outside.hinted(at, &fact.hint);
                self.hinted(at, &fact.hint);
            }
            WakeFact::WakeTickQueued(fact) => {
                let own = self.hints.delivered_by_tick(fact);
                self.inbox.set_own(fact.message_id, own);
                if fact.contentful && !own {
                    self.outside.delivered(at, self.hints.delivered_by(fact.message_id));
                }
                if !fact.contentful {
                    self.inbox.needs_no_model(fact.message_id);
                }
            }
            WakeFact::WakeHintsShown(fact) => {
                let shown = fact.sources.iter().filter_map(|source| self.hints.pending.remove(source));
                let hints: Vec<Pending> = shown.collect();
                if let Some(run) = &mut self.run {
                    run.conversation.notes.push(Note::Hints { hints });
                }
            }
            WakeFact::ExternalTriggerProvisioned(fact) => {
                let before = self.external_trigger.take();
                self.external_trigger = Some(ExternalTrigger::provisioned(before, at, fact));
            }
            WakeFact::ExternalTriggerDelivered(fact) => {
                if let Some(digest) = fact.digest {
                    self.hints.delivered_through_trigger(&fact.source, digest);
                }
                self.external_trigger.iter_mut().for_each(|trigger| trigger.delivered(at));
            }
            WakeFact::ExternalTriggerRevoked(_) => {
                self.external_trigger.iter_mut().for_each(|trigger| trigger.revoked(at));
            }
        }
    }

    /// One that says something, or is what somebody waits for, is a word from outside.
    fn hinted(&mut self, at: Wall, hint: &Hint) {
        let awaited = || self.external_waits().any(|wait| hint.is_about(wait.id, wait.subject.as_deref()));
        if !hint.repeats && (hint.body.is_some() || awaited()) {
            self.external_activity(at);
        }
    }
}

/// Whether a message reports hints.
pub(crate) fn is_tick(message: &Message) -> bool {
    message.origin.is_of(WAKE_HINT)
}
