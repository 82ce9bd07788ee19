//! Clients and operators: their requests, and repeats of requests that were not acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::wait::token;
use holon_core::input::ControlRequest;
use holon_core::{Answer, Input};
use holon_facts::hint::Hint;
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::ids::{BriefId, DepositId, Seed, TaskId, TimerId, WaitId, WorkItemId};
use holon_facts::label::{Description, LabelChange};
use holon_facts::message::{Idempotency, Ingress, Origin};
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::{AdmissionContext, MessageKind, Surface};
use holon_facts::timer::{Misfire, TimerSpec};
use holon_facts::trigger::{Delivery, DeliveryMode, TriggerChange};
use holon_facts::work::{NewWorkItem, PlanStatus};
use holon_facts::{AgentId, ContentId, Millis, ReplyId, RunId, Text};

use crate::commands;
use crate::performer::{image, stored};
use crate::scenario::{Action, Keyed, Meddling, Message, Naming, Sender};
use crate::skills;
use crate::tools::workspace_of;

/// A request of a client, kept until it is answered or can't be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub agent: u32,
    pub action: Action,
}

/// A request in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub request: Request,
    pub since: u64,
    /// A performer was in flight for the agent, or for any, when the request was made.
    pub disturbs: bool,
    /// The operations that an obeyed stop interrupts.
    pub meets: BTreeSet<&'static str>,
    /// A full disk must not delay it.
    pub urgent: bool,
}

/// Requests in flight, by the reply id of each.
#[derive(Debug, Default)]
pub struct Clients {
    pub waiting: BTreeMap<ReplyId, Waiting>,
    next: u64,
}

impl Clients {
    pub fn next_reply(&mut self) -> ReplyId {
        self.next += 1;
        ReplyId(self.next)
    }

    /// The connection broke: repeatable requests will be repeated.
    pub fn disconnected(&mut self) -> Vec<Request> {
        let lost = std::mem::take(&mut self.waiting);
        lost.into_values().map(|waiting| waiting.request).filter(Request::repeatable).collect()
    }
}

impl Request {
    /// Whether sending a request twice has the effect of sending it once.
    pub fn repeatable(&self) -> bool {
        match &self.action {
            Action::Message(message) => message.key.is_some(),
            Action::RunTask { keyed, .. } | Action::CreateTimer { keyed, .. } => keyed.is_some(),
            Action::Create { .. }
            | Action::Start
            | Action::Stop
            | Action::Archive
            | Action::Rename { .. }
            | Action::Describe
            | Action::CloseAsk { .. }
            | Action::Model { .. }
            | Action::Compact
            | Action::StopTask { .. }
            | Action::CancelTimer { .. }
            | Action::CreateWork { .. }
            | Action::CompleteWork { .. }
            | Action::Wake { .. }
            | Action::Deliver { .. }
            | Action::Restart => true,
            Action::Abort { .. }
            | Action::ChangeTrigger { .. }
            | Action::Meddle { .. }
            | Action::Place { .. }
            | Action::WriteTask { .. }
            | Action::Login { .. }
            | Action::Kill { .. }
            | Action::Suspend { .. }
            | Action::Freeze { .. }
            | Action::ClockJump { .. }
            | Action::Tick => false,
        }
    }
}

impl Request {
    /// Whether an answer shows that the request has made something before, under its key.
    pub fn was_made_before(&self, answer: &Answer) -> bool {
        let (Action::RunTask { keyed, .. }
        | Action::CreateTimer { keyed, .. }
        | Action::CreateWork { keyed }) = &self.action
        else {
            return false;
        };
        let again = matches!(
            answer,
            Answer::Task { changed: false, .. }
                | Answer::Timer { changed: false, .. }
                | Answer::WorkItem { changed: false, .. }
        );
        keyed.is_some() && again
    }
}

/// A model that no configuration names.
pub fn other_model(number: u32) -> Option<ModelRef> {
    ModelRef::new(&format!("other/m{number}")).ok()
}

