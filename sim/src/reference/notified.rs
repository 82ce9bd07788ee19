//! Inputs that nobody is answered: which records follow from another login, and from files that were kept.

use std::collections::BTreeSet;

use holon_core::Input;
use holon_facts::event::scheduling::HoldEnd;
use holon_facts::event::{SchedulingFact, WorkspaceFact};
use holon_facts::workspace::WorkspaceTree;
use holon_facts::{AgentId, Event, Record};

use super::Reference;
use crate::failure::{Failure, ensure};

/// What one agent waits for, and which of its files are on record.
#[derive(Debug, Clone, Default)]
pub(super) struct Notified {
    /// Providers that refused their keys, where the agent is held.
    refused_by: Vec<String>,
    /// The root of the files that were kept last, and how they were.
    kept: Option<(String, WorkspaceTree)>,
}

impl Notified {
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Scheduling(SchedulingFact::HoldSet(fact)) => self.refused_by.clone_from(&fact.refused_by),
            Event::Scheduling(SchedulingFact::HoldEnded(_)) => self.refused_by.clear(),
            Event::Workspace(WorkspaceFact::WorkspaceTreeKept(fact)) => {
                self.kept = Some((fact.execution.execution_root.clone(), fact.kept.clone()));
            }
            _ => {}
        }
    }
}

/// What the records of a step must show of its input.
#[derive(Debug, Default)]
pub(super) struct Follows {
    /// Agents whose hold ends with the login.
    ends: BTreeSet<AgentId>,
    /// Whether files are recorded.
    keeps: bool,
}

impl Reference {
    /// What must follow from an input that nobody is answered, before it is handled.
    pub(super) fn follows(&self, input: Option<&Input>) -> Follows {
        let mut follows = Follows::default();
        if let Some(Input::LoginChanged { provider }) = input {
            let waits = self.agents.iter().filter(|(_, model)| model.notified.refused_by.contains(provider));
            follows.ends = waits.map(|(agent, _)| agent.clone()).collect();
        }
        if let Some(Input::TreeKept { agent, execution, kept, .. }) = input
            && let Some(model) = self.agents.get(agent).filter(|model| !model.retired)
        {
            let known = model.notified.kept.as_ref();
            follows.keeps =
                known.is_none_or(|known| *known != (execution.execution_root.clone(), kept.clone()));
        }
        follows
    }
}

impl Follows {
    /// Checks the records of the step.
    pub(super) fn check(&self, input: Option<&Input>, records: &[Record]) -> Result<(), Failure> {
        let ended = records.iter().filter(|record| {
            let Event::Scheduling(SchedulingFact::HoldEnded(fact)) = &record.event else { return false };
            fact.reason == HoldEnd::LoginChanged
        });
        let ended: BTreeSet<AgentId> = ended.map(|record| record.agent.clone()).collect();
        ensure!(ended == self.ends, "G5", "a login ends holds of {ended:?}, right is {:?}", self.ends);
        let mut kept = records.iter().filter_map(|record| {
            let Event::Workspace(WorkspaceFact::WorkspaceTreeKept(fact)) = &record.event else { return None };
            Some((&record.agent, fact))
        });
        let (first, more) = (kept.next(), kept.next().is_some());
        let right = match (first, input) {
            (Some((agent, fact)), Some(Input::TreeKept { agent: of, execution, kept, moment })) => {
                let same = (&fact.execution, &fact.kept, fact.moment) == (execution, kept, *moment);
                self.keeps && !more && same && agent == of
            }
            (first, _) => first.is_none() && !self.keeps,
        };
        ensure!(right, "G5", "{first:?} is recorded of files, and {input:?} was reported");
        Ok(())
    }
}
