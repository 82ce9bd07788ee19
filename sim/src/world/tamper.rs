//! Sabotaged worlds: the ledger gets something else than the core decided, or a process starts with another
//! configuration.

use holon_facts::event::{LifecycleFact, OperationFact, TaskFact, TurnFact, WorkspaceFact};
use holon_facts::lifecycle::ControlAction;
use holon_facts::task::TaskStatus;
use holon_facts::{AgentId, Config, Event, Record};

use super::World;
use crate::disk::Row;
use crate::options::Sabotage;
use crate::places;

impl World<'_> {
    /// Changes the records of a step on their way to the ledger; returns whether the process dies of it.
    pub(super) fn tamper(&self, row: &mut Row) -> bool {
        let Row { records, agents, .. } = row;
        let all = records.len();
        match self.options.sabotage {
            Some(Sabotage::DuplicateRecord) if records.len() > 4 => records.push(records[0].clone()),
            Some(Sabotage::MistellChild) => records.iter_mut().for_each(|record| self.misreport(record)),
            Some(Sabotage::Crowded) => self.share_root(records),
            Some(Sabotage::LongWaits) => records.iter_mut().for_each(wait_longer),
            Some(Sabotage::Orphans) => {
                let begins = records.iter().filter(|record| begins_child(record));
                let born: Vec<AgentId> = begins.map(|record| record.agent.clone()).collect();
                records.retain(|record| !born.contains(&record.agent));
            }
            Some(Sabotage::HalfAStop) => {
                let stops = records.iter().filter(|record| stops(record));
                let stopped: Vec<AgentId> = stops.map(|record| record.agent.clone()).collect();
                records.retain(|record| !self.is_below(&record.agent, &stopped));
            }
            Some(_) | None => {}
        }
        agents.retain(|(agent, _)| records.iter().any(|record| record.agent == agent.agent));
        self.options.sabotage == Some(Sabotage::HalfAStop) && records.len() < all
    }

    fn is_below(&self, agent: &AgentId, supervisors: &[AgentId]) -> bool {
        let supervisor = self.checks.agents().get(agent).and_then(|agent| agent.spec.supervisor.as_ref());
        supervisor.is_some_and(|of| supervisors.contains(&of.agent_id))
    }

    fn misreport(&self, record: &mut Record) {
        let Event::Task(fact) = &mut record.event else { return };
        let status = match fact {
            TaskFact::TaskStatusUpdated(fact) if self.is_child(&record.agent, fact.task_id) => {
                &mut fact.status
            }
            TaskFact::ChildEnded(fact) => &mut fact.end.status,
            TaskFact::TaskCreated(_)
            | TaskFact::TaskStatusUpdated(_)
            | TaskFact::TaskResultQueued(_)
            | TaskFact::TaskInputDelivered(_)
            | TaskFact::ChildNeedNoted(_)
            | TaskFact::ChildNeedTold(_) => return,
        };
        if *status == TaskStatus::Completed {
            *status = TaskStatus::Failed;
        }
    }
    /// Changes the root that an agent takes and works in to one that another agent has.
    fn share_root(&self, records: &mut [Record]) {
        let agents = self.checks.agents();
        let mut changed = None;
        for record in records {
            if let Event::Workspace(WorkspaceFact::OccupancyAcquired(fact)) = &mut record.event {
                let Some(taker) = agents.get(&record.agent) else { continue };
                let others = agents.values().filter(|other| other.tree() != taker.tree());
                let mut taken = others.flat_map(|other| other.workspaces.occupied()).map(|(root, _)| root);
                let Some(root) = taken.find(|root| places::is_shared(root)) else { continue };
                changed = Some((record.agent.clone(), root.to_owned()));
                fact.execution_root = root.into();
            }
            if let Event::Operation(OperationFact::OperationOpened(fact)) = &mut record.event
                && let Some((_, root)) = changed.as_ref().filter(|(agent, _)| *agent == record.agent)
                && fact.execution_root.is_some()
            {
                fact.execution_root = Some(root.clone());
            }
        }
    }

    /// The configuration that the process is started with.
    pub(super) fn instructions(&self, mut config: Config) -> Config {
        if self.options.sabotage == Some(Sabotage::Prolific) {
            config.children.depth += 1;
            config.children.per_agent += 2;
        }
        let time = match self.options.sabotage {
            Some(Sabotage::ShortTurns) => &mut config.turn.wall_time,
            Some(Sabotage::ShortRequests) => &mut config.turn.model_timeout,
            Some(Sabotage::ShortGrace) => &mut config.tasks.stop_grace,
            Some(_) | None => return config,
        };
        time.0 /= 2;
        config
    }
}

/// Promises a longer wait for the next attempt.
fn wait_longer(record: &mut Record) {
    if let Event::Turn(TurnFact::ProviderAttemptRecorded(fact)) = &mut record.event
        && let Some(wait) = &mut fact.attempt.backoff_ms
    {
        wait.0 += 500;
    }
}

fn begins_child(record: &Record) -> bool {
    let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event else { return false };
    fact.spec.supervisor.is_some()
}

fn stops(record: &Record) -> bool {
    let Event::Lifecycle(LifecycleFact::ControlApplied(fact)) = &record.event else { return false };
    fact.action == ControlAction::Stop
}
