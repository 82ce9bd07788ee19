//! What the last command of an operator or supervisor has done so far, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{Event, InboxFact, LifecycleFact, OperationFact, TurnFact, WakeFact};
use holon_facts::ids::{MessageId, OpId, RunId, TaskId};

use super::{Op, Past};

/// Since it was admitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Doing {
    pub(crate) run: Option<RunId>,
    /// What the run was for, and what it has taken in.
    pub(crate) messages: Vec<MessageId>,
    pub(crate) ops: Vec<OpId>,
    /// Sources of hints that nobody is told of any more.
    pub(crate) hints: Vec<String>,
    /// Ends of tasks that the run was to tell of.
    pub(crate) untold: BTreeSet<TaskId>,
    /// Sources of the hints that live messages tell of.
    told: BTreeMap<MessageId, BTreeSet<String>>,
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
            let Doing { told, taken, .. } = core::mem::take(&mut self.doing);
            self.doing = Doing { told, taken, ..Doing::default() };
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
            let told = self.hints.sources().filter(|source| !fact.left.contains(source));
            let told = told.cloned().collect();
            self.doing.told.insert(fact.message_id, told);
        }
        if let Event::Inbox(InboxFact::MessageProcessed(fact)) = event {
            drop(self.doing.told.remove(&fact.message_id));
        }
        if let Event::Inbox(InboxFact::MessageAborted(fact)) = event {
            drop(self.doing.told.remove(&fact.message_id));
        }
        if let Event::Inbox(InboxFact::MessageDropped(fact)) = event {
            drop(self.doing.told.remove(&fact.message_id));
        }
    }

    fn control_begins(&mut self) {
        let taken = &self.doing.taken;
        let told = taken.iter().filter_map(|id| self.doing.told.get(id)).flatten();
        let hints: BTreeSet<String> = self.hints.sources().chain(told).cloned().collect();
        let tells = |by: MessageId| taken.contains(&by);
        let untold = self.tasks.told.iter().filter(|(_, told)| tells(told.by) && !told.shown);
        self.doing.untold = untold.map(|(task, _)| *task).collect();
        self.doing.hints = hints.into_iter().collect();
        (self.doing.run, self.doing.admitted) = (None, true);
        self.doing.messages.clear();
        self.doing.ops.clear();
    }
}
