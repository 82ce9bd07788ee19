//! The way of letters from one agent to another. Where both are in memory a letter is on record with both in the step
//! in which it was posted; an agent that is not in memory is asked for, and is told before it decides anything.

use alloc::collections::BTreeSet;

use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::outbox::{LetterDelivered, LetterReceived, LetterReturned};
use holon_facts::ids::{AgentId, EventSeq, LetterId};
use holon_facts::outbox::Letter;
use holon_facts::provenance::Priority;
use holon_facts::record::Record;
use holon_facts::task::ChildEnd;

use super::Host;
use crate::agent::Agent;
use crate::agent::outbox::Envelope;
use crate::effect::Effect;
use crate::handler::{child, external_trigger, model, task};
use crate::tx::{Batch, Tx};

/// What became of a letter.
enum Carried {
    Delivered,
    Returned(&'static str),
    /// There is no room for it now, or nobody to take it.
    Waits,
}

impl Host {
    /// Carries what was posted, and what that brings about, until nothing is left to carry.
    pub(super) fn carry(&mut self, batch: &mut Batch) {
        while let Some((from, letter)) = self.posted.pop_front() {
            self.carry_one(batch, &from, letter);
        }
    }

    /// Carries again what waits for an agent: from its supervisor, and from its children.
    pub(super) fn collect(&mut self, batch: &mut Batch, to: &AgentId) {
        let Some(agent) = self.agent(to) else { return };
        let supervisor = agent.spec.supervisor.iter().map(|supervisor| supervisor.agent_id.clone());
        let children = agent.tasks.children().map(|(_, child)| child.child_agent_id.clone());
        let senders: alloc::vec::Vec<AgentId> = supervisor.chain(children).collect();
        for from in senders {
            let Some(sender) = self.agent(&from).filter(|sender| !sender.outbox.is_empty()) else { continue };
            let open = sender.outbox.open().filter(|(_, envelope)| envelope.to == *to).map(|(id, _)| id);
            self.posted.extend(open.map(|id| (from.clone(), id)).collect::<alloc::vec::Vec<_>>());
        }
        self.carry(batch);
    }

    /// Asks once more for the children that letters of an agent wait for: who had been asked for by an earlier process is
    /// not in memory for it.
    pub(super) fn ask_again(&self, batch: &mut Batch, from: &AgentId) {
        let Some(sender) = self.agent(from) else { return };
        let waited: BTreeSet<&AgentId> = sender.outbox.open().map(|(_, envelope)| &envelope.to).collect();
        for child in waited.into_iter().filter(|to| self.agent(to).is_none()) {
            self.ask_for(batch, from, child);
        }
    }

    fn carry_one(&mut self, batch: &mut Batch, from: &AgentId, letter_id: LetterId) {
        let Some(Envelope { to, letter }) =
            self.agent(from).and_then(|sender| sender.outbox.get(letter_id)).cloned()
        else {
            return;
        };
        let carried = match self.agent(&to) {
            Some(receiver) if receiver.outbox.knows(from, letter_id) => Carried::Delivered,
            Some(_) if !matches!(letter, Letter::Stop { .. }) && self.waits_behind(from, letter_id, &to) => {
                Carried::Waits
            }
            Some(_) => self.hand_over(batch, from, letter_id, &to, letter),
            None => match letter {
                Letter::Spawn { .. } => self.hand_over(batch, from, letter_id, &to, letter),
                Letter::FollowUp { .. }
                | Letter::Stop { .. }
                | Letter::Needs { .. }
                | Letter::Result { .. } => {
                    self.ask_for(batch, from, &to);
                    Carried::Waits
                }
            },
        };
        self.open_agent(batch, from, |tx| match carried {
            // Its sender may have taken it back meanwhile.
            _ if tx.agent().outbox.get(letter_id).is_none() => {}
            Carried::Delivered => {
                for overtaken in overtaken(tx, letter_id, &to) {
                    let problem = "the child was stopped before".into();
                    tx.record(LetterReturned { letter_id: overtaken, problem });
                }
                tx.record(LetterDelivered { letter_id });
            }
            Carried::Returned(problem) => tx.record(LetterReturned { letter_id, problem: problem.into() }),
            Carried::Waits => {}
        });
        // What waits is carried again when something else happens to whom it is for.
        if !matches!(carried, Carried::Waits) {
            self.unsettled.extend([from.clone(), to]);
        }
    }

