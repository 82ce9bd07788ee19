//! Tasks of one agent, as far as anything was promised: which exist, which were asked to end, which have ended, and
//! whether each end was reported to the agent once.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::task::{StopCause, TaskCreated, TaskStatusUpdated};
use holon_facts::event::{InboxFact, LifecycleFact, TaskFact, TurnFact};
use holon_facts::ids::{TaskId, TimerId};
use holon_facts::lifecycle::ControlAction;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::AdmissionContext;
use holon_facts::task::TaskStatus;
use holon_facts::{Event, MessageId};

use super::Reply;
use super::made::CONFLICT;
use crate::failure::{Failure, ensure};

/// Ended tasks that callers may still ask about.
const REMEMBERED: usize = 64;
/// The subsystem that reports several tasks at once.
const SEVERAL_TASKS: &str = "task_restart";
/// Bytes that may be written at a time.
const INPUT: u64 = 64 * 1024;

#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    all: BTreeMap<TaskId, Task>,
    /// In the order of their ends.
    ended: Vec<TaskId>,
    /// Messages that report tasks and have not ended.
    reporting: BTreeMap<MessageId, BTreeSet<TaskId>>,
    /// The last message that reports several tasks.
    lists: Option<MessageId>,
    /// Reported tasks of aborted runs.
    aborted: BTreeMap<MessageId, BTreeSet<TaskId>>,
    /// Sabotage: every end was reported before; no end is known.
    pub(super) deaf: bool,
    pub(super) blind: bool,
}

#[derive(Debug, Clone)]
struct Task {
    ended: bool,
    /// Whether the task was asked to end, and whether at once.
    asked: Option<bool>,
    by_agent: bool,
    takes_input: bool,
    delivered: u32,
    /// The agent knows the end: a turn showed it, or the agent brought it about.
    known: bool,
    /// A turn has shown the end.
    shown: bool,
}

impl Task {
    fn of(fact: &TaskCreated) -> Self {
        Self {
            ended: false,
            asked: None,
            by_agent: false,
            takes_input: fact.job.command().is_none_or(|command| command.accepts_input),
            delivered: 0,
            known: false,
            shown: false,
        }
    }
}

/// Whether a message is the runtime's own report of tasks or of a timer.
pub(super) fn is_notice(message: &Message) -> bool {
    match &message.origin {
        Origin::Task { task_id } => task_id.parse::<TaskId>().is_ok(),
        Origin::System { subsystem } => subsystem == SEVERAL_TASKS,
        Origin::Timer { timer_id } => timer_id.parse::<TimerId>().is_ok(),
        Origin::Operator { .. }
        | Origin::Channel { .. }
        | Origin::Webhook { .. }
        | Origin::Callback { .. } => false,
    }
}

