//! The log of one agent so far, as far as a law looks back. Bounded by what is live: ids are
//! handed out in order, so a message that was admitted and is neither queued nor claimed is terminal.

mod budget;
mod episodes;
mod hints;
mod keys;
mod lifecycle;
mod memory;
mod queue;
mod requests;
mod run;
mod skills;
mod sleep;
mod speaker;
mod stops;
mod supervision;
mod tasks;
mod timers;
mod triggers;
mod unattended;
mod waits;
mod work;
mod workspaces;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use budget::Spending;
use hints::Hints;
use holon_facts::decision::{DecisionKind, SchedulerDecision};
use holon_facts::event::brief::BriefKind;
use holon_facts::event::inbox::{MessageAdmitted, RequeueCause};
use holon_facts::event::scheduling::HoldEnd;
use holon_facts::event::turn::{TurnStarted, TurnTerminal};
use holon_facts::event::{BriefFact, Event, InboxFact, SchedulingFact, TurnFact};
use holon_facts::fence::Fence;
use holon_facts::ids::{
    BriefId, DepositId, EventSeq, LetterId, MessageId, OpId, RunId, StepSeq, TaskId, TimerId, TurnIndex,
    WaitId, WorkItemId, WorktreeId,
};
use holon_facts::label::AgentLabel;
use holon_facts::lifecycle::{ControlAction, Status};
use holon_facts::message::MessageKind;
use holon_facts::record::Record;
use holon_facts::terminal::TurnKind;
use holon_facts::time::Wall;
use skills::Skills;
use sleep::Sleep;
use stops::Doing;
use supervision::Supervision;
use triggers::Trigger;
use unattended::Unattended;
use waits::Waits;
use work::Work;
use workspaces::Workspaces;

pub(crate) use episodes::Episodes;
pub(crate) use keys::{Keys, MadeKeys, Ticks};
pub(crate) use memory::Memory;
pub(crate) use queue::{Claim, Entry, Queue};
pub(crate) use requests::Requests;
pub(crate) use run::{Attempt, Call, Run};
pub(crate) use tasks::{Delivered, Ended, Op, Task, Tasks};
pub(crate) use timers::{Timer, come};
pub(crate) use waits::{Owner, Recheck};
pub(crate) use work::Item;

/// The agent before the record that is checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Past {
    pub(crate) last: Option<Position>,
    /// The log begins as a copy of another agent's, up to this event.
    pub(crate) copied: Option<EventSeq>,
    pub(crate) next: Next,
    pub(crate) posture: Posture,
    pub(crate) queue: Queue,
    pub(crate) keys: Keys,
    pub(crate) made: MadeKeys,
    pub(crate) ticks: Ticks,
    pub(crate) run: Option<Run>,
    pub(crate) ops: BTreeMap<OpId, Op>,
    pub(crate) tasks: Tasks,
    pub(crate) timers: BTreeMap<TimerId, Timer>,
    pub(crate) work: Work,
    pub(crate) waits: Waits,
    pub(crate) hints: Hints,
    pub(crate) doing: Doing,
    pub(crate) trigger: Trigger,
    pub(crate) unattended: Unattended,
    pub(crate) spending: Spending,
    pub(crate) supervision: Supervision,
    pub(crate) workspaces: Workspaces,
    pub(crate) sleep: Option<Sleep>,
    pub(crate) hold: Option<Hold>,
    pub(crate) decided: Option<(DecisionKind, Option<MessageId>)>,
    pub(crate) promised: Promised,
    pub(crate) fences: Fences,
    pub(crate) episodes: Episodes,
    pub(crate) requests: Requests,
    pub(crate) memory: Memory,
    pub(crate) skills: Skills,
    /// All that it took: there are few.
    pub(crate) deposits: BTreeSet<DepositId>,
}

/// The fence of the newest run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fences(pub(crate) Option<Fence>);