/// The agent with a number.
pub fn agent_id(number: u32) -> AgentId {
    format!("a{number}").parse().unwrap_or_else(|_| unreachable!("a letter and digits"))
}

/// The core's input for a request; none if the request concerns the world alone.
pub fn input(request: &Request, seed: Seed, reply: ReplyId) -> Option<Input> {
    let agent = agent_id(request.agent);
    match &request.action {
        Action::Create { settings } => {
            let spec = AgentSpec::named(AgentKind::Named, workspace_of(&agent));
            Some(Input::CreateAgent { agent, spec, settings: initial_settings(*settings), reply })
        }
        Action::Message(message) => {
            let correlation_id = message.names.map(|naming| name_of(naming, seed, &agent));
            Some(Input::Ingress { agent, ingress: Ingress { correlation_id, ..ingress(message) }, reply })
        }
        Action::Start => Some(Input::Control { agent, request: ControlRequest::Start, reply }),
        Action::Stop => Some(Input::Control { agent, request: ControlRequest::Stop, reply }),
        Action::Archive => Some(Input::Control { agent, request: ControlRequest::Archive, reply }),
        Action::Rename { name } => {
            Some(labelled(agent, LabelChange::Rename { name: Some(agent_id(*name)) }, reply))
        }
        Action::Describe => Some(labelled(agent, described(), reply)),
        Action::Abort { run, stop } => {
            let request = ControlRequest::Abort { run_id: run.map(RunId), stop_after_abort: *stop };
            Some(Input::Control { agent, request, reply })
        }
        Action::Compact => Some(Input::Compact { agent, reply }),
        Action::CloseAsk { brief } => Some(Input::CloseAsk { agent, brief: BriefId(*brief), reply }),
        Action::Model { number } => {
            Some(Input::SetModel { agent, model: number.and_then(other_model), reply })
        }
        Action::RunTask { command, keyed } => {
            let arguments = Text::Inline(commands::arguments(*command).into());
            Some(Input::RunTask { agent, arguments, key: keyed.map(idempotency), reply })
        }
        Action::StopTask { task, force } => {
            Some(Input::StopTask { agent, task: TaskId(*task), force: *force, reply })
        }
        Action::WriteTask { task, bytes } => {
            Some(Input::WriteTask { agent, task: TaskId(*task), text: text(*bytes), reply })
        }
        Action::CreateTimer { seconds, every, misfire, summary, keyed } => {
            let timer = timer(*seconds, *every, *misfire, *summary);
            Some(Input::CreateTimer { agent, timer, key: keyed.map(idempotency), reply })
        }
        Action::CancelTimer { timer } => Some(Input::CancelTimer { agent, timer: TimerId(*timer), reply }),
        Action::CreateWork { keyed } => {
            Some(Input::CreateWorkItem { agent, item: work_item(), key: keyed.map(idempotency), reply })
        }
        Action::CompleteWork { item } => {
            Some(Input::CompleteWorkItem { agent, item: WorkItemId(*item), reply })
        }
        Action::Wake { source, says, wait, about } => {
            let hint = hint(*source, u32::from(*says), *about);
            Some(Input::Wake { agent, hint: Hint { wait_id: named(*wait), ..hint }, reply })
        }
        Action::Deliver { generation, source, says, about } => {
            let delivery = delivery(*generation, hint(*source, *says, *about));
            Some(Input::Deliver { agent, delivery, reply })
        }
        Action::ChangeTrigger { revoke } => {
            Some(Input::ChangeTrigger { agent, change: trigger_change(*revoke), reply })
        }
        Action::Meddle { task, how } => meddle(&agent, *task, *how, reply),
        Action::Place { folder, how } => {
            Some(Input::ChangeWorkspace { change: how.change(&agent, *folder), agent, reply })
        }
        Action::Restart => Some(Input::Drain { reply }),
        Action::Login { .. }
        | Action::Kill { .. }
        | Action::Suspend { .. }
        | Action::Freeze { .. }
        | Action::ClockJump { .. }
        | Action::Tick => None,
    }
}

