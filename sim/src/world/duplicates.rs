//! P10: a call for a command that already runs as a task begins nothing if it asks for reuse, and its caller gets that
//! task. The world compares the commands of the calls themselves; it does not trust what supervisors report here.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_core::agent::task::Task;
use holon_core::replay::Call;
use holon_facts::event::operation::{OpKind, Settlement};
use holon_facts::event::{OperationFact, TaskFact};
use holon_facts::ids::TaskId;
use holon_facts::outcome::CommandSpec;
use holon_facts::task::TaskStatus;
use holon_facts::{AgentId, Event, OpId, Outcome, Record};

use super::World;
use crate::failure::{Failure, ensure};
use crate::options::Judges;

/// Lookups that stand in for commands, and the tasks that each may return.
pub(super) type StandIns = BTreeMap<(AgentId, OpId), BTreeSet<TaskId>>;

/// A supervisor that is up and waits for its start signal.
pub(super) struct Asked {
    agent: AgentId,
    prepared: OpId,
    socket: String,
    /// A call asked for it. An operator's command always begins.
    of_call: bool,
    /// The agent's running tasks.
    running: BTreeSet<TaskId>,
}

impl Asked {
    /// Applies a record that comes before the decision.
    fn follow(&mut self, record: &Record) {
        let Event::Task(fact) = &record.event else { return };
        match fact {
            TaskFact::TaskCreated(fact) => drop(self.running.insert(fact.task_id)),
            TaskFact::TaskStatusUpdated(fact) => drop(self.running.remove(&fact.task_id)),
            TaskFact::TaskResultQueued(_)
            | TaskFact::TaskInputDelivered(_)
            | TaskFact::ChildNeedNoted(_)
            | TaskFact::ChildNeedTold(_)
            | TaskFact::ChildEnded(_) => {}
        }
    }

    /// Whether a record settles the preparation; the decision follows it.
    fn settles(&self, record: &Record) -> bool {
        let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else { return false };
        fact.op == self.prepared && fact.settlement == Settlement::Done
    }
}

impl World<'_> {
    /// Notes, before a step, the running tasks beside a command that may begin in it.
    pub(super) fn may_begin(&self, call: &Call) -> Option<Asked> {
        let Call::Step { input: Input::Completed { agent, op, outcome }, .. } = call else { return None };
        let Outcome::Prepared { supervisor, .. } = outcome else { return None };
        let known = self.checks.agents().get(agent).filter(|_| self.options.judges == Judges::All)?;
        let open = known.ops.get(op)?;
        let runs = |task: &&Task| task.status == TaskStatus::Running;
        Some(Asked {
            agent: agent.clone(),
            prepared: *op,
            socket: supervisor.socket.clone(),
            of_call: open.run_id.is_some(),
            running: known.tasks.active().filter(runs).map(|task| task.id).collect(),
        })
    }

    /// P10: the command begins, or a running equal stands in for it.
    pub(super) fn begins_or_not(&mut self, mut asked: Asked, records: &[Record]) -> Result<(), Failure> {
        let mut records = records.iter();
        while let Some(record) = records.next() {
            let of_agent = record.agent == asked.agent;
            if of_agent && asked.settles(record) {
                let of_agent = |record: &&Record| record.agent == asked.agent;
                return self.decided(&asked, records.filter(of_agent).find_map(opened));
            }
            if of_agent {
                asked.follow(record);
            }
        }
        Ok(())
    }

    fn decided(&mut self, asked: &Asked, opened: Option<(OpKind, OpId)>) -> Result<(), Failure> {
        let Some(known) = self.outside.supervised.get(&asked.socket) else { return Ok(()) };
        let spec = &known.spec;
        let equal = |task: &TaskId| {
            self.named(&asked.agent, *task).is_some_and(|other| is_duplicate(&other.spec, spec))
        };
        let duplicates: BTreeSet<TaskId> = asked.running.iter().copied().filter(equal).collect();
        let reuses = asked.of_call && spec.reuse_running;
        let right = if reuses && !duplicates.is_empty() { OpKind::CallTool } else { OpKind::RunCommand };
        ensure!(
            opened.is_some_and(|(kind, _)| kind == right),
            "P10",
            "{spec:?} of {} opens {opened:?} beside {duplicates:?}",
            asked.agent
        );
        if duplicates.is_empty() {
            return Ok(());
        }
        self.checks.say("P10");
        self.injector.saw(match (asked.of_call, reuses) {
            (true, true) => "a command runs already",
            (true, false) => "a call begins a command while an equal one runs",
            (false, _) => "an operator begins a command while an equal one runs",
        });
        if let Some((_, look)) = opened.filter(|_| reuses) {
            self.outside.stand_ins.insert((asked.agent.clone(), look), duplicates);
        }
        Ok(())
    }

    /// P10: the caller gets a task that stands in for its command.
    pub(super) fn stands_in(&self, agent: &AgentId, op: OpId, task: TaskId) -> Result<(), Failure> {
        let named = self.outside.stand_ins.get(&(agent.clone(), op));
        let right = named.is_some_and(|tasks| tasks.contains(&task)) || self.options.judges == Judges::Laws;
        ensure!(right, "P10", "{op} of {agent} is given {task}, right is one of {named:?}");
        Ok(())
    }
}

/// Whether two commands are duplicates. A batch is never one.
fn is_duplicate(runs: &CommandSpec, other: &CommandSpec) -> bool {
    runs.yield_time_ms.is_some() && other.yield_time_ms.is_some() && runs.equals(other)
}

fn opened(record: &Record) -> Option<(OpKind, OpId)> {
    let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return None };
    Some((fact.kind, fact.op))
}
