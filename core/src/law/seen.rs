//! What the log of one agent has said so far, as far as a law looks back. Bounded by what is live: ids are
//! handed out in order, so a message that was admitted and is neither queued nor claimed is terminal.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::agent::task::TaskStatus;
use crate::event::brief::BriefKind;
use crate::event::inbox::{MessageAdmitted, RequeueCause};
use crate::event::operation::{OpKind, Settlement};
use crate::event::task::StopCause;
use crate::event::turn::{
    AssistantRoundRecorded, CompactionCause, ProviderAttemptRecorded, TurnStarted, TurnTerminal,
};
use crate::event::{
    BriefFact, Event, InboxFact, LifecycleFact, OperationFact, SchedulingFact, TaskFact, TurnFact,
};
use crate::ids::{BriefId, EventSeq, MessageId, OpId, RunId, StepSeq, TaskId, TurnIndex};
use crate::lifecycle::{ControlAction, Status};
use crate::message::{MessageKind, Priority};
use crate::model::{AttemptOutcome, Block, ModelRef};
use crate::record::Record;
use crate::scheduler::{DecisionKind, SchedulerDecision};
use crate::time::Wall;
use crate::tool::{TaskCall, Verdict};

/// The agent before the record that is judged.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) last: Option<Position>,
    pub(super) next: Next,
    pub(super) posture: Posture,
    pub(super) queue: Queue,
    pub(super) keys: Keys,
    pub(super) run: Option<Run>,
    pub(super) ops: BTreeMap<OpId, Op>,
    pub(super) tasks: Tasks,
    pub(super) hold: Option<Hold>,
    pub(super) decided: Option<(DecisionKind, Option<MessageId>)>,
    pub(super) owed: Owed,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    pub(super) event_seq: EventSeq,
    pub(super) step: StepSeq,
    pub(super) at: Wall,
}

/// The ids that are given next.
#[derive(Debug, Clone)]
pub(super) struct Next {
    pub(super) message: MessageId,
    pub(super) run: RunId,
    pub(super) op: OpId,
    pub(super) brief: BriefId,
    pub(super) turn: TurnIndex,
    pub(super) task: TaskId,
}

/// An operation in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) kind: OpKind,
    pub(super) run: Option<RunId>,
    pub(super) task: Option<TaskId>,
}

/// Tasks that are not done with.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    pub(super) live: BTreeMap<TaskId, Task>,
    /// Ended, and nothing tells of it yet.
    pub(super) untold: BTreeMap<TaskId, Ended>,
    /// Told by a message that is not terminal, and not shown since.
    pub(super) told: BTreeMap<TaskId, MessageId>,
    /// Commands of operators whose supervisors wait for the word.
    pub(super) prepared: BTreeSet<TaskId>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Task {
    pub(super) status: TaskStatus,
    /// Who asked for its end, and whether at once.
    pub(super) stop: Option<(StopCause, bool)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// The agent itself brought it about.
    pub(super) by_agent: bool,
    pub(super) step: StepSeq,
}

#[derive(Debug, Clone)]
pub(super) struct Posture {
    pub(super) status: Status,
    /// By the last control command, whatever else was said.
    pub(super) stopped: bool,
    /// Since the last run.
    pub(super) started: bool,
    pub(super) admitted_while_stopped: bool,
    /// A command is being carried out, and so many messages were queued before it.
    pub(super) control: Option<(ControlAction, usize)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    pub(super) live: BTreeMap<MessageId, Entry>,
    pub(super) waiting: BTreeSet<(Priority, MessageId)>,
    /// The message of the last run that was aborted.
    pub(super) aborted: Option<MessageId>,
}

/// A message that is not terminal.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) kind: MessageKind,
    pub(super) priority: Priority,
    pub(super) interjects: bool,
    pub(super) crashes: u32,
    /// Its agent knows what it says.
    pub(super) known: bool,
    /// None while it waits.
    pub(super) claim: Option<Claim>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    ByRun(RunId),
    /// Taken without a model; over within its step.
    Reduced,
}

/// Idempotency keys that are kept, in the order of admission and by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    by_message: BTreeMap<MessageId, String>,
    by_key: BTreeMap<String, MessageId>,
    /// Keys up to here were admitted before the clock went back: the order of their age is lost.
    muddled: Option<MessageId>,
}