/// The provider with a number: one of those that configurations and requests name.
pub fn provider(number: u32) -> &'static str {
    ["a", "b", "other"][number as usize % 3]
}

fn labelled(agent: AgentId, change: LabelChange, reply: ReplyId) -> Input {
    Input::Label { agent, change, reply }
}

fn described() -> LabelChange {
    LabelChange::Describe { description: Description::new("works").ok() }
}

fn delivery(generation: u64, hint: Hint) -> Delivery {
    Delivery { generation, delivery_mode: DeliveryMode::WakeHint, hint }
}

fn trigger_change(revokes: bool) -> TriggerChange {
    if revokes { TriggerChange::Revoke } else { TriggerChange::Rotate }
}

/// The wait with a number; 0 is none.
fn named(wait: u64) -> Option<WaitId> {
    (wait > 0).then_some(WaitId(wait))
}

fn idempotency(keyed: Keyed) -> Idempotency {
    Idempotency { key: format!("r{}", keyed.key), payload: ContentId([keyed.payload; 32]) }
}

fn initial_settings(some: bool) -> InitialSettings {
    if !some {
        return InitialSettings::default();
    }
    InitialSettings { model: other_model(1), description: Description::new("works").ok() }
}

fn timer(seconds: u32, every: Option<u32>, misfire: Misfire, summary: u32) -> TimerSpec {
    let millis = |seconds: u32| Millis::seconds(seconds.into());
    let (duration_ms, interval_ms) = (millis(seconds), every.map(millis));
    let summary = (summary > 0).then(|| "x".repeat(summary as usize));
    TimerSpec { duration_ms, interval_ms, misfire, summary }
}

fn work_item() -> NewWorkItem {
    let (objective, plan_status, todo_list) = ("go".into(), PlanStatus::Ready, Vec::new());
    NewWorkItem { objective, plan_status, todo_list, plan: false }
}

/// How a message names a wait: by token or by number.
fn name_of(naming: Naming, seed: Seed, agent: &AgentId) -> String {
    let wait = WaitId(naming.wait);
    if naming.token { token::of(seed, agent, wait) } else { wait.to_string() }
}

/// The id of a child has the id of its parent and the number of its task.
fn meddle(parent: &AgentId, task: u64, how: Meddling, reply: ReplyId) -> Option<Input> {
    let agent: AgentId = format!("{parent}--{task}").parse().ok()?;
    let text = Text::Inline("psst".into());
    let control = |agent, request| Input::Control { agent, request, reply };
    Some(match how {
        Meddling::Create => {
            let spec = AgentSpec::named(AgentKind::Named, workspace_of(&agent));
            Input::CreateAgent { agent, spec, settings: InitialSettings::default(), reply }
        }
        Meddling::Prompt | Meddling::Enqueue => {
            let (surface, proof) = if how == Meddling::Prompt {
                (Surface::HttpControlPrompt, AdmissionContext::ControlAuthenticated)
            } else {
                (Surface::HttpPublicEnqueue, AdmissionContext::PublicUnauthenticated)
            };
            Input::Ingress { agent, ingress: Ingress::prompt(text, surface, proof), reply }
        }
        Meddling::Start => control(agent, ControlRequest::Start),
        Meddling::Stop => control(agent, ControlRequest::Stop),
    })
}

fn hint(source: u32, says: u32, about: u32) -> Hint {
    let named = |number: u32, others: &str| match number {
        0 => "ci".into(),
        _ => format!("{others} {number}"),
    };
    let name = named(source, "source");
    let resource = about.checked_sub(1).map(|number| named(number, "resource"));
    let body = (says > 0).then(|| Text::Inline(format!("passed {says}")));
    Hint { body, resource, ..Hint::new(name, "it moved") }
}

/// Bytes of a name that is too long.
const LONG: usize = 2_000;