impl Tasks {
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Task(TaskFact::TaskCreated(fact)) => {
                self.all.insert(fact.task_id, Task::of(fact));
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) => self.changed(fact),
            Event::Inbox(InboxFact::MessageAdmitted(fact)) => self.admitted(fact)?,
            Event::Inbox(InboxFact::MessageDequeued(fact)) if fact.run_id.is_none() => {
                for id in self.reporting.get(&fact.message_id).into_iter().flatten() {
                    let known = !self.blind && self.all.get(id).is_some_and(|task| task.known);
                    ensure!(
                        known,
                        "S5",
                        "{} passes unread, and its agent does not know of {id}",
                        fact.message_id
                    );
                }
            }
            Event::Inbox(InboxFact::MessageProcessed(fact)) => drop(self.reporting.remove(&fact.message_id)),
            Event::Inbox(InboxFact::MessageAborted(fact)) => {
                let reporting = self.reporting.remove(&fact.message_id);
                self.aborted.extend(reporting.map(|tasks| (fact.message_id, tasks)));
            }
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) => {
                // Reports of the aborted run come again after the next start.
                let aborted = std::mem::take(&mut self.aborted);
                let named = fact.aborted_messages.iter().filter_map(|message| aborted.get(message)).flatten();
                for id in named.filter(|_| fact.action == ControlAction::Stop) {
                    self.all
                        .get_mut(id)
                        .into_iter()
                        .filter(|task| !task.shown)
                        .for_each(|task| task.delivered = 0);
                }
            }
            Event::Inbox(InboxFact::MessageDropped(fact)) => drop(self.reporting.remove(&fact.message_id)),
            Event::Turn(TurnFact::ToolExecuted(fact)) => {
                let shown = fact.receipt.facts.shown_task.and_then(|task| self.all.get_mut(&task));
                if let Some(task) = shown {
                    ensure!(task.ended, "S5", "the end of a task is shown before it");
                    (task.known, task.shown) = (true, true);
                }
            }
            Event::Task(TaskFact::TaskResultQueued(fact)) => {
                if self.lists == Some(fact.message_id) {
                    self.deliver(fact.message_id, fact.task_id)?;
                }
            }
            Event::Task(
                TaskFact::TaskInputDelivered(_)
                | TaskFact::ChildNeedNoted(_)
                | TaskFact::ChildNeedTold(_)
                | TaskFact::ChildEnded(_),
            )
            | Event::Turn(_)
            | Event::Inbox(_)
            | Event::Lifecycle(_)
            | Event::Scheduling(_)
            | Event::Operation(_)
            | Event::Timer(_)
            | Event::Work(_)
            | Event::Wait(_)
            | Event::Wake(_)
            | Event::Outbox(_)
            | Event::Workspace(_)
            | Event::Brief(_)
            | Event::Episode(_)
            | Event::Skill(_) => {}
        }
        Ok(())
    }

    fn changed(&mut self, fact: &TaskStatusUpdated) {
        let Some(task) = self.all.get_mut(&fact.task_id) else { return };
        if fact.status.is_terminal() {
            task.ended = true;
            task.known = task.by_agent && fact.status == TaskStatus::Cancelled;
            self.ended.push(fact.task_id);
            return;
        }
        if let Some(cause) = fact.cause.stop() {
            task.by_agent = cause == StopCause::Agent;
        }
        task.asked = Some(fact.force || task.asked == Some(true));
    }

    /// P2: a message reports ends that have come, each once.
    fn admitted(&mut self, fact: &MessageAdmitted) -> Result<(), Failure> {
        let message = &fact.message;
        if message.admission_context != AdmissionContext::RuntimeOwned {
            return Ok(());
        }
        let reply: BTreeSet<TaskId> = match &message.origin {
            Origin::Task { task_id } => task_id.parse().into_iter().collect(),
            // The tasks that it reports come record by record: its text is cut short.
            Origin::System { subsystem } if subsystem == SEVERAL_TASKS => {
                self.reporting.insert(message.id, BTreeSet::new());
                self.lists = Some(message.id);
                return Ok(());
            }
            Origin::System { .. }
            | Origin::Operator { .. }
            | Origin::Channel { .. }
            | Origin::Webhook { .. }
            | Origin::Callback { .. }
            | Origin::Timer { .. } => return Ok(()),
        };
        for id in reply {
            self.deliver(message.id, id)?;
        }
        Ok(())
    }

    fn deliver(&mut self, message: MessageId, id: TaskId) -> Result<(), Failure> {
        let task = self.all.get_mut(&id).filter(|task| task.ended && task.delivered == 0 && !self.deaf);
        ensure!(task.is_some(), "P2", "{message} tells of {id}, which goes on or was told of");
        if let Some(task) = task {
            task.delivered += 1;
        }
        self.reporting.entry(message).or_default().insert(id);
        Ok(())
    }

    /// An ended task that was not reported to its agent.
    pub(super) fn undelivered(&self) -> Option<TaskId> {
        self.all.iter().find(|(_, task)| task.ended && task.delivered == 0).map(|(id, _)| *id)
    }

    /// The answers to a request that has begun a task before, if it has.
    pub(super) fn made(&self, id: TaskId) -> Option<Vec<Reply>> {
        let known = Reply::Task { task: id, changed: false };
        let forgotten = self.all.get(&id)?.ended && self.long_ago(id);
        Some(forgotten.then_some(CONFLICT).into_iter().chain([known]).collect())
    }

    /// Whether a task ended so long ago that callers may be answered that there is none.
    fn long_ago(&self, id: TaskId) -> bool {
        self.ended.iter().rev().take(REMEMBERED).all(|recent| *recent != id)
    }

    fn of_ended(&self, id: TaskId, reply: Reply) -> Vec<Reply> {
        let unknown = self.long_ago(id).then_some(Reply::Refused("unknown_task"));
        unknown.into_iter().chain([reply]).collect()
    }

    /// The answers to a request for a task's end.
    pub(super) fn end(&self, id: TaskId, force: bool) -> Vec<Reply> {
        match self.all.get(&id) {
            None => vec![Reply::Refused("unknown_task")],
            Some(task) if task.ended => self.of_ended(id, Reply::Task { task: id, changed: false }),
            Some(Task { asked: None, .. }) => vec![Reply::Task { task: id, changed: true }],
            // The task may have ended, or been asked to end at once, at the beginning of the step.
            Some(Task { asked: Some(before), .. }) => {
                vec![
                    Reply::Task { task: id, changed: force && !before },
                    Reply::Task { task: id, changed: false },
                ]
            }
        }
    }

    /// The answers where nothing can be done for a task.
    pub(super) fn closed(&self, id: TaskId, reply: Reply) -> Vec<Reply> {
        match self.all.get(&id) {
            None => vec![Reply::Refused("unknown_task")],
            Some(task) if task.ended => self.of_ended(id, reply),
            Some(_) => vec![reply],
        }
    }

    /// The answers to a request that writes to a task.
    pub(super) fn write(&self, id: TaskId, bytes: u64) -> Vec<Reply> {
        match self.all.get(&id) {
            None => vec![Reply::Refused("unknown_task")],
            Some(task) if task.ended && bytes > INPUT => self.of_ended(id, Reply::Refused("too_large")),
            Some(task) if task.ended => self.of_ended(id, Reply::Input { task: id, accepted: false }),
            Some(_) if bytes > INPUT => vec![Reply::Refused("too_large")],
            Some(task) => {
                let refused = Reply::Input { task: id, accepted: false };
                let taken = task.takes_input.then_some(Reply::Input { task: id, accepted: true });
                taken.into_iter().chain([refused]).collect()
            }
        }
    }
}
