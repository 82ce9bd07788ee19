//! Which skills an agent is offered, and which of them it uses.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::family;
use crate::content::{ContentId, Text};
use crate::ids::{RunId, TurnIndex};
use crate::skill::{LoadReason, SkillCatalogue, SkillScope};

family! {
    /// Skills of an agent.
    SkillFact {
        SkillsCatalogued "skills_catalogued" v 1,
        SkillActivated "skill_activated" v 1,
    }
}

/// A turn begins, and the skills that it is offered are others than before. Of those that were active, the ones that are
/// gone or have changed no longer are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillsCatalogued {
    pub run_id: RunId,
    pub catalogue: Arc<SkillCatalogue>,
}

/// An agent uses a skill that it is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillActivated {
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    /// The file that made it active, without links.
    pub path: String,
    /// Its `SKILL.md`.
    pub entrypoint_path: String,
    /// SHA-256 of that.
    pub digest: ContentId,
    pub load_reason: LoadReason,
    /// The run in progress; none where a command that went on as a task has ended between two turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The turn of that run, or the one before.
    pub turn_index: TurnIndex,
}

impl SkillFact {
    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        match self {
            Self::SkillsCatalogued(fact) => fact.catalogue.texts(visit),
            Self::SkillActivated(_) => {}
        }
    }
}