    /// Whether an earlier letter to the same agent is still on its way: who has a later one knows those before it.
    fn waits_behind(&self, from: &AgentId, letter: LetterId, to: &AgentId) -> bool {
        self.agent(from).is_some_and(|sender| earlier(sender, letter, to).next().is_some())
    }

    /// A child is brought in by whoever holds its log.
    fn ask_for(&self, batch: &mut Batch, from: &AgentId, child: &AgentId) {
        let Some(parent) = self.agent(from) else { return };
        let Some(task) = parent.tasks.of_child(child).map(|task| task.id) else { return };
        let op = parent.ops.iter().find(|(_, open)| open.kind.brings_end() && open.task_id == Some(task));
        if let Some((op, _)) = op {
            batch.effects.push(Effect::LoadChild { agent: from.clone(), op: *op, child: child.clone() });
        }
    }

    fn hand_over(
        &mut self,
        batch: &mut Batch,
        from: &AgentId,
        letter_id: LetterId,
        to: &AgentId,
        letter: Letter,
    ) -> Carried {
        let received = LetterReceived { from: from.clone(), letter_id };
        if let Letter::Spawn { spec, model, message } = letter {
            if self.names.holder(to).is_some() {
                return Carried::Returned("there is an agent of that name");
            }
            let fact = AgentCreated { spec: *spec };
            let at = self.clock.wall();
            let record =
                Record { step: batch.seq, agent: to.clone(), event_seq: EventSeq(1), at, event: fact.into() };
            let Ok(agent) = Agent::created(&record) else { return Carried::Returned("it can't be created") };
            self.enrol(agent);
            batch.records.push(record);
            self.open_agent(batch, to, |tx| {
                tx.record(received);
                external_trigger::provision(tx);
                model::begin(tx, model);
                if let Some(message) = message {
                    child::receive(tx, message, Priority::Normal);
                }
            });
            return Carried::Delivered;
        }
        let taken = self.open_agent(batch, to, |tx| take(tx, from, received, letter));
        taken.unwrap_or(Carried::Waits)
    }
}

/// Letters to the same agent that were posted before this one and are on their way.
fn earlier<'a>(sender: &'a Agent, letter: LetterId, to: &'a AgentId) -> impl Iterator<Item = LetterId> + 'a {
    let before = sender.outbox.open().take_while(move |(id, _)| *id < letter);
    before.filter(move |(_, envelope)| envelope.to == *to).map(|(id, _)| id)
}

/// What a stop has overtaken does not come any more.
fn overtaken(tx: &Tx<'_>, letter: LetterId, to: &AgentId) -> alloc::vec::Vec<LetterId> {
    earlier(tx.agent(), letter, to).collect()
}

/// On the side of whom a letter is for.
fn take(tx: &mut Tx<'_>, from: &AgentId, received: LetterReceived, letter: Letter) -> Carried {
    let retired = tx.agent().childhood.retired.is_some();
    match letter {
        Letter::FollowUp { .. } | Letter::Stop { force: false } if retired => {
            return Carried::Returned("the child has come to its end");
        }
        Letter::FollowUp { text } => {
            if !child::receive(tx, text, Priority::Next) {
                return Carried::Waits;
            }
            tx.record(received);
        }
        Letter::Stop { force } => {
            tx.record(received);
            child::stopped(tx, force);
        }
        Letter::Needs { need } => {
            tx.record(received);
            task::child::needs(tx, from, need);
        }
        Letter::Result { status, report: result, spent, left } => {
            tx.record(received);
            task::child::ended(tx, from, ChildEnd { status, result, spent }, left);
        }
        Letter::Spawn { .. } => return Carried::Returned("the agent exists already"),
    }
    Carried::Delivered
}
