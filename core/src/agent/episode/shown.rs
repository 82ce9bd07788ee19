//! What requests show of work items, tasks, environment and instruction files: as it stands when an episode begins, and
//! then what changes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::{Text, clip};
use holon_facts::ids::{EpisodeId, TaskId, WorkItemId};
use holon_facts::memory::WorkingMemory;
use holon_facts::outcome::LoadedContext;
use holon_facts::skill::SkillCatalogue;
use holon_facts::task::TaskKind;
use holon_facts::time::Wall;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::agent::skills::ActiveSkill;
use crate::agent::task::Task;
use crate::agent::turn::Run;
use crate::agent::work::outline::WorkOutline;

/// Tasks that a head names.
const TASKS: usize = 32;
const SUMMARY_BYTES: usize = 200;

/// A task that had not ended when an episode began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTask {
    pub id: TaskId,
    pub kind: TaskKind,
    /// At most 200 bytes of it.
    pub summary: String,
    pub since: Wall,
}

/// How things stand when a run begins, or an episode.
#[derive(Debug, Clone)]
pub(crate) struct Now {
    pub(super) work: Option<Arc<WorkOutline>>,
    pub(super) focus: Option<WorkItemId>,
    pub(super) tasks: Vec<OpenTask>,
    pub(super) memory: Option<Arc<WorkingMemory>>,
    pub(super) memory_revision: u64,
    pub(super) input_limit: Option<u64>,
    pub(super) skills: Vec<ActiveSkill>,
}

impl Now {
    pub(crate) fn of(agent: &Agent) -> Self {
        let task = |task: &Task| OpenTask {
            id: task.id,
            kind: task.kind,
            summary: clip(&task.summary, SUMMARY_BYTES),
            since: task.created_at,
        };
        Self {
            work: WorkOutline::of(&agent.work, agent.waits.own.as_ref()),
            focus: agent.work.current().map(|item| item.id),
            tasks: agent.tasks.active().take(TASKS).map(task).collect(),
            memory: (agent.memory.revision > 0).then(|| agent.memory.now.clone()),
            memory_revision: agent.memory.revision,
            input_limit: agent.input_limit,
            skills: agent.skills.active.clone(),
        }
    }
}

/// What holds for a turn and lasts longer than it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub context: LoadedContext,
    /// Somebody outside can wake the agent.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub external_trigger: bool,
    /// What it is offered; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Arc<SkillCatalogue>>,
}

/// What requests show of work items and of what is standing.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub work: Option<Arc<WorkOutline>>,
    pub standing: Option<Arc<Standing>>,
}

/// What holds otherwise than requests have shown.
#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// What a model made of an episode that is over, where that came after the head of the open one was fixed.
    pub summary: Option<Summary>,
    pub work: Option<WorkChange>,
    pub standing: Option<StandingChange>,
}

/// What a model made of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub episode_id: EpisodeId,
    pub text: Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkChange {
    /// None where nothing is open any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Arc<WorkOutline>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingChange {
    pub before: Arc<Standing>,
    pub now: Arc<Standing>,
}

impl Shown {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a run has shown is shown again, after everything else: by what it differs from what other turns have shown
    /// meanwhile.
    pub(super) fn again(&mut self, run: &mut Run) {
        for changes in run.changes_mut() {
            if let Some(change) = &changes.work {
                self.work.clone_from(&change.now);
            }
            changes.standing.take_if(|change| match &mut self.standing {
                Some(shown) => {
                    change.before = core::mem::replace(shown, change.now.clone());
                    // Others have shown the same.
                    change.before.reads_like(&change.now)
                }
                // It was shown in an earlier episode: this one begins with what is read next.
                None => true,
            });
        }
        run.conversation.drop_empty_changes();
    }

    /// Shows work items as they stand.
    pub(super) fn work(&mut self, now: Option<Arc<WorkOutline>>) -> Option<WorkChange> {
        if self.work == now {
            return None;
        }
        self.work.clone_from(&now);
        Some(WorkChange { now })
    }

    /// Shows what is standing.
    pub(super) fn standing(&mut self, now: Standing) -> Option<StandingChange> {
        if self.standing.as_ref().is_some_and(|shown| shown.reads_like(&now)) {
            return None;
        }
        let now = Arc::new(now);
        let before = self.standing.replace(now.clone())?;
        Some(StandingChange { before, now })
    }
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Standing {
    pub(crate) fn of(agent: &Agent, context: &LoadedContext) -> Self {
        let external_trigger = context.execution.external_trigger && agent.trigger_generation().is_some();
        let skills = agent.skills.catalogue.clone();
        Self {
            context: LoadedContext { skills: None, tools: None, ..context.clone() },
            external_trigger,
            skills,
        }
    }

    /// The same for what no turn has on record.
    pub(crate) fn read(agent: &Agent, context: &LoadedContext) -> Self {
        let skills = context.skills.clone().filter(|catalogue| !catalogue.is_empty());
        Self { skills, ..Self::of(agent, context) }
    }

    /// The same for an episode that begins in the middle of a turn: its commands have changed files since they were counted.
    pub(super) fn later(self: Arc<Self>) -> Arc<Self> {
        if self.context.execution.work_tree.is_none() {
            return self;
        }
        let mut later = Self::clone(&self);
        later.context.execution.work_tree = None;
        Arc::new(later)
    }

    fn skills_read_like(&self, other: &Self) -> bool {
        match (&self.skills, &other.skills) {
            (Some(shown), Some(other)) => shown.reads_like(other),
            (shown, other) => shown.is_none() && other.is_none(),
        }
    }

    /// Whether requests show it in the same words.
    pub(crate) fn reads_like(&self, other: &Self) -> bool {
        self.external_trigger == other.external_trigger
            && self.skills_read_like(other)
            && self.context.sources == other.context.sources
            && self.context.execution.holds_like(&other.context.execution)
    }
}