/// A text of so many bytes.
fn text(bytes: u32) -> Text {
    match bytes {
        0..=256 => Text::Inline("x".repeat(bytes as usize)),
        bytes => stored(u64::from(bytes), u64::from(bytes)),
    }
}

fn ingress(message: &Message) -> Ingress {
    use AdmissionContext as Proof;
    let operator = Origin::Operator { actor_id: None };
    let webhook = Origin::Webhook { source: "ci".into(), event_type: None };
    let system = Origin::System { subsystem: "sim".into() };
    let channel = Origin::Channel { channel_id: "c".into(), sender_id: None };
    let callback = Origin::Callback { descriptor_id: "d".into(), source: None };
    let task = Origin::Task { task_id: "t".into() };
    let (kind, origin, delivery_surface, admission_context) = match message.sender {
        Sender::Operator => {
            (MessageKind::OperatorPrompt, operator, Surface::HttpControlPrompt, Proof::ControlAuthenticated)
        }
        Sender::Channel => {
            (MessageKind::ChannelEvent, channel, Surface::HttpPublicEnqueue, Proof::PublicUnauthenticated)
        }
        Sender::Webhook => {
            (MessageKind::WebhookEvent, webhook, Surface::HttpWebhook, Proof::PublicUnauthenticated)
        }
        Sender::Callback => {
            let surface = Surface::HttpCallbackEnqueue;
            (MessageKind::CallbackEvent, callback, surface, Proof::ExternalTriggerCapability)
        }
        Sender::SystemTick => (MessageKind::SystemTick, system, Surface::RuntimeSystem, Proof::RuntimeOwned),
        Sender::TaskResult => (MessageKind::TaskResult, task, Surface::TaskRejoin, Proof::RuntimeOwned),
        Sender::BriefAck => (MessageKind::BriefAck, system, Surface::RuntimeSystem, Proof::RuntimeOwned),
        Sender::Impostor => {
            (MessageKind::OperatorPrompt, webhook, Surface::HttpWebhook, Proof::PublicUnauthenticated)
        }
        Sender::Timer => {
            let origin = Origin::Timer { timer_id: "t1".into() };
            (MessageKind::TimerTick, origin, Surface::RuntimeSystem, Proof::RuntimeOwned)
        }
        Sender::Followup => {
            (MessageKind::InternalFollowup, system, Surface::RuntimeSystem, Proof::RuntimeOwned)
        }
        Sender::TaskStatus => (MessageKind::TaskStatus, task, Surface::TaskRejoin, Proof::RuntimeOwned),
        Sender::BriefResult => {
            (MessageKind::BriefResult, system, Surface::RuntimeSystem, Proof::RuntimeOwned)
        }
        Sender::Control => {
            (MessageKind::Control, operator, Surface::HttpControlPrompt, Proof::ControlAuthenticated)
        }
        Sender::LongName => {
            let origin = Origin::Channel { channel_id: "n".repeat(LONG), sender_id: None };
            (MessageKind::ChannelEvent, origin, Surface::HttpPublicEnqueue, Proof::PublicUnauthenticated)
        }
    };
    let text = message.text.as_ref().map_or_else(|| text(message.bytes), Text::short);
    let idempotency = message
        .key
        .map(|key| Idempotency { key: format!("k{key}"), payload: ContentId([message.payload; 32]) });
    let source_refs = (0..message.refs).map(|number| (format!("r{number}"), String::new())).collect();
    // Prompts of operators are built as the shell builds them.
    let prompt = Ingress::prompt(text, delivery_surface, admission_context);
    // One or two large images fit, three are too large together; of small ones ten fit.
    let bytes = if message.images > 3 { 30 } else { 3_400_000 };
    let images = (0..message.images).map(|number| image(u64::from(number), bytes)).collect();
    let skills = skills::given(message.skills);
    let (priority, deposit) = (message.priority, message.deposit.map(DepositId));
    Ingress { kind, origin, priority, source_refs, images, skills, idempotency, deposit, ..prompt }
}
