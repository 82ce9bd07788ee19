//! Commands that operators begin as tasks: whether each may begin, and what its caller is answered once it has begun, has
//! failed to, or is given up.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_facts::event::operation::{OpKind, OperationSettled, Settlement};
use holon_facts::event::task::TaskOrigin;
use holon_facts::event::{LifecycleFact, OperationFact, TaskFact, WorkspaceFact};
use holon_facts::ids::TaskId;
use holon_facts::{AgentId, Config, Event, OpId, Record, ReplyId};

use super::Reply;

/// What decides whether another command may begin, over all agents.
#[derive(Debug, Clone, Default)]
pub(super) struct Begins {
    /// Commands that are executed, or about to be.
    commands: BTreeMap<AgentId, BTreeSet<OpId>>,
    /// Who has each execution root.
    occupied: BTreeMap<String, BTreeSet<AgentId>>,
    /// The root that each agent works in, outside of its turns, and who leads its supervision tree.
    active: BTreeMap<AgentId, (String, AgentId)>,
    /// Callers who are answered when their command has begun.
    waiting: BTreeMap<(AgentId, OpId), Vec<ReplyId>>,
}

impl Begins {
    /// Callers of an earlier process get no answers.
    pub(super) fn started(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn waits(&mut self, agent: &AgentId, op: OpId, reply: ReplyId) {
        self.waiting.entry((agent.clone(), op)).or_default().push(reply);
    }

    /// Why another command of the agent is refused, if it is.
    pub(super) fn refuses(&self, agent: &AgentId, config: &Config) -> bool {
        let own = self.commands.get(agent).map_or(0, |ops| ops.len() as u64);
        let all: u64 = self.commands.values().map(|ops| ops.len() as u64).sum();
        own >= config.tasks.per_agent || all >= config.tasks.running || self.is_occupied(agent)
    }

    /// Whether another supervision tree has the root that the agent works in.
    fn is_occupied(&self, agent: &AgentId) -> bool {
        let Some((root, tree)) = self.active.get(agent) else { return false };
        let holders = self.occupied.get(root).into_iter().flatten();
        let mut trees = holders.map(|holder| self.active.get(holder).map_or(holder, |(_, tree)| tree));
        trees.any(|other| other != tree)
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, record: &Record) {
        let agent = &record.agent;
        match &record.event {
            Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => {
                let tree = fact.spec.tree.clone().unwrap_or_else(|| agent.clone());
                self.active.insert(agent.clone(), (fact.spec.execution.execution_root.clone(), tree));
            }
            Event::Operation(OperationFact::OperationOpened(fact)) => {
                if matches!(fact.kind, OpKind::PrepareCommand | OpKind::RunCommand) {
                    self.commands.entry(agent.clone()).or_default().insert(fact.op);
                }
            }
            Event::Operation(OperationFact::OperationSettled(fact)) => {
                if let Some(ops) = self.commands.get_mut(agent) {
                    ops.remove(&fact.op);
                }
            }
            Event::Workspace(WorkspaceFact::WorkspaceUsed(fact)) => {
                if let Some((root, _)) = self.active.get_mut(agent) {
                    root.clone_from(&fact.execution.execution_root);
                }
            }
            Event::Workspace(WorkspaceFact::OccupancyAcquired(fact)) => {
                self.occupied.entry(fact.execution_root.clone()).or_default().insert(agent.clone());
            }
            Event::Workspace(WorkspaceFact::OccupancyReleased(fact)) => {
                if let Some(holders) = self.occupied.get_mut(&fact.execution_root) {
                    holders.remove(agent);
                }
            }
            _ => {}
        }
    }

    /// The answers that come with the records of a step.
    pub(super) fn answers(&mut self, input: Option<&Input>, records: &[Record]) -> Vec<(ReplyId, Reply)> {
        let mut answers = Vec::new();
        if self.waiting.is_empty() {
            return answers;
        }
        let drains = matches!(input, Some(Input::Drain { .. }));
        for record in records {
            let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else { continue };
            let Some(replies) = self.waiting.remove(&(record.agent.clone(), fact.op)) else { continue };
            let of_step = |(nth, reply)| Some((reply, answer(nth, fact, drains, record, records)?));
            answers.extend(replies.into_iter().enumerate().filter_map(of_step));
        }
        answers
    }
}

/// What a caller is answered whose command was prepared, or was not; callers after the first have begun nothing.
fn answer(
    nth: usize,
    fact: &OperationSettled,
    drains: bool,
    at: &Record,
    records: &[Record],
) -> Option<Reply> {
    let code = match fact.settlement {
        Settlement::Done => {
            if let Some(task) = begun(at, records) {
                return Some(Reply::Task { task, changed: nth == 0 });
            }
            "command_refused"
        }
        Settlement::Failed | Settlement::TimedOut => "command_refused",
        Settlement::Cancelled if drains => "draining",
        Settlement::Cancelled => "agent_stopped",
        Settlement::Lost => return None,
    };
    Some(Reply::Refused(code))
}

/// The task of an operator that begins in a step, after its command was prepared.
fn begun(at: &Record, records: &[Record]) -> Option<TaskId> {
    let later = records.iter().filter(|record| record.agent == at.agent && record.event_seq > at.event_seq);
    later.take(3).find_map(|record| {
        let Event::Task(TaskFact::TaskCreated(fact)) = &record.event else { return None };
        Some(fact.task_id).filter(|_| fact.cause == TaskOrigin::Operator)
    })
}

/// The operation in which an operator's command of the agent is prepared from this step on, and its position.
pub(super) fn prepared(agent: &AgentId, records: &[Record]) -> Option<(usize, OpId)> {
    records.iter().enumerate().find_map(|(at, record)| {
        let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return None };
        let is_it = fact.kind == OpKind::PrepareCommand && fact.run_id.is_none() && record.agent == *agent;
        is_it.then_some((at, fact.op))
    })
}
