//! One agent: its durable state, which `apply` alone writes. `handler` decides.

mod apply;
pub mod asks;
pub mod budget;
pub mod child;
pub(crate) mod counters;
pub mod episode;
pub mod external_trigger;
pub mod history;
pub mod hold;
pub mod inbox;
pub mod keys;
pub mod memory;
pub mod model;
pub mod outbox;
pub mod outside;
pub mod recent_commands;
pub mod requests;
pub mod servers;
pub mod skills;
pub mod sleep;
pub mod task;
mod thoughts;
pub mod timer;
pub mod turn;
pub mod unattended;
pub mod wait;
pub mod wake;
pub mod work;
pub mod workspace;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::closure::{ClosureDecision, RuntimePosture};
use holon_facts::continuation::Spent;
use holon_facts::decision::{DeadlineReason, SchedulerDecision};
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::work::WorkTick;
use holon_facts::event::{Event, LifecycleFact};
use holon_facts::identity::AgentSpec;
use holon_facts::ids::{AgentId, EventSeq, OpId, RunId, TaskId, WorktreeId};
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::Status;
use holon_facts::made::Made;
use holon_facts::message::Message;
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::{CommandSpec, SupervisorIdentity};
use holon_facts::record::Record;
use holon_facts::template::AgentTemplate;
use holon_facts::time::Wall;
use holon_facts::workspace::ExecutionBinding;
use serde::{Deserialize, Serialize};

use crate::agent::asks::Asks;
use crate::agent::budget::Account;
use crate::agent::child::Supervision;
use crate::agent::episode::Episodes;
use crate::agent::external_trigger::ExternalTrigger;
use crate::agent::history::History;
use crate::agent::hold::Hold;
use crate::agent::inbox::{Entry, Inbox};
use crate::agent::keys::Keys;
use crate::agent::memory::Memory;
use crate::agent::outbox::Outbox;
use crate::agent::outside::Outside;
use crate::agent::recent_commands::RecentCommands;
use crate::agent::requests::Requests;
use crate::agent::servers::ToolCatalogue;
use crate::agent::skills::Skills;
use crate::agent::sleep::Sleep;
use crate::agent::task::Tasks;
use crate::agent::timer::Timers;
use crate::agent::turn::Run;
use crate::agent::unattended::Unattended;
use crate::agent::wait::Waits;
use crate::agent::wake::Hints;
use crate::agent::work::WorkItems;
use crate::agent::workspace::Workspaces;
use crate::closure::{self, ClosureFacts};
use crate::continuation::{Trigger, liveness_only};

pub use crate::agent::counters::Counters;

/// The fold of an agent's log. Cloning it, or reading it back from a snapshot, gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub spec: AgentSpec,
    pub created_at: Wall,
    /// The last record that was folded in, and its time.
    pub event_seq: EventSeq,
    pub last_at: Wall,
    pub status: Status,
    pub status_since: Wall,
    pub inbox: Inbox,
    pub run: Option<Run>,
    pub ops: BTreeMap<OpId, OpenOp>,
    #[serde(default, skip_serializing_if = "Tasks::is_empty")]
    pub tasks: Tasks,
    #[serde(default, skip_serializing_if = "Timers::is_empty")]
    pub timers: Timers,
    #[serde(default, skip_serializing_if = "WorkItems::is_empty")]
    pub work: WorkItems,
    #[serde(default, skip_serializing_if = "Waits::is_empty")]
    pub waits: Waits,
    #[serde(default, skip_serializing_if = "Hints::is_empty")]
    pub hints: Hints,
    /// None before it was ever provisioned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_trigger: Option<ExternalTrigger>,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub novelty: RecentCommands,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub unattended: Unattended,
    /// Events from outside that it was sent.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub outside: Outside,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub account: Account,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub outbox: Outbox,
    /// Of one under supervision.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub childhood: Supervision,
    pub workspaces: Workspaces,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
    pub hold: Option<Hold>,
    pub history: History,
    /// The conversation that its requests go on with.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub episodes: Episodes,
    /// What it has in mind from one turn to the next.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub memory: Memory,
    /// Skills that it is offered, and those in use.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub skills: Skills,
    /// Tools of other programs that it is offered.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub servers: ToolCatalogue,
    /// What it has asked models.
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub requests: Requests,
    pub last_decision: Option<SchedulerDecision>,
    /// What the requests of the last run offered.
    #[serde(default)]
    pub tools_offered: Arc<[ToolName]>,
    /// Tokens that its requests could have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_limit: Option<u64>,
    /// Stands for the runtime's primary model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<ModelRef>,
    #[serde(default, skip_serializing_if = "holon_facts::is_default")]
    pub label: AgentLabel,
    /// What requests under idempotency keys have made, other than messages.
    #[serde(default, skip_serializing_if = "Keys::is_empty")]
    pub made: Keys<Made>,
    /// What its operator has not answered.
    #[serde(default, skip_serializing_if = "Asks::is_empty")]
    pub asks: Asks,
    pub next: Counters,
}

