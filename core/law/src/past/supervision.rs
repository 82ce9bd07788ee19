//! Supervision and letters, as far as a law looks back.

use alloc::collections::{BTreeMap, BTreeSet};

use holon_facts::event::{OutboxFact, TaskFact};
use holon_facts::ids::{AgentId, LetterId, MessageId, TaskId};
use holon_facts::outbox::Letter;
use holon_facts::task::TaskStatus;

use super::Past;

#[derive(Debug, Clone, Default)]
pub(crate) struct Supervision {
    pub(crate) depth: u32,
    /// Letters on their way.
    pub(crate) letters: BTreeSet<LetterId>,
    /// The last letter of each agent that may send more.
    pub(crate) received: BTreeMap<AgentId, LetterId>,
    /// From whom the last letter came.
    pub(crate) last_sender: Option<AgentId>,
    /// Live messages that report the need of a child.
    pub(crate) ticks: BTreeSet<MessageId>,
    /// The last one of each child, as long as that needs something.
    pub(crate) needs: BTreeMap<TaskId, MessageId>,
    /// Tasks of which the child has ended.
    pub(crate) ended: BTreeSet<TaskId>,
    pub(crate) retired: Option<TaskStatus>,
    pub(crate) reported: bool,
}

impl Past {
    /// Whether a message reports a need that nobody has any more.
    pub(crate) fn need_is_gone(&self, message: MessageId) -> bool {
        self.supervision.ticks.contains(&message)
            && !self.supervision.needs.values().any(|tick| *tick == message)
    }

    pub(super) fn need(&mut self, fact: &TaskFact) {
        match fact {
            TaskFact::ChildNeedNoted(fact) => {
                self.supervision.needs.remove(&fact.task_id);
            }
            TaskFact::ChildNeedTold(fact) => {
                self.supervision.needs.insert(fact.task_id, fact.message_id);
                self.supervision.ticks.insert(fact.message_id);
            }
            TaskFact::TaskCreated(_)
            | TaskFact::TaskStatusUpdated(_)
            | TaskFact::TaskResultQueued(_)
            | TaskFact::TaskInputDelivered(_) => {}
            TaskFact::ChildEnded(fact) => drop(self.supervision.ended.insert(fact.task_id)),
        }
    }

    pub(super) fn outbox(&mut self, fact: &OutboxFact) {
        let supervision = &mut self.supervision;
        match fact {
            OutboxFact::LetterPosted(fact) => {
                self.next.letter = fact.letter_id.next();
                supervision.letters.insert(fact.letter_id);
                supervision.reported |= matches!(fact.letter, Letter::Result { .. });
            }
            OutboxFact::LetterDelivered(fact) => drop(supervision.letters.remove(&fact.letter_id)),
            OutboxFact::LetterReturned(fact) => drop(supervision.letters.remove(&fact.letter_id)),
            OutboxFact::LetterReceived(fact) => {
                supervision.last_sender = Some(fact.from.clone());
                supervision.received.insert(fact.from.clone(), fact.letter_id);
            }
        }
    }
}
