//! Durable events for whoever listens: the record in its envelope, with where it came from (contract:
//! surface.md, Events).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use holon_facts::event::{
    Event, InboxFact, LifecycleFact, SchedulingFact, TaskFact, TimerFact, TurnFact, WakeFact, WorkFact,
};
use holon_facts::hint::Hint;
use holon_facts::ids::{ExternalTriggerId, MessageId, TaskId, WorkItemId};
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::{AdmissionContext, AuthorityClass, Surface, Trust};
use holon_facts::trigger::DeliveryMode;
use holon_facts::{AgentId, EventSeq, Record, RunId};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use serde::Serialize;

mod subject;

/// Messages whose provenance is remembered; an event of an older one names only its id.
const REMEMBERED: usize = 1_024;

/// Where an event came from, as far as that is known.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Provenance {
    origin: Option<Origin>,
    trust: Option<Trust>,
    authority_class: Option<AuthorityClass>,
    delivery_surface: Option<Surface>,
    admission_context: Option<AdmissionContext>,
    /// How it was brought: `http`, `cli` or `runtime`.
    transport: Option<&'static str>,
    /// What the sender is called there.
    source: Option<String>,
    message_id: Option<MessageId>,
    task_id: Option<TaskId>,
    work_item_id: Option<WorkItemId>,
    correlation_id: Option<String>,
    causation_id: Option<String>,
}

/// Puts the records of one agent into envelopes, in their order.
#[derive(Debug)]
pub struct Envelopes {
    /// Where messages are looked up that were admitted before the first record that is seen here.
    earlier: Option<Earlier>,
    known: BTreeMap<MessageId, Provenance>,
    oldest_first: VecDeque<MessageId>,
    /// At most so many of them.
    remembered: usize,
    /// The message of the run in progress.
    run: Option<(RunId, MessageId)>,
    /// The work item that it is bound to, where it began here.
    work_item: Option<WorkItemId>,
}

#[derive(Debug)]
struct Earlier {
    reader: Arc<Reader>,
    agent: AgentId,
}

impl Default for Envelopes {
    fn default() -> Self {
        Self {
            earlier: None,
            known: BTreeMap::new(),
            oldest_first: VecDeque::new(),
            remembered: REMEMBERED,
            run: None,
            work_item: None,
        }
    }
}

impl Envelopes {
    /// For the records from one on, so that an event has the same envelope wherever a reader began.
    ///
    /// # Errors
    /// When the ledger is damaged.
    pub fn from(reader: Arc<Reader>, agent: AgentId, first: EventSeq) -> Result<Self, LedgerError> {
        let run = reader.run_before(&agent, first)?;
        Ok(Self { earlier: Some(Earlier { reader, agent }), run, ..Self::default() })
    }

    /// The same with so many messages whose provenance is remembered: older ones are looked up.
    #[must_use]
    pub fn remembering(self, messages: usize) -> Self {
        Self { remembered: messages, ..self }
    }

    /// The next record as one line of JSON, without its line end.
    ///
    /// # Errors
    /// None in practice: every payload is a plain struct with string keys.
    pub fn line(&mut self, record: &Record) -> Result<String, serde_json::Error> {
        let provenance = self.provenance(&record.event);
        let provenance = serde_json::to_string(&self.about(provenance, &record.event))?;
        Ok(format!(
            r#"{{"id":"evt_{seq}","event_seq":{seq},"ts":"{at}","agent_id":"{agent}","type":"{kind}","v":{v},"provenance":{provenance},"payload":{payload}}}"#,
            seq = record.event_seq,
            at = record.at,
            agent = record.agent,
            kind = record.event.kind(),
            v = record.event.version(),
            payload = record.event.payload()?
        ))
    }

    fn provenance(&mut self, event: &Event) -> Provenance {
        if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = event {
            self.remember(&fact.message);
        }
        if let Event::Turn(TurnFact::TurnStarted(fact)) = event {
            self.run = Some((fact.run_id, fact.message_id));
            self.work_item = fact.work_item_id;
        }
        let in_run = matches!(event, Event::Turn(_) | Event::Operation(_) | Event::Work(_) | Event::Wait(_));
        let of_run = self.run.filter(|_| in_run).map(|(_, message)| message);
        let message = message(event).or(of_run);
        if let Event::Turn(TurnFact::TurnTerminal(_)) = event {
            self.run = None;
        }
        let Some(message) = message else { return delivered(event).unwrap_or_default() };
        if !self.known.contains_key(&message) {
            self.look_up(message);
        }
        let unknown = Provenance { message_id: Some(message), ..Provenance::default() };
        self.known.get(&message).cloned().unwrap_or(unknown)
    }

