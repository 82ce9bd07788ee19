//! E3: the answer to a stop or an abort lists exactly what its step released, ended and cancelled.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::Input;
use holon_core::agent::Agent;
use holon_core::replay::Call;
use holon_facts::event::lifecycle::ControlApplied;
use holon_facts::event::workspace::ReleaseCause;
use holon_facts::event::{LifecycleFact, OutboxFact, WorkspaceFact};
use holon_facts::lifecycle::{ControlOutcome, Status};
use holon_facts::outbox::Letter;
use holon_facts::{AgentId, Event, Record, ReplyId};

use crate::failure::{Failure, ensure};

/// What steps have done for callers that are not answered yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stops {
    done: BTreeMap<ReplyId, Done>,
}

#[derive(Debug, Clone)]
struct Done {
    agent: AgentId,
    previous: Option<Status>,
    applied: Vec<ControlApplied>,
    /// The step puts the agent into the archive; and whether the agent is there afterwards.
    archives: bool,
    archived: bool,
    /// Execution roots that the agent and its children released because they stopped, and all that were released.
    stopped_roots: BTreeSet<String>,
    roots: BTreeSet<String>,
    /// Children that were asked to end, and those alive before the step.
    ending: BTreeSet<AgentId>,
    alive: BTreeSet<AgentId>,
}

impl Stops {
    /// Notes a command of an operator with its records; `agents` are as the step leaves them.
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(crate) fn step(&mut self, call: &Call, records: &[Record], agents: &BTreeMap<AgentId, Agent>) {
        let Call::Step { input: Input::Control { agent, reply, .. }, .. } = call else { return };
        let mut done = Done {
            agent: agent.clone(),
            previous: agents.get(agent).map(|agent| agent.status),
            applied: Vec::new(),
            archives: false,
            archived: agents.get(agent).is_some_and(|agent| agent.label.archived),
            stopped_roots: BTreeSet::new(),
            roots: BTreeSet::new(),
            ending: BTreeSet::new(),
            alive: BTreeSet::new(),
        };
        for record in records {
            match &record.event {
                Event::Lifecycle(LifecycleFact::ControlRequestAdmitted(fact)) if record.agent == *agent => {
                    done.previous = Some(fact.previous);
                }
                Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if record.agent == *agent => {
                    done.applied.push((**fact).clone());
                }
                Event::Lifecycle(LifecycleFact::AgentLabelled(fact)) if record.agent == *agent => {
                    done.archives |= fact.label.archived && !fact.previous.archived;
                }
                Event::Workspace(WorkspaceFact::OccupancyReleased(fact)) => {
                    if is_of_subtree(agent, &record.agent) && fact.cause == ReleaseCause::Stopped {
                        done.stopped_roots.insert(fact.execution_root.clone());
                    }
                    done.roots.insert(fact.execution_root.clone());
                }
                Event::Outbox(OutboxFact::LetterPosted(fact))
                    if record.agent == *agent && matches!(fact.letter, Letter::Stop { .. }) =>
                {
                    done.ending.insert(fact.to.clone());
                }
                _ => {}
            }
        }
        done.alive = alive(agents.get(agent), records, agent);
        self.done.insert(*reply, done);
    }

    /// Drops callers, which are answered no more.
    pub(crate) fn started(&mut self) {
        self.done.clear();
    }

    /// Checks the answer to a caller; returns whether anything was applied.
    pub(crate) fn answered(&mut self, reply: ReplyId, outcome: &ControlOutcome) -> Result<bool, Failure> {
        let Some(done) = self.done.remove(&reply) else { return Ok(false) };
        let agent = &done.agent;
        // A supervisor may have stopped the agent in the same step.
        let applied = done.applied.iter().find(|applied| applied.action == outcome.action);
        // An agent that was stopped before may only get into the archive.
        let (changed, archived) = (applied.is_some() || done.archives, done.archived);
        ensure!(
            (outcome.changed, outcome.archived) == (changed, archived),
            "E3",
            "{agent}: changed is {}, archived {}; on record is {applied:?}, archived {archived}",
            outcome.changed,
            outcome.archived
        );
        let Some(applied) = applied else { return Ok(false) };
        ensure!(
            done.previous == Some(outcome.previous) && outcome.next == applied.next,
            "E3",
            "{agent} goes from {:?} to {}, its caller is told {} to {}",
            done.previous,
            applied.next,
            outcome.previous,
            outcome.next
        );
        let recorded = (
            outcome.aborted_run_id,
            &outcome.aborted_messages,
            &outcome.cancelled_ops,
            &outcome.cancelling_tasks,
            &outcome.lost_hints,
            &outcome.untold_tasks,
            &outcome.stopping_roots,
        );
        let right = (
            applied.aborted_run_id,
            &applied.aborted_messages,
            &applied.cancelled_ops,
            &applied.cancelling_tasks,
            &applied.lost_hints,
            &applied.untold_tasks,
            &applied.stopping_roots,
        );
        ensure!(recorded == right, "E3", "{agent}: its caller is told {recorded:?}, on record is {right:?}");
        let roots: BTreeSet<String> = outcome.released_roots.iter().cloned().collect();
        // A root is held while another command of the subtree still ends there.
        let named = |root: &String| roots.contains(root) || outcome.stopping_roots.contains(root);
        ensure!(
            done.stopped_roots.iter().all(named) && roots.is_subset(&done.roots),
            "E3",
            "{agent} and its children released {:?}, all together {:?}, its caller is told {roots:?}",
            done.stopped_roots,
            done.roots
        );
        let children: BTreeSet<AgentId> = outcome.stopped_children.iter().cloned().collect();
        ensure!(
            children.is_superset(&done.ending) && children.is_subset(&done.alive),
            "E3",
            "{agent} told {:?} of {:?} to end, its caller is told {children:?}",
            done.ending,
            done.alive
        );
        Ok(true)
    }
}

/// Whether an agent is `top`, or below it: the id of a child begins with its parent's.
fn is_of_subtree(top: &AgentId, agent: &AgentId) -> bool {
    agent.as_str().strip_prefix(top.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("--"))
}

/// Children alive before the step: those still alive, and those that ended in it.
fn alive(known: Option<&Agent>, records: &[Record], agent: &AgentId) -> BTreeSet<AgentId> {
    let Some(known) = known else { return BTreeSet::new() };
    let ended = records.iter().filter(|record| record.agent == *agent).filter_map(|record| {
        let Event::Task(holon_facts::event::TaskFact::TaskStatusUpdated(fact)) = &record.event else {
            return None;
        };
        Some(fact.task_id)
    });
    let ended = ended.filter_map(|task| known.tasks.get(task)?.child().map(|child| &child.child_agent_id));
    known.tasks.children().map(|(_, child)| &child.child_agent_id).chain(ended).cloned().collect()
}
