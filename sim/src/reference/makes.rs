//! Requests of operators that make something: tasks, timers, work items; with a key each is made once.

use holon_facts::event::LifecycleFact;
use holon_facts::made::Made;
use holon_facts::message::Idempotency;
use holon_facts::timer::TimerSpec;
use holon_facts::{AgentId, Event, Record, ReplyId};

use super::agent::Model;
use super::begins::prepared;
use super::made::CONFLICT;
use super::{Before, Reference, Reply};

impl Reference {
    /// Nothing new is made for a stopped agent, or once the runtime ends.
    fn closed(&self, agent: &Model) -> Option<Reply> {
        let stopped = agent.stopped.then_some(Reply::Refused("agent_stopped"));
        if self.draining { Some(Reply::Refused("draining")) } else { stopped }
    }

    /// What the request has made before, or the answer that its key gets.
    fn known(&self, agent: &Model, key: Option<&Idempotency>) -> Result<Option<Made>, Vec<Reply>> {
        agent.made.stands_for(key, self.time.now(), &self.config).map_err(|reply| vec![reply])
    }

    /// An operator's command begins once its supervisor is up, and its caller is answered then. None for a caller that
    /// is answered later.
    pub(super) fn task_begins(
        &mut self,
        (agent, reply, key): (&AgentId, ReplyId, Option<&Idempotency>),
        before: &Before,
        records: &[Record],
        full: &[bool],
    ) -> Option<Vec<Reply>> {
        let Some(was) = &before.agent else { return Some(vec![Reply::Refused("unknown_agent")]) };
        match self.known(was, key) {
            Err(replies) => return Some(replies),
            Ok(Some(Made::Task(task))) => {
                let Some(op) = was.made.preparing(task) else {
                    return Some(was.tasks.made(task).unwrap_or_else(|| vec![CONFLICT]));
                };
                self.begins.waits(agent, op, reply);
                return None;
            }
            Ok(Some(Made::Timer(_) | Made::WorkItem(_))) => return Some(vec![CONFLICT]),
            Ok(None) => {}
        }
        if let Some(closed) = self.closed(was) {
            return Some(vec![closed]);
        }
        match prepared(agent, records) {
            // It begins, and nothing was in the way.
            Some((at, op)) if full.get(at) == Some(&false) && is_kept(agent, key, records) => {
                self.begins.waits(agent, op, reply);
                None
            }
            None if full.contains(&true) => Some(vec![Reply::Refused("command_refused")]),
            Some(_) | None => Some(Vec::new()),
        }
    }

    pub(super) fn item_is_made(
        &self,
        before: &Before,
        whose: (&AgentId, Option<&Idempotency>),
        records: &[Record],
    ) -> Vec<Reply> {
        self.is_made(before, whose, records, |agent, known| match known {
            None => agent.work.make(),
            Some(Made::WorkItem(item)) => agent.work.made(item),
            Some(Made::Timer(_) | Made::Task(_)) => vec![CONFLICT],
        })
    }

    pub(super) fn timer_is_made(
        &self,
        before: &Before,
        timer: &TimerSpec,
        whose: (&AgentId, Option<&Idempotency>),
        records: &[Record],
    ) -> Vec<Reply> {
        self.is_made(before, whose, records, |agent, known| match known {
            None => agent.timers.make(timer),
            Some(Made::Timer(timer)) => agent.timers.made(timer),
            Some(Made::WorkItem(_) | Made::Task(_)) => vec![CONFLICT],
        })
    }

    /// What is made at once: `replies` are those of an agent for what its key stands for, or for something new.
    fn is_made(
        &self,
        before: &Before,
        (agent, key): (&AgentId, Option<&Idempotency>),
        records: &[Record],
        replies: impl FnOnce(&Model, Option<Made>) -> Vec<Reply>,
    ) -> Vec<Reply> {
        let kept = is_kept(agent, key, records);
        let Some(agent) = &before.agent else { return vec![Reply::Refused("unknown_agent")] };
        match self.known(agent, key) {
            Err(replies) => replies,
            Ok(known @ Some(_)) => replies(agent, known),
            Ok(None) => {
                self.closed(agent).map_or_else(|| only(kept, replies(agent, None)), |closed| vec![closed])
            }
        }
    }
}

/// Whether the key of a request, if it has one, is recorded with what the request makes.
fn is_kept(agent: &AgentId, key: Option<&Idempotency>, records: &[Record]) -> bool {
    let keeps = |record: &Record| {
        let Event::Lifecycle(LifecycleFact::RequestKeyed(fact)) = &record.event else { return false };
        record.agent == *agent && Some(&fact.idempotency) == key
    };
    key.is_none() || records.iter().any(keeps)
}

/// Nothing is made whose key is not kept.
fn only(kept: bool, mut replies: Vec<Reply>) -> Vec<Reply> {
    replies.retain(|reply| kept || matches!(reply, Reply::Refused(_)));
    replies
}
