//! Totals over all agents, updated with their records, so that a check of a step need not visit every agent.

use std::collections::{BTreeMap, BTreeSet};

use holon_core::agent::{Agent, OpenOp};
use holon_facts::AgentId;
use holon_facts::event::operation::OpKind;

#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    of: BTreeMap<AgentId, Share>,
    /// Agents in a turn.
    pub(crate) running: u64,
    /// Tool calls without a result, and prompts that wait for a safe point of a turn or for the end of the turn that
    /// has taken them in.
    pub(crate) open: usize,
    /// Commands in preparation or running.
    pub(crate) commands: u64,
    /// Children that are alive.
    pub(crate) children: BTreeSet<AgentId>,
    /// The agents with each execution root.
    holders: BTreeMap<String, BTreeSet<AgentId>>,
    /// The trees that ever had each root.
    trees: BTreeMap<String, BTreeSet<AgentId>>,
}

/// The share of one agent in the totals.
#[derive(Debug, Clone, Default)]
struct Share {
    runs: bool,
    open: usize,
    commands: u64,
    roots: BTreeSet<String>,
}

impl Share {
    fn of(agent: &Agent) -> Self {
        Self {
            runs: agent.run.is_some(),
            open: open_calls(agent) + open_prompts(agent),
            commands: commands(agent),
            roots: agent.workspaces.occupied().map(|(root, _)| root.to_owned()).collect(),
        }
    }
}

impl Totals {
    /// Updates the totals after an agent's last record.
    pub(crate) fn note(&mut self, agent: &Agent) {
        let now = Share::of(agent);
        self.running += u64::from(now.runs);
        self.open += now.open;
        self.commands += now.commands;
        for root in &now.roots {
            self.holders.entry(root.clone()).or_default().insert(agent.id.clone());
            self.trees.entry(root.clone()).or_default().insert(agent.tree().clone());
        }
        let before = self.of.insert(agent.id.clone(), now.clone()).unwrap_or_default();
        self.running -= u64::from(before.runs);
        self.open -= before.open;
        self.commands -= before.commands;
        for root in before.roots.difference(&now.roots) {
            self.holders.entry(root.clone()).or_default().remove(&agent.id);
        }
        if agent.spec.supervisor.is_some() && !agent.childhood.archived {
            self.children.insert(agent.id.clone());
        } else {
            self.children.remove(&agent.id);
        }
    }

    pub(crate) fn holders(&self, root: &str) -> impl Iterator<Item = &AgentId> {
        self.holders.get(root).into_iter().flatten()
    }

    /// Whether more than one tree has had the root.
    pub(crate) fn is_contended(&self, root: &str) -> bool {
        self.trees.get(root).is_some_and(|trees| trees.len() > 1)
    }
}

/// Commands of one agent that are in preparation or running.
pub(crate) fn commands(agent: &Agent) -> u64 {
    let command = |open: &&OpenOp| matches!(open.kind, OpKind::PrepareCommand | OpKind::RunCommand);
    agent.ops.values().filter(command).count() as u64
}

fn open_calls(agent: &Agent) -> usize {
    let round = agent.run.as_ref().and_then(|run| run.conversation.rounds.last());
    round.map_or(0, |round| round.verdicts.len() - round.results.len().min(round.verdicts.len()))
}

fn open_prompts(agent: &Agent) -> usize {
    agent
        .run
        .as_ref()
        .map_or(0, |run| run.conversation.interjected.len() + agent.inbox.interjections().count())
}
