//! Skills, as they are listed and installed.

use std::collections::BTreeMap;

use holon_core::agent::skills::ActiveSkill;
use holon_facts::AgentId;
use holon_facts::content::ContentId;
use holon_facts::skill::SkillScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word::word;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skills {
    pub ok: bool,
    pub agent_id: AgentId,
    /// All that are there now, by name; also those that are not offered.
    pub skills: Vec<SkillShown>,
    /// Those in use, the newest last.
    pub active: Vec<ActiveSkill>,
    /// Folders that are not looked at, or can't be, and how many skills requests have no space for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillShown {
    /// Its scope and its folder.
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    pub standing: SkillStanding,
    /// The one that is offered in its place.
    pub shadowed_by: Option<String>,
    /// What is wrong with it; of one that is broken, first why it can't be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    pub description: Option<String>,
    /// Its `SKILL.md`, without links.
    pub entrypoint_path: String,
    /// SHA-256 of that, and its size.
    pub digest: Option<ContentId>,
    pub bytes: Option<u64>,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    /// As its front matter has it; it grants nothing.
    pub allowed_tools: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

holon_facts::names! {
    /// Whether a skill is offered.
    SkillStanding {
        Offered "offered",
        /// Another one of that name, or with the same file, is offered.
        Shadowed "shadowed",
        Broken "broken",
        /// No operator trusts the workspace.
        Untrusted "untrusted",
        /// There are too many.
        LeftOut "left_out",
    }
}

/// Where skills are installed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillRoot {
    /// Into the agent's home.
    #[default]
    Agent,
    /// Into the user's, for the default agents of all homes.
    User,
}

/// A skill to install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallSkill {
    /// A folder by its absolute path, `https://github.com/OWNER/REPO/tree/REF/PATH`, or the address of a repository with
    /// `#REF:PATH`.
    #[schemars(length(min = 1, max = 4096))]
    pub source: String,
    /// Instead of its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub name: Option<String>,
    #[serde(default, deserialize_with = "word")]
    pub root: SkillRoot,
}

/// A skill to take away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UninstallSkill {
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    #[serde(default, deserialize_with = "word")]
    pub root: SkillRoot,
    /// Also if it has changed since it was installed.
    #[serde(default)]
    pub force: bool,
}

/// A skill that was installed, or taken away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillReply {
    pub ok: bool,
    pub agent_id: AgentId,
    pub skill_name: String,
    /// Its folder.
    pub path: String,
    /// As it was named when it was installed.
    pub source: String,
    /// Of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// SHA-256 of names, modes and bytes of its files.
    pub digest: ContentId,
}

/// Skills that were installed, and how they stand to what is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedSkills {
    pub ok: bool,
    pub agent_id: AgentId,
    /// The folder that was looked at.
    pub root: String,
    pub skills: Vec<CheckedSkill>,
}

#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedSkill {
    pub skill_name: String,
    pub state: InstalledState,
    pub source: Option<String>,
    pub commit: Option<String>,
}

holon_facts::names! {
    /// How a skill stands to `skills.lock.json`.
    InstalledState {
        Ok "ok",
        Modified "modified",
        Missing "missing",
        /// It was not installed by Holon.
        Unmanaged "unmanaged",
    }
}

/// Which installed skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<SkillRoot>,
}