impl Fences {
    fn begun(&mut self, fence: Option<Fence>) {
        self.0 = fence.or(self.0);
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    pub(crate) event_seq: EventSeq,
    pub(crate) step: StepSeq,
    pub(crate) at: Wall,
}

/// The ids that are given next.
#[derive(Debug, Clone)]
pub(crate) struct Next {
    pub(crate) message: MessageId,
    pub(crate) run: RunId,
    pub(crate) op: OpId,
    pub(crate) brief: BriefId,
    pub(crate) turn: TurnIndex,
    pub(crate) task: TaskId,
    pub(crate) timer: TimerId,
    pub(crate) work_item: WorkItemId,
    pub(crate) wait: WaitId,
    pub(crate) letter: LetterId,
    pub(crate) worktree: WorktreeId,
}

#[derive(Debug, Clone)]
pub(crate) struct Posture {
    pub(crate) status: Status,
    pub(crate) label: AgentLabel,
    /// Whether this log has changes of posture for turns.
    pub(crate) names_turns: bool,
    /// By the last control command, whatever else was said.
    pub(crate) stopped: bool,
    /// Since the last run.
    pub(crate) started: bool,
    pub(crate) admitted_while_stopped: bool,
    /// A command is being carried out.
    pub(crate) control: Option<Control>,
}

/// A command of an operator, and how things stood when it was admitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Control {
    pub(crate) action: ControlAction,
    /// So many messages were queued.
    pub(crate) waiting: usize,
    pub(crate) status: Status,
}

#[derive(Debug, Clone)]
pub(crate) struct Hold {
    pub(crate) until: Option<Wall>,
    pub(crate) of_budget: bool,
    /// The first operator prompt since the hold was set.
    pub(crate) trial: Option<MessageId>,
}

/// What records of this step have promised for the same step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Promised {
    pub(crate) closure: Option<RunId>,
    /// A model or a tool has said something in this step.
    pub(crate) has_output: bool,
    /// The last record admits what a supervisor says, after something was said: the next one is its letter.
    pub(crate) letter: bool,
    /// A command was applied, or a decision to rest was taken or stands.
    pub(crate) moved: bool,
    /// Messages that a hold put back.
    pub(crate) held_back: Vec<MessageId>,
    pub(crate) failure_brief: Option<MessageId>,
    pub(crate) end_of: Option<RunId>,
    /// Messages that were admitted.
    pub(crate) admitted: Vec<MessageId>,
    /// Tasks of whose ends an aborted run was to tell.
    pub(crate) withdrawn: Vec<(TaskId, Delivered)>,
    /// Items that a turn without progress was about.
    pub(crate) deferrals: BTreeSet<WorkItemId>,
    /// A run that its agent caused and that brought nothing on.
    pub(crate) uncounted: Option<RunId>,
    /// The last run that ended.
    pub(crate) ended: Option<RunId>,
    /// The same, if it was longer than the model's window.
    pub(crate) too_long: Option<RunId>,
    /// The timer whose missed occurrences the last record of the step has let go.
    pub(crate) skipped: Option<TimerId>,
}

impl Default for Next {
    fn default() -> Self {
        Self {
            message: MessageId(1),
            run: RunId(1),
            op: OpId(1),
            brief: BriefId(1),
            turn: TurnIndex(1),
            task: TaskId(1),
            timer: TimerId(1),
            work_item: WorkItemId(1),
            wait: WaitId(1),
            letter: LetterId(1),
            worktree: WorktreeId(1),
        }
    }
}

impl Default for Posture {
    fn default() -> Self {
        Self {
            status: Status::Booting,
            label: AgentLabel::default(),
            names_turns: false,
            stopped: false,
            started: false,
            admitted_while_stopped: false,
            control: None,
        }
    }
}

