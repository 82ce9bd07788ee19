//! A small model of what was promised: which messages exist and where each is, whether an agent may run, what a caller
//! must be answered. It reads calls and records, and shares no code with the core; a recovery is like any other call.

mod admission;
mod agent;
mod applied;
mod asks;
mod begins;
mod label;
mod made;
mod makes;
mod notified;
mod outside;
mod tasks;
mod time;
mod timers;
mod trigger;
mod unattended;
mod work;
mod workspaces;

use std::collections::{BTreeMap, BTreeSet};

use admission::New;
use agent::Model;
use applied::{has_ended, is_applied};
use begins::Begins;
use holon_core::input::ControlRequest;
use holon_core::replay::Call;
use holon_core::{Answer, Input};
use holon_facts::event::{InboxFact, LifecycleFact, TaskFact};
use holon_facts::hint::WakeDisposition;
use holon_facts::ids::{TaskId, TimerId, WorkItemId};
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::Status;
use holon_facts::message::Ingress;
use holon_facts::model_ref::ModelRef;
use holon_facts::provenance::Surface;
use holon_facts::trigger::TriggerStatus;
use holon_facts::{AgentId, Config, Event, MessageId, Record, ReplyId};
use tasks::Tasks;
use time::Time;
use workspaces::workspace_is_changed;

use crate::failure::{Failure, ensure};

/// All agents, as far as anything was promised about them.
#[derive(Debug, Clone)]
pub struct Reference {
    config: Config,
    agents: BTreeMap<AgentId, Model>,
    /// Agents that are started and idle and have something queued.
    idle_with_work: BTreeSet<AgentId>,
    running: BTreeSet<AgentId>,
    archived: BTreeSet<AgentId>,
    draining: bool,
    time: Time,
    begins: Begins,
    expected: BTreeMap<ReplyId, Vec<Reply>>,
    /// The authority of every message of an agent, in the order of admission.
    authority: BTreeMap<AgentId, Vec<&'static str>>,
    /// Sabotage: nothing fits into a queue.
    pub(crate) no_space: bool,
    /// Sabotage: every task was reported already, or no agent knows of any.
    pub(crate) delivered: bool,
    pub(crate) unshown: bool,
    /// Sabotage: every timer is overdue.
    pub(crate) hasty: bool,
    /// Messages that were admitted.
    pub(crate) admissions: u64,
}

/// An answer without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reply {
    Created,
    Admitted {
        message: MessageId,
        duplicate: bool,
    },
    Refused(&'static str),
    Controlled {
        stopped: bool,
        changed: bool,
    },
    ModelSet {
        model: Option<ModelRef>,
        changed: bool,
    },
    Task {
        task: TaskId,
        changed: bool,
    },
    Input {
        task: TaskId,
        accepted: bool,
    },
    Timer {
        timer: TimerId,
        changed: bool,
    },
    Workspaces {
        changed: bool,
    },
    AskClosed,
    Compaction,
    Labelled {
        label: AgentLabel,
        changed: bool,
    },
    /// A hint was taken; whether another of its source was pending.
    Woken {
        waits: bool,
    },
    Trigger {
        generation: u64,
        active: bool,
        changed: bool,
    },
    WorkItem {
        item: WorkItemId,
        changed: bool,
    },
    Drained,
}