/// The run in progress.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) turn_index: TurnIndex,
    pub(super) message: MessageId,
    pub(super) rounds: u32,
    /// Rounds of interrupted runs that came before.
    pub(super) carried: u32,
    /// Rounds that are told in short.
    pub(super) recapped: u32,
    /// Whether a provider's refusal made it shorter.
    pub(super) refused: bool,
    pub(super) calls: Vec<Call>,
    pub(super) results: usize,
    /// Of all rounds: an id stands for one call of the conversation.
    pub(super) call_ids: BTreeSet<String>,
    pub(super) attempt: Option<Attempt>,
    pub(super) recorded_something: bool,
    pub(super) exhausted: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) accepted: bool,
    /// The task whose output it reads.
    pub(super) reads: Option<TaskId>,
    pub(super) started: bool,
    /// A supervisor is up for it.
    pub(super) prepared: bool,
    /// The supervisor was given the word.
    pub(super) executed: bool,
}

/// The last attempt at the round in progress.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) model: ModelRef,
    pub(super) number: u32,
    pub(super) outcome: AttemptOutcome,
    pub(super) waits: bool,
    pub(super) step: StepSeq,
}

#[derive(Debug, Clone)]
pub(super) struct Hold {
    pub(super) until: Wall,
    /// The first operator prompt since the hold was set.
    pub(super) trial: Option<MessageId>,
}

/// What records of this step have promised for the same step.
#[derive(Debug, Clone, Default)]
pub(super) struct Owed {
    pub(super) closure: Option<RunId>,
    /// A model or a tool has said something in this step.
    pub(super) said: bool,
    /// A command was applied, or a decision to rest was taken or stands.
    pub(super) moved: bool,
    /// Messages that a hold put back.
    pub(super) held_back: Vec<MessageId>,
    pub(super) failure_brief: Option<MessageId>,
    pub(super) end_of: Option<RunId>,
    /// A start of the runtime has looked at what was in flight.
    pub(super) recovered: bool,
    /// Messages that were admitted.
    pub(super) admitted: Vec<MessageId>,
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
        }
    }
}

impl Default for Posture {
    fn default() -> Self {
        Self {
            status: Status::Booting,
            stopped: false,
            started: false,
            admitted_while_stopped: false,
            control: None,
        }
    }
}

impl Run {
    /// The first call without a result.
    pub(super) fn open_call(&self) -> Option<&Call> {
        self.calls.get(self.results)
    }
}

impl Call {
    /// Whether a supervisor waits for the word to execute it.
    pub(super) fn waits_for_the_word(&self) -> bool {
        self.prepared && !self.executed
    }
}

