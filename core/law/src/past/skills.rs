//! Skills that are on offer, and the files of skills that calls have named.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::{Event, LifecycleFact, SkillFact, TaskFact, TurnFact};
use holon_facts::record::Record;
use holon_facts::skill::SkillCatalogue;
use holon_facts::task::TaskStatus;

#[derive(Debug, Clone, Default)]
pub(crate) struct Skills {
    pub(crate) catalogue: Arc<SkillCatalogue>,
    /// The agent is offered those of the user, too.
    pub(crate) has_user: bool,
    /// The turn in progress has its context.
    pub(crate) loaded: bool,
    /// Files that the last call has named, as long as nothing but what it activates follows.
    pub(crate) named: Vec<String>,
    /// The same for a command that went on as a task: what it named is not on record.
    pub(crate) task_ended: bool,
}

impl Skills {
    pub(super) fn apply(&mut self, record: &Record) {
        if matches!(record.event, Event::Skill(SkillFact::SkillActivated(_))) {
            return;
        }
        (self.named, self.task_ended) = (Vec::new(), false);
        match &record.event {
            Event::Lifecycle(LifecycleFact::AgentCreated(fact)) => {
                self.has_user = fact.spec.has_user_skills();
            }
            Event::Skill(SkillFact::SkillsCatalogued(fact)) => self.catalogue = fact.catalogue.clone(),
            Event::Turn(TurnFact::TurnStarted(_)) => self.loaded = false,
            Event::Turn(TurnFact::TurnContextBuilt(_)) => self.loaded = true,
            Event::Turn(TurnFact::ToolExecuted(fact)) => {
                self.named.clone_from(&fact.receipt.facts.skill_files);
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) => {
                self.task_ended = fact.status == TaskStatus::Completed;
            }
            _ => {}
        }
    }
}
