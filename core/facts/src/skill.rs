//! Skills: folders of instructions for particular tasks, as an agent is offered them (contract: context.md, Skills).

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{ContentId, Text};

/// Most skills that an agent is offered.
pub const OFFERED: usize = 100;
/// Most skills that are active at a time.
pub const ACTIVE: usize = 16;
/// Most files of skills that one call names.
pub const FILES: usize = 16;
/// Most skills that come with one message.
pub const GIVEN: usize = 4;
/// Most bytes of a `SKILL.md` without its front matter that come with a message.
pub const GIVEN_BYTES: u64 = 24 << 10;
/// Longest name.
pub const NAME_CHARS: usize = 64;
/// Longest description that is kept.
pub const DESCRIPTION_CHARS: usize = 1_024;

names! {
    /// Whose a skill is. Of one name the first of these scopes is offered.
    SkillScope { Workspace "workspace", Agent "agent", User "user" }
}

names! {
    /// What made a skill active.
    LoadReason {
        ReadSkillMd "read_skill_md", RunSkillScript "run_skill_script",
        /// An operator named it in a prompt.
        PromptInjection "prompt_injection",
    }
}

names! {
    ActivationState {
        /// Since a call of the turn in progress.
        TurnActive "turn_active",
        /// A turn that used it has completed.
        SessionActive "session_active",
        /// The same, and the runtime has recovered the agent since then.
        Restored "restored",
    }
}

/// A skill that an agent is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skill {
    /// Its scope and its folder: `workspace:pdf`.
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    /// One line.
    pub description: Text,
    /// Its `SKILL.md`, without links.
    pub entrypoint_path: String,
    /// SHA-256 of its `SKILL.md`.
    pub digest: ContentId,
}

impl Skill {
    /// Whether requests show both in the same words.
    pub fn reads_like(&self, other: &Self) -> bool {
        let shown = |skill: &Self| (skill.name.clone(), skill.entrypoint_path.clone());
        shown(self) == shown(other) && self.description == other.description
    }

    /// Why a file of it makes it active: its entrypoint is read, and its scripts are run.
    pub fn reason(&self, file: &str) -> Option<LoadReason> {
        if file == self.entrypoint_path {
            return Some(LoadReason::ReadSkillMd);
        }
        let folder = self.entrypoint_path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let script = file.strip_prefix(folder)?.strip_prefix("/scripts/")?;
        (!script.is_empty()).then_some(LoadReason::RunSkillScript)
    }
}

/// A skill that an operator has named in a prompt, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenSkill {
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    /// Its `SKILL.md`, without links.
    pub entrypoint_path: String,
    /// SHA-256 of that file.
    pub digest: ContentId,
    /// What follows its front matter; at most 24 KiB.
    pub body: Text,
}

impl GivenSkill {
    /// Whether it is the same version of the same skill.
    pub fn is(&self, offered: &Skill) -> bool {
        self.skill_id == offered.skill_id && self.digest == offered.digest
    }
}

/// The skills that an agent is offered, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillCatalogue {
    pub skills: Vec<Skill>,
    /// More that would be offered, were there fewer.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub left_out: u32,
    /// Skills of a workspace that no operator trusts: they are not offered.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub untrusted: u32,
}

impl SkillCatalogue {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether requests show both in the same words.
    pub fn reads_like(&self, other: &Self) -> bool {
        let same = |(one, other): (&Skill, &Skill)| one.skill_id == other.skill_id && one.reads_like(other);
        self.skills.len() == other.skills.len() && self.skills.iter().zip(&other.skills).all(same)
    }

    pub fn get(&self, skill_id: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.skill_id == skill_id)
    }

    /// The skill that a file belongs to, and why the file makes it active.
    pub fn of_file(&self, file: &str) -> Option<(&Skill, LoadReason)> {
        self.skills.iter().find_map(|skill| Some((skill, skill.reason(file)?)))
    }

    pub fn texts<'a>(&'a self, visit: &mut dyn FnMut(&'a Text)) {
        self.skills.iter().for_each(|skill| visit(&skill.description));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_entrypoint_and_its_scripts_make_a_skill_active() {
        let skill = Skill {
            skill_id: "agent:pdf".into(),
            name: "pdf".into(),
            scope: SkillScope::Agent,
            description: Text::default(),
            entrypoint_path: "/skills/pdf/SKILL.md".into(),
            digest: ContentId([0; 32]),
        };
        let reasons = [
            ("/skills/pdf/SKILL.md", Some(LoadReason::ReadSkillMd)),
            ("/skills/pdf/scripts/fill.py", Some(LoadReason::RunSkillScript)),
            ("/skills/pdf/scripts/deep/fill.py", Some(LoadReason::RunSkillScript)),
            ("/skills/pdf/scripts/", None),
            ("/skills/pdf/reference.md", None),
            ("/skills/pdf2/scripts/fill.py", None),
            ("/skills/pdf", None),
        ];
        for (file, reason) in reasons {
            assert_eq!(skill.reason(file), reason, "{file}");
        }
    }
}
