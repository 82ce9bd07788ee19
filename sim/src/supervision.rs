//! Supervision, over the logs of parents and children: who may have children, that no child is left alone, and that
//! each end is reported once.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::Agent;
use holon_facts::event::{LifecycleFact, OutboxFact, TaskFact, TurnFact};
use holon_facts::lifecycle::Status;
use holon_facts::message::{Message, Origin};
use holon_facts::outbox::Letter;
use holon_facts::provenance::MessageKind;
use holon_facts::{AgentId, Config, Event, Record};

use crate::failure::{Failure, ensure};

/// How often each law was checked.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    begins: u64,
    runs: u64,
    belongs: u64,
}

impl Checks {
    pub(crate) fn of_laws(&self) -> [(&'static str, u64); 3] {
        [("C3", self.runs), ("C7", self.belongs), ("C8", self.begins)]
    }
}

/// Checks the records of a step against the state after it.
#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
pub(crate) fn check(
    agents: &BTreeMap<AgentId, Agent>,
    records: &[Record],
    config: &Config,
) -> Result<Checks, Failure> {
    let mut checked = Checks::default();
    let mut concerned = BTreeSet::new();
    for record in records {
        match &record.event {
            Event::Lifecycle(LifecycleFact::AgentCreated(_)) => {
                checked.begins += u64::from(begins(agents, &record.agent, config)?);
                concerned.insert(&record.agent);
            }
            Event::Turn(TurnFact::TurnStarted(_)) => {
                checked.runs += u64::from(runs(agents, &record.agent)?);
            }
            Event::Lifecycle(
                LifecycleFact::ControlApplied(_)
                | LifecycleFact::AgentRetired(_)
                | LifecycleFact::AgentArchived(_),
            )
            | Event::Task(TaskFact::TaskCreated(_) | TaskFact::TaskStatusUpdated(_))
            | Event::Outbox(OutboxFact::LetterDelivered(_) | OutboxFact::LetterReturned(_)) => {
                concerned.insert(&record.agent);
            }
            _ => {}
        }
    }
    for agent in concerned.into_iter().filter_map(|id| agents.get(id)) {
        checked.belongs += u64::from(belongs(agents, agent)?);
    }
    Ok(checked)
}

/// C8: children stay within the limits of depth and number.
fn begins(agents: &BTreeMap<AgentId, Agent>, id: &AgentId, config: &Config) -> Result<bool, Failure> {
    let Some(child) = agents.get(id) else { return Ok(false) };
    let Some(supervisor) = &child.spec.supervisor else { return Ok(false) };
    let parent = agents.get(&supervisor.agent_id);
    ensure!(parent.is_some(), "C8", "{id} begins under {}, of whom there is no record", supervisor.agent_id);
    let Some(parent) = parent else { return Ok(true) };
    let (deepest, most) = (config.children.depth, config.children.per_agent);
    let (depth, siblings) = (child.spec.depth, parent.tasks.children().count() as u64);
    ensure!(depth == parent.spec.depth + 1 && depth <= deepest, "C8", "{id} is {depth} deep of {deepest}");
    ensure!(siblings <= most, "C8", "{} has {siblings} children of {most}", parent.id);
    Ok(true)
}

/// C3: no agent runs for a stopped supervisor.
fn runs(agents: &BTreeMap<AgentId, Agent>, id: &AgentId) -> Result<bool, Failure> {
    let Some(supervisor) = agents.get(id).and_then(|child| child.spec.supervisor.as_ref()) else {
        return Ok(false);
    };
    let status = agents.get(&supervisor.agent_id).map(|parent| parent.status);
    let stopped = status.is_none_or(|status| status == Status::Stopped);
    ensure!(!stopped, "C3", "{id} works, {} is {status:?}", supervisor.agent_id);
    Ok(true)
}

/// C7: each living child has a parent with a task for it, and each such task has a child that lives, or whose end is
/// being reported.
fn belongs(agents: &BTreeMap<AgentId, Agent>, agent: &Agent) -> Result<bool, Failure> {
    let mut checked = false;
    if let Some(supervisor) = agent.spec.supervisor.as_ref().filter(|_| agent.childhood.retired.is_none()) {
        let parent = agents.get(&supervisor.agent_id);
        let task = parent.and_then(|parent| parent.tasks.of_child(&agent.id)).map(|task| task.id);
        let mine = task == Some(supervisor.task_id);
        ensure!(mine, "C7", "{} lives, and the task of {} for it is {task:?}", agent.id, supervisor.agent_id);
        checked = true;
    }
    for (task, spec) in agent.tasks.children() {
        let child = agents.get(&spec.child_agent_id);
        let coming = |child: &Agent| {
            let mut letters = child.outbox.open();
            letters.any(|(_, open)| open.to == agent.id && matches!(open.letter, Letter::Result { .. }))
        };
        // The worktree of an ended child may still be in removal.
        let ended = task.child_end.is_some();
        let answers = ended || child.is_some_and(|child| !child.childhood.reported || coming(child));
        ensure!(
            answers,
            "C7",
            "{} of {} goes on, and nothing is heard of {}",
            task.id,
            agent.id,
            spec.child_agent_id
        );
        checked = true;
    }
    Ok(checked)
}

/// A child that has not ended and is not lost; a lost one counts while its supervisor still has its task.
pub(crate) fn alive<'a>(
    agents: &'a BTreeMap<AgentId, Agent>,
    lost: &BTreeSet<AgentId>,
) -> Option<&'a AgentId> {
    let lives = |agent: &&Agent| {
        let Some(supervisor) = &agent.spec.supervisor else { return false };
        let waits =
            || agents.get(&supervisor.agent_id).is_some_and(|of| of.tasks.of_child(&agent.id).is_some());
        if lost.contains(&agent.id) { waits() } else { !agent.childhood.archived }
    };
    agents.values().find(lives).map(|agent| &agent.id)
}

/// The kind that a message counts as: a supervisor acts as an operator.
pub(crate) fn standing(message: &Message) -> MessageKind {
    let supervisor = matches!(&message.origin, Origin::System { subsystem } if subsystem == "supervisor");
    if supervisor && message.kind == MessageKind::InternalFollowup {
        MessageKind::OperatorPrompt
    } else {
        message.kind
    }
}