    /// With the task and the work item that the fact itself names, or that its run is bound to.
    fn about(&mut self, provenance: Provenance, event: &Event) -> Provenance {
        let of_run =
            matches!(event, Event::Turn(_) | Event::Operation(_)).then_some(self.work_item).flatten();
        if let Event::Turn(TurnFact::TurnTerminal(_)) = event {
            self.work_item = None;
        }
        Provenance {
            task_id: subject::task(event).or(provenance.task_id),
            work_item_id: subject::work_item(event).or(of_run),
            ..provenance
        }
    }

    /// A message whose record can't be read keeps its id: the record itself is told as damaged when it is read.
    fn look_up(&mut self, message: MessageId) {
        let Some(Earlier { reader, agent }) = &self.earlier else { return };
        if let Ok(Some(record)) = reader.admission(agent, message)
            && let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event
        {
            self.remember(&fact.message);
        }
    }

    fn remember(&mut self, message: &Message) {
        let provenance = Provenance {
            origin: Some(message.origin.clone()),
            trust: Some(message.trust),
            authority_class: Some(message.authority_class),
            delivery_surface: Some(message.delivery_surface),
            admission_context: Some(message.admission_context),
            transport: Some(subject::transport(message.delivery_surface)),
            source: subject::source(&message.origin),
            message_id: Some(message.id),
            task_id: subject::origin(&message.origin),
            work_item_id: None,
            correlation_id: message.correlation_id.clone(),
            causation_id: message.causation_id.clone(),
        };
        self.known.insert(message.id, provenance);
        self.oldest_first.push_back(message.id);
        if self.oldest_first.len() > self.remembered
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

/// Of what came through a trigger.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
fn delivered(event: &Event) -> Option<Provenance> {
    let Event::Wake(fact) = event else { return None };
    let (id, source, hint, surface) = match fact {
        WakeFact::ExternalTriggerDelivered(fact) => {
            let surface = match fact.delivery_mode {
                DeliveryMode::WakeHint => Surface::HttpCallbackWake,
                DeliveryMode::EnqueueMessage => Surface::HttpCallbackEnqueue,
            };
            (fact.external_trigger_id, &fact.source, None, surface)
        }
        WakeFact::WakeHintRecorded(fact) => through(&fact.hint)?,
        WakeFact::WakeHintCoalesced(fact) => through(&fact.hint)?,
        _ => return None,
    };
    let (descriptor_id, source) = (id.to_string(), Some(source.clone()));
    Some(Provenance {
        origin: Some(Origin::Callback { descriptor_id, source: source.clone() }),
        trust: Some(Trust::TrustedIntegration),
        authority_class: Some(AuthorityClass::IntegrationSignal),
        delivery_surface: Some(surface),
        admission_context: Some(AdmissionContext::ExternalTriggerCapability),
        transport: Some(subject::transport(surface)),
        source,
        message_id: None,
        task_id: None,
        work_item_id: None,
        correlation_id: hint.and_then(|hint| hint.correlation_id.clone()),
        causation_id: hint.and_then(|hint| hint.causation_id.clone()),
    })
}

fn through(hint: &Hint) -> Option<(ExternalTriggerId, &String, Option<&Hint>, Surface)> {
    Some((hint.external_trigger_id?, &hint.source, Some(hint), Surface::HttpCallbackWake))
}

/// The message that a fact itself names.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
fn message(event: &Event) -> Option<MessageId> {
    match event {
        Event::Inbox(fact) => Some(match fact {
            InboxFact::MessageAdmitted(fact) => fact.message.id,
            InboxFact::MessageDuplicate(fact) => fact.message_id,
            InboxFact::MessageDequeued(fact) => fact.message_id,
            InboxFact::MessageProcessed(fact) => fact.message_id,
            InboxFact::MessageAborted(fact) => fact.message_id,
            InboxFact::MessageDropped(fact) => fact.message_id,
            InboxFact::MessageRequeued(fact) => fact.message_id,
            InboxFact::OperatorInterjectionAdmitted(fact) => fact.message_id,
        }),
        Event::Lifecycle(LifecycleFact::CurrentRunAborted(fact)) => Some(fact.message_id),
        Event::Brief(holon_facts::event::BriefFact::BriefCreated(fact)) => fact.related_message_id,
        Event::Task(TaskFact::TaskCreated(fact)) => fact.parent_message_id,
        Event::Task(TaskFact::TaskResultQueued(fact)) => Some(fact.message_id),
        Event::Task(TaskFact::ChildNeedTold(fact)) => Some(fact.message_id),
        Event::Scheduling(SchedulingFact::SchedulerDecision(fact)) => fact.message_id,
        Event::Scheduling(SchedulingFact::ContinuationResolved(fact)) => Some(fact.message_id),
        Event::Timer(TimerFact::TimerTickQueued(fact)) => Some(fact.message_id),
        Event::Work(WorkFact::DeliverySummaryRecorded(fact)) => Some(fact.related_message_id),
        _ => None,
    }
}