/// An operation whose outcome is awaited.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOp {
    pub kind: OpKind,
    pub run_id: Option<RunId>,
    pub task_id: Option<TaskId>,
    pub opened_at: Wall,
    /// Who executes the command: whom a start of the runtime asks for its end.
    pub supervisor: Option<SupervisorIdentity>,
    /// What that one executes.
    pub command: Option<CommandSpec>,
    /// What it needs for itself.
    pub execution_root: Option<String>,
    /// The worktree that it makes or removes.
    pub worktree: Option<WorktreeId>,
    /// What the agent begins with that the worktree is for.
    pub template: Option<Box<AgentTemplate>>,
    /// The agent had begun the same one before.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeated: bool,
}

impl OpenOp {
    /// The command of an operator that never begins, when this ends so.
    fn unbegun(&self, settlement: Settlement) -> Option<TaskId> {
        let is_it = self.kind == OpKind::PrepareCommand && self.run_id.is_none();
        self.task_id.filter(|_| is_it && settlement != Settlement::Done)
    }
}

/// Why a log can't be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    #[error("the log of {agent} continues at event {got}, expected {expected}")]
    Gap { agent: AgentId, expected: EventSeq, got: EventSeq },
    #[error("the log starts with {kind}, expected agent_created")]
    NotCreated { kind: &'static str },
    #[error("event {at} belongs to {got}, expected {expected}")]
    OtherAgent { at: EventSeq, expected: AgentId, got: AgentId },
}

impl Agent {
    /// The agent as its first record leaves it.
    pub fn created(record: &Record) -> Result<Self, FoldError> {
        let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event else {
            return Err(FoldError::NotCreated { kind: record.event.kind() });
        };
        if record.event_seq != EventSeq(1) {
            return Err(FoldError::Gap {
                agent: record.agent.clone(),
                expected: EventSeq(1),
                got: record.event_seq,
            });
        }
        Ok(Self {
            id: record.agent.clone(),
            spec: fact.spec.clone(),
            created_at: record.at,
            event_seq: record.event_seq,
            last_at: record.at,
            status: Status::Booting,
            status_since: record.at,
            inbox: Inbox::default(),
            run: None,
            ops: BTreeMap::new(),
            tasks: Tasks::default(),
            timers: Timers::default(),
            work: WorkItems::default(),
            waits: Waits::default(),
            hints: Hints::default(),
            external_trigger: None,
            novelty: RecentCommands::default(),
            unattended: Unattended::default(),
            outside: Outside::default(),
            account: Account::default(),
            outbox: Outbox::default(),
            childhood: Supervision::default(),
            workspaces: Workspaces::of(&fact.spec),
            sleep: None,
            hold: None,
            history: History::default(),
            episodes: Episodes::default(),
            memory: Memory::default(),
            skills: Skills::default(),
            servers: ToolCatalogue::default(),
            requests: Requests::default(),
            last_decision: None,
            tools_offered: Arc::default(),
            input_limit: None,
            asks: Asks::default(),
            model_override: None,
            label: AgentLabel::default(),
            made: Keys::default(),
            next: Counters::default(),
        })
    }

    /// Folds the next record in, after checking that it is the next one.
    pub fn fold(&mut self, record: &Record) -> Result<(), FoldError> {
        if record.agent != self.id {
            let (expected, got) = (self.id.clone(), record.agent.clone());
            return Err(FoldError::OtherAgent { at: record.event_seq, expected, got });
        }
        if record.event_seq != self.event_seq.next() {
            let (expected, got) = (self.event_seq.next(), record.event_seq);
            return Err(FoldError::Gap { agent: self.id.clone(), expected, got });
        }
        self.apply(record);
        Ok(())
    }

