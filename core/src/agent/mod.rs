//! One agent: its durable state and the one `apply` that writes it. Handlers in the submodules decide on a
//! transaction and write nothing themselves.

pub(crate) mod admission;
pub(crate) mod control;
mod counters;
pub(crate) mod evidence;
pub mod history;
pub mod hold;
pub mod identity;
pub mod inbox;
pub mod model;
pub mod novelty;
pub(crate) mod recovery;
pub(crate) mod settle;
pub mod sleep;
#[cfg(test)]
mod sleep_tests;
pub mod task;
pub mod timer;
pub mod turn;
pub mod unattended;
#[cfg(test)]
mod unattended_tests;
pub mod wait;
pub mod wake;
#[cfg(test)]
mod wake_tests;
pub mod work;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::closure::{self, ClosureDecision, ClosureFacts, RuntimePosture};
use crate::config::UnattendedPolicy;
use crate::continuation::{Spent, Trigger, liveness_only};
use crate::event::operation::{OpKind, OperationFact, OperationOpened};
use crate::event::scheduling::SleepElapsed;
use crate::event::task::TaskResultQueued;
use crate::event::turn::TurnTerminal;
use crate::event::work::{WorkAuthor, WorkTick};
use crate::event::{
    BriefFact, Event, InboxFact, LifecycleFact, SchedulingFact, TaskFact, TimerFact, TurnFact, WorkFact,
};
use crate::host::DeadlineReason;
use crate::ids::{AgentId, EventSeq, MessageId, OpId, RunId, TaskId};
use crate::lifecycle::{ControlAction, Status};
use crate::message::Message;
use crate::model::ModelRef;
use crate::outcome::{CommandSpec, SupervisorIdentity};
use crate::record::Record;
use crate::scheduler::SchedulerDecision;
use crate::time::Wall;

pub use counters::Counters;
use history::History;
use hold::Hold;
use identity::AgentSpec;
use inbox::{Entry, Inbox};
use novelty::{Fingerprint, Novelty};
use sleep::Sleep;
use task::Tasks;
use timer::Timers;
use turn::recap::Recap;
use turn::{Round, Run};
use unattended::{Exhausted, Unattended};
use wait::Waits;
use wake::Hints;
use work::WorkItems;

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
    #[serde(default, skip_serializing_if = "Novelty::is_empty")]
    pub novelty: Novelty,
    #[serde(default, skip_serializing_if = "Unattended::is_fresh")]
    pub unattended: Unattended,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
    pub hold: Option<Hold>,
    pub history: History,
    pub last_decision: Option<SchedulerDecision>,
    /// Stands for the runtime's primary model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<ModelRef>,
    pub next: Counters,
}

