//! One agent of the reference: its messages, its run, its keys.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::event::inbox::{MessageAdmitted, RequeueCause};
use holon_facts::event::turn::TurnStarted;
use holon_facts::event::{InboxFact, LifecycleFact, SchedulingFact, TurnFact, WakeFact};
use holon_facts::identity::AgentSpec;
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::ControlAction;
use holon_facts::message::{Message, Origin};
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority};
use holon_facts::{AgentId, Config, ContentId, Event, MessageId, Record, RunId, Wall};

use super::admission::bounds;
use super::outside::Outside;
use super::tasks::Tasks;
use super::timers::Timers;
use super::trigger::Trigger;
use super::unattended::Unattended;
use super::work::Work;
use crate::failure::{Failure, ensure};
use crate::kin;

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) stopped: bool,
    /// Whose child it is.
    pub(super) child: Option<AgentId>,
    /// An agent has begun it, and not an operator.
    begun: bool,
    /// It has come to its end, or is gone but for its log.
    pub(super) retired: bool,
    pub(super) archived: bool,
    /// Stands for the first of the configured models.
    pub(super) model: Option<ModelRef>,
    pub(super) label: AgentLabel,
    pub(super) run: Option<(RunId, MessageId)>,
    pub(super) last: u64,
    /// From outside, and the runtime's own: entries, bytes.
    outside: (u64, u64),
    own: (u64, u64),
    queued: BTreeSet<(Priority, MessageId)>,
    alive: BTreeMap<MessageId, Alive>,
    crashes: BTreeMap<MessageId, u32>,
    pub(super) keys: Vec<Key>,
    pub(super) tasks: Tasks,
    pub(super) timers: Timers,
    pub(super) work: Work,
    pub(super) unattended: Unattended,
    /// Sources of which hints wait, and whether one of them has a body.
    pub(super) hints: BTreeMap<String, bool>,
    pub(super) others: Outside,
    /// Messages that the last decision of the scheduler names.
    decided: Vec<MessageId>,
    pub(super) trigger: Trigger,
}

/// Longest text of a message that reports hints.
const TICK_BYTES: u64 = 1 << 10;

/// A message that has not come to an end.
#[derive(Debug, Clone, Copy)]
struct Alive {
    priority: Priority,
    bytes: u64,
    own: bool,
    kind: MessageKind,
}

/// An idempotency key as it was used last.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) payload: ContentId,
    pub(super) message: MessageId,
    at: Wall,
    /// Keyed admissions after this one.
    younger: u64,
    /// Once its time was over, the core may forget it whatever the clock does later.
    pub(super) expired: bool,
    /// As many younger ones as are kept had come: the core has forgotten it.
    crowded_out: bool,
}

