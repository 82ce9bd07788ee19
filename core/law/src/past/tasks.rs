//! Operations and tasks, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::task::StopCause;
use holon_facts::event::{OperationFact, TaskFact};
use holon_facts::ids::{AgentId, MessageId, OpId, RunId, StepSeq, TaskId};
use holon_facts::made::Made;
use holon_facts::task::TaskStatus;

use super::Past;

/// An operation in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    pub(crate) run: Option<RunId>,
    pub(crate) task: Option<TaskId>,
}

/// Tasks that are not done with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks {
    pub(crate) live: BTreeMap<TaskId, Task>,
    /// Ended, and nothing reports it yet.
    pub(crate) undelivered: BTreeMap<TaskId, Ended>,
    /// Told by a message that is not terminal, and not shown since.
    pub(crate) delivered: BTreeMap<TaskId, Delivered>,
    /// Commands of operators whose supervisors wait for the word.
    pub(crate) prepared: BTreeSet<TaskId>,
}

#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) status: TaskStatus,
    /// Who asked for its end, and whether at once.
    pub(crate) stop: Option<(StopCause, bool)>,
    /// The agent had begun its command before.
    pub(crate) repeated: bool,
    /// Whose life it is.
    pub(crate) child: Option<AgentId>,
}

/// The end of a task that a message reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivered {
    pub(crate) by: MessageId,
    pub(crate) repeated: bool,
    /// A turn has shown it.
    pub(crate) shown: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// The agent itself brought it about.
    pub(crate) by_agent: bool,
    pub(crate) repeated: bool,
    /// A turn has shown the result before anything told of it.
    pub(crate) shown: bool,
    pub(crate) step: StepSeq,
}

impl Past {
    /// Whether an operation ends with the run: what a task or an operator waits for does not.
    pub(crate) fn is_of_run(&self, op: &Op) -> bool {
        let task =
            op.kind == OpKind::RunCommand && op.task.is_some_and(|id| self.tasks.live.contains_key(&id));
        op.run.is_some() && !task
    }

    pub(crate) fn run_ops(&self) -> impl Iterator<Item = (&OpId, &Op)> {
        self.ops.iter().filter(|(_, op)| self.is_of_run(op))
    }

    pub(super) fn operation(&mut self, fact: &OperationFact) {
        match fact {
            OperationFact::OperationOpened(fact) => {
                self.next.op = fact.op.next();
                self.requests.opened(fact);
                self.spending.opened(fact.op, fact.kind);
                if fact.kind == OpKind::Summarize {
                    self.episodes.summary_requested(fact.op, self.run.as_ref().map(|run| run.id));
                }
                self.next.task = fact.task_id.map_or(self.next.task, |task| self.next.task.max(task.next()));
                let op = Op { kind: fact.kind, run: fact.run_id, task: fact.task_id };
                self.ops.insert(fact.op, op);
                let executes = fact.kind == OpKind::RunCommand;
                // The command may be a new one.
                if let Some(run) = self.run.as_mut().filter(|run| executes && Some(run.id) == fact.run_id) {
                    run.progress = true;
                }
                let call = self.run.as_mut().and_then(|run| run.calls.get_mut(run.results));
                match (call, fact.run_id) {
                    (Some(call), Some(_)) => {
                        call.executed |= executes;
                        call.sent |= fact.kind == OpKind::CallTool;
                    }
                    (_, None) if executes => {
                        self.tasks.prepared.retain(|task| Some(*task) != fact.task_id);
                    }
                    (_, _) => {}
                }
            }
            OperationFact::OperationSettled(fact) => {
                self.episodes.summary_settled(fact.op);
                let call = self.run.as_mut().and_then(|run| run.calls.get_mut(run.results));
                let op = self.ops.remove(&fact.op);
                let Some(op) = op.filter(|op| op.kind == OpKind::PrepareCommand) else { return };
                let done = fact.settlement == Settlement::Done;
                match (call, op.run) {
                    (Some(call), Some(_)) => call.prepared |= done,
                    (_, None) if done => self.tasks.prepared.extend(op.task),
                    // The operator's command was not begun.
                    (_, None) => op.task.into_iter().for_each(|task| self.made.release(Made::Task(task))),
                    (_, _) => {}
                }
            }
        }
    }

    pub(super) fn task(&mut self, step: StepSeq, fact: &TaskFact) {
        self.need(fact);
        match fact {
            TaskFact::TaskCreated(fact) => {
                let child = fact.job.child().map(|child| child.child_agent_id.clone());
                // The child may be for something new.
                if let Some(run) = self.run.as_mut().filter(|_| child.is_some()) {
                    run.progress = true;
                }
                let task = Task { status: fact.status, stop: None, repeated: fact.repeated, child };
                self.tasks.live.insert(fact.task_id, task);
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
                let ended = Ended { by_agent, repeated: task.repeated, shown: false, step };
                let child = self.tasks.live.remove(&fact.task_id).and_then(|task| task.child);
                if let Some(child) = child {
                    self.supervision.received.remove(&child);
                    self.supervision.needs.remove(&fact.task_id);
                }
                self.tasks.undelivered.insert(fact.task_id, ended);
            }
            TaskFact::TaskResultQueued(fact) => {
                let ended = self.tasks.undelivered.remove(&fact.task_id);
                let repeated = ended.is_some_and(|ended| ended.repeated);
                // What was shown before it was told needs no model any more.
                let shown = ended.is_some_and(|ended| ended.shown);
                self.tasks.delivered.insert(fact.task_id, Delivered { by: fact.message_id, repeated, shown });
                self.queue.delivers_result(fact.message_id, repeated);
                self.delivered(fact.message_id, fact.task_id);
                if fact.known {
                    self.queue.known(fact.message_id);
                } else if !repeated {
                    self.external_activity();
                }
            }
            TaskFact::TaskInputDelivered(_)
            | TaskFact::ChildNeedNoted(_)
            | TaskFact::ChildNeedTold(_)
            | TaskFact::ChildEnded(_) => {}
        }
    }
}
