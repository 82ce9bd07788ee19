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
use super::asks::Asks;
use super::made::Keys;
use super::notified::Notified;
use super::outside::Outside;
use super::tasks::Tasks;
use super::timers::Timers;
use super::trigger::Trigger;
use super::unattended::Unattended;
use super::work::Work;
use crate::failure::{Failure, ensure};
use crate::supervision;

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) stopped: bool,
    /// The supervisor, if the agent is a child.
    pub(super) child: Option<AgentId>,
    /// An agent has begun it, not an operator.
    begun: bool,
    /// It has ended, or only its log is left.
    pub(super) retired: bool,
    pub(super) archived: bool,
    /// Replaces the first of the configured models.
    pub(super) model: Option<ModelRef>,
    pub(super) label: AgentLabel,
    pub(super) run: Option<(RunId, MessageId)>,
    pub(super) last: u64,
    /// Entries and bytes from outside, and the runtime's own.
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
    /// Sources with pending hints, and whether one of these has a body.
    pub(super) hints: BTreeMap<String, bool>,
    pub(super) others: Outside,
    /// Messages that the last decision of the scheduler names.
    decided: Vec<MessageId>,
    pub(super) trigger: Trigger,
    pub(super) asks: Asks,
    /// Keys of requests that have made something.
    pub(super) made: Keys,
    pub(super) notified: Notified,
}

/// Longest text of a message that reports hints.
const TICK_BYTES: u64 = 1 << 10;

/// A message that has not ended.
#[derive(Debug, Clone, Copy)]
struct Alive {
    priority: Priority,
    bytes: u64,
    own: bool,
    kind: MessageKind,
}

/// An idempotency key at its last use.
#[derive(Debug, Clone)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) payload: ContentId,
    pub(super) message: MessageId,
    at: Wall,
    /// Keyed admissions after this one.
    younger: u64,
    /// The key's time was over once: the core may forget it whatever the clock does later.
    pub(super) expired: bool,
    /// So many younger keys came that the core has forgotten this one.
    crowded_out: bool,
}

impl Model {
    pub(super) fn of(spec: &AgentSpec) -> Self {
        let child = spec.supervisor.as_ref().map(|supervisor| supervisor.agent_id.clone());
        Self { child, begun: spec.lineage_parent_agent_id.is_some(), ..Self::default() }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record, config: &Config, no_space: bool) -> Result<(), Failure> {
        if let Event::Wake(fact) = &record.event {
            self.hinted(fact);
            self.others.hinted(record.at, fact, &config.unattended)?;
            self.trigger.apply(fact, |hint| self.unattended.is_named(hint))?;
        }
        match &record.event {
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => {
                self.fits(&fact.message, config, no_space)?;
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
                self.hints_are_kept(config, no_space)
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if fact.action == ControlAction::Stop => {
                self.hints.clear();
                self.others.stopped();
                // An outbox message of its supervisor may have stopped it.
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
            // The agent that began it chose this model; operators request models themselves.
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

    /// Pending hints of one source are coalesced.
    fn hinted(&mut self, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                // The folded hint may be the new one.
                self.hints.insert(fact.hint.source.clone(), fact.hint.body.is_some());
                self.hints.retain(|source, _| Some(source) != fact.folded.as_ref());
            }
            WakeFact::WakeHintCoalesced(fact) => {
                if let Some(has_body) = self.hints.get_mut(&fact.hint.source) {
                    *has_body |= fact.hint.body.is_some();
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

    /// A stop drops hints without a body only, as long as a message that reports the others fits into the queue.
    fn hints_are_kept(&self, config: &Config, no_space: bool) -> Result<(), Failure> {
        let (most, most_bytes) = bounds(config, false, true);
        let (entries, bytes) = self.beside(true);
        let fits = !no_space && entries < most && bytes + TICK_BYTES <= most_bytes;
        let lost =
            self.hints.iter().find(|(_, has_body)| **has_body).filter(|_| fits && self.child.is_none());
        ensure!(lost.is_none(), "W3", "a stop clears the hints of {lost:?}, and they say something");
        Ok(())
    }

    /// The models that a run beginning now asks: the override replaces the first, and no model is asked twice.
    fn models<'a>(&'a self, config: &'a Config) -> Vec<&'a ModelRef> {
        let mut models: Vec<&ModelRef> = config.models.iter().collect();
        if let (Some(model), Some(first)) = (&self.model, models.first_mut()) {
            *first = model;
            let mut position = 0;
            models.retain(|other| {
                position += 1;
                position == 1 || *other != model
            });
        }
        models
    }

    /// Q8: the message fits into the queue beside the operators' reserve.
    fn fits(&self, message: &Message, config: &Config, no_space: bool) -> Result<(), Failure> {
        let own = message.admission_context == AdmissionContext::RuntimeOwned;
        let operator = matches!(message.origin, Origin::Operator { .. });
        let (most, most_bytes) = if no_space { (0, 0) } else { bounds(config, operator, own) };
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
                // This admission removes the key, even if a later configuration keeps more.
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
        let alive =
            Alive { priority, bytes: fact.message.bytes(), own, kind: supervision::standing(&fact.message) };
        let used = self.used(own);
        *used = (used.0 + 1, used.1 + alive.bytes);
        self.alive.insert(id, alive);
        self.queued.insert((priority, id));
        Ok(())
    }

    /// Takes a message out of the queue. Under a hold the scheduler may pass over the first one.
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

    /// The band of a message; an unknown one is in the last.
    fn band(&self, message: MessageId) -> Priority {
        self.alive.get(&message).map_or(Priority::Background, |alive| alive.priority)
    }

    pub(super) fn unfinished(&self) -> Option<MessageId> {
        self.alive.keys().next().copied()
    }

    /// Whether a message is queued that does not wait for its time.
    pub(super) fn has_queued(&self) -> bool {
        let kind = |message: &MessageId| self.alive.get(message).map(|alive: &Alive| alive.kind);
        let waits = |message: &MessageId| self.work.waits(*message) || self.unattended.waits(kind(message));
        self.queued.iter().any(|(_, message)| !waits(message))
    }

    /// The entries and bytes that limit a message: the runtime's own messages count everything, others only what came
    /// from outside.
    pub(super) fn beside(&self, own: bool) -> (u64, u64) {
        let (entries, bytes) = if own { self.own } else { (0, 0) };
        (self.outside.0 + entries, self.outside.1 + bytes)
    }
}