impl Seen {
    /// Whether a hold keeps the queue waiting at that moment.
    pub(super) fn held(&self, at: Wall) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| at < hold.until)
    }

    /// The run in progress, if it is that one.
    pub(super) fn running(&self, run: RunId) -> Option<&Run> {
        self.run.as_ref().filter(|current| current.id == run)
    }

    /// Whether the record begins another step: what the last one owed is overdue.
    pub(super) fn begins_step(&self, record: &Record) -> bool {
        self.last.is_some_and(|last| last.step != record.step)
    }

    /// Takes a record in, whatever the laws said of it.
    pub(super) fn follow(&mut self, record: &Record) {
        if self.begins_step(record) {
            self.owed = Owed::default();
        }
        self.owed.said |= super::authority::says(self, &record.event);
        self.last = Some(Position { event_seq: record.event_seq, step: record.step, at: record.at });
        match &record.event {
            Event::Lifecycle(fact) => self.lifecycle(fact),
            Event::Inbox(fact) => self.inbox(fact),
            Event::Scheduling(fact) => self.scheduling(fact),
            Event::Turn(fact) => self.turn(record.step, fact),
            Event::Operation(fact) => self.operation(fact),
            Event::Task(fact) => self.task(record.step, fact),
            Event::Brief(BriefFact::BriefCreated(fact)) => {
                self.next.brief = fact.id.next();
                if fact.kind == BriefKind::Failure && fact.related_message_id == self.owed.failure_brief {
                    self.owed.failure_brief = None;
                }
            }
        }
    }

    /// Whether an operation ends with the run: what a task or an operator waits for does not.
    pub(super) fn is_of_run(&self, op: &Op) -> bool {
        let task =
            op.kind == OpKind::RunCommand && op.task.is_some_and(|id| self.tasks.live.contains_key(&id));
        op.run.is_some() && !task
    }

    pub(super) fn run_ops(&self) -> impl Iterator<Item = (&OpId, &Op)> {
        self.ops.iter().filter(|(_, op)| self.is_of_run(op))
    }

    fn operation(&mut self, fact: &OperationFact) {
        let call = self.run.as_mut().and_then(|run| run.calls.get_mut(run.results));
        match fact {
            OperationFact::OperationOpened(fact) => {
                self.next.op = fact.op.next();
                self.next.task = fact.task_id.map_or(self.next.task, |task| self.next.task.max(task.next()));
                let op = Op { kind: fact.kind, run: fact.run_id, task: fact.task_id };
                self.ops.insert(fact.op, op);
                let executes = fact.kind == OpKind::RunCommand;
                match (call, fact.run_id) {
                    (Some(call), Some(_)) => call.executed |= executes,
                    (_, None) if executes => {
                        self.tasks.prepared.retain(|task| Some(*task) != fact.task_id);
                    }
                    (_, _) => {}
                }
            }
            OperationFact::OperationSettled(fact) => {
                let op = self.ops.remove(&fact.op);
                let Some(op) = op.filter(|op| op.kind == OpKind::PrepareCommand) else { return };
                let done = fact.settlement == Settlement::Done;
                match (call, op.run) {
                    (Some(call), Some(_)) => call.prepared |= done,
                    (_, None) if done => self.tasks.prepared.extend(op.task),
                    (_, _) => {}
                }
            }
        }
    }

    fn task(&mut self, step: StepSeq, fact: &TaskFact) {
        match fact {
            TaskFact::TaskCreated(fact) => {
                self.tasks.live.insert(fact.task_id, Task { status: fact.status, stop: None });
            }
            TaskFact::TaskStatusUpdated(fact) => {
                let Some(task) = self.tasks.live.get_mut(&fact.task_id) else { return };
                task.status = fact.status;
                let cause = fact.cause.stop().or(task.stop.map(|(cause, _)| cause));
                if !fact.status.is_terminal() {
                    task.stop = cause.map(|cause| (cause, fact.force));
                    return;
                }
                let asked = task.stop.is_some_and(|(cause, _)| cause == StopCause::Agent);
                let by_agent = asked && fact.status == TaskStatus::Cancelled;
                self.tasks.live.remove(&fact.task_id);
                self.tasks.untold.insert(fact.task_id, Ended { by_agent, step });
            }
            TaskFact::TaskResultQueued(fact) => {
                self.tasks.untold.remove(&fact.task_id);
                self.tasks.told.insert(fact.task_id, fact.message_id);
                if fact.known {
                    self.queue.known(fact.message_id);
                }
            }
            TaskFact::TaskInputDelivered(_) => {}
        }
    }

    fn lifecycle(&mut self, fact: &LifecycleFact) {
        match fact {
            LifecycleFact::AgentCreated(_)
            | LifecycleFact::CurrentRunAborted(_)
            | LifecycleFact::ModelOverrideChanged(_) => {}
            LifecycleFact::ControlRequestAdmitted(fact) => {
                self.posture.control = Some((fact.action, self.queue.waiting.len()));
            }
            LifecycleFact::ControlApplied(fact) => {
                self.posture.control = None;
                self.owed.moved = true;
                match fact.action {
                    ControlAction::Stop => self.posture.stopped = true,
                    ControlAction::Start => {
                        self.posture.stopped = false;
                        self.posture.started = true;
                    }
                    ControlAction::Abort => {}
                }
                self.posture.admitted_while_stopped &= self.posture.stopped;
            }
            LifecycleFact::SchedulerPostureDecision(fact) => self.posture.status = fact.next,
            LifecycleFact::RuntimeRecovered(fact) => {
                self.owed.end_of = fact.interrupted_run_id;
                self.owed.recovered = true;
            }
            LifecycleFact::ClockStepped(fact) => {
                if let Some(hold) = &mut self.hold {
                    hold.until = hold.until.shifted(fact.from, fact.to);
                }
                self.keys.muddled = self.keys.by_message.last_key_value().map(|(id, _)| *id);
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
            }
            InboxFact::MessageRequeued(fact) => {
                self.queue.put_back(fact.message_id, fact.crashes);
                if fact.cause == RequeueCause::Hold {
                    self.owed.held_back.push(fact.message_id);
                }
            }
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => {
                self.settled(fact.message_id);
                self.queue.aborted = Some(fact.message_id);
            }
            InboxFact::MessageDropped(fact) => {
                self.settled(fact.message_id);
                self.owed.failure_brief = Some(fact.message_id);
            }
        }
    }

    fn settled(&mut self, message: MessageId) {
        self.queue.settle(message);
        self.tasks.told.retain(|_, told| *told != message);
    }

    fn admitted(&mut self, fact: &MessageAdmitted) {
        let message = &fact.message;
        self.next.message = message.id.next();
        self.posture.admitted_while_stopped |= self.posture.stopped;
        self.queue.admit(fact);
        self.owed.admitted.push(message.id);
        self.keys.admit(fact);
        if let Some(hold) = &mut self.hold
            && message.kind == MessageKind::OperatorPrompt
        {
            hold.trial.get_or_insert(message.id);
        }
    }

    fn scheduling(&mut self, fact: &SchedulingFact) {
        match fact {
            SchedulingFact::SchedulerDecision(fact) => {
                let SchedulerDecision { kind, message_id, .. } = &**fact;
                self.decided = Some((*kind, *message_id));
                self.owed.moved |= fact.rests();
            }
            SchedulingFact::ContinuationResolved(_) => {}
            SchedulingFact::ClosureDecided(_) => self.owed.closure = None,
            SchedulingFact::HoldSet(fact) => {
                self.hold = Some(Hold { until: fact.until, trial: None });
            }
            SchedulingFact::HoldEnded(_) => self.hold = None,
        }
    }

    fn turn(&mut self, step: StepSeq, fact: &TurnFact) {
        if let TurnFact::ToolExecuted(fact) = fact
            && let Some(message) =
                fact.receipt.facts.shown_task.and_then(|task| self.tasks.told.remove(&task))
            && !self.tasks.told.values().any(|other| *other == message)
        {
            self.queue.known(message);
        }
        match fact {
            TurnFact::TurnStarted(fact) => self.run_started(fact),
            TurnFact::TurnTerminal(fact) => self.run_ended(fact),
            TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::RuntimeError(_) => {}
            TurnFact::ProviderAttemptRecorded(_)
            | TurnFact::AssistantRoundRecorded(_)
            | TurnFact::ToolStarted(_)
            | TurnFact::ToolExecuted(_)
            | TurnFact::ToolExecutionFailed(_)
            | TurnFact::ContextCompacted(_)
            | TurnFact::BudgetExhausted(_) => {
                if let Some(run) = &mut self.run {
                    run.follow(step, fact);
                }
            }
        }
    }

    fn run_started(&mut self, fact: &TurnStarted) {
        self.next.run = fact.run_id.next();
        self.next.turn = fact.turn_index.next();
        self.posture.status = Status::AwakeRunning;
        self.posture.started = false;
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
            recorded_something: false,
            exhausted: false,
        });
    }

    fn run_ended(&mut self, fact: &TurnTerminal) {
        self.run = None;
        self.posture.status = Status::AwakeIdle;
        self.owed.closure = Some(fact.run_id);
        self.owed.end_of = None;
    }
}

