//! What the last command of an operator or supervisor has done so far, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{Event, InboxFact, LifecycleFact, OperationFact, TaskFact, TurnFact, WakeFact};
use holon_facts::ids::{MessageId, OpId, RunId, TaskId};
use holon_facts::task::TaskStatus;

use super::{Op, Past};

/// Since it was admitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doing {
    pub(crate) run: Option<RunId>,
    /// What the run was for, and what it has taken in.
    pub(crate) messages: Vec<MessageId>,
    pub(crate) ops: Vec<OpId>,
    /// Tasks that were asked to end.
    pub(crate) ending: Vec<TaskId>,
    /// Sources of hints that nobody is notified of any more.
    pub(crate) hints: Vec<String>,
    /// Ends of tasks that the run was to report.
    pub(crate) undelivered: BTreeSet<TaskId>,
    /// Sources of the hints that live messages report.
    delivered: BTreeMap<MessageId, BTreeSet<String>>,
    /// The messages of the run in progress, in the order in which it took them.
    taken: Vec<MessageId>,
    admitted: bool,
}

impl Past {
    /// Before the record is taken in by anything else.
    pub(super) fn done(&mut self, event: &Event) {
        if let Event::Lifecycle(LifecycleFact::ControlRequestAdmitted(_)) = event {
            self.control_begins();
        }
        if let Event::Lifecycle(LifecycleFact::ControlApplied(_)) = event {
            let Doing { delivered, taken, .. } = core::mem::take(&mut self.doing);
            self.doing = Doing { delivered, taken, ..Doing::default() };
        }
        if let Event::Operation(OperationFact::OperationSettled(fact)) = event
            && self.doing.admitted
        {
            let wanted = |op: &Op| self.is_of_run(op) || op.kind == OpKind::Summarize;
            let unwanted = self.ops.get(&fact.op).is_some_and(wanted);
            if unwanted && fact.settlement == Settlement::Cancelled {
                self.doing.ops.push(fact.op);
            }
        }
        if let Event::Task(TaskFact::TaskStatusUpdated(fact)) = event
            && (self.doing.admitted && fact.status == TaskStatus::Cancelling)
        {
            self.doing.ending.push(fact.task_id);
        }
        if let Event::Turn(TurnFact::TurnTerminal(fact)) = event {
            let taken = core::mem::take(&mut self.doing.taken);
            if self.doing.admitted {
                (self.doing.run, self.doing.messages) = (Some(fact.run_id), taken);
            }
        }
        if let Event::Turn(TurnFact::TurnStarted(fact)) = event {
            let all = core::iter::once(fact.message_id).chain(fact.also.iter().copied());
            self.doing.taken = all.chain(fact.interjected.iter().copied()).collect();
        }
        if let Event::Inbox(InboxFact::OperatorInterjectionAdmitted(fact)) = event {
            self.doing.taken.push(fact.message_id);
        }
        if let Event::Wake(WakeFact::WakeTickQueued(fact)) = event {
            let delivered = self.hints.sources().filter(|source| !fact.left.contains(source));
            let delivered = delivered.cloned().collect();
            self.doing.delivered.insert(fact.message_id, delivered);
        }
        if let Event::Inbox(InboxFact::MessageProcessed(fact)) = event {
            drop(self.doing.delivered.remove(&fact.message_id));
        }
        if let Event::Inbox(InboxFact::MessageAborted(fact)) = event {
            drop(self.doing.delivered.remove(&fact.message_id));
        }
        if let Event::Inbox(InboxFact::MessageDropped(fact)) = event {
            drop(self.doing.delivered.remove(&fact.message_id));
        }
    }

    fn control_begins(&mut self) {
        let taken = &self.doing.taken;
        let delivered = taken.iter().filter_map(|id| self.doing.delivered.get(id)).flatten();
        let hints: BTreeSet<String> = self.hints.sources().chain(delivered).cloned().collect();
        let is_taken = |by: MessageId| taken.contains(&by);
        let undelivered =
            self.tasks.delivered.iter().filter(|(_, delivered)| is_taken(delivered.by) && !delivered.shown);
        self.doing.undelivered = undelivered.map(|(task, _)| *task).collect();
        self.doing.hints = hints.into_iter().collect();
        (self.doing.run, self.doing.admitted) = (None, true);
        self.doing.messages.clear();
        self.doing.ops.clear();
        self.doing.ending.clear();
    }
}