impl Past {
    /// Whether a hold keeps the queue waiting at that moment.
    pub(crate) fn held(&self, at: Wall) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| hold.until.is_none_or(|until| at < until))
    }

    /// The run in progress, if it is that one.
    pub(crate) fn running(&self, run: RunId) -> Option<&Run> {
        self.run.as_ref().filter(|current| current.id == run)
    }

    /// Whether the record begins another step: what the last one owed is overdue.
    pub(crate) fn begins_step(&self, record: &Record) -> bool {
        self.last.is_some_and(|last| last.step != record.step)
    }

    /// Takes a record in, whatever the laws said of it.
    /// Whether a record was made of another agent, which the log is a copy of.
    pub(crate) fn is_copied(&self, record: &Record) -> bool {
        self.copied.is_some_and(|through| record.event_seq <= through)
    }

    pub(crate) fn follow(&mut self, record: &Record) {
        if self.begins_step(record) {
            self.promised = Promised::default();
        }
        self.promised.has_output |= self.is_output(&record.event);
        self.promised.letter = false;
        self.done(&record.event);
        self.workspaces.follow(record);
        let numbered = workspaces::numbered(&record.event).map(WorktreeId::next);
        self.next.worktree = self.next.worktree.max(numbered.unwrap_or(self.next.worktree));
        self.last = Some(Position { event_seq: record.event_seq, step: record.step, at: record.at });
        self.skills.apply(record);
        self.deposits.extend(record.event.deposit());
        match &record.event {
            Event::Lifecycle(fact) => self.lifecycle(fact),
            Event::Inbox(fact) => self.inbox(fact),
            Event::Scheduling(fact) => self.scheduling(fact),
            Event::Turn(fact) => self.turn(record, fact),
            Event::Operation(fact) => self.operation(fact),
            Event::Task(fact) => self.task(record.step, fact),
            Event::Timer(fact) => self.timer(fact),
            Event::Work(fact) => self.work(fact),
            Event::Wait(fact) => self.wait(fact),
            Event::Wake(fact) => self.wake(fact),
            Event::Outbox(fact) => self.outbox(fact),
            Event::Workspace(_) | Event::Skill(_) => {}
            Event::Brief(BriefFact::AskClosed(_)) => {}
            Event::Episode(fact) => self.episode(record.event_seq, fact),
            Event::Brief(BriefFact::BriefCreated(fact)) => {
                self.next.brief = fact.id.next();
                if fact.kind == BriefKind::Failure && fact.related_message_id == self.promised.failure_brief {
                    self.promised.failure_brief = None;
                }
            }
        }
    }

    fn inbox(&mut self, fact: &InboxFact) {
        match fact {
            InboxFact::MessageAdmitted(fact) => self.admitted(fact),
            InboxFact::MessageDuplicate(_) => {}
            InboxFact::MessageDequeued(fact) => {
                self.queue.claim(fact.message_id, fact.run_id.map_or(Claim::Reduced, Claim::ByRun));
            }
            InboxFact::OperatorInterjectionAdmitted(fact) => {
                self.queue.claim(fact.message_id, Claim::ByRun(fact.run_id));
                if let Some(run) = &mut self.run {
                    (run.own, run.rests) = (false, false);
                    run.interjected.push(fact.message_id);
                    run.tail = run.tail.saturating_add(1);
                    run.cut_off = 0;
                }
            }
            InboxFact::MessageRequeued(fact) => {
                self.queue.put_back(fact);
                let run =
                    self.run.as_ref().map(|run| (run.message, run.tail, run.rounds > 0 || run.carried > 0));
                if let (Some((message, tail, rounds)), Some(entry)) =
                    (run, self.queue.live.get_mut(&fact.message_id))
                {
                    if message == fact.message_id {
                        entry.tail = tail;
                        entry.worked |= rounds || fact.carried_notes > 0;
                    } else {
                        entry.beside = fact.interjected_into.is_none().then_some(message);
                    }
                }
                if fact.cause == RequeueCause::Hold {
                    self.promised.held_back.push(fact.message_id);
                }
            }
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => {
                let delivered = self.tasks.delivered.iter();
                let delivered =
                    delivered.filter(|(_, delivered)| delivered.by == fact.message_id && !delivered.shown);
                self.promised.withdrawn.extend(delivered.map(|(task, delivered)| (*task, *delivered)));
                self.trial_aborted(fact.message_id);
                self.settled(fact.message_id);
                self.queue.aborted = Some(fact.message_id);
            }
            InboxFact::MessageDropped(fact) => {
                self.settled(fact.message_id);
                self.promised.failure_brief = Some(fact.message_id);
            }
        }
    }

    /// A turn has shown the result of a task: a message that tells nothing else needs no model, unless it is waited for.
    fn shown(&mut self, task: TaskId) {
        if let Some(ended) = self.tasks.undelivered.get_mut(&task) {
            ended.shown = true;
        }
        let Some(delivered) = self.tasks.delivered.get_mut(&task) else { return };
        delivered.shown = true;
        let by = delivered.by;
        let all = self
            .tasks
            .delivered
            .values()
            .filter(|delivered| delivered.by == by)
            .all(|delivered| delivered.shown);
        if all && !self.awaits_task_of(by) {
            self.queue.known(by);
        }
    }

    /// After a trial that was aborted the next prompt that comes is one.
    fn trial_aborted(&mut self, message: MessageId) {
        if let Some(hold) = &mut self.hold {
            hold.trial.take_if(|trial| *trial == message);
        }
    }

    fn settled(&mut self, message: MessageId) {
        self.queue.settle(message);
        let queue = &self.queue;
        let mut waiting = queue.waiting.iter().map(|(_, id)| *id);
        if let Some(hold) = self.hold.as_mut().filter(|hold| hold.trial == Some(message)) {
            hold.trial = waiting.find(|id| queue.live.get(id).is_some_and(|entry| entry.by_operator));
        }
        self.tasks.delivered.retain(|_, delivered| delivered.by != message);
        self.supervision.ticks.remove(&message);
        self.ticks.settled(message);
        self.settled_about(message);
    }

    fn admitted(&mut self, fact: &MessageAdmitted) {
        let message = &fact.message;
        self.next.message = message.id.next();
        self.posture.admitted_while_stopped |= self.posture.stopped;
        self.queue.admit(fact);
        self.promised.admitted.push(message.id);
        self.promised.letter = self.promised.has_output && self.is_of_supervisor(message);
        self.keys.admit(fact);
        self.ticks.admitted(message.id);
        self.admitted_about(fact);
        match message.kind {
            _ if message.is_by_operator() => self.operator_activity(),
            MessageKind::ChannelEvent | MessageKind::WebhookEvent | MessageKind::CallbackEvent => {
                self.external_activity()
            }
            MessageKind::OperatorPrompt
            | MessageKind::Control
            | MessageKind::TimerTick
            | MessageKind::SystemTick
            | MessageKind::InternalFollowup
            | MessageKind::TaskResult
            | MessageKind::TaskStatus
            | MessageKind::BriefAck
            | MessageKind::BriefResult => {}
        }
        if let Some(hold) = self.hold.as_mut().filter(|_| message.is_by_operator()) {
            hold.trial.get_or_insert(message.id);
        }
    }

    fn scheduling(&mut self, fact: &SchedulingFact) {
        match fact {
            SchedulingFact::SchedulerDecision(fact) => {
                let SchedulerDecision { kind, message_id, .. } = &**fact;
                self.decided = Some((*kind, *message_id));
                self.promised.moved |= fact.rests();
                self.ticks.decided(fact.idempotency_key.as_deref());
            }
            SchedulingFact::ContinuationResolved(_) => {}
            SchedulingFact::ClosureDecided(_) => {
                self.promised.closure = None;
                self.memory.closed();
            }
            SchedulingFact::HoldSet(fact) => {
                let of_budget = fact.budget.is_some();
                self.hold = Some(Hold { until: fact.until, of_budget, trial: None });
            }
            SchedulingFact::HoldEnded(fact) => {
                self.hold = None;
                if fact.reason == HoldEnd::BudgetRaised {
                    self.external_activity();
                }
            }
            SchedulingFact::SelfTurnCounted(fact) => {
                self.promised.uncounted = None;
                self.unattended.counted(fact);
            }
            SchedulingFact::UnattendedTurnsExhausted(fact) => self.unattended.exhausted(fact),
            SchedulingFact::UnattendedTurnsRaised(_) => self.unattended.raised(),
            SchedulingFact::SleepBegun(fact) => self.sleep = Some(Sleep::begun(fact)),
            SchedulingFact::SleepElapsed(fact) => self.slept(fact),
        }
    }

    fn turn(&mut self, record: &Record, fact: &TurnFact) {
        if let TurnFact::ToolExecuted(fact) = fact
            && let Some(task) = fact.receipt.facts.shown_task
        {
            self.shown(task);
        }
        // A call may have patched something, or begun or ended a command.
        if let (TurnFact::ToolExecuted(fact), Some(run)) = (fact, &mut self.run) {
            run.progress = true;
            self.memory.changed(run.message, &fact.receipt.facts.changed_files);
        }
        if let TurnFact::TurnContextBuilt(_) = fact {
            self.episodes.context_built();
        }
        self.spending.follow(fact);
        self.requests.turn(fact);
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.run_started(fact);
                self.episodes.turn_started(record.event_seq, fact);
                self.unattended_started(fact, record.at);
                self.sleep = self.sleep.filter(|sleep| sleep.tick == Some(fact.message_id));
            }
            TurnFact::TurnTerminal(fact) => {
                // What was put back comes again with all that was said.
                let over = !self.queue.live.contains_key(&fact.message_id);
                if over {
                    self.episodes.turn_ended(fact);
                    self.skills.turn_ended();
                }
                self.memory.turn_ended(fact.run_id, fact.message_id, over);
                self.run_ended(fact);
            }
            TurnFact::ToolsCatalogued(fact) => self.episodes.tools_catalogued(fact),
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ProvidersAwaited(_)
            | TurnFact::AssistantRoundRecorded(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ToolExecuted(_)
            | TurnFact::ToolExecutionFailed(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::BudgetReserved(_)
            | TurnFact::BudgetSettled(_)
            | TurnFact::BudgetExhausted(_) => {
                if let Some(run) = &mut self.run {
                    run.follow(record, fact);
                }
            }
        }
    }

    fn run_started(&mut self, fact: &TurnStarted) {
        self.next.run = fact.run_id.next();
        self.next.turn = fact.turn_index.next();
        self.posture.status = Status::AwakeRunning;
        self.posture.started = false;
        let tail = self.queue.live.get(&fact.message_id).map_or(0, |entry| entry.tail);
        self.queue.begun(fact.message_id, fact.fence);
        self.fences.begun(fact.fence);
        self.run = Some(Run {
            id: fact.run_id,
            turn_index: fact.turn_index,
            message: fact.message_id,
            rounds: 0,
            carried: fact.carried_rounds,
            recapped: 0,
            refused: false,
            calls: Vec::new(),
            results: 0,
            call_ids: BTreeSet::new(),
            attempt: None,
            models: fact.models.clone(),
            next: 0,
            first_left_at: None,
            probes: false,
            awaited_until: None,
            recorded_something: false,
            exhausted: false,
            work_item: fact.work_item_id,
            progress: self
                .tasks
                .delivered
                .values()
                .filter(|delivered| !delivered.shown)
                .any(|delivered| delivered.by == fact.message_id || fact.also.contains(&delivered.by)),
            own: false,
            interjected: fact.interjected.clone(),
            tail,
            fence: fact.fence,
            only_offered: fact.only_offered,
            end: None,
            joined: None,
            cut_off: 0,
            rests: false,
        });
    }

    fn run_ended(&mut self, fact: &TurnTerminal) {
        let run = self.run.take();
        let live = self.queue.live.contains_key(&fact.message_id);
        self.sleep = self.sleep.filter(|sleep| live || sleep.tick != Some(fact.message_id));
        self.unattended_ended(fact, run.as_ref().is_some_and(|run| run.own));
        let bound = run.and_then(|run| run.work_item);
        if fact.progress {
            self.renew_recheck(None);
            bound.into_iter().for_each(|item| self.renew_recheck(Some(item)));
        }
        self.promised.deferrals = self.unproductive(fact, bound);
        self.promised.ended = Some(fact.run_id);
        self.promised.too_long = Some(fact.run_id).filter(|_| fact.kind == TurnKind::ContextLengthExceeded);
        self.posture.status = Status::AwakeIdle;
        self.promised.closure = Some(fact.run_id);
        self.promised.end_of = None;
    }
}