    /// Who is at the top of its supervision tree.
    pub fn tree(&self) -> &AgentId {
        self.spec.tree.as_ref().unwrap_or(&self.id)
    }

    /// Where its tools run: those of a run where it began, or where it went.
    pub fn execution(&self) -> &ExecutionBinding {
        self.run.as_ref().map_or(self.workspaces.active(), |run| &run.environment.execution)
    }

    /// How the last turn left the agent; meaningful at boundaries.
    pub fn closure(&self, now: Wall) -> ClosureDecision {
        closure::decide(ClosureFacts {
            last_turn: self.history.last_settled,
            held_until: self.held_until(now),
            sleeps_until: self.sleeps(now),
            for_operator: self.work.current().filter(|item| item.is_for_operator()).map(|item| item.id),
            wait: self
                .active_waits()
                .min_by_key(|wait| wait.shown_as())
                .map(|wait| (wait.shown_as(), wait.id)),
            work_signal: self.work.signal(),
            posture: match self.status {
                Status::Asleep | Status::Stopped => RuntimePosture::Sleeping,
                Status::Booting | Status::AwakeIdle | Status::AwakeRunning => RuntimePosture::Awake,
            },
        })
    }

    /// The hold, while it keeps the queue waiting.
    pub fn held(&self, now: Wall) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.holds(now))
    }

    /// The end of what keeps turns from beginning, or those that no operator causes.
    fn held_until(&self, now: Wall) -> Option<Wall> {
        let hold = self.held(now).and_then(|hold| hold.until);
        hold.or_else(|| self.unattended.exhausted(now))
    }

    /// Until when what it is owed waits, because it chose so.
    pub fn sleeps(&self, now: Wall) -> Option<Wall> {
        self.sleep.as_ref().and_then(|sleep| sleep.lasts(now))
    }

    /// When something happens by itself, on the wall clock, and what. A hold that is over is nothing any more; what a
    /// timer brings is due until it has fired.
    pub fn deadlines(&self, now: Wall) -> impl Iterator<Item = (Wall, DeadlineReason)> + use<> {
        let runs = self.status != Status::Stopped;
        let hold = self.held(now).and_then(|hold| hold.until);
        let timer = self.timers.next().map(|(at, _)| at);
        let sleep = self.sleeps(now);
        // What is owed to work waits at least as long.
        let work = self.work.next_deferral(now).filter(|_| sleep.is_none());
        let recheck = wait::recheck::next(self, now);
        let own = self.unattended.deferred(now).filter(|_| self.inbox.queued().any(|entry| entry.own));
        let day = self.unattended.exhausted(now);
        let all = [
            (hold, DeadlineReason::Hold),
            (timer, DeadlineReason::Timer),
            (work, DeadlineReason::Work),
            (sleep, DeadlineReason::Sleep),
            (recheck, DeadlineReason::Recheck),
            (own, DeadlineReason::SelfDeferral),
            (day, DeadlineReason::UnattendedTurns),
        ];
        all.into_iter().filter_map(move |(at, reason)| at.filter(|_| runs).map(|at| (at, reason)))
    }

    /// The earliest of them.
    pub fn next_deadline(&self, now: Wall) -> Option<(Wall, DeadlineReason)> {
        self.deadlines(now).min_by_key(|(at, _)| *at)
    }

    /// Messages, operations, runs and obligations that are not settled, and a hold: an agent with none of them is not
    /// loaded by a start before its next deadline has come. Of a child that is alive somebody wants to know how it stands,
    /// and an agent that is awake has not been put to rest yet.
    pub fn open_work(&self) -> u64 {
        let lives = self.spec.supervisor.is_some() && !self.childhood.archived;
        let mut rest = usize::from(lives) + usize::from(self.is_awake()) + self.outbox.open().count();
        rest += self.ops.len() + usize::from(self.run.is_some()) + usize::from(self.hold.is_some());
        // After a start a stopped agent is notified of its tasks, and it is loaded for that.
        if self.status != Status::Stopped {
            rest += self.tasks.undelivered().count() + self.timers.undelivered().count();
            rest += self.work.open().filter(|item| item.is_runnable()).count();
        }
        self.inbox.totals().0.saturating_add(rest as u64)
    }

    /// Its last step ended before the scheduler said what comes next.
    fn is_awake(&self) -> bool {
        matches!(self.status, Status::Booting | Status::AwakeIdle) && !self.childhood.archived
    }

    /// What builds before this one counted as open work: waits for the wall clock at first, and never that an agent is
    /// awake.
    pub fn open_work_before(&self) -> [u64; 2] {
        let work = self.open_work().saturating_sub(u64::from(self.is_awake()));
        let sleeps = self.sleep.as_ref().is_some_and(|sleep| sleep.until.is_some());
        let waits = self.timers.armed().count() as u64 + u64::from(sleeps);
        [work, if self.status == Status::Stopped { work } else { work.saturating_add(waits) }]
    }

    /// A message as the scheduler sees it.
    pub(crate) fn trigger(&self, entry: &Entry, now: Wall) -> Trigger {
        let Message { kind, trigger_kind, .. } = entry.message;
        let resolves = wait::resolve::matched(self, &entry.message).map(|wait| (wait.id, wait.kind));
        let hints = wake::is_tick(&entry.message);
        Trigger { kind, trigger_kind, hints, spent: self.spent(entry, now), resolves: resolves.collect() }
    }

    /// Why a message that would need a model needs none any more.
    pub(crate) fn spent(&self, entry: &Entry, now: Wall) -> Option<Spent> {
        // Whatever it says itself, what was interjected into it is still to be seen, and the model is to learn what its
        // interrupted runs did.
        if !entry.is_fresh() {
            return None;
        }
        let message = &entry.message;
        let stale = || match work::obligation::tick(message) {
            Some(tick) => self.owed(entry, tick, now).is_none(),
            None if sleep::is_tick(message) => {
                self.sleep.as_ref().and_then(|sleep| sleep.tick) != Some(message.id)
            }
            None => wait::recheck::is_stale(self, message) || task::child::is_stale(&self.tasks, message),
        };
        if entry.known { Some(Spent::Known) } else { stale().then_some(Spent::Stale) }
    }

    /// Whether a message would have its turn now, and has to wait: everything that it reports is deferred, or turns
    /// that no operator causes are. What was interjected waits with the message of its turn, which waits for nothing then.
    pub(crate) fn defers(&self, entry: &Entry, now: Wall) -> bool {
        if entry.host.is_some() || !entry.interjected.is_empty() {
            return entry.host.is_some();
        }
        let owed = work::obligation::tick(&entry.message).and_then(|tick| self.owed(entry, tick, now));
        let later = owed.is_some_and(|due| !due || self.sleeps(now).is_some());
        let needs_model = || !liveness_only(entry.message.kind) && self.spent(entry, now).is_none();
        later || (self.unattended.restrains(entry, now) && needs_model())
    }

    /// Whether anything that a tick reports is owed by now; none when nothing of it is owed any more.
    fn owed(&self, entry: &Entry, tick: WorkTick, now: Wall) -> Option<bool> {
        self.work.obligations_in(entry.message.id, tick, now)
    }

    /// Whether an operation is part of the run in progress: what a task or an operator waits for is not.
    pub fn is_of_run(&self, open: &OpenOp) -> bool {
        let task = open.kind == OpKind::RunCommand && open.task_id.is_some_and(|id| self.tasks.is_active(id));
        open.run_id.is_some() && !task
    }

    /// The operations that end with the run.
    pub(crate) fn run_ops(&self) -> Vec<OpId> {
        self.ops.iter().filter(|(_, open)| self.is_of_run(open)).map(|(op, _)| *op).collect()
    }

    /// The task that an operation brings to its end.
    pub fn task_of(&self, op: OpId) -> Option<TaskId> {
        let open = self.ops.get(&op).filter(|open| open.kind.brings_end())?;
        open.task_id.filter(|id| self.tasks.is_active(*id))
    }

    /// Commands that are executed, or about to be.
    pub(crate) fn commands(&self) -> u64 {
        let command = |open: &&OpenOp| matches!(open.kind, OpKind::PrepareCommand | OpKind::RunCommand);
        self.ops.values().filter(command).count() as u64
    }
}