impl Queue {
    fn admit(&mut self, fact: &MessageAdmitted) {
        let message = &fact.message;
        let entry = Entry {
            kind: message.kind,
            priority: message.priority,
            interjects: message.interjects(),
            crashes: 0,
            known: false,
            claim: None,
        };
        self.waiting.insert((message.priority, message.id));
        self.live.insert(message.id, entry);
    }

    fn known(&mut self, id: MessageId) {
        if let Some(entry) = self.live.get_mut(&id).filter(|entry| entry.claim.is_none()) {
            entry.known = true;
        }
    }

    fn claim(&mut self, id: MessageId, claim: Claim) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = Some(claim);
            self.waiting.remove(&(entry.priority, id));
        }
    }

    fn put_back(&mut self, id: MessageId, crashes: u32) {
        if let Some(entry) = self.live.get_mut(&id) {
            entry.claim = None;
            entry.crashes = crashes;
            self.waiting.insert((entry.priority, id));
        }
    }

    fn settle(&mut self, id: MessageId) {
        if let Some(entry) = self.live.remove(&id) {
            self.waiting.remove(&(entry.priority, id));
        }
    }
}

impl Keys {
    /// The message for which the key is kept, once `expired` of the oldest have been let go.
    pub(super) fn known(&self, key: &str, expired: u32) -> Option<MessageId> {
        let id = *self.by_key.get(key)?;
        let let_go = self.by_message.keys().take(expired as usize).any(|old| *old == id);
        (!let_go).then_some(id)
    }