impl Model {
    pub(super) fn of(spec: &AgentSpec) -> Self {
        let child = spec.supervisor.as_ref().map(|supervisor| supervisor.agent_id.clone());
        Self { child, begun: spec.lineage_parent_agent_id.is_some(), ..Self::default() }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record, config: &Config, no_room: bool) -> Result<(), Failure> {
        if let Event::Wake(fact) = &record.event {
            self.hinted(fact);
            self.others.hinted(record.at, fact, &config.unattended)?;
            self.trigger.apply(fact)?;
        }
        match &record.event {
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
                self.fits(&fact.message, config, no_room)?;
                self.others.admitted(record.at, &fact.message, &config.unattended)?;
                self.admitted(record.at, fact, config)
            }
            Event::Inbox(fact) => self.inbox(record.at, fact, config),
            Event::Turn(TurnFact::TurnStarted(fact)) => self.turn_started(record.at, fact, config),
            Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) => {
                self.decided = fact.message_id.into_iter().chain(fact.also_message_ids.clone()).collect();
                Ok(())
            }
            Event::Turn(TurnFact::TurnTerminal(_)) => {
                self.run = None;
                Ok(())
            }
            Event::Lifecycle(LifecycleFact::ControlRequestAdmitted(fact))
                if fact.action == ControlAction::Stop =>
            {
                self.hints_are_kept(config, no_room)
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if fact.action == ControlAction::Stop => {
                self.hints.clear();
                self.others.stopped();
                // A letter of its supervisor may have stopped it.
                self.stopped |= self.child.is_some();
                Ok(())
            }
            Event::Lifecycle(LifecycleFact::AgentRetired(_)) => {
                (self.stopped, self.retired) = (true, true);
                Ok(())
            }
            Event::Lifecycle(LifecycleFact::AgentArchived(_)) => {
                self.archived = true;
                Ok(())
            }
            Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) => {
                let label = &fact.label;
                ensure!(!label.archived || self.stopped, "L5", "archived, and not stopped: {label:?}");
                self.label.clone_from(label);
                Ok(())
            }
            // Whoever began it gave it that model; operators say theirs themselves.
            Event::Lifecycle(LifecycleFact::ModelOverrideChanged(fact)) if self.begun => {
                self.model.clone_from(&fact.model);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn turn_started(&mut self, at: Wall, fact: &TurnStarted, config: &Config) -> Result<(), Failure> {
        ensure!(!self.stopped, "L1", "{} starts on a stopped agent", fact.run_id);
        let due = self.models(config);
        let same = fact.models.iter().eq(due.iter().copied());
        ensure!(same, "G5", "{} is bound to {:?}, expected {due:?}", fact.run_id, fact.models);
        let took = std::iter::once(fact.message_id).chain(fact.also.iter().copied());
        let named = self.decided.iter().copied().eq(took);
        ensure!(named, "G6", "{fact:?} takes what the decision does not name: {:?}", self.decided);
        self.run = Some((fact.run_id, fact.message_id));
        let kind = self.alive.get(&fact.message_id).map(|alive| alive.kind);
        let by_others = self.others.hinted_by_others(fact.message_id);
        self.unattended.started(at, kind, by_others);
        Ok(())
    }

    /// Hints of a source are one until they are told.
    fn hinted(&mut self, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                // The new one may be what is folded.
                self.hints.insert(fact.hint.source.clone(), fact.hint.body.is_some());
                self.hints.retain(|source, _| Some(source) != fact.folded.as_ref());
            }
            WakeFact::WakeHintCoalesced(fact) => {
                if let Some(says) = self.hints.get_mut(&fact.hint.source) {
                    *says |= fact.hint.body.is_some();
                }
            }
            WakeFact::ExternalTriggerProvisioned(_)
            | WakeFact::ExternalTriggerDelivered(_)
            | WakeFact::ExternalTriggerRevoked(_) => {}
            WakeFact::WakeTickQueued(fact) => self.hints.retain(|source, _| fact.left.contains(source)),
            WakeFact::WakeHintsShown(fact) => {
                self.hints.retain(|source, _| !fact.sources.contains(source));
            }
        }
    }

    /// A stop clears bare hints alone, as long as there is room for a message that reports the others.
    fn hints_are_kept(&self, config: &Config, no_room: bool) -> Result<(), Failure> {
        let (most, most_bytes) = bounds(config, false, true);
        let (entries, bytes) = self.beside(true);
        let room = !no_room && entries < most && bytes + TICK_BYTES <= most_bytes;
        let lost = self.hints.iter().find(|(_, says)| **says).filter(|_| room && self.child.is_none());
        ensure!(lost.is_none(), "W3", "a stop clears the hints of {lost:?}, and they say something");
        Ok(())
    }

    /// Whom a run asks that begins now: the override stands for the first, and nobody is asked twice.
    fn models<'a>(&'a self, config: &'a Config) -> Vec<&'a ModelRef> {
        let mut models: Vec<&ModelRef> = config.models.iter().collect();
        if let (Some(model), Some(first)) = (&self.model, models.first_mut()) {
            *first = model;
            let mut place = 0;
            models.retain(|other| {
                place += 1;
                place == 1 || *other != model
            });
        }
        models
    }

    /// Q8: the queue has room for it, and none of the operators' reserve is taken.
    fn fits(&self, message: &Message, config: &Config, no_room: bool) -> Result<(), Failure> {
        let own = message.admission_context == AdmissionContext::RuntimeOwned;
        let operator = matches!(message.origin, Origin::Operator { .. });
        let (most, most_bytes) = if no_room { (0, 0) } else { bounds(config, operator, own) };
        let (entries, bytes) = self.beside(own);
        let fits = entries < most && bytes.saturating_add(message.bytes()) <= most_bytes;
        ensure!(fits, "Q8", "{} is admitted beside {entries} entries, {bytes} bytes", message.id);
        Ok(())
    }

    fn inbox(&mut self, at: Wall, fact: &InboxFact, config: &Config) -> Result<(), Failure> {
        match fact {
            InboxFact::MessageAdmitted(_) => Ok(()),
            InboxFact::MessageDuplicate(fact) => {
                let known = fact.message_id.0 <= self.last;
                ensure!(known, "Q5", "{} is a duplicate of nothing", fact.message_id);
                let key = self.keys.iter().find(|key| key.message == fact.message_id);
                let over = key.is_some_and(|key| at.since(key.at) >= config.queue.keys_for);
                ensure!(!over, "Q5", "{} is a duplicate after the time of its key", fact.message_id);
                let kept = key.is_none_or(|key| !key.crowded_out);
                ensure!(kept, "Q5", "{} is a duplicate of a key that younger ones replaced", fact.message_id);
                Ok(())
            }
            InboxFact::MessageDequeued(fact) => self.claim(fact.message_id, true),
            InboxFact::OperatorInterjectionAdmitted(fact) => self.claim(fact.message_id, false),
            InboxFact::MessageProcessed(fact) => {
                self.settle(fact.message_id);
                Ok(())
            }
            InboxFact::MessageAborted(fact) => {
                self.settle(fact.message_id);
                Ok(())
            }
            InboxFact::MessageDropped(fact) => {
                let crashes = self.crashes.get(&fact.message_id).copied().unwrap_or(0) + 1;
                let enough = crashes >= config.queue.crashes;
                ensure!(enough, "Q7", "{} was dropped after {crashes} crashes", fact.message_id);
                self.settle(fact.message_id);
                Ok(())
            }
            InboxFact::MessageRequeued(fact) => {
                if fact.cause == RequeueCause::Crash {
                    self.crashes.insert(fact.message_id, fact.crashes);
                }
                self.queued.insert((self.band(fact.message_id), fact.message_id));
                Ok(())
            }
        }
    }

    fn admitted(&mut self, at: Wall, fact: &MessageAdmitted, config: &Config) -> Result<(), Failure> {
        let Message { id, priority, .. } = fact.message;
        if let Some(idempotency) = &fact.idempotency {
            for key in &mut self.keys {
                key.expired |= at.since(key.at) >= config.queue.keys_for;
            }
            let known = self.keys.iter().find(|key| key.name == idempotency.key && !key.expired);
            ensure!(known.is_none(), "Q5", "{id} was admitted although its key stands for {known:?}");
            for key in &mut self.keys {
                key.younger += 1;
                // The admission lets it go, whatever another configuration keeps later.
                key.crowded_out |= key.younger >= config.queue.keys.max(1);
                key.expired |= key.crowded_out;
            }
            self.keys.retain(|key| key.name != idempotency.key);
            self.keys.push(Key {
                name: idempotency.key.clone(),
                payload: idempotency.payload,
                message: id,
                at,
                younger: 0,
                expired: false,
                crowded_out: false,
            });
        }
        self.last = id.0;
        let own = fact.message.admission_context == AdmissionContext::RuntimeOwned;
        let alive = Alive { priority, bytes: fact.message.bytes(), own, kind: kin::standing(&fact.message) };
        let used = self.used(own);
        *used = (used.0 + 1, used.1 + alive.bytes);
        self.alive.insert(id, alive);
        self.queued.insert((priority, id));
        Ok(())
    }

    /// Takes a message out of the queue. Under a hold the scheduler may pass over the first.
    fn claim(&mut self, message: MessageId, from_scheduler: bool) -> Result<(), Failure> {
        ensure!(!self.stopped || !from_scheduler, "L1", "{message} is taken by a stopped agent");
        self.queued.remove(&(self.band(message), message));
        Ok(())
    }

    fn settle(&mut self, message: MessageId) {
        if let Some(Alive { bytes, own, .. }) = self.alive.remove(&message) {
            let used = self.used(own);
            *used = (used.0 - 1, used.1 - bytes);
        }
    }

    fn used(&mut self, own: bool) -> &mut (u64, u64) {
        if own { &mut self.own } else { &mut self.outside }
    }

    /// A message that nobody knows is in the last band.
    fn band(&self, message: MessageId) -> Priority {
        self.alive.get(&message).map_or(Priority::Background, |alive| alive.priority)
    }

    pub(super) fn unfinished(&self) -> Option<MessageId> {
        self.alive.keys().next().copied()
    }

    /// Whether anything waits that does not wait for its time.
    pub(super) fn has_queued(&self) -> bool {
        let kind = |message: &MessageId| self.alive.get(message).map(|alive: &Alive| alive.kind);
        let waits = |message: &MessageId| self.work.waits(*message) || self.unattended.waits(kind(message));
        self.queued.iter().any(|(_, message)| !waits(message))
    }

    /// What a message has to fit beside, entries and bytes: the runtime's own beside everything, others
    /// beside what came from outside.
    pub(super) fn beside(&self, own: bool) -> (u64, u64) {
        let (entries, bytes) = if own { self.own } else { (0, 0) };
        (self.outside.0 + entries, self.outside.1 + bytes)
    }
}