/// An operation whose outcome is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenOp {
    pub kind: OpKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    pub opened_at: Wall,
    /// Who executes the command: whom a start of the runtime asks for its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor: Option<SupervisorIdentity>,
    /// What that one executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSpec>,
    /// The agent had begun the same one before.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub repeated: bool,
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
            novelty: Novelty::default(),
            unattended: Unattended::default(),
            sleep: None,
            hold: None,
            history: History::default(),
            last_decision: None,
            model_override: None,
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

    /// How the last turn left the agent; meaningful at boundaries.
    pub fn closure(&self, now: Wall) -> ClosureDecision {
        closure::decide(ClosureFacts {
            last_turn: self.history.last_settled,
            held_until: self.hold.as_ref().filter(|hold| hold.holds(now)).map(|hold| hold.until),
            sleeps_until: self.sleeps(now),
            for_operator: self.work.current().filter(|item| item.is_for_operator()).map(|item| item.id),
            wait: self.active_waits().min_by_key(|wait| wait.told_as()).map(|wait| (wait.told_as(), wait.id)),
            work_signal: self.work.signal(),
            posture: match self.status {
                Status::Asleep | Status::Stopped => RuntimePosture::Sleeping,
                Status::Booting | Status::AwakeIdle | Status::AwakeRunning => RuntimePosture::Awake,
            },
        })
    }

    /// Until when what it is owed waits, because it chose so.
    pub fn sleeps(&self, now: Wall) -> Option<Wall> {
        self.sleep.as_ref().and_then(|sleep| sleep.lasts(now))
    }

    /// When something happens by itself, on the wall clock, and what. A hold that is over is nothing any more; what a
    /// timer brings is due until it has fired.
    pub fn deadlines(&self, now: Wall) -> impl Iterator<Item = (Wall, DeadlineReason)> + use<> {
        let runs = self.status != Status::Stopped;
        let hold = self.hold.as_ref().filter(|hold| hold.holds(now)).map(|hold| hold.until);
        let timer = self.timers.next().map(|(at, _)| at);
        let sleep = self.sleeps(now);
        // What is owed to work waits at least as long.
        let work = self.work.next_deferral(now).filter(|_| sleep.is_none());
        let recheck = wait::recheck::next(self, now);
        let own = self.unattended.deferred(now).filter(|_| self.inbox.queued().any(|entry| entry.own));
        let day = self.unattended.exhausted.map(|exhausted| exhausted.until).filter(|until| *until > now);
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

    /// A message as the scheduler sees it.
    pub(crate) fn trigger(&self, entry: &Entry, now: Wall) -> Trigger {
        let Message { kind, trigger_kind, .. } = entry.message;
        let resolves = wait::resolve::matched(self, &entry.message).map(|wait| (wait.id, wait.kind));
        Trigger { kind, trigger_kind, spent: self.spent(entry, now), resolves: resolves.collect() }
    }

    /// Why a message that would need a model needs none any more.
    pub(crate) fn spent(&self, entry: &Entry, now: Wall) -> Option<Spent> {
        let message = &entry.message;
        let stale = || match work::debt::tick(message) {
            Some(tick) => self.owed(entry, tick, now).is_none(),
            None if sleep::is_tick(message) => {
                self.sleep.as_ref().and_then(|sleep| sleep.tick) != Some(message.id)
            }
            None => wait::recheck::is_stale(self, message),
        };
        if entry.known { Some(Spent::Known) } else { stale().then_some(Spent::Stale) }
    }

    /// Whether a message would have its turn now, and has to wait: everything that it tells of is deferred, or turns
    /// that no operator causes are.
    pub(crate) fn defers(&self, entry: &Entry, now: Wall, policy: &UnattendedPolicy) -> bool {
        let owed = work::debt::tick(&entry.message).and_then(|tick| self.owed(entry, tick, now));
        let later = owed.is_some_and(|due| !due || self.sleeps(now).is_some());
        let needs_model = || !liveness_only(entry.message.kind) && self.spent(entry, now).is_none();
        later || (self.unattended.restrains(entry, now, policy) && needs_model())
    }

    /// Whether anything that a tick tells of is owed by now; none when nothing of it is owed any more.
    fn owed(&self, entry: &Entry, tick: WorkTick, now: Wall) -> Option<bool> {
        self.work.told_by(entry.message.id, tick, now)
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
        let open = self.ops.get(&op).filter(|open| open.kind == OpKind::RunCommand)?;
        open.task_id.filter(|id| self.tasks.is_active(*id))
    }

    /// Commands that are executed, or about to be.
    pub(crate) fn commands(&self) -> u64 {
        let command = |open: &&OpenOp| matches!(open.kind, OpKind::PrepareCommand | OpKind::RunCommand);
        self.ops.values().filter(command).count() as u64
    }

    /// The only writer of durable state: the live path and a restart both come through here.
    pub(crate) fn apply(&mut self, record: &Record) {
        self.event_seq = record.event_seq;
        self.last_at = record.at;
        match &record.event {
            Event::Lifecycle(fact) => self.apply_lifecycle(record.at, fact),
            Event::Inbox(fact) => self.apply_inbox(record.at, fact),
            Event::Scheduling(fact) => self.apply_scheduling(record.at, fact),
            Event::Turn(fact) => self.apply_turn(record.at, fact),
            Event::Operation(fact) => self.apply_operation(record.at, fact),
            Event::Task(fact) => self.apply_task(record.at, fact),
            Event::Timer(fact) => self.apply_timer(record.at, fact),
            Event::Work(fact) => self.apply_work(record.at, fact),
            Event::Wait(fact) => self.apply_wait(record.at, fact),
            Event::Wake(fact) => self.apply_wake(record.at, fact),
            Event::Brief(BriefFact::BriefCreated(fact)) => {
                self.next.brief = fact.id.next();
                self.history.last_brief = Some((fact.id, record.at));
            }
        }
    }

    /// The only writer of the status.
    fn set_status(&mut self, at: Wall, status: Status) {
        if self.status != status {
            self.status = status;
            self.status_since = at;
        }
    }

    fn apply_lifecycle(&mut self, at: Wall, fact: &LifecycleFact) {
        match fact {
            LifecycleFact::AgentCreated(_)
            | LifecycleFact::ControlRequestAdmitted(_)
            | LifecycleFact::CurrentRunAborted(_)
            | LifecycleFact::RuntimeRecovered(_) => {}
            LifecycleFact::ControlApplied(fact) => match fact.action {
                ControlAction::Stop => {
                    self.tasks.withdrawn(&fact.aborted_messages);
                    self.work.stopped();
                    self.hints.stopped();
                    self.sleep = None;
                }
                ControlAction::Start => {
                    self.heard(at);
                    self.sleep = None;
                }
                ControlAction::Abort => {}
            },
            LifecycleFact::SchedulerPostureDecision(fact) => self.set_status(at, fact.next),
            LifecycleFact::ClockStepped(fact) => {
                if let Some(hold) = &mut self.hold {
                    hold.clock_stepped(fact.from, fact.to);
                }
                self.timers.clock_stepped(fact.from, fact.to);
                self.work.clock_stepped(fact.from, fact.to);
                self.waits.clock_stepped(fact.from, fact.to);
                self.unattended.clock_stepped(fact.from, fact.to);
                if let Some(sleep) = &mut self.sleep {
                    sleep.clock_stepped(fact.from, fact.to);
                }
            }
            LifecycleFact::ModelOverrideChanged(fact) => self.model_override.clone_from(&fact.model),
        }
    }

    fn apply_inbox(&mut self, at: Wall, fact: &InboxFact) {
        let mut left = Default::default();
        match fact {
            InboxFact::MessageAdmitted(fact) => {
                self.next.message = fact.message.id.next();
                if let Some(hold) = &mut self.hold {
                    hold.admitted(&fact.message);
                }
                if unattended::by_operator(&fact.message) {
                    self.heard_operator(at);
                } else if fact.message.kind.is_from_outside() {
                    self.heard(at);
                }
            }
            InboxFact::OperatorInterjectionAdmitted(fact) => {
                let entry = self.inbox.queued_entry(fact.message_id);
                let text = entry.map(|entry| entry.message.body.text.clone()).unwrap_or_default();
                if let Some(run) = &mut self.run {
                    run.apply_interjection(fact, text);
                }
            }
            InboxFact::MessageRequeued(fact) => left = self.take_rounds(fact.message_id),
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => self.settled(fact.message_id),
            InboxFact::MessageDropped(fact) => self.settled(fact.message_id),
            InboxFact::MessageDuplicate(_) | InboxFact::MessageDequeued(_) => {}
        }
        self.inbox.apply(at, fact, left);
    }

    fn settled(&mut self, message: MessageId) {
        self.history.messages_settled = self.history.messages_settled.saturating_add(1);
        self.hints.settled(message);
    }

    /// What a requeued message takes along from the run that was for it.
    fn take_rounds(&mut self, message: MessageId) -> (Vec<Round>, Recap) {
        match &mut self.run {
            Some(run) if run.message == message => {
                (core::mem::take(&mut run.rounds), core::mem::take(&mut run.recap))
            }
            Some(_) | None => Default::default(),
        }
    }

    fn sleep_elapsed(&mut self, fact: &SleepElapsed) {
        let Some(sleep) = &mut self.sleep else { return };
        sleep.elapsed(fact);
        if sleep.is_deliberate() {
            self.inbox.set_own(fact.message_id, false);
        }
    }

    fn apply_scheduling(&mut self, at: Wall, fact: &SchedulingFact) {
        match fact {
            SchedulingFact::SchedulerDecision(fact) => self.last_decision = Some((**fact).clone()),
            SchedulingFact::ContinuationResolved(_) | SchedulingFact::ClosureDecided(_) => {}
            SchedulingFact::HoldSet(fact) => self.hold = Some(Hold::new(fact)),
            SchedulingFact::HoldEnded(_) => self.hold = None,
            SchedulingFact::SelfTurnCounted(fact) => self.unattended.counted(fact),
            SchedulingFact::SleepBegun(fact) => self.sleep = Some(Sleep::begun(at, fact)),
            SchedulingFact::SleepElapsed(fact) => self.sleep_elapsed(fact),
            SchedulingFact::UnattendedTurnsExhausted(fact) => {
                self.unattended.exhausted = Some(Exhausted { turns: fact.turns, until: fact.until });
            }
        }
    }

    fn apply_turn(&mut self, at: Wall, fact: &TurnFact) {
        if let TurnFact::TurnStarted(fact) = fact {
            let taken = |id: &MessageId| self.inbox.claimed(*id).map(|entry| entry.message.clone());
            let also: Vec<_> = fact.also.iter().filter_map(taken).collect();
            let mut all = core::iter::once(&fact.message_id).chain(&fact.also);
            let own = all.all(|id| self.inbox.claimed(*id).is_some_and(|entry| entry.own));
            self.run = self.inbox.claimed_mut(fact.message_id).map(|entry| Run::new(at, fact, entry, also));
            if let Some(run) = &mut self.run {
                run.own = own;
                // Whatever it is for ends a sleep; the one for its end keeps it until that is told.
                self.sleep = self.sleep.take().filter(|sleep| sleep.tick == Some(fact.message_id));
                run.work_told = crate::prompt::work::told(&self.work, self.waits.own.as_ref());
                if !unattended::by_operator(&run.incoming) {
                    self.unattended.started(at);
                }
                run.progress = core::iter::once(&fact.message_id)
                    .chain(&fact.also)
                    .flat_map(|message| self.tasks.told_by(*message))
                    .any(|task| task.end.as_ref().is_some_and(|end| end.news));
            }
            self.next.run = fact.run_id.next();
            self.next.turn = fact.turn_index.next();
            self.set_status(at, Status::AwakeRunning);
        }
        if let Some(run) = &mut self.run {
            run.apply(fact);
        }
        self.apply_shown(fact);
        self.apply_called(fact);
        if let TurnFact::TurnTerminal(fact) = fact {
            self.turn_ended(at, fact);
        }
    }

    /// What a turn has shown of a task is not told again.
    fn apply_shown(&mut self, fact: &TurnFact) {
        let TurnFact::ToolExecuted(fact) = fact else { return };
        let shown = fact.receipt.facts.shown_task;
        let message = shown.and_then(|task| self.tasks.shown(task));
        // Whoever waits for it is woken by it.
        if let Some(message) = message.filter(|message| !self.awaits_told(*message)) {
            self.inbox.needs_no_model(message);
        }
    }

    /// A patch that was applied, or a command that ended otherwise than the last time, brings a turn on.
    fn apply_called(&mut self, fact: &TurnFact) {
        let TurnFact::ToolExecuted(fact) = fact else { return };
        let Some(run) = &mut self.run else { return };
        let facts = &fact.receipt.facts;
        let ended = run.command.take().is_some_and(|command| self.novelty.ends(command, facts.exit_status));
        run.progress |= ended || !facts.changed_files.is_empty();
    }

    /// Last record of a run: everything that the run was about has been settled before it.
    fn turn_ended(&mut self, at: Wall, fact: &TurnTerminal) {
        let run = self.run.take();
        if fact.progress {
            self.unattended.clear();
            self.waits.renew(at);
            let recheck = run.as_ref().and_then(|run| self.work.recheck_mut(run.work_item?));
            if let Some(recheck) = recheck {
                recheck.renew(at);
            }
        }
        let told =
            |sleep: &Sleep| sleep.tick == Some(fact.message_id) && !self.inbox.is_live(fact.message_id);
        if self.sleep.as_ref().is_some_and(told) {
            self.sleep = None;
        }
        self.history.turn_ended(fact, run);
        self.set_status(at, Status::AwakeIdle);
    }

    fn apply_task(&mut self, at: Wall, fact: &TaskFact) {
        let news = match fact {
            TaskFact::TaskStatusUpdated(fact) if fact.status.is_terminal() => {
                let task = self.tasks.get(fact.task_id).filter(|task| !task.status.is_terminal());
                let command = task.map(|task| Fingerprint::of(&task.command));
                command.is_some_and(|command| self.novelty.ends(command, fact.exit_status))
            }
            TaskFact::TaskStatusUpdated(_)
            | TaskFact::TaskCreated(_)
            | TaskFact::TaskResultQueued(_)
            | TaskFact::TaskInputDelivered(_) => false,
        };
        self.tasks.apply(at, fact, news);
        if let TaskFact::TaskResultQueued(fact) = fact {
            self.result_queued(at, fact);
        }
    }

    /// The end of a command that was progress when it began comes from outside.
    fn result_queued(&mut self, at: Wall, fact: &TaskResultQueued) {
        let repeated = self.tasks.get(fact.task_id).is_some_and(|task| task.repeated);
        self.inbox.tells_result(fact.message_id, repeated);
        if fact.known {
            self.inbox.needs_no_model(fact.message_id);
        } else if !repeated {
            self.heard(at);
        }
    }

    fn apply_timer(&mut self, at: Wall, fact: &TimerFact) {
        if let TimerFact::TimerCreated(fact) = fact {
            self.next.timer = fact.timer_id.next();
        }
        if let TimerFact::TimerTickQueued(fact) = fact
            && let Some(timer) = self.timers.get(fact.timer_id)
        {
            let forgotten = timer.wait_id.is_some_and(|id| !self.active_waits().any(|wait| wait.id == id));
            self.inbox.set_own(fact.message_id, timer.is_own());
            if forgotten {
                self.inbox.needs_no_model(fact.message_id);
            }
        }
        self.timers.apply(at, fact);
    }

    fn apply_work(&mut self, at: Wall, fact: &WorkFact) {
        if let WorkFact::WorkItemWritten(fact) = fact {
            self.next.work_item = self.next.work_item.max(fact.work_item_id.next());
            if fact.by == WorkAuthor::Operator {
                self.heard(at);
            }
            if let Some(run) = &mut self.run {
                run.progress = true;
                run.unchanged.rounds = 0;
            }
        }
        self.work.apply(at, fact);
    }

    fn apply_operation(&mut self, at: Wall, fact: &OperationFact) {
        match fact {
            OperationFact::OperationOpened(fact) => {
                self.next.op = fact.op.next();
                let OperationOpened { op, kind, run_id, task_id, ref supervisor, ref command, .. } = **fact;
                let (supervisor, command) = (supervisor.clone(), command.clone());
                let mut repeated = false;
                if let Some(command) = command.as_ref().map(Fingerprint::of) {
                    let new = self.novelty.begins(command);
                    repeated = !new && run_id.is_some();
                    if let Some(run) = self.run.as_mut().filter(|run| Some(run.id) == run_id) {
                        (run.progress, run.command) = (run.progress | new, Some(command));
                    }
                }
                if let Some(task) = task_id {
                    self.next.task = self.next.task.max(task.next());
                }
                let open = OpenOp { kind, run_id, task_id, opened_at: at, supervisor, command, repeated };
                self.ops.insert(op, open);
                if let Some(run) = &mut self.run {
                    run.backed_off();
                }
            }
            OperationFact::OperationSettled(fact) => {
                self.ops.remove(&fact.op);
            }
        }
    }
}