impl Reference {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            agents: BTreeMap::new(),
            idle_with_work: BTreeSet::new(),
            running: BTreeSet::new(),
            archived: BTreeSet::new(),
            draining: false,
            time: Time::default(),
            begins: Begins::default(),
            expected: BTreeMap::new(),
            authority: BTreeMap::new(),
            no_space: false,
            delivered: false,
            unshown: false,
            hasty: false,
            admissions: 0,
        }
    }

    /// Applies a call of the host, with its records.
    pub fn step(&mut self, call: &Call, records: &[Record]) -> Result<(), Failure> {
        let input = match call {
            Call::RuntimeStarted { config, .. } => {
                self.draining = false;
                self.config = config.clone();
                self.time.started();
                self.begins.started();
                return Ok(());
            }
            Call::Admit { .. } | Call::Park { .. } | Call::Copy { .. } | Call::AgentsLeft { .. } => {
                return Ok(());
            }
            Call::Recover { now, .. } => {
                self.time.read(*now);
                None
            }
            Call::Step { now, input } => {
                self.time.read(*now);
                Some(input)
            }
        };
        let before = input.map(|input| self.before(input)).unwrap_or_default();
        if let Some(Input::Control { agent, request, .. }) = input {
            self.command(agent, request);
        }
        // A model counts from its request on: a turn that begins in the same step has it already.
        if let Some(Input::SetModel { agent, model, .. }) = input
            && let Some(known) = self.agents.get_mut(agent)
        {
            known.model.clone_from(model);
        }
        let follows = self.follows(input);
        follows.check(input, records)?;
        // Whether another command of the agent could begin, before each record.
        let mut full = Vec::new();
        for record in records {
            if let Some(Input::RunTask { agent, .. }) = input {
                full.push(self.begins.refuses(agent, &self.config));
            }
            self.record(record)?;
            if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event {
                let asked = match input {
                    // Messages to other agents in the same step were not asked for by this input.
                    Some(Input::Ingress { agent, ingress, .. }) if *agent == record.agent => {
                        self.admissions += 1;
                        Some(ingress.kind).filter(|_| !admission::of_runtime(&fact.message))
                    }
                    Some(_) | None => None,
                };
                let of_agent = self.authority.entry(record.agent.clone()).or_default();
                of_agent.push(admission::authority(asked.unwrap_or(fact.message.kind)));
            }
        }
        if let Some(input) = input {
            if let Input::RunTask { agent, .. } = input {
                full.push(self.begins.refuses(agent, &self.config));
            }
            self.expect(input, &before, records, &full);
        }
        for (reply, answer) in self.begins.answers(input, records) {
            self.expected.insert(reply, vec![answer]);
        }
        let concerned = records.iter().map(|record| &record.agent).chain(input.and_then(Input::agent));
        let concerned: BTreeSet<&AgentId> = concerned.collect();
        concerned.into_iter().for_each(|agent| self.note(agent));
        Ok(())
    }

    /// Updates the sets of agents after a step.
    fn note(&mut self, agent: &AgentId) {
        let Some(model) = self.agents.get(agent) else { return };
        let idles = !model.stopped && model.run.is_none() && model.has_queued();
        for (set, is) in [
            (&mut self.idle_with_work, idles),
            (&mut self.running, model.run.is_some()),
            (&mut self.archived, model.archived),
        ] {
            if is {
                set.insert(agent.clone());
            } else {
                set.remove(agent);
            }
        }
    }

    /// A start or a stop counts from the moment of the request.
    fn command(&mut self, agent: &AgentId, request: &ControlRequest) {
        if let Some(model) = self.agents.get_mut(agent) {
            match request {
                ControlRequest::Start => model.stopped = model.retired,
                ControlRequest::Stop | ControlRequest::Archive => model.stopped = true,
                ControlRequest::Abort { .. } => {}
            }
        }
    }

    fn record(&mut self, record: &Record) -> Result<(), Failure> {
        self.time.stamps(record)?;
        self.begins.apply(record);
        if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event {
            self.agents.insert(record.agent.clone(), Model::of(&fact.spec));
            return Ok(());
        }
        let no_space = self.no_space;
        let Some(model) = self.agents.get_mut(&record.agent) else { return Ok(()) };
        (model.tasks.deaf, model.tasks.blind) = (self.delivered, self.unshown);
        model.tasks.apply(&record.event)?;
        model.timers.hasty = self.hasty;
        model.timers.apply(record);
        model.work.apply(record, &self.config.work.deferrals)?;
        model.unattended.apply(record, &self.config.unattended)?;
        model.asks.apply(&record.event)?;
        model.notified.apply(&record.event);
        model.made.apply(record, &self.config)?;
        model.apply(record, &self.config, no_space)
    }

    fn before(&self, input: &Input) -> Before {
        let agent = match input {
            Input::CreateAgent { agent, .. }
            | Input::Ingress { agent, .. }
            | Input::Control { agent, .. }
            | Input::RunTask { agent, .. }
            | Input::StopTask { agent, .. }
            | Input::WriteTask { agent, .. }
            | Input::CreateTimer { agent, .. }
            | Input::CancelTimer { agent, .. }
            | Input::CreateWorkItem { agent, .. }
            | Input::CompleteWorkItem { agent, .. }
            | Input::Wake { agent, .. }
            | Input::Deliver { agent, .. }
            | Input::ChangeTrigger { agent, .. }
            | Input::ChangeWorkspace { agent, .. }
            | Input::SetModel { agent, .. }
            | Input::Label { agent, .. }
            | Input::CloseAsk { agent, .. }
            | Input::Compact { agent, .. } => self.agents.get(agent).cloned(),
            // These inputs have no answer about one agent.
            Input::Completed { .. }
            | Input::PlanProbed { .. }
            | Input::TreeKept { .. }
            | Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick
            | Input::Drain { .. } => None,
        };
        let alive = (self.agents.len() - self.archived.len()) as u64;
        Before { agent, agents: alive }
    }

    /// Notes the answers that the caller may get, and what the request alone changes.
    fn expect(&mut self, input: &Input, before: &Before, records: &[Record], full: &[bool]) {
        let (reply, replies) = match input {
            Input::CreateAgent { agent, settings, reply, .. } => {
                (*reply, self.creation(before, agent, settings))
            }
            Input::Ingress { agent, ingress, reply } => {
                (*reply, self.is_admitted(agent, ingress, before, records))
            }
            Input::Control { agent, request, reply } => {
                (*reply, self.control(agent, request, before, records))
            }
            Input::SetModel { model, reply, .. } => {
                (*reply, vec![label::model_is_set(before, model.as_ref())])
            }
            Input::Compact { reply, .. } => (*reply, of_agent(before, |_| vec![Reply::Compaction])),
            Input::CloseAsk { agent, brief, reply } => {
                (*reply, asks::is_closed(before, *brief, agent, records))
            }
            Input::Label { agent, change, reply } => (*reply, self.is_labelled(agent, before, change)),
            Input::RunTask { agent, key, reply, .. } => {
                let Some(replies) = self.task_begins((agent, *reply, key.as_ref()), before, records, full)
                else {
                    return;
                };
                (*reply, replies)
            }
            Input::StopTask { agent, task, force, reply } => {
                (*reply, task_is_ended(before, agent, (*task, *force), records))
            }
            Input::WriteTask { agent, task, text, reply } => {
                (*reply, self.task_is_written(before, agent, (*task, text.bytes()), records))
            }
            Input::CreateTimer { agent, timer, key, reply } => {
                (*reply, self.timer_is_made(before, timer, (agent, key.as_ref()), records))
            }
            Input::CancelTimer { timer, reply, .. } => {
                (*reply, of_agent(before, |agent| agent.timers.cancel(*timer)))
            }
            Input::CreateWorkItem { agent, key, reply, .. } => {
                (*reply, self.item_is_made(before, (agent, key.as_ref()), records))
            }
            Input::CompleteWorkItem { item, reply, .. } => {
                (*reply, of_agent(before, |agent| agent.work.complete(*item)))
            }
            Input::Wake { hint, reply, .. } => (*reply, self.hint_is_taken(before, hint)),
            Input::Deliver { delivery, reply, .. } => (*reply, self.is_delivered(before, delivery)),
            Input::ChangeTrigger { change, reply, .. } => (*reply, trigger::is_changed(before, *change)),
            Input::ChangeWorkspace { agent, reply, .. } => {
                (*reply, workspace_is_changed(before, agent, records))
            }
            Input::Drain { reply } => {
                self.draining = true;
                (*reply, vec![Reply::Drained])
            }
            Input::Completed { .. }
            | Input::PlanProbed { .. }
            | Input::TreeKept { .. }
            | Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick => return,
        };
        self.expected.insert(reply, replies);
    }

    /// Only its supervisor sends messages to a child.
    fn is_admitted(
        &self,
        agent: &AgentId,
        ingress: &Ingress,
        before: &Before,
        records: &[Record],
    ) -> Vec<Reply> {
        let Some(was) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
        if was.child.is_some() {
            let outside = ingress.delivery_surface == Surface::HttpPublicEnqueue;
            return vec![Reply::Refused(if outside { "unknown_agent" } else { "private_agent" })];
        }
        let (at, new) = ((self.draining, self.time.now()), New::of(agent, records));
        admission::expected(&self.config, at, was, new, ingress)
    }

    /// Nothing is written for a stopped agent, or once the runtime ends.
    fn task_is_written(
        &self,
        before: &Before,
        agent: &AgentId,
        (task, bytes): (TaskId, u64),
        records: &[Record],
    ) -> Vec<Reply> {
        let stopped = before.agent.as_ref().is_some_and(|agent| agent.stopped);
        let closed = if self.draining { Some("draining") } else { stopped.then_some("agent_stopped") };
        let mut replies = of_task(before, |tasks| match closed {
            Some(code) => tasks.closed(task, Reply::Refused(code)),
            None => tasks.write(task, bytes),
        });
        if begins(agent, task, records) {
            let now = self.agents.get(agent);
            replies.extend(now.into_iter().flat_map(|agent| agent.tasks.write(task, bytes)));
        }
        replies
    }

    fn control(
        &mut self,
        agent: &AgentId,
        request: &ControlRequest,
        before: &Before,
        records: &[Record],
    ) -> Vec<Reply> {
        let applied = is_applied(agent, request, records);
        let (Some(model), Some(was)) = (self.agents.get_mut(agent), &before.agent) else {
            return vec![Reply::Refused("unknown_agent")];
        };
        match request {
            ControlRequest::Start if was.retired => vec![Reply::Refused("agent_archived")],
            ControlRequest::Start => {
                vec![Reply::Controlled { stopped: false, changed: was.stopped || applied }]
            }
            ControlRequest::Stop => {
                vec![Reply::Controlled { stopped: true, changed: !was.stopped }]
            }
            ControlRequest::Archive if was.child.is_some() => vec![Reply::Refused("private_agent")],
            ControlRequest::Archive => {
                let changed = !was.stopped || !was.label.archived;
                vec![Reply::Controlled { stopped: true, changed }]
            }
            ControlRequest::Abort { run_id, stop_after_abort } => {
                let fits = was.run.is_some_and(|(run, _)| run_id.is_none_or(|asked| asked == run));
                if fits && applied {
                    model.stopped = *stop_after_abort;
                    return vec![Reply::Controlled { stopped: *stop_after_abort, changed: true }];
                }
                // A deadline at the beginning of the step may have ended the run.
                let run = was.run.filter(|(run, _)| !has_ended(agent, *run, records));
                vec![Reply::Refused(if run.is_some() { "stale_run_id" } else { "no_current_run" })]
            }
        }
    }

    /// Checks an answer against the expected ones.
    pub fn answered(&mut self, reply: ReplyId, answer: &Answer) -> Result<(), Failure> {
        let got = match answer {
            Answer::Created { .. } => Reply::Created,
            Answer::Admitted { message_id, duplicate } => {
                Reply::Admitted { message: *message_id, duplicate: *duplicate }
            }
            Answer::Controlled(outcome) => {
                Reply::Controlled { stopped: outcome.next == Status::Stopped, changed: outcome.changed }
            }
            Answer::ModelSet { state, changed } => {
                Reply::ModelSet { model: state.override_model.clone(), changed: *changed }
            }
            Answer::AskClosed { .. } => Reply::AskClosed,
            Answer::Compaction { .. } => Reply::Compaction,
            Answer::Labelled { label, changed } => {
                Reply::Labelled { label: label.clone(), changed: *changed }
            }
            Answer::Task { task, changed } => Reply::Task { task: task.id, changed: *changed },
            Answer::TaskInput { task, input } => {
                Reply::Input { task: task.id, accepted: input.bytes_written > 0 }
            }
            Answer::Workspaces { changed, .. } => Reply::Workspaces { changed: *changed },
            Answer::Timer { timer, changed } => Reply::Timer { timer: timer.id, changed: *changed },
            Answer::WorkItem { item, changed } => Reply::WorkItem { item: item.id, changed: *changed },
            Answer::Woken { disposition } => {
                Reply::Woken { waits: *disposition == WakeDisposition::Coalesced }
            }
            Answer::ExternalTrigger { trigger, changed } => Reply::Trigger {
                generation: trigger.generation,
                active: trigger.status == TriggerStatus::Active,
                changed: *changed,
            },
            Answer::Drained => Reply::Drained,
            Answer::Refused { reject } => Reply::Refused(reject.code()),
        };
        let expected = self.expected.remove(&reply);
        ensure!(expected.is_some(), "Q6", "an answer to nobody: {got:?}");
        let expected = expected.unwrap_or_default();
        ensure!(expected.contains(&got), "G5", "a caller was told {got:?}, expected one of {expected:?}");
        Ok(())
    }

    pub fn stopped(&self, agent: &AgentId) -> Option<bool> {
        self.agents.get(agent).map(|model| model.stopped)
    }

    /// The authority that a message was admitted with.
    pub fn authority(&self, agent: &AgentId, message: MessageId) -> Option<&'static str> {
        let at = usize::try_from(message.0.checked_sub(1)?).ok()?;
        self.authority.get(agent)?.get(at).copied()
    }

    /// Number of keys that an agent may have to remember.
    pub fn keys(&self, agent: &AgentId) -> u64 {
        self.agents.get(agent).map_or(0, |model| model.keys.len() as u64 + model.made.count())
    }

    pub fn holds(&self, agent: &AgentId, message: MessageId) -> bool {
        self.agents.get(agent).is_some_and(|model| message.0 <= model.last)
    }

    /// An admitted message of an agent that has not ended.
    pub fn unfinished(&self, agent: &AgentId) -> Option<MessageId> {
        self.agents.get(agent).and_then(Model::unfinished)
    }

    /// An ended task that was not reported to its agent.
    pub fn undelivered_task(&self, agent: &AgentId) -> Option<TaskId> {
        let model = self.agents.get(agent).filter(|model| !model.stopped)?;
        model.tasks.undelivered()
    }

    /// A timer with occurrences that were not reported to its agent.
    pub fn undelivered_timer(&self, agent: &AgentId) -> Option<TimerId> {
        let model = self.agents.get(agent).filter(|model| !model.stopped)?;
        model.timers.undelivered()
    }

    /// A timer that should have fired by the last record of its agent.
    pub fn overdue(&self, agent: &AgentId) -> Option<TimerId> {
        let model = self.agents.get(agent).filter(|model| !model.stopped)?;
        model.timers.overdue()
    }

    /// A timer of an absent agent that should have fired by now.
    pub fn overdue_at(&self, agent: &AgentId, now: holon_facts::Wall) -> Option<TimerId> {
        let model = self.agents.get(agent).filter(|model| !model.stopped)?;
        model.timers.overdue_at(now)
    }

    /// Agents that should run: started, idle, something queued.
    pub fn idle_with_work(&self) -> impl Iterator<Item = &AgentId> {
        self.idle_with_work.iter()
    }

    pub fn running(&self) -> u64 {
        self.running.len() as u64
    }

    pub fn draining(&self) -> bool {
        self.draining
    }
}

/// Whether a command became that task in this step.
fn begins(agent: &AgentId, task: TaskId, records: &[Record]) -> bool {
    records.iter().any(|record| {
        record.agent == *agent
            && matches!(&record.event, Event::Task(TaskFact::TaskCreated(fact)) if fact.task_id == task)
    })
}

fn task_is_ended(
    before: &Before,
    agent: &AgentId,
    (task, force): (TaskId, bool),
    records: &[Record],
) -> Vec<Reply> {
    of_task(before, |tasks| match begins(agent, task, records) {
        true => vec![Reply::Task { task, changed: true }],
        false => tasks.end(task, force),
    })
}

fn of_task(before: &Before, replies: impl FnOnce(&Tasks) -> Vec<Reply>) -> Vec<Reply> {
    of_agent(before, |agent| replies(&agent.tasks))
}

fn of_agent(before: &Before, replies: impl FnOnce(&Model) -> Vec<Reply>) -> Vec<Reply> {
    before.agent.as_ref().map_or_else(|| vec![Reply::Refused("unknown_agent")], replies)
}

/// The state before a call.
#[derive(Debug, Default)]
struct Before {
    agent: Option<Model>,
    agents: u64,
}