    pub(super) fn has(&self, message: MessageId) -> bool {
        self.by_message.contains_key(&message)
    }

    /// Whether ages of keys can be told from their order.
    pub(super) fn in_order(&self) -> bool {
        let oldest = self.by_message.first_key_value().map(|(id, _)| *id);
        oldest.is_none_or(|oldest| self.muddled.is_none_or(|muddled| oldest > muddled))
    }

    fn admit(&mut self, fact: &MessageAdmitted) {
        for _ in 0..fact.expired_keys {
            let Some((id, key)) = self.by_message.pop_first() else { break };
            if self.by_key.get(&key) == Some(&id) {
                self.by_key.remove(&key);
            }
        }
        if let Some(idempotency) = &fact.idempotency {
            self.by_message.insert(fact.message.id, idempotency.key.clone());
            self.by_key.insert(idempotency.key.clone(), fact.message.id);
        }
    }
}

impl Run {
    fn follow(&mut self, step: StepSeq, fact: &TurnFact) {
        match fact {
            TurnFact::ProviderAttemptRecorded(fact) => self.attempted(step, fact),
            TurnFact::AssistantRoundRecorded(fact) => self.answered(fact),
            TurnFact::ToolStarted(_) => {
                if let Some(call) = self.calls.get_mut(self.results) {
                    call.started = true;
                }
            }
            TurnFact::ToolExecuted(_) | TurnFact::ToolExecutionFailed(_) => {
                self.recorded_something = true;
                self.results += 1;
            }
            TurnFact::BudgetExhausted(_) => self.exhausted = true,
            TurnFact::ContextCompacted(fact) => {
                self.recapped = fact.recapped_rounds;
                self.refused |= fact.cause == CompactionCause::Refused;
            }
            TurnFact::TurnStarted(_)
            | TurnFact::TurnContextBuilt(_)
            | TurnFact::ProviderRoundCompleted(_)
            | TurnFact::ReminderInjected(_)
            | TurnFact::RuntimeError(_)
            | TurnFact::TurnTerminal(_) => {}
        }
    }

    fn attempted(&mut self, step: StepSeq, fact: &ProviderAttemptRecorded) {
        self.attempt = Some(Attempt {
            model: fact.attempt.model_ref.clone(),
            number: fact.attempt.attempt,
            outcome: fact.attempt.outcome,
            waits: fact.attempt.backoff_ms.is_some_and(|wait| wait.0 > 0),
            step,
        });
    }

    fn answered(&mut self, fact: &AssistantRoundRecorded) {
        self.recorded_something = true;
        self.rounds = self.rounds.saturating_add(1);
        self.attempt = None;
        self.results = 0;
        let ids = fact.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { call_id, .. } => Some(call_id.clone()),
            Block::Text { .. } => None,
        });
        let reads = |verdict: &Verdict| match verdict {
            Verdict::OnTask(TaskCall::Output { task, .. }) => Some(*task),
            Verdict::OnTask(_) | Verdict::Accepted(_) | Verdict::Refused(_) => None,
        };
        self.calls = ids
            .zip(&fact.verdicts)
            .map(|(id, verdict)| Call {
                id,
                accepted: verdict.tool().is_some(),
                reads: reads(verdict),
                started: false,
                prepared: false,
                executed: false,
            })
            .collect();
        self.call_ids.extend(self.calls.iter().map(|call| call.id.clone()));
    }
}
