//! The skills that an agent is offered, and those that it uses (contract: context.md, Skills).

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::ContentId;
use holon_facts::event::{SkillActivated, SkillFact};
use holon_facts::ids::TurnIndex;
use holon_facts::skill::{ACTIVE, ActivationState, LoadReason, SkillCatalogue, SkillScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skills {
    /// As the newest turn found them; none where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<Arc<SkillCatalogue>>,
    /// Those in use, the newest last; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ActiveSkill>,
}

/// A skill in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveSkill {
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    pub entrypoint_path: String,
    /// SHA-256 of its `SKILL.md` when it was used last.
    pub digest: ContentId,
    pub load_reason: LoadReason,
    pub state: ActivationState,
    /// The turn that used it last.
    pub turn_index: TurnIndex,
    /// A turn before that one has completed with it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub kept: bool,
}

impl Skills {
    /// Whether the turn in progress has used it in that way.
    pub(crate) fn is_used(&self, skill_id: &str, reason: LoadReason) -> bool {
        let used = |skill: &ActiveSkill| skill.skill_id == skill_id && skill.load_reason == reason;
        self.active.iter().any(|skill| skill.state == ActivationState::TurnActive && used(skill))
    }

    pub(super) fn apply(&mut self, fact: &SkillFact) {
        match fact {
            SkillFact::SkillsCatalogued(fact) => {
                let now = &fact.catalogue;
                self.catalogue = Some(now.clone()).filter(|catalogue| !catalogue.is_empty());
                self.active.retain(|skill| {
                    now.get(&skill.skill_id).is_some_and(|offered| offered.digest == skill.digest)
                });
            }
            SkillFact::SkillActivated(fact) => self.activated(fact),
        }
    }

    fn activated(&mut self, fact: &SkillActivated) {
        let SkillActivated { skill_id, name, scope, entrypoint_path, digest, .. } = fact.clone();
        let before = self.active.iter().position(|skill| skill.skill_id == skill_id);
        let before = before.map(|at| self.active.remove(at));
        let kept = before.is_some_and(|skill| skill.kept || skill.state != ActivationState::TurnActive);
        if self.active.len() == ACTIVE {
            self.active.remove(0);
        }
        let (load_reason, turn_index) = (fact.load_reason, fact.turn_index);
        // Between turns there is none whose end would promote it.
        let state = match fact.run_id {
            Some(_) => ActivationState::TurnActive,
            None => ActivationState::SessionActive,
        };
        self.active.push(ActiveSkill {
            skill_id,
            name,
            scope,
            entrypoint_path,
            digest,
            load_reason,
            state,
            turn_index,
            kept,
        });
    }

    /// A turn is over that does not come again: what it used stays in use if it has completed.
    pub(super) fn turn_ended(&mut self, completed: bool) {
        self.active.retain(|skill| completed || skill.kept || skill.state != ActivationState::TurnActive);
        for skill in self.active.iter_mut().filter(|skill| skill.state == ActivationState::TurnActive) {
            (skill.state, skill.kept) = (ActivationState::SessionActive, true);
        }
    }

    /// A start of the runtime has recovered the agent.
    pub(super) fn recovered(&mut self) {
        for skill in self.active.iter_mut().filter(|skill| skill.state == ActivationState::SessionActive) {
            skill.state = ActivationState::Restored;
        }
    }
}
